// The table of GLUE's tasks, and their files; see glue_files.h.
#include "lib/text/classify/glue_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/core/names.h"
#include "lib/io/files/file.h"
#include "lib/io/text/text_lines.h"
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

constexpr const char* no_label = "-";  // MNLI: the annotators did not agree

DelimitedOptions glue_form(bool replace_invalid) {
  DelimitedOptions options;
  options.separator = '\t';
  options.quoting = Quoting::none;
  options.header = false;
  options.ragged = RaggedRows::kept;
  options.replace_invalid = replace_invalid;
  return options;
}

std::vector<GlueColumn> columns_read(const GlueLayout& layout) {
  std::vector<GlueColumn> columns = {layout.first};
  for (const auto& column : {layout.second, layout.label, layout.index})
    if (column) columns.push_back(*column);
  return columns;
}

bool is_header_of(const GlueLayout& layout, const std::vector<std::string>& cells) {
  const std::vector<GlueColumn> columns = columns_read(layout);
  return cells.size() == layout.columns &&
         std::all_of(columns.begin(), columns.end(),
                     [&](const GlueColumn& column) { return cells[column.number] == column.name; });
}

bool is_whole_number(const std::string& text) {
  return !text.empty() && text.size() < 19 && text.find_first_not_of("0123456789") == std::string::npos;
}

std::optional<double> similarity_score(const std::string& text) {
  const auto value = parse_regression_label(text);
  return value && *value >= 0 && *value <= 5 ? value : std::nullopt;
}

bool is_label_of(const GlueTask& task, const std::string& cell) {
  if (task.classes.empty()) return similarity_score(cell).has_value();
  return std::any_of(task.classes.begin(), task.classes.end(),
                     [&](const GlueClass& one) { return one.word == class_of_label(cell); });
}

// A row in place of the header: what has to be a label or an index is one.
bool is_row_of(const GlueTask& task, const GlueLayout& layout, const std::vector<std::string>& cells) {
  if (cells.size() != layout.columns) return false;
  if (layout.index) return is_whole_number(cells[layout.index->number]);
  const std::string& label = cells[layout.label->number];
  return is_label_of(task, label) || (task.name == "mnli" && label == no_label);
}

std::string layout_words(const std::vector<GlueLayout>& layouts) {
  std::vector<std::string> words;
  for (const GlueLayout& layout : layouts) words.push_back(std::to_string(layout.columns));
  return fmt::format("{}", fmt::join(words, " or "));
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

GlueFile::GlueFile(const std::string& path, const GlueTask& task, GlueRows rows, bool replace_invalid)
    : reader_(path, glue_form(replace_invalid)), task_(task), rows_(rows) {
  if (rows != GlueRows::test) demand_labelled_files(task);
  read_first_line();
}

void GlueFile::read_first_line() {
  const std::vector<std::string>* const first = reader_.peek();
  if (first == nullptr) throw_bad_input(path() + ": the file is empty", "download it again");
  const bool test = rows_ == GlueRows::test;
  const std::vector<GlueLayout> layouts = test ? std::vector{task_.test} : task_.labelled;
  for (const GlueLayout& layout : layouts) {
    const bool header = is_header_of(layout, *first);
    if (!header && !is_row_of(task_, layout, *first)) continue;
    layout_ = layout;
    if (header) reader_.use_first_row_as_header();
    if (header != layout.header) {
      log_info(path() + (header
                             ? ": has a header line, which the published file has not"
                             : ": has no header line, unlike the published file; its first line is a row"));
    }
    return;
  }
  if (!test && is_header_of(task_.test, *first)) {
    throw_bad_input(
        fmt::format("{}:1: the header of {}'s test file, which has no labels", path(), task_.folder),
        "give a train or dev file");
  }
  if (test && std::any_of(task_.labelled.begin(), task_.labelled.end(),
                          [&](const GlueLayout& layout) { return is_header_of(layout, *first); })) {
    throw_bad_input(fmt::format("{}:1: the header of {}'s train and dev files, not of its test file", path(),
                                task_.folder),
                    "give the test file, or predict the split that it is");
  }
  const bool width = std::any_of(layouts.begin(), layouts.end(),
                                 [&](const GlueLayout& layout) { return layout.columns == first->size(); });
  std::vector<std::string> names;
  for (const GlueColumn& column : columns_read(layouts.back()))
    names.push_back(fmt::format("'{}' as column {}", column.name, column.number + 1));
  throw_bad_input(width ? fmt::format("{}:1: neither the header of {}'s {} files nor a row of them", path(),
                                      task_.folder, test ? "test" : "labelled")
                        : fmt::format("{}:1: {} fields, and {}'s {} files have {}", path(), first->size(),
                                      task_.folder, test ? "test" : "labelled", layout_words(layouts)),
                  fmt::format("tab-separated as in GLUE's download: {}", fmt::join(names, ", ")));
}

std::string GlueFile::label_of(const std::string& cell) const {
  if (task_.classes.empty()) {
    if (!similarity_score(cell)) {
      throw_bad_input(
          fmt::format("{}: score '{}' is not a number from 0 to 5", reader_.where(), text_for_message(cell)),
          "scores are learned as they are, not divided by 5");
    }
    return cell;
  }
  std::vector<std::string> words;
  for (const GlueClass& one : task_.classes) {
    if (one.word == class_of_label(cell)) return one.name;
    words.push_back(one.word);
  }
  throw_bad_input(
      fmt::format("{}: label '{}' is none of {}'s", reader_.where(), text_for_message(cell), task_.folder),
      fmt::format("they are: {}", fmt::join(words, ", ")));
}

void GlueFile::check_index(const std::string& index) {
  if (!is_whole_number(index)) {
    throw_bad_input(
        fmt::format("{}: index '{}' is not a whole number", reader_.where(), text_for_message(index)),
        "the first column of a test file is the index of the submission");
  }
  if (!indices_.insert(index).second) {
    throw_bad_input(fmt::format("{}: index {} is in a line before it too", reader_.where(), index),
                    "a row of a test file has an index of its own");
  }
}

bool GlueFile::next(LabelledText& row) {
  while (reader_.next(cells_)) {
    if (cells_.size() != layout_.columns) {
      if (task_.short_rows && rows_ != GlueRows::test) {
        ++tally_.dropped;
        continue;
      }
      throw_bad_input(fmt::format("{}: {} fields, and {}'s rows have {}", reader_.where(), cells_.size(),
                                  task_.folder, layout_.columns),
                      "tab-separated as in GLUE's download; a text has no tab and no line end");
    }
    const std::uint64_t number = number_++;
    row = {};
    if (rows_ == GlueRows::labelled) {
      const std::string& cell = cells_[layout_.label->number];
      if (task_.name == "mnli" && cell == no_label) {
        ++tally_.unlabelled;
        continue;
      }
      row.labels = {label_of(cell)};
    }
    row.id = std::to_string(number);
    if (layout_.index) {
      row.id = cells_[layout_.index->number];
      check_index(row.id);
    }
    row.place = reader_.where();
    if (layout_.second) row.pair = std::move(cells_[layout_.second->number]);
    row.text = std::move(cells_[layout_.first.number]);
    ++tally_.rows;
    return true;
  }
  return false;
}

TextRows glue_rows(const std::string& path, const GlueTask& task, bool replace_invalid) {
  const auto file = std::make_shared<GlueFile>(path, task, GlueRows::labelled, replace_invalid);
  return {path, [file](LabelledText& row) {
            const bool more = file->next(row);
            if (!more) say_glue_tally(*file);
            return more;
          }};
}

void say_glue_tally(const GlueFile& file) {
  const GlueTally& tally = file.tally();
  log_info(fmt::format("{}: {} rows read", file.path(), tally.rows));
  if (tally.unlabelled > 0) {
    log_info(fmt::format("{}: {} rows have no label ('{}') and are skipped", file.path(), tally.unlabelled,
                         no_label));
  }
  if (tally.dropped > 0) {
    log_info(
        fmt::format("{}: {} rows have another number of fields and are dropped", file.path(), tally.dropped));
  }
  if (file.replaced() > 0) {
    log_warning(
        fmt::format("{}: {} U+FFFD put in for bytes that are not UTF-8", file.path(), file.replaced()));
  }
}

}  // namespace bigbird
