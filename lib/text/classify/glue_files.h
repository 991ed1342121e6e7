// The tasks of GLUE (Wang et al. 2018) as they are downloaded: names of folders, files, columns and classes,
// the metric, and the settings that BigBird's appendix E.4 takes over from RoBERTa (fairseq's
// README.glue.md). Columns and the files of a submission: jiant's and GLUE-baselines' readers, and
// transformers' data/processors/glue.py. And the rows of their files, streamed: tab-separated, `"` is text,
// UTF-8 with or without a byte-order mark.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/io/text/delimited.h"
#include "lib/io/text/labelled_texts.h"
#include "lib/metrics/class_metrics.h"
#include "lib/text/classify/training_texts.h"

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

enum class GlueRows {
  labelled,  // of train and dev files, those that have a label: MNLI's "-" is none
  all,       // of train and dev files, labels not looked at
  test       // of test files, which have no labels
};

struct GlueTally {
  std::uint64_t rows = 0;        // handed out
  std::uint64_t unlabelled = 0;  // skipped: MNLI's "-"
  std::uint64_t dropped = 0;     // QQP's rows with another number of fields
};

// Whether the file begins with the published header is told by its first line, and where that differs from
// the published files the log says so.
//
// The id of a row of a test file is its first column; of the others its number from 0, by which rows without
// a label are counted and those that are dropped are not (as transformers' processors number them). A label
// is the class's name (GlueClass::name), or a number from 0 to 5 as it stands there.
//
// Error{bad_input}: what DelimitedReader refuses without quoting; "FILE:LINE" of a header of another form, of
// a row with another number of fields (but QQP's), of a label that the task does not have, of a score outside
// of 0 to 5, of an index of a test file that is no whole number or stands there twice.
class GlueFile {
 public:
  // `task` must outlive it.
  GlueFile(const std::string& path, const GlueTask& task, GlueRows rows, bool replace_invalid = false);

  bool next(LabelledText& row);
  const GlueTally& tally() const { return tally_; }
  const std::string& path() const { return reader_.path(); }
  std::uint64_t replaced() const { return reader_.replaced(); }

 private:
  void read_first_line();
  std::string label_of(const std::string& cell) const;
  void check_index(const std::string& index);

  DelimitedReader reader_;
  const GlueTask& task_;
  GlueRows rows_;
  GlueLayout layout_;
  GlueTally tally_;
  std::uint64_t number_ = 0;  // rows so far that have all their fields
  std::set<std::string> indices_;
  std::vector<std::string> cells_;
};

// The rows with a label of a train or dev file. What was skipped, dropped or replaced is said in the log at
// the end.
TextRows glue_rows(const std::string& path, const GlueTask& task, bool replace_invalid);
void say_glue_tally(const GlueFile& file);

}  // namespace bigbird
