// Rank correlation and overlap of the highest, against SciPy; intervals of AUROC against drawing by hand.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/parallel.h"
#include "lib/core/rng.h"
#include "lib/metrics/metrics.h"

namespace bigbird {
namespace {

struct Pairs {
  std::vector<double> one, other;
};

// With many ties in one of them.
Pairs pairs() {
  Pairs pairs;
  for (int i = 0; i < 60; ++i) {
    pairs.one.push_back(i * 37 % 101 % 23);
    pairs.other.push_back(i * 53 % 97 % 31 - (i % 5) / 10.0);
  }
  return pairs;
}

TEST(RankComparison, SpearmanGivesTiesTheirMeanRank) {
  // scipy.stats.spearmanr of the same numbers.
  const Pairs some = pairs();
  EXPECT_NEAR(spearman(some.one, some.other), -0.011531031218108178, 1e-12);
  EXPECT_NEAR(spearman(std::vector<double>{1, 2, 2, 4}, std::vector<double>{3, 1, 1, 0}), -1, 1e-12);
  EXPECT_TRUE(std::isnan(spearman(std::vector<double>{1, 1}, std::vector<double>{1, 2})));
  EXPECT_TRUE(std::isnan(spearman({}, {})));
}

TEST(RankComparison, SpearmanOfRandomNumbersWithTies) {
  // scipy.stats.spearmanr of random numbers, 12 and 17 values in 40 pairs; and of 200 pairs that go together.
  const std::vector<double> one = {11, 7, 8, 10, 6, 9, 10, 2, 0, 3, 3, 10, 10, 0,  5, 9, 1, 9, 1, 5,
                                   9,  3, 4, 3,  8, 3, 11, 5, 5, 6, 6, 6,  6,  11, 9, 9, 8, 7, 4, 11};
  const std::vector<double> other = {15, 8,  15, 11, 13, 14, 11, 2, 4,  3,  4,  14, 18, 4,
                                     12, 17, 8,  14, 4,  9,  11, 7, 7,  5,  16, 3,  11, 6,
                                     13, 12, 13, 7,  12, 14, 13, 9, 13, 14, 9,  12};
  EXPECT_NEAR(spearman(one, other), 0.7335992511210625, 1e-12);
  Pairs many;
  for (int i = 0; i < 200; ++i) {
    many.one.push_back(i * 37 % 101 % 23 - 11);
    many.other.push_back((i * 53 % 97 % 31) / 4.0 - (i % 5) / 10.0 + (i * 37 % 101 % 23) / 5.0);
  }
  EXPECT_NEAR(spearman(many.one, many.other), 0.4908228567503786, 1e-12);
}

TEST(RankComparison, IntervalsOfSpearmanAreThoseOfDrawnPairs) {
  const Pairs some = pairs();
  constexpr std::uint64_t draws = 120, seed = 5;
  std::vector<double> values;
  for (std::uint64_t draw = 0; draw < draws; ++draw) {
    CounterRng random(seed, Purpose::spearman_bootstrap, draw);
    Pairs drawn;
    for (std::size_t i = 0; i < some.one.size(); ++i) {
      const std::size_t at = random.below(some.one.size());
      drawn.one.push_back(some.one[at]);
      drawn.other.push_back(some.other[at]);
    }
    values.push_back(spearman(drawn.one, drawn.other));
  }
  std::sort(values.begin(), values.end());
  const Interval expected{percentile(values, 0.025), percentile(values, 0.975)};
  for (const int threads : {1, 3}) {
    kernels::set_thread_count(threads);
    const Interval interval = spearman_interval(some.one, some.other, draws, seed);
    EXPECT_NEAR(interval.low, expected.low, 1e-12);
    EXPECT_NEAR(interval.high, expected.high, 1e-12);
  }
  kernels::set_thread_count(0);
  EXPECT_TRUE(std::isnan(spearman_interval(some.one, some.other, 0, seed).low));
  EXPECT_TRUE(std::isnan(spearman_interval({}, {}, 10, seed).low));
  // Of two pairs many draws have one pair twice, and no value.
  const std::vector<double> two = {1, 2};
  EXPECT_EQ(spearman_interval(two, two, 50, seed).low, 1.0);
}

TEST(RankComparison, TopOverlapIsTheShareOfTheHighest) {
  const Pairs some = pairs();
  const auto highest = [](const std::vector<double>& values, std::size_t count) {
    std::vector<std::size_t> order(values.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
    order.resize(count);
    return order;
  };
  for (const std::size_t count : {1U, 7U, 30U, 59U, 60U}) {
    const std::vector<std::size_t> one = highest(some.one, count), other = highest(some.other, count);
    const auto shared = std::count_if(one.begin(), one.end(), [&](std::size_t i) {
      return std::find(other.begin(), other.end(), i) != other.end();
    });
    EXPECT_DOUBLE_EQ(top_overlap(some.one, some.other, count),
                     static_cast<double>(shared) / static_cast<double>(count))
        << count;
  }
  EXPECT_TRUE(std::isnan(top_overlap(some.one, some.other, 61)));
  EXPECT_TRUE(std::isnan(top_overlap(some.one, some.other, 0)));
}

TEST(AurocInterval, IsThatOfDrawsMadeByHand) {
  std::vector<double> positives, negatives;
  CounterRng values(5, Purpose::test, 1);
  for (int i = 0; i < 23; ++i) positives.push_back(static_cast<double>(values.below(12)) + 2);
  for (int i = 0; i < 57; ++i) negatives.push_back(static_cast<double>(values.below(12)));
  rank_metrics(positives, negatives);  // sorts them
  constexpr std::uint64_t draws = 40;
  std::vector<double> drawn;
  for (std::uint64_t draw = 0; draw < draws; ++draw) {
    CounterRng random(9, Purpose::auroc_bootstrap, draw);
    std::vector<int> labels;
    std::vector<double> scores;
    for (const std::vector<double>* of : {&positives, &negatives}) {
      for (std::size_t i = 0; i < of->size(); ++i) {
        labels.push_back(of == &positives ? 1 : 0);
        scores.push_back((*of)[random.below(of->size())]);
      }
    }
    drawn.push_back(binary_metrics(labels, scores).auroc);
  }
  std::sort(drawn.begin(), drawn.end());
  // The 2.5th percentile of 40 values lies at 0.975 of the way from the first to the second.
  const Interval interval = auroc_interval(positives, negatives, draws, 9);
  EXPECT_NEAR(interval.low, drawn[0] + 0.975 * (drawn[1] - drawn[0]), 1e-12);
  EXPECT_NEAR(interval.high, drawn[38] + 0.025 * (drawn[39] - drawn[38]), 1e-12);
  EXPECT_LT(interval.low, interval.high);
  // Another seed, other draws; threads change nothing.
  EXPECT_NE(auroc_interval(positives, negatives, draws, 10).low, interval.low);
  const int threads = kernels::thread_count();
  kernels::set_thread_count(1);
  EXPECT_EQ(auroc_interval(positives, negatives, draws, 9).low, interval.low);
  kernels::set_thread_count(threads);
  EXPECT_TRUE(std::isnan(auroc_interval({}, negatives, draws, 9).low));
  EXPECT_TRUE(std::isnan(auroc_interval(positives, negatives, 0, 9).high));
}

}  // namespace
}  // namespace bigbird
