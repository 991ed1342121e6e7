// WikiHop: records, and inputs in which every candidate has its mark.
#include "lib/text/qa/wikihop/questions.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/unit/io/expect_error.h"
#include "tests/unit/text/qa/qa_tokenizer.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;
using testing::expect_message;

class WikiHop : public testing::QuestionTokenizer {
 protected:
  std::vector<WikiHopQuestion> read(const std::string& text,
                                    QuestionPurpose purpose = QuestionPurpose::train) {
    reader_ = std::make_unique<WikiHopReader>(write(text), QuestionReading{purpose});
    std::vector<WikiHopQuestion> found;
    WikiHopQuestion example;
    while (reader_->next(example)) found.push_back(example);
    return found;
  }
  static std::string record(const std::string& answer, const std::string& supports = R"("the cat sat")") {
    return R"([{"id": "W1", "query": "is_on the", "answer": ")" + answer +
           R"(", "candidates": ["cat", "The Mat "],
             "supports": [)" +
           supports + "]}]";
  }
  static WikiHopQuestion example() {
    WikiHopQuestion made;
    made.id = "W1";
    made.where = "own.json:1:1: question 'W1'";
    made.query = "the cat";
    made.candidates = {"mat", "the graph"};
    made.supports = {"the cat sat on the mat", " the graph"};
    return made;
  }

  std::unique_ptr<WikiHopReader> reader_;
};

TEST_F(WikiHop, AnswersAreComparedInSmallLettersAndStripped) {
  const auto found = read(record(" the mat"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].query, "is_on the");
  EXPECT_EQ(found[0].answer_candidate, 1u);
  EXPECT_EQ(found[0].supports, std::vector<std::string>{"the cat sat"});
}

TEST_F(WikiHop, AnAnswerThatIsNoCandidateIsAnErrorInTrainingAndCountedInEvaluation) {
  expect_bad_input(error_of([&] { read(record("dog")); }), "own.json:1:2: question 'W1'",
                   "'answer' is not a candidate");
  EXPECT_FALSE(read(record("dog"), QuestionPurpose::evaluate)[0].answer_candidate.has_value());
  EXPECT_EQ(reader_->noted().text(), "answer is not a candidate 1");
}

TEST_F(WikiHop, PredictionNeedsNoAnswer) {
  const auto found =
      read(R"([{"id": "a", "query": "q", "candidates": ["x"], "supports": []}])", QuestionPurpose::predict);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(reader_->noted().text(), "no supports 1");
}

TEST_F(WikiHop, RecordsThatAreWrongAreNamed) {
  expect_bad_input(
      error_of([&] { read(R"([{"id": "a", "query": "q", "candidates": [], "supports": []}])"); }),
      "question 'a'", "'candidates' is empty");
  expect_bad_input(
      error_of([&] { read(R"([{"id": "a", "query": "", "candidates": ["x"], "supports": []}])"); }),
      "question 'a'", "'query' is empty");
  expect_bad_input(
      error_of([&] { read(R"([{"id": "a", "query": "q", "candidates": ["x", 3], "supports": []}])"); }),
      "question 'a'", "'candidates[1]' is not a string");
}

TEST_F(WikiHop, AnInputHoldsQueryCandidatesAndSupports) {
  const WikiHopEncoder encoder(*tokenizer_, {});
  const EncodedWikiHop inputs = encoder.encode(example(), 100);
  ASSERT_EQ(inputs.windows.size(), 1u);
  const std::string sign = "\u2581";
  EXPECT_EQ(pieces(inputs.windows[0].ids), "[CLS] <sep_0> " + sign + "the " + sign + "cat <sep_1> <ans> " +
                                               sign + "mat <sep_4> <ans> " + sign + "the " + sign +
                                               "graph <sep_4> [SEP] " + sign + "the " + sign + "cat " + sign +
                                               "sat " + sign + "on " + sign + "the " + sign + "mat [SEP] " +
                                               sign + "the " + sign + "graph [SEP]");
  EXPECT_EQ(inputs.candidate_marks, (std::vector<std::size_t>{5, 8}));
  const auto& types = inputs.windows[0].types;
  ASSERT_EQ(types.size(), inputs.windows[0].ids.size());
  EXPECT_EQ(types[12], 0u);
  EXPECT_EQ(types[13], 1u);
}

TEST_F(WikiHop, SupportsGoOnInFurtherWindowsWithEveryCandidate) {
  const WikiHopEncoder encoder(*tokenizer_, {});
  const auto whole = encoder.encode(example(), 100).windows[0].ids;
  const std::size_t head = 13;
  const EncodedWikiHop inputs = encoder.encode(example(), head + 1 + 4);
  ASSERT_EQ(inputs.windows.size(), 3u);
  std::vector<std::uint32_t> text;
  for (const QuestionInput& input : inputs.windows) {
    EXPECT_LE(input.ids.size(), head + 5);
    EXPECT_EQ(input.ids.size(), input.types.size());
    EXPECT_TRUE(std::equal(whole.begin(), whole.begin() + head, input.ids.begin()));
    EXPECT_EQ(input.ids.back(), tokenizer_->special().sep);
    for (const std::size_t mark : inputs.candidate_marks)
      EXPECT_EQ(tokenizer_->piece(input.ids[mark]), "<ans>");
    text.insert(text.end(), input.ids.begin() + head, input.ids.end() - 1);
  }
  EXPECT_EQ(text, std::vector<std::uint32_t>(whole.begin() + head, whole.end() - 1));
}

TEST_F(WikiHop, WithoutSupportsThereIsOneInput) {
  WikiHopQuestion bare = example();
  bare.supports.clear();
  EXPECT_EQ(WikiHopEncoder(*tokenizer_, {}).encode(bare, 100).windows.size(), 1u);
}

TEST_F(WikiHop, CandidatesThatFillTheInputAreAUsageError) {
  const WikiHopEncoder encoder(*tokenizer_, {});
  encoder.encode(example(), 15);
  const auto error = error_of([&] { encoder.encode(example(), 14); });
  expect_message(error, "question 'W1'", "`length` 14 leaves no room");
  EXPECT_EQ(error->kind(), ErrorKind::usage);
}

TEST_F(WikiHop, RealFilesAreRead) {
  BIGBIRD_REQUIRE_SHARED();
  const auto data = *testing::shared_dir() / "data/text/wikihop";
  if (!std::filesystem::exists(data)) GTEST_SKIP() << "SKIPPED: " << data << " is absent";
  for (const char* name : {"train.json", "dev.json", "medhop_train.json"}) {
    WikiHopReader reader((data / name).string());
    WikiHopQuestion found;
    std::size_t records = 0;
    while (reader.next(found)) {
      ++records;
      EXPECT_TRUE(found.answer_candidate.has_value());
      const EncodedWikiHop inputs = WikiHopEncoder(*tokenizer_, {}).encode(found, 4096);
      EXPECT_EQ(inputs.candidate_marks.size(), found.candidates.size());
    }
    EXPECT_GE(records, 1u) << name;
  }
}

TEST(CandidateDecode, LogitsAreSummedOverTheInputs) {
  const std::vector<std::vector<float>> one = {{1, 3, 2}}, two = {{1, 3, 2}, {5, 0, 4}};
  EXPECT_EQ(decode_wikihop(one, 3, "w"), 1U);
  EXPECT_EQ(decode_wikihop(two, 3, "w"), 0U) << "6, 3, 6: the first of the highest";
  const std::vector<std::vector<float>> bad = {{1, std::numeric_limits<float>::quiet_NaN()}}, few = {{1}};
  testing::expect_message(testing::error_of([&] { decode_wikihop(bad, 2, "question 'w'"); }), "question 'w'",
                          "not finite");
  testing::expect_message(testing::error_of([&] { decode_wikihop(few, 2, "question 'w'"); }), "question 'w'",
                          "1 logits");
}

}  // namespace
}  // namespace bigbird
