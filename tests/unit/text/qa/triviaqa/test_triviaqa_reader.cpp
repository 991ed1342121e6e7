// Reading TriviaQA: documents of both domains, places of the answer's names, and files that are wrong.
#include "lib/text/qa/triviaqa/questions.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lib/core/unicode.h"
#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;

class TriviaReaderTest : public ::testing::Test {
 protected:
  TriviaReaderTest() {
    std::filesystem::create_directories(folder_ / "evidence/wikipedia");
    std::filesystem::create_directories(folder_ / "evidence/web/1");
    testing::write_text(folder_ / "evidence/wikipedia/York.txt", "The city of York.\n\nYORK, again.");
    testing::write_text(folder_ / "evidence/wikipedia/Leeds.txt", "Leeds is another city.");
    testing::write_text(folder_ / "evidence/web/1/page.txt", "From Eboracum to york");
    options_.evidence = (folder_ / "evidence").string();
  }

  static std::string trivia(const std::string& pages, const std::string& domain = "Wikipedia",
                            const std::string& more = {}) {
    return fmt::format(
        R"({{"Data": [{{"QuestionId": "tc_1", "Question": "Where?", "Answer": {{"NormalizedAliases":
      ["york", "eboracum"], "Value": "York"}}, "EntityPages": [{}], "SearchResults": [{{"Filename": "1/page.txt"}}]}}{}],
      "Domain": "{}", "VerifiedEval": false, "Version": 1.0}})",
        pages, more, domain);
  }
  static std::string page(const std::string& name) { return fmt::format(R"({{"Filename": "{}"}})", name); }

  std::vector<TriviaDocument> read(const std::string& text) {
    testing::write_text(folder_ / "own.json", text);
    reader_ = std::make_unique<TriviaReader>((folder_ / "own.json").string(), options_);
    std::vector<TriviaDocument> found;
    TriviaDocument example;
    while (reader_->next(example)) found.push_back(example);
    return found;
  }

  testing::TemporaryFolder folder_;
  QuestionReading options_;
  std::unique_ptr<TriviaReader> reader_;
};

TEST_F(TriviaReaderTest, EveryDocumentIsAnExampleWithThePlacesOfTheAnswer) {
  const auto found = read(trivia(page("York.txt") + "," + page("Leeds.txt")));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].question.id, "tc_1");
  EXPECT_EQ(found[0].document, "York.txt");
  EXPECT_EQ(*found[0].question.context, "The city of York.\n\nYORK, again.");
  EXPECT_EQ(found[0].places, (std::vector<TextSpan>{{12, 16}, {19, 23}}));
  EXPECT_EQ(reader_->skipped().text(), "no name of the answer in the document 1");
  EXPECT_EQ(reader_->questions(), 1u);
}

TEST_F(TriviaReaderTest, EvaluationKeepsDocumentsWithoutTheAnswer) {
  options_.purpose = QuestionPurpose::evaluate;
  const auto found = read(trivia(page("York.txt") + "," + page("Leeds.txt")));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1].question.id, "tc_1");
  EXPECT_TRUE(found[1].places.empty());
}

TEST_F(TriviaReaderTest, PredictionNeedsNoAnswer) {
  options_.purpose = QuestionPurpose::predict;
  const auto found =
      read(R"({"Data": [{"QuestionId": "q", "Question": "?", "EntityPages": [{"Filename": "York.txt"}]}]})");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].aliases.empty());
}

TEST_F(TriviaReaderTest, WebHasResultsOfTheSearchAndAKeyPerDocument) {
  options_.domain = TriviaDomain::web;
  const auto found = read(trivia(page("York.txt"), "Web"));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].question.id, "tc_1--1/page.txt");
  EXPECT_EQ(found[0].question_id, "tc_1");
  EXPECT_EQ(found[0].places.size(), 2u);
  EXPECT_EQ(found[1].question.id, "tc_1--York.txt");
}

TEST_F(TriviaReaderTest, TheOtherDomainIsAnError) {
  expect_bad_input(error_of([&] { read(trivia(page("York.txt"), "Web")); }), "own.json",
                   "its \"Domain\" is \"Web\"");
}

TEST_F(TriviaReaderTest, APlaceIsOneLineWhateverIdsAndFilesAreCalled) {
  testing::write_text(folder_ / "evidence/wikipedia/a\nb.txt", "York");
  std::string text = trivia(page("a\\nb.txt"));
  text.replace(text.find("tc_1"), 4, "tc\\n1");
  const auto found = read(text);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].question.id, "tc\n1");
  EXPECT_NE(found[0].question.where.find("question 'tc?1', document a?b.txt"), std::string::npos)
      << found[0].question.where;
}

TEST_F(TriviaReaderTest, DocumentsThatAreNotThereAreCounted) {
  EXPECT_EQ(read(trivia(page("York.txt") + "," + page("Hull.txt"))).size(), 1u);
  EXPECT_EQ(reader_->skipped().text(), "document not in the folder of evidence 1");
  expect_bad_input(error_of([&] { read(trivia(page("Hull.txt"))); }), "none of its 1 documents", "evidence");
}

TEST_F(TriviaReaderTest, FileNamesStayInTheFolder) {
  for (const char* name : {"../York.txt", "/etc/passwd", "a/../../b", ""}) {
    expect_bad_input(error_of([&] { read(trivia(page(name))); }),
                     "question 'tc_1': 'EntityPages[0].Filename'", "leads out");
  }
  // Two points in a name lead nowhere.
  EXPECT_EQ(read(trivia(page("York.txt") + "," + page("B..txt"))).size(), 1u);
}

TEST_F(TriviaReaderTest, DuplicateIdsAndEmptyQuestionsAreErrors) {
  expect_bad_input(
      error_of([&] {
        read(trivia(page("York.txt"), "Wikipedia",
                    R"(, {"QuestionId": "tc_1", "Question": "?", "Answer": {"NormalizedAliases": []}})"));
      }),
      "question 'tc_1' is number 2", "the id of number 1");
  expect_bad_input(error_of([&] { read(R"({"Data": [{"QuestionId": "q", "Question": " "}]})"); }),
                   "question 'q'", "'Question' is empty");
}

TEST_F(TriviaReaderTest, DocumentsAreUtf8) {
  testing::write_text(folder_ / "evidence/wikipedia/Bad.txt", "York \xFF");
  expect_bad_input(error_of([&] { read(trivia(page("Bad.txt"))); }), "Bad.txt", "UTF-8");
  options_.replace_invalid = true;
  EXPECT_EQ(*read(trivia(page("Bad.txt")))[0].question.context, "York \uFFFD");
}

TEST_F(TriviaReaderTest, RealFilesAreRead) {
  BIGBIRD_REQUIRE_SHARED();
  const auto data = *testing::shared_dir() / "data/text/triviaqa";
  if (!std::filesystem::exists(data)) GTEST_SKIP() << "SKIPPED: " << data << " is absent";
  options_.evidence = (data / "evidence").string();
  TriviaReader reader((data / "qa/wikipedia-train.json").string(), options_);
  TriviaDocument example;
  std::size_t documents = 0, places = 0;
  while (reader.next(example)) {
    ++documents;
    places += example.places.size();
    EXPECT_LE(example.places.size(), 64u);
  }
  EXPECT_EQ(reader.questions(), 2u);
  EXPECT_GE(documents, 2u);
  EXPECT_GE(places, documents);
}

}  // namespace
}  // namespace bigbird
