// WikiHop's accuracy.
#include "lib/metrics/answer_metrics.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/metrics/metric_checks.h"

namespace bigbird {
namespace {

TEST(WikiHopMetrics, AnswersAreComparedInSmallLettersWithoutWhiteSpaceAround) {
  const std::vector<WikiHopGold> gold = {{"1", "Paris", {"paris", "rome"}},
                                         {"2", "\u0130zmir", {"\u0130zmir", "ankara"}},
                                         {"3", "rome", {"paris", "rome"}},
                                         {"4", "oslo", {"bergen", "oslo"}},
                                         {"5", "the end", {"the end", "end"}}};
  const WikiHopScores scores = wikihop_scores(
      gold, {{"1", " PARIS\u2003\n"}, {"2", "i\u0307zmir"}, {"3", "paris"}, {"5", "end"}, {"6", "x"}});
  expect_metrics(scores.metrics, {{"accuracy", 0.4}});
  EXPECT_EQ(scores.ids.missing_ids, std::vector<std::string>{"4"});
  EXPECT_EQ(scores.ids.unknown, 1);
  EXPECT_EQ(scores.answers_not_candidates, 0);
  EXPECT_EQ(scores.predictions_not_candidates, 0);
}

TEST(WikiHopMetrics, WhatIsNoCandidateIsWrongAndCounted) {
  const std::vector<WikiHopGold> gold = {{"1", "berlin", {"paris", "rome"}},
                                         {"2", "rome", {"paris", "rome"}}};
  const WikiHopScores scores = wikihop_scores(gold, {{"1", "berlin"}, {"2", "roma"}});
  expect_metrics(scores.metrics, {{"accuracy", 0.0}});
  EXPECT_EQ(scores.answers_not_candidates, 1);
  EXPECT_EQ(scores.predictions_not_candidates, 2);
}

TEST(WikiHopMetrics, NoQuestionsAreAnError) {
  EXPECT_NE(error_message([] { wikihop_scores({}, {}); }).find("no questions"), std::string::npos);
}

}  // namespace
}  // namespace bigbird
