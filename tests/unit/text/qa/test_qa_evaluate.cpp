// Evaluation of five data sets from files, worked out by hand; ids that do not fit; the answers that are kept
// as the worst. The metrics themselves have tests of their own.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "lib/text/qa/evaluate.h"
#include "tests/support/tiny_question_model.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;

class EvaluateAnswers : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    testing::write_text(folder / name, text);
    return (folder / name).string();
  }
  AnswerEvaluationOptions options(const QuestionTask& task, const std::string& data,
                                  const std::string& predictions) const {
    AnswerEvaluationOptions result;
    result.task = &task;
    result.data = write("gold.json", data);
    result.predictions = write("predictions.json", predictions);
    result.worst = 10;
    return result;
  }
  static nlohmann::json json_of(const AnswerEvaluation& evaluation) {
    return nlohmann::json::parse(answer_metrics_json(evaluation, ""));
  }

  testing::TemporaryFolder folder;
};

TEST_F(EvaluateAnswers, OfSquad1TheWorstComeFirstAndIdsAreCounted) {
  const auto chosen = options(squad_task(), testing::tiny_questions_json(testing::four_tiny_questions()),
                              R"({"q1": "blue", "q2": "is red", "q4": "sun", "x": "y"})");
  const AnswerEvaluation evaluation = evaluate_answers(chosen);
  const auto json = json_of(evaluation);
  EXPECT_DOUBLE_EQ(json.at("exact_match"), 25.0);
  EXPECT_DOUBLE_EQ(json.at("f1"), 100.0 * (1 + 2.0 / 3) / 4);
  EXPECT_EQ(json.at("predictions"), nlohmann::json::parse(R"({"questions": 4, "missing": 1, "unknown": 1})"));
  ASSERT_EQ(evaluation.worst.size(), 4U);
  EXPECT_EQ(evaluation.worst[0].id, "q3");
  EXPECT_FALSE(evaluation.worst[0].prediction.has_value());
  EXPECT_EQ(evaluation.worst[1].id, "q4");
  EXPECT_EQ(evaluation.worst[1].prediction, "sun");
  const MarkedPassage& passage = evaluation.worst[1].passages.at(0);
  EXPECT_EQ(passage.gold, (std::vector<TextSpan>{{5, 8}}));
  EXPECT_EQ(passage.predicted, (std::vector<TextSpan>{{9, 12}}));
  EXPECT_EQ(evaluation.worst[2].id, "q2");
  EXPECT_NEAR(evaluation.worst[2].f1, 2.0 / 3, 1e-12);
  EXPECT_TRUE(evaluation.worst[3].exact);
  AnswerEvaluationOptions few = chosen;
  few.worst = 2;
  EXPECT_EQ(evaluate_answers(few).worst.size(), 2U);
  few.worst = 0;
  EXPECT_TRUE(evaluate_answers(few).worst.empty());
}

TEST_F(EvaluateAnswers, AQuestionWithoutAnswersMakesItSquad2) {
  auto questions = testing::four_tiny_questions();
  questions[3].answer.clear();
  auto chosen = options(squad_task(), testing::tiny_questions_json(questions),
                        R"({"q1": "blue", "q2": "", "q3": "near", "q4": "far"})");
  auto json = json_of(evaluate_answers(chosen));
  EXPECT_DOUBLE_EQ(json.at("exact"), 50.0);
  EXPECT_TRUE(json.at("total").is_number_integer());
  EXPECT_EQ(json.at("total"), 4);
  EXPECT_EQ(json.at("HasAns_total"), 3);
  EXPECT_EQ(json.at("NoAns_total"), 1);
  EXPECT_FALSE(json.contains("best_exact"));

  chosen.null_odds = write("odds.json", R"({"q1": -3, "q2": -1, "q3": -2, "q4": 2})");
  AnswerEvaluation evaluation = evaluate_answers(chosen);
  json = json_of(evaluation);
  EXPECT_DOUBLE_EQ(json.at("exact"), 75.0) << "the script's threshold 1 silences q4";
  EXPECT_TRUE(json.contains("best_exact_thresh"));
  EXPECT_EQ(evaluation.worst[0].id, "q2");
  EXPECT_EQ(evaluation.worst[0].prediction, "");
  EXPECT_DOUBLE_EQ(evaluation.worst[1].f1, 1.0);
  chosen.null_threshold = 5;
  EXPECT_DOUBLE_EQ(json_of(evaluate_answers(chosen)).at("exact"), 50.0);
}

TEST_F(EvaluateAnswers, Squad2OfAnsweredQuestionsIsAskedFor) {
  auto chosen = options(squad_task(), testing::tiny_questions_json(testing::four_tiny_questions()),
                        R"({"q1": "blue", "q2": "red", "q3": "near", "q4": "far"})");
  EXPECT_TRUE(json_of(evaluate_answers(chosen)).contains("exact_match"));
  chosen.null_odds = write("odds.json", "{}");
  testing::expect_message(error_of([&] { evaluate_answers(chosen); }), "`null_odds`", "2.0");
  chosen.null_odds.clear();
  chosen.version_2 = true;
  EXPECT_DOUBLE_EQ(json_of(evaluate_answers(chosen)).at("HasAns_exact"), 100.0);
  testing::write_text(folder / "predictions.json", R"({"q1": "blue"})");
  testing::expect_bad_input(error_of([&] { evaluate_answers(chosen); }), "3 of 4", "no prediction");
}

TEST_F(EvaluateAnswers, OfHotpotAnswersAndFactsAreJoined) {
  const std::string data =
      R"([{"_id": "h1", "question": "Which?", "answer": "red", "supporting_facts": [["A", 0], ["B", 1]],
           "context": [["A", ["One is red.", " Two."]], ["B", ["Three.", " Four."]], ["C", ["Five."]]]}])";
  const AnswerEvaluation evaluation = evaluate_answers(options(
      hotpotqa_task(), data, R"({"answer": {"h1": "red"}, "sp": {"h1": [["A", 0], ["C", 0]], "h9": []}})"));
  const auto json = json_of(evaluation);
  EXPECT_DOUBLE_EQ(json.at("em"), 1.0);
  EXPECT_DOUBLE_EQ(json.at("sp_em"), 0.0);
  EXPECT_DOUBLE_EQ(json.at("sp_f1"), 0.5);
  EXPECT_DOUBLE_EQ(json.at("joint_prec"), 0.5);
  EXPECT_EQ(json.at("predictions").at("unknown"), 0);
  EXPECT_EQ(json.at("sp_predictions").at("unknown"), 1);
  ASSERT_EQ(evaluation.worst.size(), 1U);
  const auto& passages = evaluation.worst[0].passages;
  ASSERT_EQ(passages.size(), 3U) << "of gold facts and of predicted ones";
  EXPECT_EQ(passages[0].title, "A");
  EXPECT_EQ(passages[0].gold, (std::vector<TextSpan>{{7, 10}}));
  EXPECT_TRUE(passages[1].gold.empty());
}

TEST_F(EvaluateAnswers, OfPagesLongAndShortAnswersCount) {
  const std::string data =
      R"({"example_id": 7, "question_text": "who", "document_text": "<P> he was Ada Smith </P> <P> no </P>", )"
      R"("long_answer_candidates": [{"start_token": 0, "end_token": 6, "top_level": true}, )"
      R"({"start_token": 6, "end_token": 9, "top_level": true}], "annotations": [)"
      R"({"long_answer": {"start_token": 0, "end_token": 6, "candidate_index": 0}, "short_answers": )"
      R"([{"start_token": 3, "end_token": 5}], "yes_no_answer": "NONE"}, {"long_answer": {"start_token": 0, )"
      R"("end_token": 6, "candidate_index": 0}, "short_answers": [{"start_token": 3, "end_token": 5}], )"
      R"("yes_no_answer": "NONE"}]})";
  const auto predicted = [](int begin, const std::string& id) {
    return R"({"predictions": [{"example_id": )" + id +
           R"(, "long_answer": {"start_byte": -1, "end_byte": -1, )" +
           R"("start_token": 0, "end_token": 6}, "long_answer_score": 1.0, "short_answers": [{"start_byte": -1, )" +
           R"("end_byte": -1, "start_token": )" + std::to_string(begin) +
           R"(, "end_token": 5}], "short_answers_score": 2.0, "yes_no_answer": "NONE"}]})";
  };
  const auto right = evaluate_answers(options(nq_task(), data, predicted(3, "7")));
  EXPECT_DOUBLE_EQ(json_of(right).at("long-best-threshold-f1"), 1.0);
  EXPECT_DOUBLE_EQ(json_of(right).at("short-best-threshold-f1"), 1.0);
  ASSERT_EQ(right.worst.size(), 1U);
  EXPECT_TRUE(right.worst[0].exact);
  const auto half = evaluate_answers(options(nq_task(), data, predicted(2, "7")));
  EXPECT_DOUBLE_EQ(json_of(half).at("short-best-threshold-f1"), 0.0);
  EXPECT_EQ(half.worst[0].f1, 0.5);
  EXPECT_EQ(half.worst[0].gold, std::vector<std::string>{"Ada Smith"});
  EXPECT_EQ(half.worst[0].prediction, "was Ada Smith");
  ASSERT_EQ(half.worst[0].passages.size(), 2U);
  EXPECT_EQ(half.worst[0].passages[0].text, "he was Ada Smith");
  EXPECT_EQ(half.worst[0].passages[0].gold, (std::vector<TextSpan>{{7, 16}}));
  testing::expect_message(error_of([&] { evaluate_answers(options(nq_task(), data, predicted(3, "8"))); }),
                          "7", "");
}

TEST_F(EvaluateAnswers, OfTriviaAnyNameCounts) {
  const std::string data =
      R"({"Data": [{"QuestionId": "t1", "Question": "Who?", "Answer": {"NormalizedAliases": ["ada smith", "ada"]}},
          {"QuestionId": "t2", "Question": "What?", "Answer": {"NormalizedAliases": ["c"]}}],
          "Domain": "Wikipedia", "VerifiedEval": false})";
  const auto evaluation = evaluate_answers(options(triviaqa_task(), data, R"({"t1": "The ADA", "z": ""})"));
  const auto json = json_of(evaluation);
  EXPECT_DOUBLE_EQ(json.at("exact_match"), 50.0);
  EXPECT_EQ(json.at("common"), 1);
  EXPECT_EQ(json.at("predictions"), nlohmann::json::parse(R"({"questions": 2, "missing": 1, "unknown": 1})"));
  EXPECT_EQ(evaluation.worst.at(0).id, "t2");
  EXPECT_EQ(evaluation.worst.at(1).gold, (std::vector<std::string>{"ada smith", "ada"}));
}

TEST_F(EvaluateAnswers, OfWikiHopCandidatesAreComparedInSmallLetters) {
  const std::string data = R"([{"id": "w1", "query": "country x", "answer": "France", "candidates": ["france",
      "spain"], "supports": ["In spain and in France.", "Nothing."]}])";
  const auto right = evaluate_answers(options(wikihop_task(), data, R"({"w1": "FRANCE"})"));
  EXPECT_DOUBLE_EQ(json_of(right).at("accuracy"), 1.0);
  const auto wrong = evaluate_answers(options(wikihop_task(), data, R"({"w1": "spain"})"));
  EXPECT_DOUBLE_EQ(json_of(wrong).at("accuracy"), 0.0);
  ASSERT_EQ(wrong.worst.at(0).passages.size(), 1U) << "only supports that tell something";
  EXPECT_EQ(wrong.worst[0].passages[0].predicted, (std::vector<TextSpan>{{3, 8}}));
  auto chosen = options(wikihop_task(), data, R"({"w1": "spain"})");
  chosen.version_2 = true;
  testing::expect_message(error_of([&] { evaluate_answers(chosen); }), "`version_2`", "wikihop");
}

TEST_F(EvaluateAnswers, WhatIsUndefinedIsNullAndCountsHaveNoPoint) {
  AnswerEvaluation evaluation;
  evaluation.metrics = {{"a", std::nan("")}, {"b", 12.0, true}, {"c", 12.0}};
  const std::string text = answer_metrics_json(evaluation, R"({"bigbird_version": "1"})");
  EXPECT_NE(text.find("\"a\": null"), std::string::npos) << text;
  EXPECT_NE(text.find("\"b\": 12,"), std::string::npos) << text;
  EXPECT_NE(text.find("\"c\": 12.0"), std::string::npos) << text;
  EXPECT_NE(text.find("\"provenance\""), std::string::npos) << text;
}

TEST(WorstAnswers, KeepTheLowestAndOfEqualsTheEarlier) {
  WorstAnswers worst(3);
  const auto add = [&](const std::string& id, double f1, bool exact) {
    JudgedAnswer answer;
    answer.id = id;
    answer.f1 = f1;
    answer.exact = exact;
    worst.add(answer);
  };
  add("a", 0.5, false);
  add("b", 0, true);
  add("c", 0.5, false);
  add("d", 0.5, false);
  EXPECT_FALSE(worst.wants(false, 0.5));
  EXPECT_TRUE(worst.wants(false, 0.4));
  add("e", 0, false);
  std::string ids;
  for (const JudgedAnswer& answer : worst.take()) ids += answer.id;
  EXPECT_EQ(ids, "eba");
  EXPECT_FALSE(WorstAnswers(0).wants(false, 0));
}

TEST(WorstAnswers, PlacesAreCodePointsAndTheClosestCounts) {
  const std::string text = "\xC3\xA9 ab \xC3\xA9 ab ab";  // é ab é ab ab
  EXPECT_EQ(places_of(text, "ab"), (std::vector<TextSpan>{{2, 4}, {7, 9}, {10, 12}}));
  EXPECT_EQ(places_of(text, "ab", 2).size(), 2U);
  EXPECT_EQ(place_of(text, "ab", 6), (std::vector<TextSpan>{{7, 9}}));
  EXPECT_EQ(place_of(text, "ab"), (std::vector<TextSpan>{{2, 4}}));
  EXPECT_TRUE(place_of(text, "abc").empty());
  EXPECT_TRUE(places_of(text, "").empty());
}

}  // namespace
}  // namespace bigbird
