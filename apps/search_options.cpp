// See search_options.h.
#include "apps/search_options.h"

#include <array>
#include <utility>

#include "lib/core/names.h"

namespace bigbird::apps {
namespace {

constexpr std::int64_t most_beams = 10'000;
constexpr std::array<std::pair<Decoding, const char*>, 4> search_decoding_names{
    {{Decoding::huggingface, "huggingface"},
     {Decoding::google, "google"},
     {Decoding::greedy, "greedy"},
     {Decoding::sample, "sample"}}};
// The published search is one for summaries.
constexpr std::array<std::pair<Decoding, const char*>, 3> plain_search_names{
    {{Decoding::huggingface, "huggingface"}, {Decoding::greedy, "greedy"}, {Decoding::sample, "sample"}}};
constexpr std::array<std::pair<EarlyStopping, const char*>, 3> early_stopping_names{
    {{EarlyStopping::no, "no"}, {EarlyStopping::yes, "yes"}, {EarlyStopping::never, "never"}}};

}  // namespace

void SearchOptionWords::add(Verb& verb, const std::string& what, Defaults defaults) {
  defaults_ = defaults;
  const bool of_folder = defaults == Defaults::of_the_folder;
  if (!of_folder) {
    beams_ = 1;
    most_ = 64;
    penalty_ = 1.0;
  }
  const OptionGroup group(verb, "Search");
  // What a model's folder has of these takes the place of the fields' values: they are no default.
  const auto add = [&](const std::string& name, auto& field, const std::string& text) {
    CLI::Option* const option =
        verb.add_option(name, field, text + (of_folder ? " (default: as in the model's folder)" : ""));
    return of_folder ? option->default_str("") : option;
  };
  if (of_folder) {
    add("--decoding", decoding_, "Decoding: huggingface, google, greedy or sample");
  } else {
    verb.add_option("--decoding", decoding_,
                    "Decoding: huggingface (beams), greedy or sample (default: sample with --temperature, "
                    "--top-k or --top-p, huggingface with --beams, else greedy)")
        ->default_str("");
  }
  add("--beams", beams_, "Rows that are searched side by side; 1 is greedy")
      ->check(CLI::Range(std::int64_t{0}, most_beams));
  add("--length-penalty", penalty_,
      "Power in the score, which is the sum of log p over the tokens to this power");
  add("--max-tokens", most_, "Most tokens of " + what + ", its end included");
  add("--min-tokens", least_, "Tokens before which " + what + " does not end");
  add("--no-repeat-ngram", ngram_, "Tokens in a row that are not there twice; 0 allows it");
  add("--repetition-penalty", repetition_, "Penalty of tokens that are there already; 1: none");
  add("--early-stopping", stopping_, "Early end of a beam search: no, yes or never");
  add("--temperature", sampling_.temperature, "Number that logits are divided by, of sample");
  verb.with_word(add("--top-k", sampling_.top_k, "Most likely tokens that sample draws from, or all"), "all",
                 "0");
  add("--top-p", sampling_.top_p,
      "Fraction that the most likely tokens make up, from which sample draws; 1: all");
  verb.add_seed();
}

void SearchOptionWords::apply(const Verb& verb, SearchOptions& search) const {
  if (defaults_ == Defaults::greedy) {
    const bool draws = verb.given("--temperature") || verb.given("--top-k") || verb.given("--top-p");
    search.decoding = verb.given("--decoding") ? parse_name(plain_search_names, decoding_, "way of decoding")
                      : draws                  ? Decoding::sample
                      : verb.given("--beams") && beams_ > 1 ? Decoding::huggingface
                                                            : Decoding::greedy;
  } else if (verb.given("--decoding")) {
    search.decoding = parse_name(search_decoding_names, decoding_, "way of decoding");
  }
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

}  // namespace bigbird::apps
