// Rows of GLUE's files as they are downloaded: tab-separated, `"` is text, UTF-8 with or without a byte-order
// mark. Streamed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "lib/io/text/delimited.h"
#include "lib/io/text/labelled_texts.h"
#include "lib/text/classify/glue_tasks.h"
#include "lib/text/classify/training_texts.h"

namespace bigbird {

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
