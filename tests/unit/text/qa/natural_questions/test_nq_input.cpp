// Natural Questions: both forms of a record, pieces of a page, and labels in its windows.
#include "lib/text/qa/natural_questions/questions.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/io/expect_error.h"
#include "tests/unit/text/qa/qa_tokenizer.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;

// "<P> the cat sat on mat </P> <H2> x </H2> <P> sparse graph </P>": candidates are the two paragraphs, and
// one in the first that is not top level.
constexpr const char* page_words = "<P> the cat sat on mat </P> <H2> x </H2> <P> sparse graph </P>";

class PageTest : public testing::QuestionTokenizer {
 protected:
  std::vector<NqQuestion> read(const std::string& text, QuestionPurpose purpose = QuestionPurpose::train) {
    NqReader reader(write(text, "own.jsonl"), {purpose});
    std::vector<NqQuestion> found;
    NqQuestion example;
    while (reader.next(example)) found.push_back(example);
    return found;
  }
  static std::string annotation(std::int64_t candidate, const std::string& shorts = {},
                                const std::string& yes_no = "NONE") {
    return fmt::format(R"({{"long_answer": {{"start_token": 0, "end_token": 7, "candidate_index": {}}},
      "short_answers": [{}], "yes_no_answer": "{}"}})",
                       candidate, shorts, yes_no);
  }
  static std::string tokens(int start, int end) {
    return fmt::format(R"({{"start_token": {}, "end_token": {}}})", start, end);
  }
  static std::string simplified(const std::string& annotations, const std::string& id = "-12",
                                const std::string& more_candidates = {}) {
    std::string line = fmt::format(
        R"({{"example_id": {}, "question_text": "the cat", "document_text": "{}", "long_answer_candidates": [
        {{"start_token": 0, "end_token": 7, "top_level": true}}, {{"start_token": 2, "end_token": 4, "top_level": false}},
        {{"start_token": 10, "end_token": 14, "top_level": true}}{}], "annotations": [{}]}})",
        id, page_words, more_candidates, annotations);
    std::replace(line.begin(), line.end(), '\n', ' ');
    return line + "\n";
  }
  NqQuestion page(const std::string& annotations) { return read(simplified(annotations)).at(0); }

  NqLabel label_of(const NqQuestion& example, const ContextWindow& window) {
    const EncodedNq encoded = NqEncoder(*tokenizer_, {}).encode(example);
    return nq_label(example, encoded, window);
  }
};

TEST_F(PageTest, SimplifiedTextIsSplitAtEveryBlank) {
  const NqQuestion example = page(annotation(0, tokens(2, 4)));
  EXPECT_EQ(example.id, -12);
  ASSERT_EQ(example.tokens.size(), 14u);
  EXPECT_TRUE(example.tokens[0].is_tag);
  EXPECT_FALSE(example.tokens[1].is_tag);
  EXPECT_EQ(example.tokens[13].text, "</P>");
  EXPECT_EQ(example.tokens[1].start_byte, -1);
  ASSERT_EQ(example.candidates.size(), 3u);
  EXPECT_FALSE(example.candidates[1].top_level);
  ASSERT_EQ(example.annotations.size(), 1u);
  EXPECT_EQ(example.annotations[0].candidate, 0u);
  EXPECT_EQ(example.annotations[0].short_answers, (std::vector<NqSpan>{{-1, -1, 2, 4}}));
  // Two blanks have an empty token between them; no other white space parts tokens.
  const auto odd = read(
      R"({"example_id": 1, "question_text": "q", "document_text": "a  b\u00a0c\td", "long_answer_candidates": []})",
      QuestionPurpose::predict);
  ASSERT_EQ(odd[0].tokens.size(), 3u);
  EXPECT_EQ(odd[0].tokens[1].text, "");
  EXPECT_EQ(odd[0].tokens[2].text, "b\u00a0c\td");
}

TEST_F(PageTest, TheOriginalFormHasBytes) {
  const auto found = read(
      R"({"example_id": 7, "question_text": "q", "document_title": "T", "document_tokens": [)"
      R"({"token": "<P>", "start_byte": 5, "end_byte": 8, "html_token": true},)"
      R"({"token": "cat", "start_byte": 8, "end_byte": 11, "html_token": false}],)"
      R"("long_answer_candidates": [{"start_byte": 5, "end_byte": 11, "start_token": 0, "end_token": 2, "top_level": true}],)"
      R"("annotations": [{"long_answer": {"start_byte": 5, "end_byte": 11, "start_token": 0, "end_token": 2, "candidate_index": 0},)"
      R"("short_answers": [{"start_byte": 8, "end_byte": 11, "start_token": 1, "end_token": 2}], "yes_no_answer": "NONE"}]})");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].title, "T");
  EXPECT_TRUE(found[0].tokens[0].is_tag);
  EXPECT_EQ(found[0].tokens[1].start_byte, 8);
  EXPECT_EQ(found[0].candidates[0].span, (NqSpan{5, 11, 0, 2}));
  EXPECT_EQ(found[0].annotations[0].short_answers[0], (NqSpan{8, 11, 1, 2}));
}

TEST_F(PageTest, SpansThatCannotBeAreErrorsWithTheId) {
  expect_bad_input(error_of([&] { page(annotation(3)); }), "question '-12'",
                   "candidate_index' is 3 of 3 candidates");
  expect_bad_input(error_of([&] { page(annotation(-2)); }), "question '-12'", "is -2 of 3");
  expect_bad_input(error_of([&] { page(annotation(0, tokens(4, 4))); }), "short_answers[0]'",
                   "tokens 4 to 4");
  expect_bad_input(error_of([&] { page(annotation(0, tokens(4, -1))); }), "short_answers[0]'",
                   "tokens 4 to -1");
  expect_bad_input(error_of([&] { page(annotation(0, tokens(4, 15))); }), "short_answers[0]'",
                   "of a document of 14");
  expect_bad_input(error_of([&] { page(annotation(0, {}, "MAYBE")); }), "yes_no_answer'", "is 'MAYBE'");
  expect_bad_input(error_of([&] { page(annotation(0, {}, "N\\nO")); }), "yes_no_answer'", "is 'N?O'");
  expect_bad_input(
      error_of([&] {
        read(simplified(annotation(-1), "3", R"(, {"start_token": -1, "end_token": -1, "top_level": true})"));
      }),
      "question '3': 'long_answer_candidates[3]'", "is null");
  expect_bad_input(error_of([&] { read(simplified(annotation(-1)) + simplified(annotation(-1))); }),
                   "own.jsonl:2:1", "has the id of number 1");
}

TEST_F(PageTest, OnlyTopLevelCandidatesAreRead) {
  const EncodedNq encoded = NqEncoder(*tokenizer_, {}).encode(page(annotation(-1)));
  const std::string sign = "\u2581";
  EXPECT_EQ(pieces(encoded.pieces.ids), "<unused_35> " + sign + "the " + sign + "cat " + sign + "sat " +
                                            sign + "on " + sign + "mat <unused_36> <unused_35> " + sign +
                                            "sparse " + sign + "graph <unused_36>");
  EXPECT_EQ(encoded.tokens, (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6, 10, 11, 12, 13}));
  EXPECT_EQ(pieces(encoded.question), sign + "the " + sign + "cat");
}

TEST_F(PageTest, OneAnnotationIsTrainedOn) {
  EXPECT_EQ(trained_annotation(page(annotation(-1))), nullptr);
  const NqQuestion several = page(annotation(-1) + "," + annotation(2) + "," + annotation(0) + "," +
                                  annotation(2, tokens(11, 12)) + "," + annotation(1));
  EXPECT_EQ(trained_annotation(several), &several.annotations[3]) << "with short answers first";
  const NqQuestion longs = page(annotation(2) + "," + annotation(1));
  EXPECT_EQ(trained_annotation(longs), &longs.annotations[1]);
}

TEST_F(PageTest, ShortAnswersAreOneSpanInTheirLongOne) {
  // Question of two tokens: the page begins at position 4; token t of the first paragraph is piece t.
  const NqLabel label = label_of(page(annotation(0, tokens(4, 6) + "," + tokens(2, 3))), {0, 11});
  EXPECT_EQ(label.type, NqAnswerType::short_answer);
  EXPECT_EQ(label.short_answer, (SpanLabel{6, 9}));
  EXPECT_EQ(label.long_answer, (SpanLabel{4, 10}));
}

TEST_F(PageTest, WindowsWithoutTheAnswerAreNull) {
  const NqQuestion example = page(annotation(0, tokens(2, 4)));
  for (const ContextWindow& window : {ContextWindow{3, 8}, ContextWindow{0, 3}, ContextWindow{7, 4}}) {
    const NqLabel label = label_of(example, window);
    EXPECT_EQ(label.type, NqAnswerType::null);
    EXPECT_EQ(label.short_answer, SpanLabel{});
    EXPECT_EQ(label.long_answer, SpanLabel{});
  }
  // The short answer is whole, the long one is not.
  const NqLabel part = label_of(example, {1, 5});
  EXPECT_EQ(part.type, NqAnswerType::short_answer);
  EXPECT_EQ(part.short_answer, (SpanLabel{5, 6}));
  EXPECT_EQ(part.long_answer, SpanLabel{});
}

TEST_F(PageTest, TypesHaveNames) {
  EXPECT_EQ(label_of(page(annotation(2, {}, "YES")), {0, 11}).type, NqAnswerType::yes);
  EXPECT_EQ(label_of(page(annotation(2, {}, "NO")), {0, 11}).type, NqAnswerType::no);
  const NqLabel label = label_of(page(annotation(2)), {0, 11});
  EXPECT_EQ(label.type, NqAnswerType::long_answer);
  EXPECT_EQ(label.long_answer, (SpanLabel{11, 14}));
}

TEST_F(PageTest, ACandidateWithinAnotherIsALongAnswerToo) {
  EXPECT_EQ(label_of(page(annotation(1)), {0, 11}).long_answer, (SpanLabel{6, 7}));
}

TEST_F(PageTest, RealFilesAreRead) {
  BIGBIRD_REQUIRE_SHARED();
  const auto path = *testing::shared_dir() / "data/text/natural_questions/simplified.jsonl";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "SKIPPED: " << path << " is absent";
  NqReader reader(path.string());
  NqQuestion example;
  ASSERT_TRUE(reader.next(example));
  EXPECT_EQ(example.id, -8062182676792486818);
  EXPECT_EQ(example.candidates.size(), 236u);
  EXPECT_EQ(example.tokens.size(), 17964u);
  const EncodedNq encoded = NqEncoder(*tokenizer_, {}).encode(example);
  EXPECT_EQ(encoded.tokens.size(), encoded.pieces.ids.size());
  EXPECT_EQ(trained_annotation(example), nullptr);
  EXPECT_FALSE(reader.next(example));
}

}  // namespace
}  // namespace bigbird
