// What the verbs that write text ask of the search for its tokens, in the same words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "apps/command_line.h"
#include "lib/text/search/token_search.h"

namespace bigbird::apps {

// --decoding, --beams, --length-penalty, --max-tokens, --min-tokens, --no-repeat-ngram, --repetition-penalty,
// --early-stopping, --temperature, --top-k, --top-p, --seed. Bound by add(); read after parsing.
class SearchOptionWords {
 public:
  enum class Defaults {
    of_the_folder,  // a model's folder may have other values (generation_defaults)
    greedy,         // one beam, 64 tokens; other decoding where other options ask for it
  };

  // what: "a summary", as help calls what is written.
  void add(Verb& verb, const std::string& what, Defaults defaults);
  // Changes what was given. Error{usage} for a word that there is not.
  void apply(const Verb& verb, SearchOptions& search) const;

 private:
  Defaults defaults_ = Defaults::of_the_folder;
  std::string decoding_ = "huggingface", stopping_ = "no";
  std::int64_t beams_ = 5, most_ = 256, least_ = 0, ngram_ = 0;
  double penalty_ = 0.8, repetition_ = 1.0;
  Sampling sampling_;
};

// For provenance: the seed of a search that draws.
std::optional<std::uint64_t> seed_of(const SearchOptions& search);

}  // namespace bigbird::apps
