// Rankings of a scan: calls at every threshold by brute force, positions counted by hand.
#include "lib/genomics/promoter/scan_ranking.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <vector>

#include "lib/core/rng.h"

namespace bigbird {
namespace {

TEST(RankCalls, AreWhatEvaluationsAtEveryThresholdFind) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CounterRng random(seed, Purpose::test, 0);
    std::vector<PromoterCall> calls;
    std::vector<KnownTss> tss;
    for (std::size_t contig = 0; contig < 2; ++contig) {
      for (std::int64_t at = 0; at < 4000; at += 100) {
        if (random.below(3) == 0) continue;
        // Negative scores too, and ties.
        const double score = static_cast<double>(random.below(15)) - 7;
        calls.push_back({contig, at, at + 10, random.below(2) == 0 ? '+' : '-', score});
      }
      for (int i = 0; i < 9; ++i)
        tss.push_back({contig, static_cast<std::int64_t>(random.below(4500)), random.below(2) ? '+' : '-'});
    }
    std::sort(tss.begin(), tss.end());
    tss.erase(std::unique(tss.begin(), tss.end()), tss.end());
    const std::int64_t within = 60;
    const CallRanking ranking = rank_calls(calls, tss, within);
    EXPECT_EQ(ranking.calls, static_cast<std::int64_t>(calls.size()));
    EXPECT_DOUBLE_EQ(ranking.recall, evaluate_calls(calls, tss, within, false).recall());
    std::set<double, std::greater<>> thresholds;
    for (const PromoterCall& call : calls) thresholds.insert(call.score);
    bool half = false;
    double best = 0;
    for (const double threshold : thresholds) {
      std::vector<PromoterCall> reached = calls;
      std::erase_if(reached, [&](const PromoterCall& call) { return call.score < threshold; });
      const CallEvaluation here = evaluate_calls(reached, tss, within, false);
      if (!half && here.recall() >= 0.5) {
        half = true;
        EXPECT_DOUBLE_EQ(ranking.precision_at_recall_50, here.precision());
        EXPECT_EQ(ranking.threshold_at_recall_50, threshold);
        EXPECT_EQ(ranking.calls_at_recall_50, here.calls);
      }
      const double f1 = 2 * here.precision() * here.recall() / (here.precision() + here.recall());
      if (f1 > best) {
        best = f1;
        EXPECT_GE(ranking.best_f1, f1);
        if (f1 == ranking.best_f1) {
          EXPECT_EQ(ranking.threshold_at_best_f1, threshold);
          EXPECT_DOUBLE_EQ(ranking.recall_at_best_f1, here.recall());
          EXPECT_DOUBLE_EQ(ranking.precision_at_best_f1, here.precision());
        }
      }
    }
    EXPECT_DOUBLE_EQ(ranking.best_f1, best);
    EXPECT_EQ(half, !std::isnan(ranking.precision_at_recall_50));
  }
}

TEST(RankCalls, HaveNoValueWhereNothingIsFound) {
  const std::vector<PromoterCall> calls = {{0, 1000, 1010, '+', 0.5}};
  const std::vector<KnownTss> far = {{0, 5000, '+'}};
  const CallRanking missed = rank_calls(calls, far, 100);
  EXPECT_EQ(missed.recall, 0);
  EXPECT_TRUE(std::isnan(missed.precision_at_recall_50));
  EXPECT_TRUE(std::isnan(missed.best_f1));
  EXPECT_TRUE(std::isnan(rank_calls(calls, {}, 100).recall));
  // Both ends of the distance count.
  const std::vector<KnownTss> near = {{0, 900, '+'}, {0, 1100, '-'}, {0, 1101, '+'}, {1, 1000, '+'}};
  EXPECT_DOUBLE_EQ(rank_calls(calls, near, 100).recall, 0.5);
  EXPECT_EQ(rank_calls(calls, near, 100).precision_at_recall_50, 1);
}

TEST(RankCalls, WhatIsLeftOutIsNotCountedButAgrees) {
  const std::vector<PromoterCall> calls = {{0, 1000, 1010, '+', 0.9},
                                           {0, 3000, 3010, '+', 0.8},
                                           {0, 5000, 5010, '+', 0.7},
                                           {1, 3000, 3010, '+', 0.6}};
  const std::vector<KnownTss> tss = {{0, 1950, '+'}, {0, 2010, '+'}, {0, 2990, '-'}, {0, 5000, '+'}};
  const auto from_2000 = [](std::size_t contig, std::int64_t base) {
    return contig == 0 && base >= 2000 && base < 4000;
  };
  const CallRanking ranking = rank_calls(calls, tss, 1000, from_2000);
  EXPECT_EQ(ranking.calls, 3);
  EXPECT_EQ(ranking.recall, 1);  // the one at 1950 by the call at 1000, that at 5000
  EXPECT_EQ(ranking.threshold_at_recall_50, 0.9);
  EXPECT_EQ(ranking.precision_at_recall_50, 1);
  EXPECT_DOUBLE_EQ(ranking.best_f1, 1);
  // A call that counts is confirmed by a TSS that does not.
  const std::vector<KnownTss> hidden = {{0, 2010, '+'}, {0, 9000, '+'}};
  EXPECT_EQ(rank_calls(std::span(calls).first(1), hidden, 1010, from_2000).recall, 0);
}

TEST(PositionRanking, PositionsThatAreLeftOutAreNotRanked) {
  PositionRanking ranking("model", 0, 10,
                          [](std::size_t, std::int64_t base) { return base == 10 || base == 20; });
  const std::vector<double> scores = {4, 5, 1, 3};
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const auto at = static_cast<std::int64_t>(10 * i);
    ranking.add({0, at, at + 10, '+', scores[i]}, i % 2 == 0);
  }
  const ScanRanking result = ranking.close({}, 5);
  EXPECT_EQ(result.positions, 2);
  EXPECT_EQ(result.near, 1);
  EXPECT_EQ(result.auroc, 1);
  EXPECT_EQ(result.calls.calls, 1) << "that at 0 is not a maximum, the one at 10 does not count";
}

TEST(PositionRanking, RanksPositionsAndTheCallsOfAllThresholds) {
  PositionRanking ranking("gc", 15, 10);
  // From the highest score: near, far, near, far, far; the maxima are at 10 and 40.
  const std::vector<double> scores = {-3, 9, -2, 1, 5};
  const std::vector<bool> near = {false, true, true, false, false};
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const auto at = static_cast<std::int64_t>(10 * i);
    ranking.add({0, at, at + 10, '+', scores[i]}, near[i]);
  }
  const std::vector<KnownTss> tss = {{0, 15, '-'}};
  const ScanRanking result = ranking.close(tss, 5);
  EXPECT_EQ(result.by, "gc");
  EXPECT_EQ(result.positions, 5);
  EXPECT_EQ(result.near, 2);
  EXPECT_DOUBLE_EQ(result.average_precision, (1.0 + 2.0 / 4.0) / 2);
  EXPECT_DOUBLE_EQ(result.auroc, 4.0 / 6.0);
  EXPECT_EQ(result.calls.calls, 2);
  EXPECT_EQ(result.calls.calls_at_recall_50, 1);
  EXPECT_EQ(result.calls.threshold_at_recall_50, 9);
  EXPECT_EQ(result.calls.precision_at_recall_50, 1);
}

}  // namespace
}  // namespace bigbird
