// SQuAD's metrics, with the numbers of evaluate-v1.1.py and evaluate-v2.0.py.
#include "lib/metrics/answer_metrics.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "tests/unit/metrics/metric_checks.h"

namespace bigbird {
namespace {

// Answerable, not, answerable by a text of no words, not, answerable.
const std::vector<SquadGold> mixed_gold = {
    {"a", {"The end.", "an end of it"}}, {"b", {}}, {"c", {"..."}}, {"d", {}}, {"e", {"red green blue"}}};
const AnswerTexts mixed_predictions = {
    {"a", "end of"}, {"b", ""}, {"c", "the"}, {"d", "something"}, {"e", "blue red"}};

TEST(SquadMetrics, Version1TakesTheBestAnswerAndCountsMissingOnesAsWrong) {
  const std::vector<SquadGold> gold = {{"1", {"The end.", "an end of it"}},
                                       {"2", {"42"}},
                                       {"3", {"...", "a"}},
                                       {"4", {"Caf\u00E9"}},
                                       {"5", {"x y z"}}};
  const TaskScores scores = squad1_scores(
      gold, {{"1", "end of"}, {"2", "forty two"}, {"3", "the"}, {"4", "Cafe\u0301"}, {"9", "q"}});
  expect_metrics(scores.metrics, {{"exact_match", 20.0}, {"f1", 16.0}});
  EXPECT_EQ(scores.ids.questions, 5);
  EXPECT_EQ(scores.ids.missing, 1);
  EXPECT_EQ(scores.ids.missing_ids, std::vector<std::string>{"5"});
  EXPECT_EQ(scores.ids.unknown, 1);
  EXPECT_EQ(scores.ids.unknown_ids, std::vector<std::string>{"9"});
}

TEST(SquadMetrics, TwoAnswersOfNoWordsAreExactWithF1OfTheVersion) {
  const std::vector<std::string> answers = {"a"};
  EXPECT_TRUE(squad1_answer_score("the", answers).exact);
  EXPECT_EQ(squad1_answer_score("the", answers).f1, 0);
  EXPECT_TRUE(squad2_answer_score("the", answers).exact);
  EXPECT_EQ(squad2_answer_score("the", answers).f1, 1);
  EXPECT_EQ(squad2_answer_score("x", answers).f1, 0);
  EXPECT_FALSE(squad2_answer_score("", std::vector<std::string>{"x"}).exact);
}

TEST(SquadMetrics, ExactMatchAndF1MayComeFromDifferentAnswers) {
  const std::vector<std::string> answers = {"the", "red fox"};
  const AnswerScore score = squad1_answer_score("red", answers);
  EXPECT_FALSE(score.exact);
  EXPECT_DOUBLE_EQ(score.f1, 2.0 / 3);
  // An empty gold answer is dropped where others are left.
  EXPECT_TRUE(squad1_answer_score("", answers).exact);
  EXPECT_FALSE(squad2_answer_score("", answers).exact);
}

TEST(SquadMetrics, Version2SplitsByAnswerability) {
  expect_metrics(squad2_scores(mixed_gold, mixed_predictions).metrics, {{"exact", 40.0},
                                                                        {"f1", 71.99999999999999},
                                                                        {"total", 5},
                                                                        {"HasAns_exact", 33.333333333333336},
                                                                        {"HasAns_f1", 86.66666666666667},
                                                                        {"HasAns_total", 3},
                                                                        {"NoAns_exact", 50.0},
                                                                        {"NoAns_f1", 50.0},
                                                                        {"NoAns_total", 2}});
}

TEST(SquadMetrics, Version2SearchesTheBestThresholds) {
  const NoAnswerScores no_answer = {{"e", 0.25}, {"d", 0.5}, {"b", 0.5},
                                    {"a", 0.75}, {"c", 2.0}, {"zz", 0.1}};
  Squad2Options options;
  options.no_answer_scores = &no_answer;
  expect_metrics(squad2_scores(mixed_gold, mixed_predictions, options).metrics,
                 {{"exact", 20.0},
                  {"f1", 52.0},
                  {"total", 5},
                  {"HasAns_exact", 0.0},
                  {"HasAns_f1", 53.333333333333336},
                  {"HasAns_total", 3},
                  {"NoAns_exact", 50.0},
                  {"NoAns_f1", 50.0},
                  {"NoAns_total", 2},
                  {"best_exact", 40.0},
                  {"best_exact_thresh", 0.0},
                  {"best_f1", 71.99999999999999},
                  {"best_f1_thresh", 2.0}});
  options.no_answer_threshold = 0.5;
  const MetricList half = squad2_scores(mixed_gold, mixed_predictions, options).metrics;
  EXPECT_NEAR(metric_value(half, "f1"), 36.0, 1e-12);
  EXPECT_NEAR(metric_value(half, "HasAns_f1"), 26.666666666666668, 1e-12);
  EXPECT_NEAR(metric_value(half, "best_f1"), 71.99999999999999, 1e-12);
}

// The right question first, then the wrong one, or the other way round: only the first order ever gains.
TEST(SquadMetrics, EqualScoresCountInTheOrderOfTheirFile) {
  const std::vector<SquadGold> gold = {{"yes", {"x"}}, {"no", {}}};
  const AnswerTexts predictions = {{"yes", "x"}, {"no", "y"}};
  const NoAnswerScores right_first = {{"yes", 0.5}, {"no", 0.5}};
  const NoAnswerScores wrong_first = {{"no", 0.5}, {"yes", 0.5}};
  Squad2Options options;
  options.no_answer_scores = &right_first;
  EXPECT_EQ(metric_value(squad2_scores(gold, predictions, options).metrics, "best_exact"), 100.0);
  EXPECT_EQ(metric_value(squad2_scores(gold, predictions, options).metrics, "best_exact_thresh"), 0.5);
  options.no_answer_scores = &wrong_first;
  EXPECT_EQ(metric_value(squad2_scores(gold, predictions, options).metrics, "best_exact"), 50.0);
  EXPECT_EQ(metric_value(squad2_scores(gold, predictions, options).metrics, "best_exact_thresh"), 0.0);
}

TEST(SquadMetrics, OneSideOfAnswerabilityHasNoKeysOfTheOther) {
  expect_metrics(squad2_scores(std::vector<SquadGold>{{"b", {}}}, {{"b", " "}}).metrics,
                 {{"exact", 100},
                  {"f1", 100},
                  {"total", 1},
                  {"NoAns_exact", 100},
                  {"NoAns_f1", 100},
                  {"NoAns_total", 1}});
}

TEST(SquadMetrics, CountsAreWholeNumbers) {
  for (const Metric& metric : squad2_scores(mixed_gold, mixed_predictions).metrics) {
    EXPECT_EQ(metric.count, metric.name.ends_with("total")) << metric.name;
  }
}

TEST(SquadMetrics, WhatTheScriptsCannotScoreIsAnError) {
  EXPECT_NE(error_message([] { squad1_scores({}, {}); }).find("no questions"), std::string::npos);
  EXPECT_NE(error_message([] { squad1_scores(mixed_gold, mixed_predictions); }).find("'b' has no answers"),
            std::string::npos);
  EXPECT_EQ(error_message([] {
              squad1_scores(std::vector<SquadGold>{{"two\nlines", {}}}, {});
            }),
            "question 'two?lines' has no answers");
  AnswerTexts fewer = mixed_predictions;
  fewer.erase("d");
  EXPECT_EQ(error_message([&] { squad2_scores(mixed_gold, fewer); }),
            "1 of 5 questions have no prediction, the first is 'd'");
  NoAnswerScores no_answer = {{"a", 0}, {"b", 0}, {"c", 0}, {"d", 0}};
  Squad2Options options;
  options.no_answer_scores = &no_answer;
  EXPECT_EQ(error_message([&] { squad2_scores(mixed_gold, mixed_predictions, options); }),
            "1 of 5 questions have no no-answer score, the first is 'e'");
  no_answer.emplace_back("e", std::numeric_limits<double>::quiet_NaN());
  EXPECT_NE(error_message([&] { squad2_scores(mixed_gold, mixed_predictions, options); }).find("'e'"),
            std::string::npos);
}

TEST(IdTally, CountsAllAndShowsTheFirstFive) {
  const std::vector<std::string_view> gold = {"g", "f", "e", "d", "c", "b", "a"};
  const std::vector<std::string_view> predicted = {"a", "x"};
  const IdTally tally = tally_ids(gold, predicted);
  EXPECT_EQ(tally.missing, 6);
  EXPECT_EQ(tally.missing_ids, (std::vector<std::string>{"g", "f", "e", "d", "c"}));
  EXPECT_EQ(tally.unknown_ids, std::vector<std::string>{"x"});
}

}  // namespace
}  // namespace bigbird
