// Options on texts; see text_options.h.
#include "apps/text_options.h"

#include <array>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/names.h"

namespace bigbird::apps {
namespace {

constexpr std::array<std::pair<Quoting, const char*>, 3> quoting_names{
    {{Quoting::automatic, "auto"}, {Quoting::doubled, "csv"}, {Quoting::none, "none"}}};

constexpr std::array<std::pair<TableFormat, const char*>, 7> format_names{
    {{TableFormat::automatic, "auto"},
     {TableFormat::csv, "csv"},
     {TableFormat::tsv, "tsv"},
     {TableFormat::jsonl, "jsonl"},
     {TableFormat::lines, "lines"},
     {TableFormat::folder, "folder"},
     {TableFormat::articles, "articles"}}};

}  // namespace

void add_quoting(Verb& verb, std::string& quoting) {
  verb.add_option(
      "--quoting", quoting,
      "Quoting of tables: csv, a field in \" may hold separators and line ends, or none, \" is text and a "
      "line is a row (default: csv for CSV; none for TSV, unless all its names are in quotes)",
      CLI::IsMember({"auto", "csv", "none"}));
}

Quoting parse_quoting(const std::string& name) {
  return parse_name(quoting_names, name, "choice of quoting");
}

void TextColumnOptions::add(Verb& verb, bool with_labels) {
  const OptionGroup group(verb, "Columns and format of the data");
  verb.add_option("--text-column", columns_.text_column,
                  "Column or field of the text, by name or from 1; several (2,3) are joined by a blank "
                  "(default: sentence1, text, sentence or the first)");
  verb.add_option("--pair-column", columns_.pair_column,
                  "Column of the second text of a pair (default: sentence2, text_pair or the second)");
  if (with_labels) {
    verb.add_option("--label-column", columns_.label_column, "Column or field of the label (default: label)");
    verb.add_option("--label-files FILE", columns_.label_files,
                    "XML of the labels of articles; several with commas")
        ->delimiter(',');
  }
  verb.add_option("--id-column", columns_.id_column,
                  "Column of the id (default: id or idx, else rows count from 0)");
  verb.add_option(
      "--format", format_,
      "Format of the data: csv, tsv, jsonl, lines (a text each), folder (of a folder for each class) or "
      "articles, XML of SemEval-2019 task 4 (default: by name, of stdin and .txt by what they begin with)");
  add_quoting(verb, quoting_);
  verb.add_flag("--header", header_,
                "Take the first row of a table as names of the columns, whatever it looks like");
  verb.add_flag("--no-header", no_header_, "Take the first row as data; columns are given by number")
      ->excludes("--header");
  verb.add_flag("--newline-escapes", columns_.backslash_newline,
                "Read a backslash and an n in a cell as a newline, as in Yelp's files");
  verb.add_flag("--replace-invalid", columns_.replace_invalid,
                "Put U+FFFD where bytes are not UTF-8 (default: an error)");
}

LabelledTextOptions TextColumnOptions::columns(Labels labels) const {
  LabelledTextOptions result = columns_;
  result.format = parse_name(format_names, format_, "format");
  result.quoting = parse_quoting(quoting_);
  if (header_) result.header = HeaderRow::yes;
  if (no_header_) result.header = HeaderRow::no;
  result.labels = labels;
  return result;
}

void GlueScoringOptions::add(Verb& verb) {
  verb.add_required("--task TASK", task_,
                    "Task: cola, sst2, mrpc, stsb, qqp, mnli, qnli, rte or wnli; predict also ax");
  verb.add_option(
          "--classes A,B", labels_,
          "Classes in the order of the model's outputs, for models that name them LABEL_0, LABEL_1 ...")
      ->delimiter(',');
  verb.with_word(
      verb.add_option(
          "--length", length_,
          "Most tokens of an input; longer ones are cut (default: as many as the model was trained with)"),
      "auto", "0");
  verb.add_flag("--replace-invalid", replace_invalid_,
                "Put U+FFFD where bytes are not UTF-8 (default: an error)");
  scoring_.add(verb, {});
  add_machine(verb);
}

void TextEncodingChoice::add(Verb& verb) {
  verb.add_option(
      "--whitespace", white_space_,
      "White space: fold, every such character is a blank, or keep, as the tokenizer's own code reads it",
      CLI::IsMember({"fold", "keep"}));
  verb.add_flag("--ascii-punctuation", ascii_punctuation_,
                "Turn curly quotes, dashes and the ellipsis into ASCII before they are tokenized");
}

TextEncodingOptions TextEncodingChoice::encoding() const {
  return {white_space_ == "keep" ? WhiteSpace::keep : WhiteSpace::fold, ascii_punctuation_};
}

void DocumentOptions::add(Verb& verb) {
  verb.add_required("IN IN", inputs_, "Files (.gz too), folders of *.txt, or - for stdin, in this order");
  verb.add_option("--format", format_,
                  "Format of IN: plain (documents between blank lines), jsonl, wikiextractor or wikitext "
                  "(default: by the first line)");
  verb.add_flag("--one-per-line", options_.one_per_line, "Read every line of plain text as a document");
  verb.add_option("--field", options_.field, "Field of a JSON object that holds the text");
  verb.add_flag("--replace-invalid", options_.replace_invalid,
                "Put U+FFFD where bytes are not UTF-8 (default: an error)");
}

TextDocumentOptions DocumentOptions::documents() const {
  TextDocumentOptions result = options_;
  if (format_ != "auto") result.format = parse_document_format(format_);
  return result;
}

}  // namespace bigbird::apps
