// HotpotQA's metrics, with the numbers of hotpot_evaluate_v1.py.
#include "lib/metrics/answer_metrics.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/metrics/metric_checks.h"

namespace bigbird {
namespace {

TEST(HotpotMetrics, AnswersFactsAndBothTogether) {
  const std::vector<HotpotGold> gold = {{"1", "yes", {{"T", 0}, {"U", 1}}},
                                        {"2", "the Eiffel Tower", {{"T", 0}, {"T", 0}}},
                                        {"3", "x", {}},
                                        {"4", "blue whale", {{"A", 1}}},
                                        {"5", "no", {{"A", 1}}}};
  HotpotPredictions predictions;
  predictions.answers = {{"1", "yes it is"}, {"2", "Eiffel tower in Paris"}, {"3", "x"}, {"5", "No."}};
  predictions.supporting_facts = {
      {"1", {{"T", 0}, {"U", 1}}}, {"2", {{"T", 0}, {"T", 1}, {"T", 1}}}, {"3", {}}, {"4", {{"A", 1}}}};
  const HotpotScores scores = hotpot_scores(gold, predictions);
  expect_metrics(scores.metrics, {{"em", 0.4},
                                  {"f1", 0.5333333333333333},
                                  {"prec", 0.5},
                                  {"recall", 0.6},
                                  {"sp_em", 0.6},
                                  {"sp_f1", 0.5333333333333333},
                                  {"sp_prec", 0.5},
                                  {"sp_recall", 0.6},
                                  {"joint_em", 0.2},
                                  {"joint_f1", 0.08},
                                  {"joint_prec", 0.05},
                                  {"joint_recall", 0.2}});
  EXPECT_EQ(scores.answer_ids.missing_ids, std::vector<std::string>{"4"});
  EXPECT_EQ(scores.fact_ids.missing_ids, std::vector<std::string>{"5"});
}

TEST(HotpotMetrics, YesNoAndNoanswerShareNothingWithOtherAnswers) {
  EXPECT_EQ(hotpot_answer_score("yes of course", "yes").f1, 0);
  EXPECT_EQ(hotpot_answer_score("No!", "no way").f1, 0);
  EXPECT_EQ(hotpot_answer_score("noanswer", "no").f1, 0);
  EXPECT_EQ(hotpot_answer_score("The yes.", "yes").f1, 1);
  EXPECT_EQ(hotpot_answer_score("n-o", "no").exact, 1);
  // Inside of a longer answer they are words.
  EXPECT_DOUBLE_EQ(hotpot_answer_score("yes man", "no man").f1, 0.5);
}

TEST(HotpotMetrics, EmptySidesAreExactWithoutF1) {
  const HotpotScore answer = hotpot_answer_score("the", "a");
  EXPECT_EQ(answer.exact, 1);
  EXPECT_EQ(answer.f1, 0);
  const HotpotScore facts = hotpot_facts_score({}, {});
  EXPECT_EQ(facts.exact, 1);
  EXPECT_EQ(facts.f1, 0);
  const HotpotScore joint = hotpot_joint_score(answer, facts);
  EXPECT_EQ(joint.exact, 1);
  EXPECT_EQ(joint.f1, 0);
}

TEST(HotpotMetrics, FactsAreSets) {
  const std::vector<SupportingFact> gold = {{"A", 0}, {"A", 1}, {"A", 1}};
  const std::vector<SupportingFact> prediction = {{"A", 1}, {"A", 1}, {"a", 0}};
  const HotpotScore score = hotpot_facts_score(prediction, gold);
  EXPECT_EQ(score.exact, 0);
  EXPECT_DOUBLE_EQ(score.precision, 0.5);
  EXPECT_DOUBLE_EQ(score.recall, 0.5);
  EXPECT_DOUBLE_EQ(score.f1, 0.5);
}

TEST(HotpotMetrics, NoQuestionsAreAnError) {
  EXPECT_NE(error_message([] { hotpot_scores({}, {}); }).find("no questions"), std::string::npos);
}

}  // namespace
}  // namespace bigbird
