// Reading SQuAD and files shaped like it: both layouts, every check of an answer's place, and what is said
// about files that are wrong.
#include "lib/text/qa/squad/questions.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lib/core/log.h"
#include "lib/io/files/file.h"
#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;

// A question with one answer, in nested form.
std::string squad_question(const std::string& id, const std::string& text, std::int64_t start,
                           const std::string& more = {}) {
  return fmt::format(
      R"({{"id": "{}", "question": "Where?", "answers": [{{"text": "{}", "answer_start": {}}}]{}}})", id,
      text, start, more);
}

std::string squad_file(const std::string& context, const std::string& questions) {
  return fmt::format(R"({{"version": "own", "data": [{{"title": "t", "paragraphs": [{{"context": "{}",
"qas": [{}]}}]}}]}})",
                     context, questions);
}

class SquadReaderTest : public ::testing::Test {
 protected:
  std::string write(const std::string& text, const std::string& name = "own.json") {
    testing::write_text(folder_ / name, text);
    return (folder_ / name).string();
  }
  // All questions of a file.
  std::vector<QuestionExample> read(const std::string& text, const QuestionReading& options = {}) {
    const std::string path = write(text);
    reader_ = std::make_unique<SquadReader>(path, options);
    std::vector<QuestionExample> found;
    QuestionExample example;
    while (reader_->next(example)) found.push_back(example);
    return found;
  }
  void expect_refused(const std::string& text, const std::string& place, const std::string& what,
                      const QuestionReading& options = {}) {
    expect_bad_input(error_of([&] { read(text, options); }), place, what);
  }
  // A file of 1,000 questions, of which `wrong` have the answer of `bad`.
  static std::string many(const std::string& context, std::size_t wrong, const std::string& bad_text,
                          std::int64_t bad_start, const std::string& good_text, std::int64_t good_start) {
    std::string questions;
    for (std::size_t i = 0; i < 1000; ++i) {
      questions +=
          (i == 0 ? "" : ",\n") + (i < wrong ? squad_question(fmt::format("q{}", i), bad_text, bad_start)
                                             : squad_question(fmt::format("q{}", i), good_text, good_start));
    }
    return squad_file(context, questions);
  }

  testing::TemporaryFolder folder_;
  std::unique_ptr<SquadReader> reader_;
};

TEST_F(SquadReaderTest, NestedQuestionsShareTheContextOfTheirParagraph) {
  const auto found = read(R"({"version": "1.1", "data": [
    {"title": "a", "paragraphs": [{"context": "The tower is in Oslo.", "qas": [
       {"id": "1", "question": " Where is it?", "answers": [{"text": "Oslo", "answer_start": 16},
                                                            {"text": "in Oslo", "answer_start": 13}]},
       {"id": "2", "question": "What?", "answers": [{"text": "tower", "answer_start": 4}]}]},
     {"context": "Second.", "qas": []}]},
    {"title": "b", "paragraphs": [{"context": "Third one.", "qas": [
       {"id": "3", "question": "Which?", "answers": [{"text": "Third", "answer_start": 0}]}]}]}]})");
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].id, "1");
  EXPECT_EQ(found[0].question, " Where is it?");
  EXPECT_EQ(*found[0].context, "The tower is in Oslo.");
  EXPECT_EQ(found[0].context, found[1].context);
  ASSERT_EQ(found[0].answers.size(), 2u);
  EXPECT_EQ(found[0].answers[0].text, "Oslo");
  EXPECT_EQ(found[0].answers[0].span, (TextSpan{16, 20}));
  EXPECT_EQ(found[0].answers[1].span, (TextSpan{13, 20}));
  EXPECT_EQ(*found[2].context, "Third one.");
  EXPECT_EQ(reader_->questions(), 3u);
  EXPECT_EQ(reader_->answerable(), 3u);
  EXPECT_TRUE(reader_->skipped().empty());
  EXPECT_TRUE(reader_->noted().empty());
}

TEST_F(SquadReaderTest, FlatObjectsAreReadAsRunQaReadsThem) {
  const auto found =
      read(R"({"version": "v", "data": [{"id": "a", "title": "x", "context": "One two.", "question": "n?",
    "answers": {"text": ["two", "One two"], "answer_start": [4, 0]}}]})");
  ASSERT_EQ(found.size(), 1u);
  ASSERT_EQ(found[0].answers.size(), 2u);
  EXPECT_EQ(found[0].answers[1].text, "One two");
  EXPECT_EQ(found[0].answers[1].span, (TextSpan{0, 7}));
}

TEST_F(SquadReaderTest, JsonLinesOfFlatObjectsNeedNoIds) {
  const auto found = read(
      "{\"question\": \"a?\", \"context\": \"One two.\", \"answers\": {\"text\": [\"two\"], \"answer_start\": [4]}}\n"
      "{\"id\": 77, \"question\": \"b?\", \"context\": \"Six.\", \"answers\": [{\"text\": \"Six\", \"answer_start\": 0}]}\n"
      "{\"question\": \"c?\", \"context\": \"Six.\", \"answers\": [{\"text\": \"Six\", \"answer_start\": 0}]}\n");
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].id, "0");
  EXPECT_EQ(found[1].id, "77");
  EXPECT_EQ(found[2].id, "2");
}

TEST_F(SquadReaderTest, GzipIsSeenThrough) {
  const std::string path = (folder_ / "own.json.gz").string();
  const std::string text = squad_file("In Rome.", squad_question("g", "Rome", 3));
  OutputStream file(path);
  file.write(text);
  file.close();
  ASSERT_EQ(testing::read_text(path).substr(0, 2), "\x1F\x8B");
  SquadReader reader(path);
  QuestionExample example;
  ASSERT_TRUE(reader.next(example));
  EXPECT_EQ(example.id, "g");
  EXPECT_FALSE(reader.next(example));
}

TEST_F(SquadReaderTest, StartsCountCodePoints) {
  const auto found =
      read(squad_file("Caf\u00e9 \U0001F600 in Z\u00fcrich", squad_question("u", "Z\u00fcrich", 10)));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].answers[0].span, (TextSpan{10, 16}));
}

TEST_F(SquadReaderTest, AnAnswerElsewhereIsSkippedCountedAndShownFiveTimes) {
  std::vector<std::string> shown;
  set_log_sink([&](LogLevel, const std::string& line) { shown.push_back(line); });
  const auto found = read(many("It is in Oslo now.", 10, "Oslo", 8, "Oslo", 9));
  set_log_sink({});
  EXPECT_EQ(found.size(), 990u);
  EXPECT_EQ(reader_->skipped().text(), "answer is not at answer_start 10");
  ASSERT_EQ(shown.size(), 5u);
  EXPECT_NE(shown[0].find("question 'q0': the answer 'Oslo' is not at answer_start 8"), std::string::npos)
      << shown[0];
}

TEST_F(SquadReaderTest, AStartBehindTheEndIsSkippedAndCountedApart) {
  const auto found = read(many("It is in Oslo now.", 7, "now.", 15, "Oslo", 9));
  EXPECT_EQ(found.size(), 993u);
  EXPECT_EQ(reader_->skipped().text(), "answer_start outside of the context 7");
  EXPECT_EQ(read(many("It is in Oslo now.", 7, "Oslo", -1, "Oslo", 9)).size(), 993u);
  EXPECT_EQ(reader_->skipped().count("answer_start outside of the context"), 7u);
}

TEST_F(SquadReaderTest, StartsInBytesAreRecognised) {
  // 4 code points before, 6 bytes.
  expect_refused(many("\u00e9\u00e8 x Oslo now.", 11, "Oslo", 7, "x", 3), "own.json: 11 of 1000 answers",
                 "11 would be if it counted bytes of UTF-8");
}

TEST_F(SquadReaderTest, StartsInUnitsOfUtf16AreRecognised) {
  // 5 code points before, 7 units of UTF-16, 11 bytes.
  expect_refused(many("\U0001F600\U0001F601 x Oslo now.", 11, "Oslo", 7, "x", 3), "11 of 1000 answers",
                 "11 would be if it counted units of UTF-16");
}

TEST_F(SquadReaderTest, ShiftedStartsAreRecognised) {
  expect_refused(many("It is in Oslo now.", 500, "Oslo", 10, "Oslo", 9), "500 of 1000 answers",
                 "500 would be elsewhere in the context");
}

TEST_F(SquadReaderTest, AnswersThatAreNowhereFitNoUnit) {
  const auto error = error_of([&] { read(many("It is in Oslo now.", 11, "Bergen", 2, "Oslo", 9)); });
  expect_bad_input(error, "11 of 1000 answers", "are not at their answer_start");
  EXPECT_EQ(error->message().find("would"), std::string::npos) << error->message();
}

TEST_F(SquadReaderTest, EvaluationKeepsAnswersThatStandElsewhere) {
  const auto found =
      read(many("It is in Oslo now.", 500, "Oslo", 10, "Oslo", 9), {QuestionPurpose::evaluate});
  EXPECT_EQ(found.size(), 1000u);
  EXPECT_EQ(reader_->noted().count("answer is not at answer_start"), 500u);
  EXPECT_TRUE(reader_->skipped().empty());
}

TEST_F(SquadReaderTest, AnEmptyAnswerIsSkippedInTrainingOnly) {
  const std::string text =
      squad_file("In Rome.", squad_question("a", "", 3) + "," + squad_question("b", "Rome", 3));
  EXPECT_EQ(read(text).size(), 1u);
  EXPECT_EQ(reader_->skipped().text(), "empty answer 1");
  EXPECT_EQ(read(text, {QuestionPurpose::evaluate}).size(), 2u);
}

TEST_F(SquadReaderTest, DuplicateIdsNameBoth) {
  expect_refused(
      squad_file("In Rome.", squad_question("same", "Rome", 3) + "," + squad_question("other", "Rome", 3) +
                                 "," + squad_question("same", "Rome", 3)),
      "own.json:1:", "question 'same' is number 3 of the file and has the id of number 1");
}

TEST_F(SquadReaderTest, AnIdWithALineBreakLeavesAMessageOneLine) {
  const std::string twice = squad_question("two\\nlines", "Rome", 3);
  expect_refused(squad_file("In Rome.", twice + "," + twice), "question 'two?lines'", "has the id of");
}

TEST_F(SquadReaderTest, RowNumbersMeetIdsOfTheFile) {
  // The second row has no id and would be "1".
  expect_refused(
      "{\"id\": \"1\", \"question\": \"a?\", \"context\": \"c\", \"answers\": []}\n"
      "{\"question\": \"a?\", \"context\": \"c\", \"answers\": []}\n",
      "own.json:2:1", "has the id of number 1", {QuestionPurpose::train, true});
}

TEST_F(SquadReaderTest, UnanswerableQuestionsNeedVersion2) {
  const std::string text =
      squad_file("In Rome.", R"({"id": "n", "question": "Who?", "answers": [], "is_impossible": true})");
  expect_refused(text, "question 'n'", "has no answer");
  expect_refused(text, "question 'n'", "has no answer", {QuestionPurpose::evaluate});
  const auto error = error_of([&] { read(text); });
  EXPECT_NE(error->hint().find("`version_2`"), std::string::npos) << error->hint();
  const auto found = read(text, {QuestionPurpose::train, true});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].answers.empty());
  EXPECT_EQ(reader_->answerable(), 0u);
}

TEST_F(SquadReaderTest, AQuestionThatSaysItHasNoAnswerNeedListNone) {
  const std::string text =
      squad_file("In Rome.", R"({"id": "n", "question": "Who?", "is_impossible": true})");
  EXPECT_EQ(read(text, {QuestionPurpose::train, true}).size(), 1u);
  EXPECT_TRUE(reader_->noted().empty());
}

TEST_F(SquadReaderTest, TheAnswersDecideAgainstTheFlag) {
  const std::string text = squad_file(
      "In Rome.", squad_question("a", "Rome", 3, R"(, "is_impossible": true)") +
                      R"(, {"id": "b", "question": "Who?", "answers": [], "is_impossible": false})");
  const auto found = read(text, {QuestionPurpose::train, true});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].answers.size(), 1u);
  EXPECT_TRUE(found[1].answers.empty());
  EXPECT_EQ(reader_->noted().text(), "is_impossible against the answers 2");
}

TEST_F(SquadReaderTest, AnEmptyQuestionIsAnError) {
  expect_refused(R"({"data": [{"id": "e", "question": " \n", "context": "c", "answers": []}]})",
                 "question 'e'", "'question' is empty", {QuestionPurpose::train, true});
}

TEST_F(SquadReaderTest, BlankContextsAreCounted) {
  const auto found =
      read(R"({"data": [{"id": "e", "question": "q?", "context": " \u00a0 ", "answers": []}]})",
           {QuestionPurpose::train, true});
  EXPECT_EQ(found.size(), 1u);
  EXPECT_EQ(reader_->noted().text(), "blank context 1");
}

TEST_F(SquadReaderTest, PredictionDoesNotLookAtAnswers) {
  const auto found = read(R"({"data": [{"id": "p", "question": "q?", "context": "c"},
                                       {"id": "r", "question": "q?", "context": "c", "answers": "none of this"}]})",
                          {QuestionPurpose::predict});
  EXPECT_EQ(found.size(), 2u);
  EXPECT_TRUE(found[1].answers.empty());
}

TEST_F(SquadReaderTest, MissingFieldsAreNamedWithTheirPlace) {
  expect_refused(squad_file("c", R"({"id": "x", "answers": []})"), "question 'x': 'paragraphs[0].qas[0]'",
                 "has no 'question'");
  expect_refused(squad_file("c", R"({"question": "q?", "answers": []})"), "'paragraphs[0].qas[0]'",
                 "has no 'id'");
  expect_refused(R"({"data": [{"id": "x", "question": "q?"}]})", "own.json:1:11", "has no 'context'");
  expect_refused(R"({"data": [{"id": "x", "question": "q?", "context": "c"}]})", "question 'x'",
                 "has no 'answers'");
}

TEST_F(SquadReaderTest, AMissingFieldAfterAQuestionDoesNotNameThatQuestion) {
  const auto error = error_of([&] {
    read(
        "{\"id\": \"first\", \"question\": \"a?\", \"context\": \"c\", \"answers\": []}\n{\"id\": \"second\"}\n",
        {QuestionPurpose::train, true});
  });
  expect_bad_input(error, "own.json:2:1", "has no 'context'");
  EXPECT_EQ(error->message().find("first"), std::string::npos) << error->message();
}

TEST_F(SquadReaderTest, NullIsAnError) {
  expect_refused(R"({"data": [{"id": "x", "question": "q?", "context": "c", "answers": null}]})",
                 "question 'x'", "'answers' is null");
  expect_refused(R"({"data": [{"id": "x", "question": "q?", "context": null}]})", "own.json:1:11",
                 "'context' is null");
}

TEST_F(SquadReaderTest, FieldsOfAnotherTypeAreErrors) {
  expect_refused(squad_file("c", squad_question("t", "c", 0, R"(, "is_impossible": "no")")), "question 't'",
                 "'paragraphs[0].qas[0].is_impossible' is neither true nor false");
  expect_refused(R"({"data": [{"id": "x", "question": 7, "context": "c"}]})", "question 'x'",
                 "'question' is not a string");
  expect_refused(
      R"({"data": [{"id": "x", "question": "q", "context": "c", "answers": [{"text": "c", "answer_start": "0"}]}]})",
      "question 'x'", "'answers[0].answer_start' is not a whole number");
  expect_refused(
      R"({"data": [{"id": "x", "question": "q", "context": "c", "answers": [{"text": "c", "answer_start": 0.0}]}]})",
      "question 'x'", "'answers[0].answer_start' is not a whole number");
  expect_refused(R"({"data": [{"paragraphs": 5}]})", "own.json:1:11", "'paragraphs' is not a list");
  expect_refused(R"({"data": ["text"]})", "own.json:1:11", "it is not an object");
}

TEST_F(SquadReaderTest, TextsAndStartsMustBeEquallyMany) {
  expect_refused(R"({"data": [{"id": "x", "question": "q", "context": "c",
                     "answers": {"text": ["c", "c"], "answer_start": [0]}}]})",
                 "question 'x'", "'answers' has 2 texts and 1 starts");
}

TEST_F(SquadReaderTest, AFileThatIsCutOffIsNoWholeFile) {
  const std::string text = squad_file("In Rome.", squad_question("a", "Rome", 3));
  for (const std::size_t size : {text.size() - 1, text.size() - 3, text.size() / 2}) {
    EXPECT_TRUE(error_of([&] { read(text.substr(0, size)); }).has_value()) << size;
  }
}

TEST_F(SquadReaderTest, NumbersThatNothingHoldsAreErrors) {
  expect_refused(R"({"data": [{"id": 1e999, "question": "q", "context": "c"}]})", "own.json:1:", "1e999");
  expect_refused(R"({"data": [{"id": "x", "question": "q", "context": "c",
                     "answers": [{"text": "c", "answer_start": 18446744073709551615}]}]})",
                 "question 'x'", "is not a whole number");
}

TEST_F(SquadReaderTest, RealFilesAreReadWhole) {
  BIGBIRD_REQUIRE_SHARED();
  const auto path = *testing::shared_dir() / "data/text/squad/train-v2.0.json";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "SKIPPED: " << path << " is absent";
  SquadReader reader(path.string(), {QuestionPurpose::train, true});
  QuestionExample example;
  while (reader.next(example)) ASSERT_FALSE(example.question.empty());
  EXPECT_EQ(reader.questions(), 4242u);
  EXPECT_EQ(reader.answerable(), 3894u);
  EXPECT_TRUE(reader.skipped().empty()) << reader.skipped().text();
}

}  // namespace
}  // namespace bigbird
