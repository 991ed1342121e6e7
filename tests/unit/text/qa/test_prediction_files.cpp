// Files of predictions: what is read, and places of what is not.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lib/text/qa/answer_files.h"
#include "lib/text/qa/triviaqa/questions.h"
#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;

class PredictionFiles : public ::testing::Test {
 protected:
  std::string write(const std::string& text) const {
    testing::write_text(folder / "p.json", text);
    return (folder / "p.json").string();
  }
  template <typename Read>
  void refused(const Read& read, const std::string& text, const std::string& place,
               const std::string& what) const {
    const std::string path = write(text);
    expect_bad_input(error_of([&] { read(path); }), place, what);
  }

  testing::TemporaryFolder folder;
};

TEST_F(PredictionFiles, TextsAndScoresByIdKeepTheirValues) {
  const AnswerTexts texts = read_answer_texts(write("{\"b\": \"two\\n\\u00e9\",\n \"a\": \"\"}"));
  EXPECT_EQ(texts, (AnswerTexts{{"a", ""}, {"b", "two\n\xC3\xA9"}}));
  const NoAnswerScores scores = read_null_odds(write("{\"b\": 2, \"a\": -0.5}"));
  EXPECT_EQ(scores, (NoAnswerScores{{"b", 2.0}, {"a", -0.5}})) << "in the order of the file";
}

TEST_F(PredictionFiles, AnErrorSaysWhereItIs) {
  const auto texts = [](const std::string& path) { read_answer_texts(path); };
  refused(texts, "{\"a\": \"x\",\n \"b\": }", "p.json:2:7", "");
  refused(texts, "{\"a\": \"x\"", "p.json", "ends");
  refused(texts, "", "p.json", "is empty");
  refused(texts, "[\"a\"]", "p.json:1", "not an object");
  refused(texts, "{\"a\": \"x\"}\n{\"b\": \"y\"}", "p.json:2:1", "more after");
  refused(texts, "{\"a\": \"x\", \"a\": \"y\"}", "p.json:1:1", "'a' twice");
  refused(texts, "{\"a\": 3}", "'a'", "not a string");
  refused([](const std::string& path) { read_null_odds(path); }, "{\"a\": \"x\"}", "'a'", "not a number");
  refused(texts, "{\"two\\nlines\": 3}", "'two?lines'", "not a string");
  refused(texts, "{\"two\\nlines\": \"\", \"two\\nlines\": \"\"}", "p.json:1:1", "'two?lines' twice");
}

TEST_F(PredictionFiles, HotpotHasAnswersAndFacts) {
  const HotpotPredictions predictions = read_hotpot_predictions(
      write("{\"answer\": {\"a\": \"yes\"}, \"sp\": {\"a\": [[\"T\", 2], [\"U\", 0]]}}"));
  EXPECT_EQ(predictions.answers.at("a"), "yes");
  EXPECT_EQ(predictions.supporting_facts.at("a"), (std::vector<SupportingFact>{{"T", 2}, {"U", 0}}));
  EXPECT_TRUE(read_hotpot_predictions(write("{\"answer\": {\"a\": \"yes\"}}")).supporting_facts.empty());
  const auto read = [](const std::string& path) { read_hotpot_predictions(path); };
  refused(read, "{\"a\": \"x\"}", "p.json:1:1", "neither 'answer' nor 'sp'");
  refused(read, "{\"answer\": [], \"sp\": {}}", "p.json:1:1", "'answer' is not an object");
  refused(read, "{\"sp\": {\"a\": [[\"T\"]]}}", "'a'", "[title, number of the sentence]");
  refused(read, "{\"sp\": {\"a\": \"T\"}}", "'a'", "not a list");
  for (const char* number : {"1.5", "9223372036854775808"}) {
    refused(read, fmt::format("{{\"sp\": {{\"a\": [[\"T\", {}]]}}}}", number), "'a'",
            "number of the sentence");
  }
}

TEST_F(PredictionFiles, PagesHaveSpansAndScores) {
  const std::string one =
      "{\"example_id\": -5, \"long_answer\": {\"start_byte\": 3, \"end_byte\": 9, \"start_token\": 1, "
      "\"end_token\": 2}, \"long_answer_score\": 2, \"short_answers\": [{\"start_token\": 1, \"end_token\": "
      "2}], \"short_answers_score\": -1.5, \"yes_no_answer\": \"NONE\"}";
  const auto predictions = read_nq_predictions(write("{\"predictions\": [\n" + one + "]}"));
  ASSERT_EQ(predictions.size(), 1U);
  EXPECT_EQ(predictions[0].id, -5);
  EXPECT_EQ(predictions[0].long_answer.end_byte, 9);
  EXPECT_EQ(predictions[0].long_score, 2.0);
  ASSERT_EQ(predictions[0].short_answers.size(), 1U);
  EXPECT_EQ(predictions[0].short_answers[0].start_byte, -1) << "left out: none";
  EXPECT_EQ(predictions[0].short_answers[0].end_token, 2);
  EXPECT_EQ(predictions[0].yes_no, NqYesNo::none);
  const auto read = [](const std::string& path) { read_nq_predictions(path); };
  refused(read, "{\"predictions\": [\n" + one + ",\n" + one + "]}", "p.json:3:1", "'-5' a second time");
  refused(read, "{\"predictions\": [{\"example_id\": 1}]}", "p.json:1", "long_answer");
  std::string odd = one;
  odd.replace(odd.find("NONE"), 4, "WH\\nAT");
  refused(read, "{\"predictions\": [" + odd + "]}", "p.json:1", "WH?AT");
  // Neither cut to a whole number nor taken for another one.
  for (const char* number : {"-5.5", "1e300", "9223372036854775808", "null"}) {
    odd = one;
    odd.replace(odd.find("-5"), 2, number);
    refused(read, "{\"predictions\": [" + odd + "]}", "p.json:1", "'example_id' is not a whole number");
    odd = one;
    odd.replace(odd.find('3'), 1, number);
    refused(read, "{\"predictions\": [" + odd + "]}", "p.json:1", "'start_byte' is not a whole number");
  }
  odd = one;
  odd.replace(odd.find("[{"), odd.find("}]") + 2 - odd.find("[{"), "[[]]");
  refused(read, "{\"predictions\": [" + odd + "]}", "p.json:1", "a span is not an object");
}

TEST_F(PredictionFiles, TriviaGoldIsOfQuestionsOrOfQuestionsAndDocuments) {
  const auto data = [](const std::string& domain, const std::string& verified) {
    return "{\"Data\": [{\"QuestionId\": \"t1\", \"Question\": \"Who?\", \"QuestionPartOfVerifiedEval\": true, "
           "\"Answer\": {\"NormalizedAliases\": [\"a b\"], \"HumanAnswers\": [\"The B\"]}, \"EntityPages\": "
           "[{\"Filename\": \"A.txt\", \"DocPartOfVerifiedEval\": true}], \"SearchResults\": [{\"Filename\": "
           "\"w.txt\"}]}, {\"QuestionId\": \"t2\", \"Question\": \"What?\", \"Answer\": {\"NormalizedAliases\": "
           "[\"c\"]}}], \"Domain\": \"" +
           domain + "\", \"VerifiedEval\": " + verified + "}";
  };
  TriviaGoldFile file = read_trivia_gold(write(data("Wikipedia", "false")));
  ASSERT_EQ(file.gold.size(), 2U);
  EXPECT_EQ(file.gold[0].id, "t1");
  EXPECT_EQ(file.gold[0].human_answers, std::vector<std::string>{"The B"});
  EXPECT_TRUE(file.gold[0].verified);
  EXPECT_FALSE(file.gold[1].verified);
  EXPECT_EQ(file.questions[1], "What?");
  EXPECT_FALSE(file.verified_only);
  file = read_trivia_gold(write(data("Web", "true")));
  ASSERT_EQ(file.gold.size(), 2U);
  EXPECT_EQ(file.gold[0].id, "t1--A.txt");
  EXPECT_EQ(file.gold[1].id, "t1--w.txt");
  EXPECT_TRUE(file.gold[0].verified);
  EXPECT_FALSE(file.gold[1].verified) << "its document is not";
  EXPECT_TRUE(file.verified_only);
  const auto read = [](const std::string& path) { read_trivia_gold(path); };
  refused(read, data("Radio", "false"), "p.json", "Radio");
  refused(read, "{\"Data\": [{\"QuestionId\": \"t1\", \"Question\": \"Who?\"}]}", "'t1'", "Answer");
}

}  // namespace
}  // namespace bigbird
