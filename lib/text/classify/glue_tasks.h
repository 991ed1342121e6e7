// The tasks of GLUE (Wang et al. 2018) as they are downloaded: names of folders, files, columns and classes,
// the metric, and the settings that BigBird's appendix E.4 takes over from RoBERTa (fairseq's
// README.glue.md). Columns and the files of a submission: jiant's and GLUE-baselines' readers, and
// transformers' data/processors/glue.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/metrics/class_metrics.h"

namespace bigbird {

// A class by the name that Hugging Face's data sets give it, and as GLUE's files and submissions write it.
struct GlueClass {
  std::string name;  // "not_equivalent"
  std::string word;  // "0"
};

// A column: its number from 0, and its name in the header line.
struct GlueColumn {
  std::size_t number = 0;
  std::string name;
};

// Files of one form: so many tab-separated columns, of which these are read.
struct GlueLayout {
  std::size_t columns = 0;
  GlueColumn first;
  std::optional<GlueColumn> second;  // of tasks on pairs
  std::optional<GlueColumn> label;   // of files with labels
  std::optional<GlueColumn> index;   // of files without
  bool header = true;                // whether the published file has the header line
};

struct GlueTask {
  std::string name;                // "sst2"
  std::string folder;              // "SST-2"
  std::vector<GlueClass> classes;  // in the order of Hugging Face's numbers; none: a score from 0 to 5
  GlueMetric metric = GlueMetric::accuracy;
  std::vector<GlueLayout> labelled;  // MNLI's two sides differ; none: AX, which has a test file alone
  GlueLayout test;
  bool short_rows = false;  // labelled files have broken rows, which are dropped (QQP)

  double learning_rate = 1e-5;
  std::uint64_t batch = 16;
  double warmup_share = 0.06;  // of the steps

  std::vector<std::string> class_names() const;
  // By either spelling, of ASCII letters in either case ("ENTAILMENT"); nothing for any other.
  std::optional<std::size_t> class_number(std::string_view name) const;
};

// cola sst2 mrpc stsb qqp mnli qnli rte wnli, and ax: the diagnostic set, which a model of MNLI answers.
const std::vector<GlueTask>& glue_tasks();
// Error{usage} listing the names.
const GlueTask& find_glue_task(const std::string& name);

enum class GlueSplit { train, dev, test };
std::string name_of(GlueSplit split);  // "train", "dev", "test"

// Error{usage} for AX, which is neither trained on nor scored here.
void demand_labelled_files(const GlueTask& task);

struct GlueSplitFile {
  std::string path;
  std::string submission;  // "RTE.tsv", "MNLI-m.tsv", "MNLI-mm.tsv"
};
// The files of a split, of MNLI's dev and test both or the one that is there, in DIR or in its folder of the
// task (DIR/SST-2). AX is diagnostic.tsv, AX.tsv or test.tsv, in DIR, DIR/AX or DIR/diagnostic.
// Error{bad_input} naming what was looked for; Error{usage} as demand_labelled_files.
std::vector<GlueSplitFile> glue_split_files(const GlueTask& task, const std::string& folder, GlueSplit split);

}  // namespace bigbird
