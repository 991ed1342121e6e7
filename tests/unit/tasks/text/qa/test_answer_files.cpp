// Files of answers, byte for byte as Python's json.dumps(indent=4) has them.
#include "lib/tasks/text/qa/answer_files.h"

#include <gtest/gtest.h>

#include "lib/io/files/file.h"
#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

DecodedAnswer decoded(const std::string& id, const std::string& text) {
  DecodedAnswer answer;
  answer.id = id;
  answer.text = text;
  answer.null_odds = -2.5f;
  answer.candidates.push_back({text, {3, 3 + text.size()}, 1.5f, 0.1f, 0.75});
  answer.candidates.push_back({"", {}, -3, 0, 0.25});
  return answer;
}

std::string written(AnswerFile kind, const std::vector<DecodedAnswer>& answers) {
  std::string text;
  AnswerFileWriter writer(kind, [&](std::string_view part) { text += part; });
  for (const DecodedAnswer& answer : answers) writer.add(answer);
  writer.finish();
  return text;
}

TEST(AnswerFiles, PredictionsAreAnObjectInTheOrderOfTheInput) {
  EXPECT_EQ(written(AnswerFile::predictions, {decoded("z", "Rome"), decoded("a", "")}),
            "{\n    \"z\": \"Rome\",\n    \"a\": \"\"\n}\n");
}

TEST(AnswerFiles, NothingIsAnEmptyObject) {
  EXPECT_EQ(written(AnswerFile::predictions, {}), "{}\n");
  EXPECT_EQ(written(AnswerFile::nbest, {}), "{}\n");
}

TEST(AnswerFiles, TextsAreAsciiWithEscapesOfPython) {
  EXPECT_EQ(written(AnswerFile::predictions, {decoded("\u00e9\"", "a\\\n\t\x01\x7F \u20ac \U0001F600/")}),
            "{\n    \"\\u00e9\\\"\": \"a\\\\\\n\\t\\u0001\\u007f \\u20ac \\ud83d\\ude00/\"\n}\n");
}

TEST(AnswerFiles, NullOddsAreNumbers) {
  EXPECT_EQ(written(AnswerFile::null_odds, {decoded("a", "x"), decoded("b", "y")}),
            "{\n    \"a\": -2.5,\n    \"b\": -2.5\n}\n");
}

TEST(AnswerFiles, CandidatesAreListsOfObjects) {
  // 0.1f as a double, the shortest digits that give it back.
  EXPECT_EQ(written(AnswerFile::nbest, {decoded("a", "Rome")}),
            "{\n"
            "    \"a\": [\n"
            "        {\n"
            "            \"start_logit\": 1.5,\n"
            "            \"end_logit\": 0.10000000149011612,\n"
            "            \"text\": \"Rome\",\n"
            "            \"probability\": 0.75,\n"
            "            \"start\": 3,\n"
            "            \"end\": 7\n"
            "        },\n"
            "        {\n"
            "            \"start_logit\": -3.0,\n"
            "            \"end_logit\": 0.0,\n"
            "            \"text\": \"\",\n"
            "            \"probability\": 0.25,\n"
            "            \"start\": 0,\n"
            "            \"end\": 0\n"
            "        }\n"
            "    ]\n"
            "}\n");
}

TEST(AnswerFiles, AnswersOfThePipelineHaveScores) {
  const std::vector<ScoredAnswer> answers{{"Rome", {3, 7}, 0.5}, {"Oslo", {9, 13}, 0.25}};
  std::string text;
  AnswerFileWriter writer(AnswerFile::predictions, [&](std::string_view part) { text += part; });
  writer.add("a", answers);
  writer.add("b", {});
  writer.finish();
  EXPECT_EQ(text, "{\n    \"a\": \"Rome\",\n    \"b\": \"\"\n}\n");
  text.clear();
  AnswerFileWriter nbest(AnswerFile::nbest, [&](std::string_view part) { text += part; });
  nbest.add("a", std::span(answers).first(1));
  nbest.finish();
  EXPECT_EQ(text,
            "{\n    \"a\": [\n        {\n            \"text\": \"Rome\",\n            \"probability\": 0.5,\n"
            "            \"start\": 3,\n            \"end\": 7\n        }\n    ]\n}\n");
}

TEST(AnswerFiles, ThePipelineHasNoNullOdds) {
  AnswerFileWriter writer(AnswerFile::null_odds, [](std::string_view) {});
  const auto error = testing::error_of([&] { writer.add("a", {}); });
  testing::expect_message(error, "pipeline", "no null odds");
  EXPECT_EQ(error->kind(), ErrorKind::usage);
}

TEST(AnswerFiles, GoThroughAnOutputStream) {
  testing::TemporaryFolder folder;
  OutputStream file((folder / "predictions.json").string());
  AnswerFileWriter writer(AnswerFile::predictions, [&](std::string_view part) { file.write(part); });
  writer.add(decoded("a", "Rome"));
  EXPECT_FALSE(std::filesystem::exists(folder / "predictions.json"));
  writer.finish();
  file.close();
  EXPECT_EQ(testing::read_text(folder / "predictions.json"), "{\n    \"a\": \"Rome\"\n}\n");
}

TEST(AnswerFiles, ATextAloneIsOfPredictions) {
  std::string text;
  AnswerFileWriter writer(AnswerFile::predictions, [&](std::string_view part) { text += part; });
  writer.add_text("q\"", "a \u00e9");
  writer.finish();
  EXPECT_EQ(text, "{\n    \"q\\\"\": \"a \\u00e9\"\n}\n");
  AnswerFileWriter odds(AnswerFile::null_odds, [](std::string_view) {});
  testing::expect_message(testing::error_of([&] { odds.add_text("q", "a"); }), "answer alone", "null odds");
}

TEST(AnswerFiles, HotpotAnswersAndFactsAreTwoObjects) {
  std::string text;
  const auto write = [&](std::string_view part) { text += part; };
  HotpotFileWriter writer(write);
  const std::vector<SupportingFact> facts = {{"A \"b\"", 0}, {"\u00e9", 12}};
  writer.add("one", "the \u20ac", facts);
  writer.add("two", "", {});
  writer.finish();
  EXPECT_EQ(text,
            "{\n    \"answer\": {\n        \"one\": \"the \\u20ac\",\n        \"two\": \"\"\n    },\n"
            "    \"sp\": {\n        \"one\": [[\"A \\\"b\\\"\", 0], [\"\\u00e9\", 12]],\n"
            "        \"two\": []\n    }\n}\n");
  text.clear();
  HotpotFileWriter(write).finish();
  EXPECT_EQ(text, "{\n    \"answer\": {},\n    \"sp\": {}\n}\n");
}

TEST(AnswerFiles, PagesAreAListOfObjects) {
  std::string text;
  const auto write = [&](std::string_view part) { text += part; };
  NqFileWriter writer(write);
  NqPrediction prediction;
  prediction.id = -5;
  prediction.long_answer = {10, 20, 1, 2};
  prediction.long_score = 1.5;
  prediction.short_answers.push_back({-1, -1, 1, 2});
  writer.add(prediction);
  NqPrediction other;
  other.id = 6;
  other.yes_no = NqYesNo::yes;
  writer.add(other);
  writer.finish();
  EXPECT_EQ(
      text,
      "{\"predictions\": [\n"
      R"({"example_id":-5,"long_answer":{"start_byte":10,"end_byte":20,"start_token":1,"end_token":2},)"
      R"("long_answer_score":1.5,"short_answers":[{"start_byte":-1,"end_byte":-1,"start_token":1,"end_token":2}],)"
      R"("short_answers_score":0.0,"yes_no_answer":"NONE"})"
      ",\n"
      R"({"example_id":6,"long_answer":{"start_byte":-1,"end_byte":-1,"start_token":-1,"end_token":-1},)"
      R"("long_answer_score":0.0,"short_answers":[],"short_answers_score":0.0,"yes_no_answer":"YES"})"
      "\n]}\n");
  text.clear();
  NqFileWriter(write).finish();
  EXPECT_EQ(text, "{\"predictions\": []}\n");
}

}  // namespace
}  // namespace bigbird
