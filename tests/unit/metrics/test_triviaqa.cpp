// TriviaQA's metrics, with the numbers of triviaqa_evaluation.py.
#include "lib/metrics/answer_metrics.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/metrics/metric_checks.h"

namespace bigbird {
namespace {

const std::vector<TriviaGold> trivia_gold = {
    {"q1", {"new york", "big apple"}, {}, true},
    {"q2", {"rock n roll"}, {"Rock-and-Roll"}, false},
    {"q3", {}, {"The\u2019 Beatles"}, true},
    {"q4", {"a"}, {}, false},
};
const AnswerTexts trivia_predictions = {
    {"q1", "New_York, NY"}, {"q2", "rock'n'roll"}, {"q3", "\u2018Beatles\u2019"}, {"q7", "x"}};

TEST(TriviaMetrics, BestOverAliasesAndHumanAnswers) {
  const TaskScores scores = trivia_scores(trivia_gold, trivia_predictions);
  expect_metrics(scores.metrics, {{"exact_match", 50.0},
                                  {"f1", 70.0},  // 0.8, 1, 1, 0
                                  {"common", 3},
                                  {"denominator", 4},
                                  {"pred_len", 4},
                                  {"gold_len", 4}});
  EXPECT_EQ(scores.ids.missing_ids, std::vector<std::string>{"q4"});
  EXPECT_EQ(scores.ids.unknown_ids, std::vector<std::string>{"q7"});
}

TEST(TriviaMetrics, TheVerifiedSubsetLeavesTheOtherQuestionsOut) {
  const TaskScores scores = trivia_scores(trivia_gold, trivia_predictions, true);
  expect_metrics(scores.metrics, {{"exact_match", 50.0},
                                  {"f1", 90.0},
                                  {"common", 2},
                                  {"denominator", 2},
                                  {"pred_len", 4},
                                  {"gold_len", 2}});
  EXPECT_EQ(scores.ids.missing, 0);
  EXPECT_EQ(scores.ids.unknown, 2);
}

TEST(TriviaMetrics, PunctuationBecomesABlank) {
  const TriviaGold gold = {"q", {"u s"}, {}, true};
  EXPECT_TRUE(trivia_answer_score("U.S.", gold).exact);
  EXPECT_FALSE(trivia_answer_score("US", gold).exact);
  EXPECT_EQ(trivia_answer_score("the", TriviaGold{"q", {"_"}, {}, true}).exact, true);
  EXPECT_EQ(trivia_answer_score("the", TriviaGold{"q", {"_"}, {}, true}).f1, 0);
}

TEST(TriviaMetrics, WhatTheScriptCannotScoreIsAnError) {
  EXPECT_NE(error_message([] { trivia_scores({}, {}); }).find("no questions"), std::string::npos);
  EXPECT_NE(error_message([] {
              trivia_scores(std::vector<TriviaGold>{{"q", {"x"}, {}, false}}, {}, true);
            }).find("none of the questions is verified"),
            std::string::npos);
  EXPECT_NE(error_message([] {
              trivia_scores(std::vector<TriviaGold>{{"q", {}, {}, true}}, {});
            }).find("'q' has no answers"),
            std::string::npos);
}

}  // namespace
}  // namespace bigbird
