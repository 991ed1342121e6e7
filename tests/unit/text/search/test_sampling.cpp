// Tokens drawn at random: frequencies against the distribution that temperature, top-k and top-p leave, as
// they are defined, and that a draw is a function of (seed, index) alone.
#include "lib/text/search/score_rules.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "lib/core/rng.h"
#include "tests/unit/io/expect_error.h"
#include "tests/unit/text/search/made_up_logits.h"

namespace bigbird {
namespace {

using testing::MadeUpLogits;
using testing::run_search;

// Of probabilities 0.1, 0.4, 0.2, 0.25, 0.05.
const std::vector<double> five{0.1, 0.4, 0.2, 0.25, 0.05};

std::vector<double> frequencies(const std::vector<double>& probabilities, const Sampling& sampling) {
  constexpr int draws = 20000;
  std::vector<double> counts(probabilities.size());
  CounterRng rng(3, Purpose::test, 0);
  for (int i = 0; i < draws; ++i) {
    std::vector<float> scores;
    for (const double p : probabilities) scores.push_back(static_cast<float>(std::log(p) + 2.0));
    counts[static_cast<std::size_t>(draw_token(scores, sampling, rng.uniform()))] += 1.0 / draws;
  }
  return counts;
}

// Three standard deviations of a share of 20,000 draws are 0.0106 at most.
void expect_shares(const std::vector<double>& found, const std::vector<double>& wanted) {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == 0.0) {
      EXPECT_EQ(found[i], 0.0) << i;
    } else {
      EXPECT_NEAR(found[i], wanted[i], 0.011) << i;
    }
  }
}

TEST(Sampling, DrawsFromTheDistributionThatIsLeft) {
  Sampling sampling;
  sampling.top_k = 0;
  expect_shares(frequencies(five, sampling), five);
  sampling.top_k = 2;
  expect_shares(frequencies(five, sampling), {0, 0.4 / 0.65, 0, 0.25 / 0.65, 0});
  sampling.top_k = 50;    // more than there are
  sampling.top_p = 0.84;  // 0.4 + 0.25 = 0.65 is not enough, 0.85 is
  expect_shares(frequencies(five, sampling), {0, 0.4 / 0.85, 0.2 / 0.85, 0.25 / 0.85, 0});
  sampling.top_p = 0.01;
  expect_shares(frequencies(five, sampling), {0, 1, 0, 0, 0});
  sampling.top_p = 1;
  sampling.temperature = 0.5;  // squares
  expect_shares(frequencies(five, sampling),
                {0.01 / 0.275, 0.16 / 0.275, 0.04 / 0.275, 0.0625 / 0.275, 0.0025 / 0.275});
}

TEST(Sampling, TopKComesBeforeTopPAndWhatIsRuledOutNeverComes) {
  Sampling sampling;
  sampling.top_k = 3;     // 0.4, 0.25, 0.2 of 0.85
  sampling.top_p = 0.75;  // 0.65 of 0.85 is 0.76
  expect_shares(frequencies(five, sampling), {0, 0.4 / 0.65, 0, 0.25 / 0.65, 0});
  std::vector<float> scores(4, -std::numeric_limits<float>::infinity());
  scores[2] = -7;
  for (const double uniform : {0.0, 0.5, 0.999999}) {
    std::vector<float> copy = scores;
    EXPECT_EQ(draw_token(copy, Sampling(), uniform), 2);
  }
}

SearchOptions sampled(std::uint64_t seed, std::uint64_t index) {
  SearchOptions options;
  options.decoding = Decoding::sample;
  options.max_length = 12;
  options.sampling.seed = seed;
  options.sampling.index = index;
  return options;
}

TEST(SampledSearch, IsAFunctionOfSeedAndIndex) {
  const MadeUpLogits model{5, -9};
  std::set<std::vector<std::int32_t>> different;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    for (std::uint64_t index = 0; index < 3; ++index) {
      const auto found = run_search(model, sampled(seed, index));
      EXPECT_EQ(found.front().tokens, run_search(model, sampled(seed, index)).front().tokens);
      different.insert(found.front().tokens);
    }
  }
  EXPECT_EQ(different.size(), 9u);
}

TEST(SampledSearch, KeepsTheRulesAndIsGreedyWithOneToken) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const MadeUpLogits model{seed, 1};
    SearchOptions options = sampled(seed, 0);
    options.min_length = 6;
    options.no_repeat_ngram = 1;
    options.forced_end = true;
    const std::vector<std::int32_t> tokens = run_search(model, options).front().tokens;
    EXPECT_GE(tokens.size(), 5u);
    EXPECT_EQ(tokens.back(), 1);
    EXPECT_EQ(std::set<std::int32_t>(tokens.begin(), tokens.end()).size(), tokens.size());
    options.sampling.top_k = 1;
    SearchOptions greedy = options;
    greedy.decoding = Decoding::greedy;
    EXPECT_EQ(run_search(model, options).front().tokens, run_search(model, greedy).front().tokens);
  }
}

TEST(SampledSearch, RefusesWhatCannotBe) {
  const auto refused = [](auto change, const char* what) {
    SearchOptions options = sampled(1, 0);
    change(options);
    const auto error = testing::error_of([&] { make_token_search(options); });
    testing::expect_message(error, "", what);
    ASSERT_TRUE(error.has_value());
    EXPECT_EQ(error->kind(), ErrorKind::usage);
  };
  refused([](SearchOptions& options) { options.beams = 2; }, "one beam");
  refused([](SearchOptions& options) { options.sampling.temperature = 0; }, "`temperature` 0");
  refused([](SearchOptions& options) { options.sampling.top_k = -1; }, "`top_k`");
  refused([](SearchOptions& options) { options.sampling.top_p = 1.5; }, "`top_p` 1.5");
}

}  // namespace
}  // namespace bigbird
