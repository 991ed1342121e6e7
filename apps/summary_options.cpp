// Options on documents, summaries and the search for them; see summary_options.h.
#include "apps/summary_options.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "apps/scoring_options.h"
#include "apps/text_options.h"
#include "lib/core/log.h"
#include "lib/core/names.h"

namespace bigbird::apps {
namespace {

constexpr std::array<std::pair<SummaryFormat, const char*>, 6> summary_format_names{
    {{SummaryFormat::automatic, "auto"},
     {SummaryFormat::jsonl, "jsonl"},
     {SummaryFormat::csv, "csv"},
     {SummaryFormat::tsv, "tsv"},
     {SummaryFormat::lines, "lines"},
     {SummaryFormat::folder, "folder"}}};

}  // namespace

void SmoothingOptions::add(Verb& verb, LabelSmoothing& smoothing) {
  form_ = name_of(smoothing.form);
  verb.add_option(
      "--label-smoothing", smoothing.epsilon,
      "Fraction of each label of a decoder that is spread over the whole vocabulary; 0.1 as published",
      CLI::Range(0.0, 0.999));
  verb.add_option("--smoothing", form_,
                  "Spread of --label-smoothing: over all tokens (huggingface), or over all others and less "
                  "its entropy (google)");
}

void SmoothingOptions::apply(LabelSmoothing& smoothing) const {
  smoothing.form = parse_smoothing_form(form_);
}

void SummaryDataOptions::add(Verb& verb, SummaryParts parts) {
  const OptionGroup group(verb, "Fields and format of the data");
  pairs_.parts = parts;
  if (parts != SummaryParts::summary) {
    verb.add_option(
        "--document-field", pairs_.document_field,
        "Field or column of the document (default: article_text, article, document, source, text ...)");
  }
  if (parts != SummaryParts::document) {
    verb.add_option(
        "--summary-field", pairs_.summary_field,
        "Field of the summary (default: abstract_text, summary, highlights, abstract, target ...)");
    verb.add_flag("--list-of-summaries", pairs_.list_of_summaries,
                  "Take a list in the summary's field as several summaries, of which the best counts "
                  "(default: as the sentences of one)");
  }
  verb.add_option("--id-field", pairs_.id_field,
                  "Field of the id (default: id, article_id or paper_id, else rows count from 0)");
  verb.add_option("--format", format_,
                  "Format of the data: jsonl, csv, tsv, lines (a text a line) or folder (default: by name)");
  add_quoting(verb, quoting_);
  verb.add_flag("--skip-bad", pairs_.skip_bad,
                "Count records without a field, or of another type, and go on");
  verb.add_flag("--replace-invalid", pairs_.replace_invalid,
                "Put U+FFFD where bytes are not UTF-8 (default: an error)");
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

void SearchOptionsOfVerb::add(Verb& verb) {
  verb.with_word(verb.add_option("--length", summarizer_.length,
                                 "Most tokens of a document, its end included (default: as many as the model "
                                 "was trained with, or has positions for)"),
                 "auto", "0");
  verb.add_flag("--newlines-are-blanks,!--newlines-are-marks", blanks_,
                "Leave newlines to the tokenizer, as transformers does, or give the model \"<n>\" and read "
                "it back (default: as the model was trained, else marks)");
  verb.add_option("--batch", summarizer_.documents, "Documents at a time; more take more memory",
                  CLI::Range(1, 4096));
  search_.add(verb, "a summary", SearchOptionWords::Defaults::of_the_folder);
  add_machine(verb);
}

SummarizerOptions SearchOptionsOfVerb::summarizer(const Verb& verb) const {
  SummarizerOptions options = summarizer_;
  if (verb.given("--newlines-are-blanks")) options.line_marks = !blanks_;
  return options;
}

void say_tally(const std::string& input, const SummaryTally& tally, std::int64_t length) {
  if (tally.cut > 0) {
    log_warning(fmt::format("{}: {} of {} documents are longer than {} tokens and were cut", input, tally.cut,
                            tally.documents, length));
  }
  if (tally.unended > 0) {
    log_info(fmt::format("{} of {} summaries were cut at --max-tokens", tally.unended, tally.documents));
  }
  say_skipped(tally.skipped, tally.first_skipped);
}

}  // namespace bigbird::apps
