// Options on documents and summaries; see summary_options.h.
#include "apps/summary_options.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "apps/text_options.h"
#include "lib/core/log.h"
#include "lib/core/names.h"

namespace bigbird::apps {
namespace {

constexpr const char* summary_data_group = "Fields and format of the data";

constexpr std::array<std::pair<SummaryFormat, const char*>, 6> summary_format_names{
    {{SummaryFormat::automatic, "auto"},
     {SummaryFormat::jsonl, "jsonl"},
     {SummaryFormat::csv, "csv"},
     {SummaryFormat::tsv, "tsv"},
     {SummaryFormat::lines, "lines"},
     {SummaryFormat::folder, "folder"}}};

}  // namespace

void SummaryDataOptions::add(Verb& verb, SummaryParts parts) {
  pairs_.parts = parts;
  CLI::App& app = verb.app();
  if (parts != SummaryParts::summary) {
    app.add_option(
           "--document-field", pairs_.document_field,
           "Field or column of the document; default article_text, article, document, source, text ...")
        ->group(summary_data_group);
  }
  if (parts != SummaryParts::document) {
    app.add_option("--summary-field", pairs_.summary_field,
                   "Of the summary; default abstract_text, summary, highlights, abstract, target ...")
        ->group(summary_data_group);
    app.add_flag(
           "--list-of-summaries", pairs_.list_of_summaries,
           "A list in that field holds several summaries, of which the best counts; else the sentences of one")
        ->group(summary_data_group);
  }
  app.add_option("--id-field", pairs_.id_field,
                 "Of the id; default id, article_id or paper_id, else rows count from 0")
      ->group(summary_data_group);
  app.add_option("--format", format_, "jsonl, csv, tsv, lines (a text a line) or folder; auto: by name")
      ->group(summary_data_group);
  add_quoting(app, quoting_, summary_data_group);
  app.add_flag("--skip-bad", pairs_.skip_bad, "Count records without a field, or of another type, and go on")
      ->group(summary_data_group);
  app.add_flag("--replace-invalid", pairs_.replace_invalid,
               "Put U+FFFD where bytes are no UTF-8; else an error")
      ->group(summary_data_group);
}

SummaryPairOptions SummaryDataOptions::pairs() const {
  SummaryPairOptions result = pairs_;
  result.format = parse_name(summary_format_names, format_, "format");
  result.quoting = parse_quoting(quoting_);
  return result;
}

void say_skipped(std::uint64_t skipped, const std::string& first) {
  if (skipped > 0) log_warning(fmt::format("{} bad records passed over, the first at {}", skipped, first));
}

}  // namespace bigbird::apps
