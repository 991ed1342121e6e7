// Texts with labels in the forms users have them: JSON Lines, CSV, TSV, a folder for each class, articles in
// XML; and texts without, a line each. What classification trains on and predicts from. Streamed; defaults as
// Hugging Face's run_glue.py has for own files.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/io/text/delimited.h"

namespace bigbird {

enum class TableFormat { automatic, csv, tsv, jsonl, lines, folder, articles };
enum class HeaderRow { automatic, yes, no };
enum class Labels {
  required,  // every row has one; null, an empty cell or no such column is an Error
  optional,  // read where there is a column of labels
  ignored    // not looked at, for prediction
};

// `automatic` format goes by the path: a folder; .csv; .tsv or .tab; .jsonl, .ndjson or .json; .xml; each
// also with .gz. "-" and .txt are told by what they begin with: JSON; XML; a table where the first line has a
// tab, or a field that is one of the names below or that the options name, or nothing but words with commas
// between them, or where the options name columns or a header; else lines: every line is a text, the first
// too. A table of .csv or .tsv whose header has but one field, and several with a known name by another
// separator (semicolons), is read by that.
//
// Columns are named, or given by number from 1 (CSV and TSV); several texts "2,3" are joined by one blank.
// What is empty is looked for: the label in `label`; the id in `id`, else `idx`, else it is the number of the
// row from 0; texts in `sentence1` and `sentence2`, else `text` and `text_pair`, else `sentence`, else the
// first two other columns, the second of them as pair (only the first where pair_column or text_column is
// given, or where there is but one).
//
// `automatic` header: the first row is one if it has a cell that is one of these names or a column that the
// options name, or if no column is given by number; a table that is told by its first line alone, with blanks
// inside of its fields and no known name, has none. A header that looks like a row of data is warned of.
struct LabelledTextOptions {
  std::string text_column;
  std::string pair_column;
  std::string label_column;
  std::string id_column;
  std::vector<std::string> label_files;  // of articles: where their labels are
  TableFormat format = TableFormat::automatic;
  HeaderRow header = HeaderRow::automatic;
  Quoting quoting = Quoting::automatic;
  Labels labels = Labels::required;
  bool backslash_newline = false;  // a backslash and an n are a newline, as Yelp's CSV has it
  bool replace_invalid = false;
};

struct LabelledText {
  std::string id;
  std::string text;
  std::optional<std::string> pair;
  // Of a cell as it stands there, of a JSON string, number (shortest form), true or false: one. Of a JSON
  // list: all, in order.
  // None where labels are not read.
  std::vector<std::string> labels;
  bool label_is_list = false;
  std::string place;  // "FILE:LINE", "FILE:LINE:COLUMN" in a list of JSON, of a folder the path of the file
};

// JSON: a record for each line, or an element of the one list of the file (json_records.h). CSV and TSV:
// delimited.h. Lines: the id is the number of the line from 0, and there are no labels (Error{usage} where
// they are required). Folder: FOLDER/CLASS/*.txt (and .txt.gz), classes and files by name (bytes compared),
// id CLASS/NAME; also FOLDER/*.txt, id NAME, where labels are ignored, or are optional and no folder is
// there. A text of a file is without its last line end.
//
// Articles: the XML of SemEval-2019 task 4, <articles><article id="..." title="...">text</article>. Its
// columns are `text` (the default), without tags, and the attributes; `id` is the id, always. Labels come
// from `label_files` by id, <article id="..." hyperpartisan="true"/>: of the attribute `label_column`, else
// `hyperpartisan`.
//
// Error{bad_input}: what these readers refuse; a column or field that is not there, with those that are; a
// text that is no string (null is refused too; a blank one is not); a label that is null or empty, an object,
// or a list that holds such; an id that is no string and no number; an id twice, naming both places (of ids
// that the input has: a digest of 16 bytes and the place are kept of each); a folder without classes or
// without texts. Error{usage}: a format that cannot be told.
class LabelledTexts {
 public:
  explicit LabelledTexts(const std::string& path, const LabelledTextOptions& options = {});
  ~LabelledTexts();
  LabelledTexts(const LabelledTexts&) = delete;
  LabelledTexts& operator=(const LabelledTexts&) = delete;

  bool next(LabelledText& row);
  // Rows handed out so far.
  std::uint64_t rows() const;
  // U+FFFD put in so far.
  std::uint64_t replaced() const;
  // Which columns are read, to tell the user ("text: title, description; label: class"); of JSON known after
  // the first row.
  std::string columns() const;

  class Source;

 private:
  std::unique_ptr<Source> source_;
};

}  // namespace bigbird
