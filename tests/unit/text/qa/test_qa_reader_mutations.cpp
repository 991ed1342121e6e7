// Files of questions with bytes changed, dropped and doubled: whatever comes of it, a reader gives records or
// an Error, and says where.
#include <gtest/gtest.h>

#include <functional>

#include "lib/core/rng.h"
#include "lib/text/qa/hotpotqa/questions.h"
#include "lib/text/qa/natural_questions/questions.h"
#include "lib/text/qa/squad/questions.h"
#include "lib/text/qa/triviaqa/questions.h"
#include "lib/text/qa/wikihop/questions.h"
#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

constexpr int mutated_files = 400;

// A few edits; what is put in are signs of JSON and parts of the text itself.
std::string mutated(std::string text, CounterRng& rng) {
  constexpr std::string_view signs = "{}[]\",:0-1e9.ntf\\u \n\xC3";
  for (std::uint64_t edit = 1 + rng.below(3); edit > 0; --edit) {
    const auto at = static_cast<std::size_t>(rng.below(text.size()));
    const auto length =
        static_cast<std::size_t>(rng.below(std::min<std::uint64_t>(12, text.size() - at) + 1));
    switch (rng.below(4)) {
      case 0:
        text[at] = signs[static_cast<std::size_t>(rng.below(signs.size()))];
        break;
      case 1:
        if (length < text.size()) text.erase(at, length);
        break;
      case 2:
        text.insert(at, text.substr(static_cast<std::size_t>(rng.below(text.size())), length));
        break;
      default:
        text.resize(at + 1);
    }
  }
  return text;
}

// Reads mutations of `text`; returns how many of them were refused.
int read_mutations(const std::string& text, const std::function<void(const std::string& path)>& read) {
  testing::TemporaryFolder folder;
  const std::string path = (folder / "own.json").string();
  testing::write_text(path, text);
  read(path);
  CounterRng rng(5, Purpose::test, text.size());
  int refused = 0;
  for (int i = 0; i < mutated_files; ++i) {
    testing::write_text(path, mutated(text, rng));
    const auto error = testing::error_of([&] { read(path); });
    if (!error) continue;
    ++refused;
    EXPECT_NE(error->message().find("own.json"), std::string::npos) << error->message();
    EXPECT_EQ(error->message().find('\n'), std::string::npos) << error->message();
  }
  return refused;
}

// Every record of a reader.
template <typename Example, typename Reader>
void drain(Reader&& reader) {
  Example example;
  while (reader.next(example)) {
  }
}

TEST(MutatedFiles, OfSquad) {
  const std::string text =
      R"({"version": "v2.0", "data": [{"title": "t", "paragraphs": [{"context": "In Z\u00fcrich.",
    "qas": [{"id": "a", "question": "Where?", "answers": [{"text": "Zürich", "answer_start": 3}], "is_impossible": false},
            {"id": "b", "question": "Who?", "answers": [], "is_impossible": true}]}]},
    {"id": "c", "question": "q", "context": "c d", "answers": {"text": ["d"], "answer_start": [2]}}]})";
  const auto read = [](const std::string& path) {
    drain<QuestionExample>(SquadReader(path, {QuestionPurpose::train, true}));
  };
  EXPECT_GT(read_mutations(text, read), mutated_files / 2);
}

TEST(MutatedFiles, OfHotpotQa) {
  const std::string text =
      R"([{"_id": "h", "question": "q?", "answer": "mat", "supporting_facts": [["Cat", 0]],
    "context": [["Cat", ["The mat.", " It."]], ["Dog", []]], "type": "bridge"}])";
  const auto read = [](const std::string& path) { drain<HotpotQuestion>(HotpotReader(path)); };
  EXPECT_GT(read_mutations(text, read), mutated_files / 3);
}

TEST(MutatedFiles, OfWikiHop) {
  const std::string text = R"([{"id": "w", "query": "is_on it", "answer": "Mat", "candidates": ["cat", "mat"],
    "supports": ["The cat is on the mat."]}])";
  const auto read = [](const std::string& path) { drain<WikiHopQuestion>(WikiHopReader(path)); };
  EXPECT_GT(read_mutations(text, read), mutated_files / 3);
}

TEST(MutatedFiles, OfTriviaQa) {
  testing::TemporaryFolder folder;
  std::filesystem::create_directories(folder / "wikipedia");
  testing::write_text(folder / "wikipedia/York.txt", "The city of York.");
  QuestionReading options;
  options.evidence = folder.path().string();
  const std::string text =
      R"({"Data": [{"QuestionId": "t", "Question": "Where?", "Answer": {"NormalizedAliases":
    ["york", "the york"]}, "EntityPages": [{"Filename": "York.txt"}]}], "Domain": "Wikipedia"})";
  const auto read = [&](const std::string& path) { drain<TriviaDocument>(TriviaReader(path, options)); };
  EXPECT_GT(read_mutations(text, read), mutated_files / 3);
}

TEST(MutatedFiles, OfNaturalQuestions) {
  const std::string text =
      R"({"example_id": -3, "question_text": "q", "document_text": "<P> a cat </P>", "long_answer_candidates": )"
      R"([{"start_token": 0, "end_token": 4, "top_level": true}], "annotations": [{"long_answer": {"start_token": 0, )"
      R"("end_token": 4, "candidate_index": 0}, "short_answers": [{"start_token": 1, "end_token": 3}], )"
      R"("yes_no_answer": "NONE"}]})";
  const auto read = [](const std::string& path) {
    NqReader reader(path);
    NqQuestion example;
    while (reader.next(example)) {
      for (const NqAnnotation& annotation : example.annotations) {
        if (!annotation.candidate) continue;
        EXPECT_LT(*annotation.candidate, example.candidates.size());
      }
    }
  };
  EXPECT_GT(read_mutations(text, read), mutated_files / 3);
}

}  // namespace
}  // namespace bigbird
