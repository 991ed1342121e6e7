// A model that is made up: logits that are a function of the tokens so far, computed as
// tests/peers/make_generation.py computes them; and a search driven over it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "lib/text/search/score_rules.h"
#include "lib/text/search/token_search.h"

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

// The best tokens of every row of logits, as a device gives them.
class Best {
 public:
  Best(const std::vector<float>& logits, std::size_t vocabulary, std::int64_t wanted)
      : count_(std::min(wanted, static_cast<std::int64_t>(vocabulary))) {
    std::vector<float> values(vocabulary);
    for (std::size_t first = 0; first < logits.size(); first += vocabulary) {
      log_softmax({logits.data() + first, vocabulary}, values);
      std::vector<std::int32_t> order(vocabulary);
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
        return logits[first + static_cast<std::size_t>(a)] > logits[first + static_cast<std::size_t>(b)];
      });
      for (std::size_t i = 0; i < static_cast<std::size_t>(count_); ++i) {
        tokens_.push_back(order[i]);
        log_probabilities_.push_back(values[static_cast<std::size_t>(order[i])]);
      }
    }
  }
  TopTokens top() const { return {log_probabilities_, tokens_, count_}; }

 private:
  std::int64_t count_;
  std::vector<float> log_probabilities_;
  std::vector<std::int32_t> tokens_;
};

// Runs a search to its end, and another one beside it that sees as few tokens as it wants: they are the same.
// Rows are kept from parents() and tokens() alone, as a cache of keys and values is.
inline std::vector<FoundSequence> run_search(const MadeUpLogits& model, const SearchOptions& options,
                                             std::int64_t* steps = nullptr) {
  const std::unique_ptr<TokenSearch> search = make_token_search(options),
                                     by_the_best = make_token_search(options);
  std::vector<std::vector<std::int32_t>> rows = {options.before};
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
    if (const std::int64_t wanted = search->wanted(); wanted > 0) {
      const Best best(logits, static_cast<std::size_t>(model.vocabulary), wanted);
      by_the_best->advance(best.top());
    } else {
      by_the_best->advance(logits);
    }
    search->advance(logits);
    EXPECT_EQ(by_the_best->done(), search->done());
    EXPECT_TRUE(std::equal(by_the_best->tokens().begin(), by_the_best->tokens().end(),
                           search->tokens().begin(), search->tokens().end()));
    EXPECT_TRUE(std::equal(by_the_best->parents().begin(), by_the_best->parents().end(),
                           search->parents().begin(), search->parents().end()));
  }
  const std::vector<FoundSequence> found = search->results(), same = by_the_best->results();
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(same[i].tokens, found[i].tokens);
    EXPECT_EQ(same[i].score, found[i].score);
  }
  return found;
}

}  // namespace bigbird::testing
