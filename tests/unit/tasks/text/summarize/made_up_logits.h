// A model that is made up: logits that are a function of the tokens so far, computed as
// tests/peers/make_generation.py computes them; and a search driven over it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "lib/tasks/text/summarize/token_search.h"

namespace bigbird::testing {

struct MadeUpLogits {
  std::uint64_t seed = 0;
  double end_bias = 0;
  std::int32_t vocabulary = 40;
  std::int32_t end = 1;

  static std::uint64_t mix(std::uint64_t value) {
    value += 0x9E3779B97F4A7C15u;
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
    return value ^ (value >> 31);
  }

  template <typename Tokens>
  std::vector<double> operator()(const Tokens& tokens) const {
    std::uint64_t state = mix(seed);
    for (const auto token : tokens) state = mix(state ^ static_cast<std::uint64_t>(token));
    std::vector<double> values;
    for (std::int32_t v = 0; v < vocabulary; ++v) {
      const std::uint64_t bits = mix(state + 1000 + static_cast<std::uint64_t>(v)) >> 40;
      values.push_back(static_cast<double>(bits & 8191) / 2048.0 + (v == end ? end_bias : 0));
    }
    return values;
  }
};

// Runs a search to its end. Its rows are kept from parents() and tokens() alone, as a cache of keys and
// values is.
inline std::vector<FoundSequence> run_search(const MadeUpLogits& model, const SearchOptions& options,
                                             std::int64_t* steps = nullptr) {
  const std::unique_ptr<TokenSearch> search = make_token_search(options);
  std::vector<std::vector<std::int32_t>> rows = {{}};
  while (!search->done()) {
    std::vector<std::vector<std::int32_t>> next;
    std::vector<float> logits;
    for (std::size_t i = 0; i < static_cast<std::size_t>(search->rows()); ++i) {
      next.push_back(rows[static_cast<std::size_t>(search->parents()[i])]);
      next.back().push_back(search->tokens()[i]);
      for (const double value : model(next.back())) logits.push_back(static_cast<float>(value));
    }
    rows = next;
    if (steps != nullptr) ++*steps;
    search->advance(logits);
  }
  return search->results();
}

}  // namespace bigbird::testing
