// What the verbs that write summaries ask of the search and of its model, in the same words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "apps/command_line.h"
#include "lib/text/summarize/predict.h"

namespace bigbird::apps {

// Of `text summarize predict`, where --chunk is not given.
inline constexpr std::uint64_t documents_of_a_chunk = 8;

// What the command line changes of a folder's search, and how documents are read and run. Bound by add().
class SearchOptionsOfVerb {
 public:
  // --length, --newlines-are-blanks, --documents, the search, --seed, threads, device and precision.
  void add(Verb& verb);
  // After parsing, but for the model.
  SummarizerOptions summarizer() const;
  // Error{usage} for a word that there is not.
  void apply(const Verb& verb, SearchOptions& search) const;

 private:
  SummarizerOptions summarizer_;
  bool blanks_ = false;
  CLI::Option* blanks_option_ = nullptr;
  std::string decoding_ = "huggingface", stopping_ = "no";
  std::int64_t beams_ = 5, most_ = 256, least_ = 0, ngram_ = 0;
  double penalty_ = 0.8, repetition_ = 1.0;
  Sampling sampling_;
  CLI::Option* decoding_option_ = nullptr;
  CLI::Option* beams_option_ = nullptr;
  CLI::Option* penalty_option_ = nullptr;
  CLI::Option* most_option_ = nullptr;
  CLI::Option* least_option_ = nullptr;
  CLI::Option* ngram_option_ = nullptr;
  CLI::Option* repetition_option_ = nullptr;
  CLI::Option* stopping_option_ = nullptr;
  CLI::Option* temperature_option_ = nullptr;
  CLI::Option* top_k_option_ = nullptr;
  CLI::Option* top_p_option_ = nullptr;
};

// For provenance: the seed of a search that draws.
std::optional<std::uint64_t> seed_of(const SearchOptions& search);

// What was cut, and what was passed over.
void say_tally(const std::string& input, const SummaryTally& tally, std::int64_t length);

}  // namespace bigbird::apps
