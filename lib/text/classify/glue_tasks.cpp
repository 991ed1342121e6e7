// The table of GLUE's tasks; see glue_tasks.h.
#include "lib/text/classify/glue_tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/names.h"
#include "lib/io/files/file.h"
#include "lib/metrics/class_metrics.h"

namespace bigbird {
namespace {

constexpr std::array<std::pair<GlueSplit, const char*>, 3> glue_split_names{
    {{GlueSplit::train, "train"}, {GlueSplit::dev, "dev"}, {GlueSplit::test, "test"}}};

const std::optional<GlueColumn> absent_column;

GlueLayout labelled_layout(std::size_t columns, GlueColumn first, std::optional<GlueColumn> second,
                           GlueColumn label, bool header = true) {
  return {columns, std::move(first), std::move(second), std::move(label), absent_column, header};
}

// The index is the first column.
GlueLayout test_layout(std::size_t columns, GlueColumn first, std::optional<GlueColumn> second,
                       const char* index = "index") {
  return {columns, std::move(first), std::move(second), absent_column, GlueColumn{0, index}, true};
}

std::vector<GlueTask> make_tasks() {
  std::vector<GlueTask> tasks;
  tasks.push_back({"cola",
                   "CoLA",
                   {{"unacceptable", "0"}, {"acceptable", "1"}},
                   GlueMetric::matthews,
                   {labelled_layout(4, {3, "sentence"}, absent_column, {1, "label"}, false)},
                   test_layout(2, {1, "sentence"}, absent_column)});
  tasks.push_back({"sst2",
                   "SST-2",
                   {{"negative", "0"}, {"positive", "1"}},
                   GlueMetric::accuracy,
                   {labelled_layout(2, {0, "sentence"}, absent_column, {1, "label"})},
                   test_layout(2, {1, "sentence"}, absent_column)});
  tasks.back().batch = 32;
  tasks.push_back({"mrpc",
                   "MRPC",
                   {{"not_equivalent", "0"}, {"equivalent", "1"}},
                   GlueMetric::accuracy_f1,
                   {labelled_layout(5, {3, "#1 String"}, GlueColumn{4, "#2 String"}, {0, "Quality"})},
                   test_layout(5, {3, "#1 String"}, GlueColumn{4, "#2 String"})});
  tasks.push_back({"stsb",
                   "STS-B",
                   {},
                   GlueMetric::pearson_spearman,
                   {labelled_layout(10, {7, "sentence1"}, GlueColumn{8, "sentence2"}, {9, "score"})},
                   test_layout(9, {7, "sentence1"}, GlueColumn{8, "sentence2"})});
  tasks.back().learning_rate = 2e-5;
  tasks.push_back({"qqp",
                   "QQP",
                   {{"not_duplicate", "0"}, {"duplicate", "1"}},
                   GlueMetric::accuracy_f1,
                   {labelled_layout(6, {3, "question1"}, GlueColumn{4, "question2"}, {5, "is_duplicate"})},
                   test_layout(3, {1, "question1"}, GlueColumn{2, "question2"}, "id")});
  tasks.back().short_rows = true;
  tasks.back().batch = 32;
  tasks.back().warmup_share = 0.25;  // 28,318 of 113,272, as published
  const std::vector<GlueClass> entailment = {{"entailment", "entailment"},
                                             {"not_entailment", "not_entailment"}};
  tasks.push_back({"mnli",
                   "MNLI",
                   {{"entailment", "entailment"}, {"neutral", "neutral"}, {"contradiction", "contradiction"}},
                   GlueMetric::accuracy,
                   {labelled_layout(12, {8, "sentence1"}, GlueColumn{9, "sentence2"}, {11, "gold_label"}),
                    labelled_layout(16, {8, "sentence1"}, GlueColumn{9, "sentence2"}, {15, "gold_label"})},
                   test_layout(10, {8, "sentence1"}, GlueColumn{9, "sentence2"})});
  tasks.back().batch = 32;
  tasks.push_back({"qnli",
                   "QNLI",
                   entailment,
                   GlueMetric::accuracy,
                   {labelled_layout(4, {1, "question"}, GlueColumn{2, "sentence"}, {3, "label"})},
                   test_layout(3, {1, "question"}, GlueColumn{2, "sentence"})});
  tasks.back().batch = 32;
  tasks.push_back({"rte",
                   "RTE",
                   entailment,
                   GlueMetric::accuracy,
                   {labelled_layout(4, {1, "sentence1"}, GlueColumn{2, "sentence2"}, {3, "label"})},
                   test_layout(3, {1, "sentence1"}, GlueColumn{2, "sentence2"})});
  tasks.back().learning_rate = 2e-5;
  // The table of settings leaves WNLI out: those of RTE, the set that is nearest in size and kind.
  tasks.push_back({"wnli",
                   "WNLI",
                   {{"not_entailment", "0"}, {"entailment", "1"}},
                   GlueMetric::accuracy,
                   {labelled_layout(4, {1, "sentence1"}, GlueColumn{2, "sentence2"}, {3, "label"})},
                   test_layout(3, {1, "sentence1"}, GlueColumn{2, "sentence2"})});
  tasks.back().learning_rate = 2e-5;
  const GlueTask& mnli =
      *std::find_if(tasks.begin(), tasks.end(), [](const GlueTask& task) { return task.name == "mnli"; });
  tasks.push_back({"ax",
                   "AX",
                   std::vector<GlueClass>(mnli.classes),
                   GlueMetric::accuracy,
                   {},
                   test_layout(3, {1, "sentence1"}, GlueColumn{2, "sentence2"})});
  return tasks;
}

bool equal_but_for_case(std::string_view a, std::string_view b) {
  const auto small = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return small(x) == small(y); });
}

}  // namespace

std::vector<std::string> GlueTask::class_names() const {
  std::vector<std::string> names;
  for (const GlueClass& one : classes) names.push_back(one.name);
  return names;
}

std::optional<std::size_t> GlueTask::class_number(std::string_view name_or_word) const {
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (equal_but_for_case(classes[i].name, name_or_word) || classes[i].word == class_of_label(name_or_word))
      return i;
  }
  return std::nullopt;
}

const std::vector<GlueTask>& glue_tasks() {
  static const std::vector<GlueTask> tasks = make_tasks();
  return tasks;
}

const GlueTask& find_glue_task(const std::string& name) {
  std::vector<std::string> names;
  for (const GlueTask& task : glue_tasks()) {
    if (task.name == name) return task;
    names.push_back(task.name);
  }
  throw_usage(message("`task` {}: GLUE has no such task", name),
              fmt::format("one of: {}", fmt::join(names, ", ")));
}

std::string name_of(GlueSplit split) {
  return find_name(glue_split_names, split);
}

void demand_labelled_files(const GlueTask& task) {
  if (!task.labelled.empty()) return;
  throw_usage(message("`task` {}: this set has no labels", task.name),
              "it is answered by a model of mnli: fine-tune and evaluate that");
}

std::vector<GlueSplitFile> glue_split_files(const GlueTask& task, const std::string& folder,
                                            GlueSplit split) {
  if (split != GlueSplit::test) demand_labelled_files(task);
  std::vector<GlueSplitFile> wanted;  // paths without the folder
  std::vector<std::string> places = {folder, folder + "/" + task.folder};
  const std::string stem = name_of(split);
  if (task.name == "mnli" && split != GlueSplit::train) {
    wanted = {{stem + "_matched.tsv", "MNLI-m.tsv"}, {stem + "_mismatched.tsv", "MNLI-mm.tsv"}};
  } else if (task.name ==
             "ax") {  // GLUE's download script, Hugging Face's data set, the pattern of the others
    places.push_back(folder + "/diagnostic");
    for (const std::string& place : places) {
      for (const char* name : {"diagnostic.tsv", "AX.tsv", "test.tsv"}) {
        if (file_exists(place + "/" + name)) return {{place + "/" + name, "AX.tsv"}};
      }
    }
    wanted = {{"diagnostic.tsv", "AX.tsv"}};
  } else {
    wanted = {{stem + ".tsv", task.folder + ".tsv"}};
  }
  for (const std::string& place : places) {
    std::vector<GlueSplitFile> found;
    for (const GlueSplitFile& file : wanted) {
      if (file_exists(place + "/" + file.path)) found.push_back({place + "/" + file.path, file.submission});
    }
    if (!found.empty()) return found;
  }
  throw_bad_input(
      fmt::format("{}: there is no {}, nor in its folder {}", folder, wanted.front().path, task.folder),
      "give the folder of the task as GLUE's download has it");
}

}  // namespace bigbird
