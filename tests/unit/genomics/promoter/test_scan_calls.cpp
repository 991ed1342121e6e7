// Calls of made-up scores, and their evaluation counted by hand.
#include "lib/genomics/promoter/scan_files.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "lib/core/rng.h"
#include "lib/genomics/promoter/scan.h"

namespace bigbird {
namespace {

// Scores at 0, 10, 20 ... of contig 0; negative: not scored.
std::vector<std::int64_t> calls_of(const std::vector<double>& scores, double threshold,
                                   std::int64_t merge_distance) {
  std::vector<std::int64_t> places;
  CallFinder finder(threshold, merge_distance, 10,
                    [&](const PromoterCall& call) { places.push_back(call.tss); });
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const auto at = static_cast<std::int64_t>(10 * i);
    if (scores[i] >= 0) finder.add({0, at, at + 10, '+', scores[i]});
  }
  finder.finish();
  return places;
}

using Places = std::vector<std::int64_t>;

TEST(CallFinder, CallsLocalMaximaFromTheThresholdOn) {
  EXPECT_EQ(calls_of({0.1, 0.6, 0.7, 0.6, 0.2, 0.5, 0.4, 0.49, 0.1}, 0.5, 0), (Places{20, 50}));
  EXPECT_EQ(calls_of({0.9, 0.1, 0.8}, 0.5, 0), (Places{0, 20}));  // ends of the contig
  EXPECT_EQ(calls_of({0.1, 0.2}, 0.5, 0), Places{});
  EXPECT_EQ(calls_of({}, 0.5, 0), Places{});
}

TEST(CallFinder, APlateauIsItsFirstPositionUnlessItGoesOnRising) {
  EXPECT_EQ(calls_of({0.1, 0.8, 0.8, 0.8, 0.1}, 0.5, 0), Places{10});
  EXPECT_EQ(calls_of({0.1, 0.8, 0.8, 0.9, 0.1}, 0.5, 0), Places{30});
  EXPECT_EQ(calls_of({0.9, 0.8, 0.8, 0.1}, 0.5, 0), Places{0});  // a shoulder
}

TEST(CallFinder, WhatWasNotScoredIsNoNeighbour) {
  EXPECT_EQ(calls_of({0.9, -1, 0.8, 0.7, -1, 0.7}, 0.5, 0), (Places{0, 20, 50}));
}

TEST(CallFinder, TheStrongestOfACrowdStays) {
  // Maxima 10 (0.8), 30 (0.9), 50 (0.7), 70 (0.95).
  const std::vector<double> scores = {0.1, 0.8, 0.1, 0.9, 0.1, 0.7, 0.1, 0.95, 0.1};
  EXPECT_EQ(calls_of(scores, 0.5, 19), (Places{10, 30, 50, 70}));
  EXPECT_EQ(calls_of(scores, 0.5, 20), (Places{30, 70}));
  // 70 first, which takes 50 and 30; then 10 is free.
  EXPECT_EQ(calls_of(scores, 0.5, 40), (Places{10, 70}));
  EXPECT_EQ(calls_of(scores, 0.5, 60), Places{70});
  EXPECT_EQ(calls_of({0.1, 0.8, 0.1, 0.8, 0.1}, 0.5, 100), Places{10});  // equal: the first
}

TEST(CallFinder, ContigsAreApart) {
  std::vector<PromoterCall> calls;
  CallFinder finder(0.5, 1000, 10, [&](const PromoterCall& call) { calls.push_back(call); });
  finder.add({0, 100, 110, '+', 0.6});
  finder.add({1, 110, 120, '-', 0.7});
  finder.finish();
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[1], (PromoterCall{1, 110, 120, '-', 0.7}));
}

TEST(EvaluateCalls, CountsWithinTheDistanceOnOneStrandOrEither) {
  const std::vector<PromoterCall> calls = {{0, 1000, 1001, '+', 0.9},
                                           {0, 3000, 3001, '-', 0.9},
                                           {0, 9000, 9001, '+', 0.9},
                                           {1, 1000, 1001, '+', 0.9}};
  const std::vector<KnownTss> tss = {{0, 1500, '+'}, {0, 1500, '+'}, {0, 499, '+'}, {0, 3001, '+'},
                                     {1, 600, '+'},  {1, 700, '-'},  {2, 9000, '+'}};
  const CallEvaluation either = evaluate_calls(calls, tss, 500, false);
  EXPECT_EQ(either.tss, 6);  // the repeated one counts once
  EXPECT_EQ(either.found, 4);
  EXPECT_EQ(either.calls, 4);
  EXPECT_EQ(either.confirmed, 3);
  EXPECT_DOUBLE_EQ(either.recall(), 4.0 / 6.0);
  EXPECT_DOUBLE_EQ(either.precision(), 0.75);
  const CallEvaluation same = evaluate_calls(calls, tss, 500, true);
  EXPECT_EQ(same.found, 2);
  EXPECT_EQ(same.confirmed, 2);
  const CallEvaluation none = evaluate_calls({}, {}, 500, false);
  EXPECT_TRUE(std::isnan(none.recall()));
  EXPECT_TRUE(std::isnan(none.precision()));
}

// A scan at each of the thresholds, against the rows that one scan at the lowest gives.
TEST(EvaluateThresholds, AreWhatScansAtEachThresholdFind) {
  CounterRng random(3, Purpose::test, 0);
  std::vector<PromoterCall> scored;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const auto at = static_cast<std::int64_t>(10 * i);
    const double score = static_cast<double>(random.below(1001)) / 1000;  // with ties and plateaus
    scored.push_back({0, at, at + 10, i % 3 == 0 ? '-' : '+', score});
  }
  const std::vector<KnownTss> tss = {{0, 1500, '+'}, {0, 7700, '-'}, {0, 7900, '+'}, {0, 29000, '-'}};
  const auto calls_at = [&](double threshold) {
    std::vector<PromoterCall> calls;
    CallFinder finder(threshold, 60, 10, [&](const PromoterCall& call) { calls.push_back(call); });
    for (const PromoterCall& position : scored) finder.add(position);
    finder.finish();
    return calls;
  };
  for (const double lowest : {0.0, 0.33, 0.9}) {
    const std::vector<CallsAtThreshold> rows = evaluate_thresholds(calls_at(lowest), tss, lowest, 25, false);
    ASSERT_FALSE(rows.empty());
    EXPECT_EQ(rows.front().threshold, lowest);
    EXPECT_EQ(rows.back().threshold, 0.999);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i > 0) {
        EXPECT_GT(rows[i].threshold, rows[i - 1].threshold);
      }
      const CallEvaluation wanted = evaluate_calls(calls_at(rows[i].threshold), tss, 25, false);
      EXPECT_EQ(rows[i].evaluation.calls, wanted.calls) << rows[i].threshold;
      EXPECT_EQ(rows[i].evaluation.confirmed, wanted.confirmed) << rows[i].threshold;
      EXPECT_EQ(rows[i].evaluation.found, wanted.found) << rows[i].threshold;
      EXPECT_EQ(rows[i].evaluation.tss, 4);
    }
    EXPECT_LT(rows.back().evaluation.calls, rows.front().evaluation.calls);
  }
  EXPECT_EQ(evaluate_thresholds({}, tss, 0.5, 25, false).size(), 14u);  // 0.5 itself once
}

TEST(StrandTrackPath, PutsTheStrandBeforeTheSuffix) {
  EXPECT_EQ(strand_track_path("a/scores.bw", "plus"), "a/scores.plus.bw");
  EXPECT_EQ(strand_track_path("scores.bedgraph.gz", "minus"), "scores.minus.bedgraph.gz");
  EXPECT_EQ(strand_track_path("a.b/scores", "plus"), "a.b/scores.plus");
  EXPECT_EQ(strand_track_path(".gz", "plus"), ".gz.plus");
}

}  // namespace
}  // namespace bigbird
