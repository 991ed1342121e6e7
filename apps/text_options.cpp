// Options on labelled texts; see text_options.h.
#include "apps/text_options.h"

#include <array>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/names.h"

namespace bigbird::apps {
namespace {

constexpr const char* data_group = "Columns and format of the data";

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

void add_quoting(CLI::App& app, std::string& quoting, const char* group) {
  app.add_option(
         "--quoting", quoting,
         "Of tables: csv (a field in \" may hold separators and line ends) or none (\" is text, a line "
         "is a row); auto: csv for CSV; none for TSV, unless all its names stand in quotes")
      ->check(CLI::IsMember({"auto", "csv", "none"}))
      ->group(group);
}

Quoting parse_quoting(const std::string& name) {
  return parse_name(quoting_names, name, "quoting");
}

void TextColumnOptions::add(Verb& verb, bool with_labels) {
  CLI::App& app = verb.app();
  app.add_option(
         "--text-column", columns_.text_column,
         "Column or field of the text, by name or from 1; several (2,3) are joined by a blank; default "
         "sentence1, text, sentence or the first")
      ->group(data_group);
  app.add_option("--pair-column", columns_.pair_column,
                 "Of the second text of a pair; default sentence2, text_pair or the second")
      ->group(data_group);
  if (with_labels) {
    app.add_option("--label-column", columns_.label_column, "Of the label; default label")->group(data_group);
    app.add_option("--label-files", columns_.label_files,
                   "Articles: the XML of their labels; several with commas")
        ->delimiter(',')
        ->type_name("FILE")
        ->group(data_group);
  }
  app.add_option("--id-column", columns_.id_column, "Of the id; default id or idx, else rows count from 0")
      ->group(data_group);
  app.add_option(
         "--format", format_,
         "csv, tsv, jsonl, lines (a text each), folder (of a folder for each class) or articles (XML of "
         "SemEval-2019 task 4); auto: by name, of stdin and .txt by what they begin with")
      ->group(data_group);
  add_quoting(app, quoting_, data_group);
  app.add_flag("--header", header_, "The first row of a table names the columns, whatever it looks like")
      ->group(data_group);
  app.add_flag("--no-header", no_header_, "The first row is data; columns are given by number")
      ->excludes("--header")
      ->group(data_group);
  app.add_flag("--newline-escapes", columns_.backslash_newline,
               "A backslash and an n in a cell are a newline, as in Yelp's files")
      ->group(data_group);
  app.add_flag("--replace-invalid", columns_.replace_invalid,
               "Put U+FFFD where bytes are no UTF-8; else an error")
      ->group(data_group);
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
  CLI::App& app = verb.app();
  app.add_option("--task", task_, "cola, sst2, mrpc, stsb, qqp, mnli, qnli, rte or wnli; predict also ax")
      ->required()
      ->type_name("TASK");
  app.add_option(
         "--labels", labels_,
         "Classes in the order of the model's outputs, for models that name them LABEL_0, LABEL_1 ...")
      ->delimiter(',')
      ->type_name("A,B");
  app.add_option("--length", length_,
                 "Most tokens of an input; 0 is what the model was trained with. Longer ones are cut");
  app.add_flag("--replace-invalid", replace_invalid_, "Put U+FFFD where bytes are no UTF-8; else an error");
  scoring_.add(verb, {});
  add_machine(verb);
}

void TextEncodingChoice::add(Verb& verb) {
  CLI::App& app = verb.app();
  app.add_option("--whitespace", white_space_,
                 "fold: every white-space character is a blank; keep: as the tokenizer's own code reads it")
      ->check(CLI::IsMember({"fold", "keep"}));
  app.add_flag("--ascii-punctuation", ascii_punctuation_,
               "Curly quotes, dashes and the ellipsis become ASCII before they are tokenized");
}

TextEncodingOptions TextEncodingChoice::encoding() const {
  return {white_space_ == "keep" ? WhiteSpace::keep : WhiteSpace::fold, ascii_punctuation_};
}

}  // namespace bigbird::apps
