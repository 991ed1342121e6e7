// What verbs ask of a search; see search_options.h.
#include "apps/search_options.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "apps/scoring_options.h"
#include "apps/summary_options.h"
#include "lib/core/log.h"
#include "lib/core/names.h"

namespace bigbird::apps {
namespace {

constexpr std::int64_t most_beams = 10'000;
constexpr std::array<std::pair<Decoding, const char*>, 4> summary_decoding_names{
    {{Decoding::huggingface, "huggingface"},
     {Decoding::google, "google"},
     {Decoding::greedy, "greedy"},
     {Decoding::sample, "sample"}}};
constexpr std::array<std::pair<EarlyStopping, const char*>, 3> early_stopping_names{
    {{EarlyStopping::no, "no"}, {EarlyStopping::yes, "yes"}, {EarlyStopping::never, "never"}}};

}  // namespace

void SearchOptionsOfVerb::add(Verb& verb) {
  CLI::App& app = verb.app();
  app.add_option("--length", summarizer_.length,
                 "Most tokens of a document, its end included; 0 is what the model was trained with, or has "
                 "positions for");
  blanks_option_ = app.add_flag(
      "--newlines-are-blanks,!--newlines-are-marks", blanks_,
      "Leave newlines to the tokenizer, as transformers does, or give the model \"<n>\" and read it back; "
      "default as the model was trained, else marks");
  app.add_option("--documents", summarizer_.documents, "Documents at once; more take more memory")
      ->check(CLI::Range(1, 4096));
  const char* const group = "Search (where not given: as the model's folder says)";
  const auto option = [&](const char* name, auto& value, const char* text) {
    return app.add_option(name, value, text)->group(group);
  };
  decoding_option_ = option("--decoding", decoding_, "huggingface, google, greedy or sample");
  beams_option_ = option("--beams", beams_, "Rows that are searched side by side; 1 is greedy")
                      ->check(CLI::Range(std::int64_t{0}, most_beams));
  penalty_option_ =
      option("--length-penalty", penalty_, "A score is the sum of log p over the tokens to this power");
  most_option_ = option("--max-tokens", most_, "Most tokens of a summary, its end included");
  least_option_ = option("--min-tokens", least_, "No end before so many");
  ngram_option_ = option("--no-repeat-ngram", ngram_, "No so many tokens in a row twice; 0: any");
  repetition_option_ =
      option("--repetition-penalty", repetition_, "Of tokens that are there already; 1: none");
  stopping_option_ = option("--early-stopping", stopping_, "no, yes or never: when a beam search may end");
  temperature_option_ = option("--temperature", sampling_.temperature, "sample: what logits are divided by");
  top_k_option_ =
      option("--top-k", sampling_.top_k, "sample: from so many of the most likely tokens; 0: all");
  top_p_option_ = option("--top-p", sampling_.top_p,
                         "sample: from the most likely tokens that make up this fraction; 1: all");
  verb.add_seed();
  add_machine(verb);
}

SummarizerOptions SearchOptionsOfVerb::summarizer() const {
  SummarizerOptions options = summarizer_;
  if (blanks_option_->count() > 0) options.line_marks = !blanks_;
  return options;
}

void SearchOptionsOfVerb::apply(const Verb& verb, SearchOptions& search) const {
  if (decoding_option_->count() > 0)
    search.decoding = parse_name(summary_decoding_names, decoding_, "decoding");
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
  if (beams_option_->count() > 0) search.beams = beams_;
  if (penalty_option_->count() > 0) search.length_penalty = penalty_;
  if (most_option_->count() > 0) {
    search.max_length = most_ + 1;  // the start symbol counts
    if (least_option_->count() == 0 && search.min_length > search.max_length) search.min_length = 0;
  }
  if (least_option_->count() > 0) search.min_length = least_ + 1;
  if (ngram_option_->count() > 0) search.no_repeat_ngram = ngram_;
  if (repetition_option_->count() > 0) search.repetition_penalty = repetition_;
  if (stopping_option_->count() > 0)
    search.early_stopping = parse_name(early_stopping_names, stopping_, "early stopping");
  if (temperature_option_->count() > 0) search.sampling.temperature = sampling_.temperature;
  if (top_k_option_->count() > 0) search.sampling.top_k = sampling_.top_k;
  if (top_p_option_->count() > 0) search.sampling.top_p = sampling_.top_p;
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
