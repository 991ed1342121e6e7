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
constexpr std::int64_t most_beams = 10'000;
constexpr std::array<std::pair<Decoding, const char*>, 4> summary_decoding_names{
    {{Decoding::huggingface, "huggingface"},
     {Decoding::google, "google"},
     {Decoding::greedy, "greedy"},
     {Decoding::sample, "sample"}}};
constexpr std::array<std::pair<EarlyStopping, const char*>, 3> early_stopping_names{
    {{EarlyStopping::no, "no"}, {EarlyStopping::yes, "yes"}, {EarlyStopping::never, "never"}}};

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
  const OptionGroup group(verb, "Search");
  // What a model's folder has of these takes the place of the fields' values: they are no default.
  const auto add = [&](const std::string& name, auto& field, const std::string& text) {
    return verb.add_option(name, field, text + " (default: as in the model's folder)")->default_str("");
  };
  add("--decoding", decoding_, "Decoding: huggingface, google, greedy or sample");
  add("--beams", beams_, "Rows that are searched side by side; 1 is greedy")
      ->check(CLI::Range(std::int64_t{0}, most_beams));
  add("--length-penalty", penalty_,
      "Power in the score, which is the sum of log p over the tokens to this power");
  add("--max-tokens", most_, "Most tokens of a summary, its end included");
  add("--min-tokens", least_, "Tokens before which a summary does not end");
  add("--no-repeat-ngram", ngram_, "Tokens in a row that are not there twice; 0 allows it");
  add("--repetition-penalty", repetition_, "Penalty of tokens that are there already; 1: none");
  add("--early-stopping", stopping_, "Early end of a beam search: no, yes or never");
  add("--temperature", sampling_.temperature, "Number that logits are divided by, of sample");
  verb.with_word(add("--top-k", sampling_.top_k, "Most likely tokens that sample draws from, or all"), "all",
                 "0");
  add("--top-p", sampling_.top_p,
      "Fraction that the most likely tokens make up, from which sample draws; 1: all");
  verb.add_seed();
  add_machine(verb);
}

SummarizerOptions SearchOptionsOfVerb::summarizer(const Verb& verb) const {
  SummarizerOptions options = summarizer_;
  if (verb.given("--newlines-are-blanks")) options.line_marks = !blanks_;
  return options;
}

void SearchOptionsOfVerb::apply(const Verb& verb, SearchOptions& search) const {
  if (verb.given("--decoding"))
    search.decoding = parse_name(summary_decoding_names, decoding_, "way of decoding");
  if (search.decoding == Decoding::greedy || search.decoding == Decoding::sample) search.beams = 1;
  if (search.decoding == Decoding::google) {  // which has none of generate()'s rules
    search.min_length = 0;
    search.no_repeat_ngram = 0;
    search.repetition_penalty = 1.0;
    search.forced_end = false;
    search.forced_begin.reset();
    search.more_ends.clear();
    search.early_stopping = EarlyStopping::no;
  }
  if (verb.given("--beams")) search.beams = beams_;
  if (verb.given("--length-penalty")) search.length_penalty = penalty_;
  if (verb.given("--max-tokens")) {
    search.max_length = most_ + 1;  // the start symbol counts
    if (!verb.given("--min-tokens") && search.min_length > search.max_length) search.min_length = 0;
  }
  if (verb.given("--min-tokens")) search.min_length = least_ + 1;
  if (verb.given("--no-repeat-ngram")) search.no_repeat_ngram = ngram_;
  if (verb.given("--repetition-penalty")) search.repetition_penalty = repetition_;
  if (verb.given("--early-stopping"))
    search.early_stopping = parse_name(early_stopping_names, stopping_, "choice of early stopping");
  if (verb.given("--temperature")) search.sampling.temperature = sampling_.temperature;
  if (verb.given("--top-k")) search.sampling.top_k = sampling_.top_k;
  if (verb.given("--top-p")) search.sampling.top_p = sampling_.top_p;
  search.sampling.seed = verb.seed();
}

std::optional<std::uint64_t> seed_of(const SearchOptions& search) {
  if (search.decoding != Decoding::sample) return std::nullopt;
  return search.sampling.seed;
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
