// The metrics of Natural Questions, with the numbers of nq_eval.py.
#include "lib/metrics/natural_questions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/unit/metrics/metric_checks.h"

namespace bigbird {
namespace {

const NqSpan no_span;

NqSpan byte_span(std::int64_t start, std::int64_t end) {
  return {start, end, -1, -1};
}

NqSpan token_span(std::int64_t start, std::int64_t end) {
  return {-1, -1, start, end};
}

std::vector<NqGold> five_questions() {
  return {
      {1,
       {{byte_span(10, 20), {byte_span(12, 14), byte_span(15, 16)}},
        {byte_span(10, 20), {byte_span(12, 14)}},
        {no_span, {}}}},
      {2, {{{10, 20, 1, 4}, {}, NqYesNo::yes}, {no_span, {}, NqYesNo::no}, {no_span, {}}}},
      {3, {{no_span, {}}, {no_span, {}}}},
      {4, {{{30, 40, 3, 9}, {token_span(4, 5)}}, {{30, 50, 3, 12}, {{31, 33, 4, 5}, no_span}}}},
      {5, {{byte_span(1, 2), {byte_span(1, 2)}}}},
  };
}

std::vector<NqPrediction> five_predictions() {
  return {
      {5, no_span, 0.5, {byte_span(1, 2)}, 5.0, NqYesNo::none},
      {1, byte_span(10, 20), 3.5, {byte_span(15, 16), no_span, byte_span(12, 14)}, 2.0, NqYesNo::none},
      {2, token_span(1, 4), 2.0, {}, 2.0, NqYesNo::no},
      {3, byte_span(5, 6), 2.0, {}, 9.0, NqYesNo::none},
      {4, {31, 41, 3, 9}, 1.0, {byte_span(31, 34)}, -1.0, NqYesNo::none},
  };
}

TEST(NaturalQuestionsMetrics, AreThoseOfTheBestThresholds) {
  const NqScores scores = nq_scores(five_questions(), five_predictions());
  const double third = 0.6666666666666666;
  expect_metrics(scores.metrics,
                 {{"long-best-threshold-f1", third},         {"long-best-threshold-precision", 1.0},
                  {"long-best-threshold-recall", 0.5},       {"long-best-threshold", 3.5},
                  {"long-recall-at-precision>=0.5", 1.0},    {"long-precision-at-precision>=0.5", 0.5},
                  {"long-recall-at-precision>=0.75", 0.5},   {"long-precision-at-precision>=0.75", 1.0},
                  {"long-recall-at-precision>=0.9", 0.5},    {"long-precision-at-precision>=0.9", 1.0},
                  {"short-best-threshold-f1", third},        {"short-best-threshold-precision", third},
                  {"short-best-threshold-recall", third},    {"short-best-threshold", 2.0},
                  {"short-recall-at-precision>=0.5", third}, {"short-precision-at-precision>=0.5", third},
                  {"short-recall-at-precision>=0.75", 0},    {"short-precision-at-precision>=0.75", 0},
                  {"short-recall-at-precision>=0.9", 0},     {"short-precision-at-precision>=0.9", 0}});
  expect_metrics(scores.without_scores, {{"long-answer-n", 5},
                                         {"long-answer-f1", third},
                                         {"long-answer-precision", 0.5},
                                         {"long-answer-recall", 1.0},
                                         {"short-answer-n", 5},
                                         {"short-answer-f1", 0.5714285714285715},
                                         {"short-answer-precision", 0.5},
                                         {"short-answer-recall", third}});
}

TEST(NaturalQuestionsMetrics, OneAnnotationWithAnAnswerIsNotEnough) {
  const NqGold gold = five_questions()[4];
  const NqPrediction prediction = {5, byte_span(1, 2), 0, {byte_span(1, 2)}, 0, NqYesNo::none};
  EXPECT_FALSE(nq_long_verdict(gold, prediction).has_gold);
  EXPECT_FALSE(nq_long_verdict(gold, prediction).correct);
  EXPECT_FALSE(nq_short_verdict(gold, prediction).correct);
  EXPECT_TRUE(nq_short_verdict(gold, prediction).has_prediction);
}

TEST(NaturalQuestionsMetrics, SpansAreEqualInBytesOrInTokens) {
  const NqGold gold = {1, {{{10, 20, 1, 4}, {}}, {{10, 20, 1, 4}, {}}}};
  const auto correct = [&](const NqSpan& span) {
    return nq_long_verdict(gold, {1, span, 0, {}, 0, NqYesNo::none}).correct;
  };
  EXPECT_TRUE(correct(byte_span(10, 20)));
  EXPECT_TRUE(correct(token_span(1, 4)));
  EXPECT_TRUE(correct({10, 20, 7, 9}));
  EXPECT_TRUE(correct({11, 20, 1, 4}));
  EXPECT_FALSE(correct({11, 20, 1, 5}));
  EXPECT_FALSE(correct(byte_span(1, 4)));
}

TEST(NaturalQuestionsMetrics, ShortSpansMustBeTheWholeSetOfOneAnnotation) {
  const NqGold gold = {1,
                       {{no_span, {byte_span(1, 2), byte_span(3, 4)}},
                        {no_span, {byte_span(5, 6)}},
                        {no_span, {}, NqYesNo::yes}}};
  const auto correct = [&](std::vector<NqSpan> spans, NqYesNo yes_no = NqYesNo::none) {
    return nq_short_verdict(gold, {1, no_span, 0, std::move(spans), 0, yes_no}).correct;
  };
  EXPECT_TRUE(correct({byte_span(3, 4), byte_span(1, 2)}));
  EXPECT_TRUE(correct({byte_span(5, 6), no_span, byte_span(5, 6)}));
  EXPECT_FALSE(correct({byte_span(1, 2)}));
  EXPECT_FALSE(correct({byte_span(1, 2), byte_span(3, 4), byte_span(5, 6)}));
  EXPECT_TRUE(correct({}, NqYesNo::yes));
  EXPECT_FALSE(correct({}, NqYesNo::no));
  EXPECT_FALSE(correct({no_span}));
}

TEST(NaturalQuestionsMetrics, EqualScoresEnterTogether) {
  std::vector<NqGold> gold;
  std::vector<NqPrediction> predictions;
  for (std::int64_t id = 0; id < 4; ++id) {
    gold.push_back({id, {{byte_span(1, 2), {}}, {byte_span(1, 2), {}}}});
    predictions.push_back({id, id < 2 ? byte_span(1, 2) : byte_span(3, 4), 7.0, {}, 0, NqYesNo::none});
  }
  const MetricList metrics = nq_scores(gold, predictions).metrics;
  EXPECT_EQ(metric_value(metrics, "long-best-threshold-f1"), 0.5);
  EXPECT_EQ(metric_value(metrics, "long-recall-at-precision>=0.75"), 0);
  EXPECT_EQ(metric_value(metrics, "long-best-threshold"), 7.0);
}

TEST(NaturalQuestionsMetrics, YesAndNoAreReadInAnyLetters) {
  EXPECT_EQ(parse_nq_yes_no("YES", "x"), NqYesNo::yes);
  EXPECT_EQ(parse_nq_yes_no("No", "x"), NqYesNo::no);
  EXPECT_EQ(parse_nq_yes_no("none", "x"), NqYesNo::none);
  EXPECT_EQ(error_message([] { parse_nq_yes_no("maybe", "question 3"); }),
            "question 3: yes_no_answer 'maybe' is none of YES, NO, NONE");
}

TEST(NaturalQuestionsMetrics, BadInputIsAnErrorThatNamesTheQuestion) {
  struct Case {
    std::function<void(std::vector<NqGold>&, std::vector<NqPrediction>&)> spoil;
    std::string message;
  };
  const std::vector<Case> cases = {
      {[](auto& gold, auto&) { gold.clear(); }, "no questions to score"},
      {[](auto&, auto& predictions) { predictions.pop_back(); }, "question 4 has no prediction"},
      {[](auto& gold, auto&) { gold.pop_back(); }, "prediction for 5, which is not a question"},
      {[](auto&, auto& predictions) { predictions.push_back(predictions[1]); }, "two predictions for 1"},
      {[](auto& gold, auto&) { gold.push_back(gold[1]); }, "question 2 is there twice"},
      {[](auto& gold, auto&) { gold[2].annotations.clear(); }, "question 3 has no annotations"},
      {[](auto&, auto& predictions) { predictions[1].long_answer = byte_span(3, 3); },
       "prediction for 1: a span of bytes [3, 3) does not start before its end"},
      {[](auto&, auto& predictions) { predictions[1].short_answers[0] = token_span(5, 2); },
       "prediction for 1: a span of tokens [5, 2)"},
      {[](auto&, auto& predictions) { predictions[1].long_answer = byte_span(3, -1); },
       "is null on one side only"},
      {[](auto& gold, auto&) { gold[3].annotations[1].short_answers[0].start_token = -1; },
       "question 4: a span"},
      {[](auto&, auto& predictions) { predictions[1].yes_no = NqYesNo::yes; },
       "yes or no together with short answers"},
      {[](auto&, auto& predictions) { predictions[2].short_score = std::nan(""); },
       "a score is not a finite number"},
  };
  for (const Case& c : cases) {
    std::vector<NqGold> gold = five_questions();
    std::vector<NqPrediction> predictions = five_predictions();
    c.spoil(gold, predictions);
    const std::string message = error_message([&] { nq_scores(gold, predictions); });
    EXPECT_NE(message.find(c.message), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace bigbird
