// HotpotQA: records, inputs of whole sentences, and labels of answers and supporting facts.
#include "lib/text/qa/hotpotqa/questions.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lib/core/unicode.h"
#include "tests/unit/io/expect_error.h"
#include "tests/unit/text/qa/qa_tokenizer.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;
using testing::expect_message;

class HotpotInputTest : public testing::QuestionTokenizer {
 protected:
  std::vector<HotpotQuestion> read(const std::string& text,
                                   QuestionPurpose purpose = QuestionPurpose::train) {
    reader_ = std::make_unique<HotpotReader>(write(text), QuestionReading{purpose});
    std::vector<HotpotQuestion> found;
    HotpotQuestion example;
    while (reader_->next(example)) found.push_back(example);
    return found;
  }
  static std::string record(const std::string& answer,
                            const std::string& facts = R"(["Cat", 1], ["Mat", 0])") {
    return R"([{"_id": "h1", "question": "What is it?", "answer": ")" + answer +
           R"(", "supporting_facts": [)" + facts +
           R"(], "context": [["Mat", ["The mat is on it.", " The paper is sparse."]],
                             ["Cat", ["The cat sat.", " The cat is a graph."]]], "type": "bridge", "level": "hard"}])";
  }
  HotpotQuestion one(const std::string& answer) {
    return read(record(answer), QuestionPurpose::evaluate).at(0);
  }
  // The text under a label.
  static std::string labelled(const HotpotQuestion& example, const EncodedHotpot& input,
                              const SpanLabel& label) {
    for (const HotpotSegment& segment : input.segments) {
      if (label.start < segment.first || label.end >= segment.mark) continue;
      const HotpotParagraph& paragraph = example.paragraphs[segment.paragraph];
      const std::string& text = segment.sentence ? paragraph.sentences[*segment.sentence] : paragraph.title;
      return std::string(CodePointIndex(text).slice(segment.spans[label.start - segment.first].begin,
                                                    segment.spans[label.end - segment.first].end));
    }
    return "(in no segment)";
  }

  std::unique_ptr<HotpotReader> reader_;
};

TEST_F(HotpotInputTest, RecordsAreReadWhole) {
  const auto found = read(record("graph"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].id, "h1");
  EXPECT_EQ(found[0].answer, "graph");
  ASSERT_EQ(found[0].paragraphs.size(), 2u);
  EXPECT_EQ(found[0].paragraphs[1].title, "Cat");
  EXPECT_EQ(found[0].paragraphs[1].sentences[1], " The cat is a graph.");
  EXPECT_EQ(found[0].supporting_facts, (std::vector<SupportingFact>{{"Cat", 1}, {"Mat", 0}}));
  EXPECT_TRUE(reader_->noted().empty());
}

TEST_F(HotpotInputTest, AnswersOutsideOfTheEvidenceAreSkippedInTraining) {
  // "sparse" stands in a sentence that does not support.
  EXPECT_TRUE(read(record("sparse")).empty());
  EXPECT_EQ(reader_->skipped().text(), "answer is in no supporting title or sentence 1");
  EXPECT_EQ(read(record("sparse"), QuestionPurpose::evaluate).size(), 1u);
  EXPECT_EQ(read(record("Mat")).size(), 1u) << "a title";
  EXPECT_EQ(read(record("yes")).size(), 1u);
  EXPECT_EQ(read(record("no")).size(), 1u);
}

TEST_F(HotpotInputTest, FactsThatAreNotThereAreCounted) {
  EXPECT_EQ(
      read(record("graph", R"(["Cat", 1], ["Cat", 2], ["Dog", 0], ["Mat", -1])"))[0].supporting_facts.size(),
      4u);
  EXPECT_EQ(reader_->noted().text(), "supporting fact that is not in the context 3");
}

TEST_F(HotpotInputTest, RecordsThatAreWrongAreNamed) {
  expect_bad_input(error_of([&] { read(record("graph", R"(["Cat"])")); }),
                   "question 'h1': 'supporting_facts[0]'", "is not a pair");
  expect_bad_input(error_of([&] { read(record("graph", R"(["Cat", "1"])")); }), "'supporting_facts[0][1]'",
                   "is not a whole number");
  expect_bad_input(error_of([&] { read(R"([{"_id": "x", "question": "q", "context": []}])"); }),
                   "question 'x'", "'context' is empty");
  expect_bad_input(error_of([&] { read(R"([{"_id": "x", "question": "q", "context": [["t", "s", 3]]}])"); }),
                   "'context[0]'", "is not a pair");
}

TEST_F(HotpotInputTest, SentencesStandBetweenTheirMarks) {
  const HotpotQuestion example = one("graph");
  const EncodedHotpot input = HotpotEncoder(*tokenizer_, {}).encode(example, 4096);
  ASSERT_EQ(input.segments.size(), 6u);
  EXPECT_EQ(input.left_out, 0u);
  const auto name = [&](std::size_t at) { return tokenizer_->piece(input.ids.at(at)); };
  EXPECT_EQ(name(0), "[CLS]");
  EXPECT_EQ(name(1), "<sep_0>");
  EXPECT_EQ(name(2 + input.question_tokens), "<sep_1>");
  EXPECT_EQ(name(3 + input.question_tokens), "[SEP]");
  EXPECT_EQ(name(input.ids.size() - 1), "[SEP]");
  std::size_t next = 4 + input.question_tokens;
  for (const HotpotSegment& segment : input.segments) {
    if (!segment.sentence) {
      EXPECT_EQ(name(next++), "<t>");
    }
    EXPECT_EQ(segment.first, next);
    EXPECT_EQ(segment.mark, segment.first + segment.spans.size());
    EXPECT_EQ(name(segment.mark), segment.sentence ? "<sep_3>" : "<sep_2>");
    next = segment.mark + 1;
  }
  EXPECT_EQ(next, input.ids.size() - 1);
  for (std::size_t i = 0; i < input.types.size(); ++i) {
    EXPECT_EQ(input.types[i], i > 3 + input.question_tokens ? 1u : 0u) << i;
  }
}

TEST_F(HotpotInputTest, WhatDoesNotFitIsLeftOutWhole) {
  const HotpotQuestion example = one("graph");
  const HotpotEncoder encoder(*tokenizer_, {});
  const EncodedHotpot whole = encoder.encode(example, 4096);
  for (std::size_t length = whole.question_tokens + 6; length < whole.ids.size(); ++length) {
    const EncodedHotpot input = encoder.encode(example, length);
    EXPECT_LE(input.ids.size(), length);
    EXPECT_GT(input.left_out, 0u);
    std::size_t sentences = 0;
    for (const HotpotSegment& segment : input.segments) {
      if (segment.sentence) ++sentences;
      const auto same =
          std::find_if(whole.segments.begin(), whole.segments.end(), [&](const HotpotSegment& other) {
            return other.paragraph == segment.paragraph && other.sentence == segment.sentence;
          });
      ASSERT_NE(same, whole.segments.end());
      EXPECT_EQ(segment.spans, same->spans);
    }
    EXPECT_EQ(sentences + input.left_out, 4u);
  }
  EXPECT_EQ(encoder.encode(example, whole.ids.size()).left_out, 0u);
  expect_message(error_of([&] { encoder.encode(example, whole.question_tokens + 5); }), "question 'h1'",
                 "leaves no room");
}

TEST_F(HotpotInputTest, TheFirstPlaceInTheEvidenceIsTheLabel) {
  const HotpotQuestion example = one("graph");
  const EncodedHotpot input = HotpotEncoder(*tokenizer_, {}).encode(example, 4096);
  const HotpotLabel label = hotpot_label(example, input);
  EXPECT_EQ(label.type, HotpotAnswerType::span);
  EXPECT_EQ(strip_white_space(labelled(example, input, label.span)), "graph");
  // Titles and sentences from left to right: Mat, 0, 1, Cat, 0, 1.
  EXPECT_EQ(label.supporting, (std::vector<std::uint8_t>{0, 1, 0, 0, 0, 1}));
}

TEST_F(HotpotInputTest, ATitleMayBeTheAnswerAndOtherSentencesMayNot) {
  const HotpotQuestion title = one("Cat");
  const EncodedHotpot input = HotpotEncoder(*tokenizer_, {}).encode(title, 4096);
  const HotpotLabel label = hotpot_label(title, input);
  EXPECT_GE(label.span.start, input.segments[3].first);
  EXPECT_LT(label.span.end, input.segments[3].mark);
  // "cat" stands in a sentence before the supporting one.
  const HotpotQuestion sentence = one("cat");
  EXPECT_GE(hotpot_label(sentence, input).span.start, input.segments[5].first);
  EXPECT_EQ(hotpot_label(one("sparse"), input).span, SpanLabel{});
}

TEST_F(HotpotInputTest, YesAndNoHaveNoSpan) {
  for (const auto& [answer, type] :
       {std::pair("yes", HotpotAnswerType::yes), std::pair("no", HotpotAnswerType::no)}) {
    const HotpotQuestion example = one(answer);
    const HotpotLabel label = hotpot_label(example, HotpotEncoder(*tokenizer_, {}).encode(example, 4096));
    EXPECT_EQ(label.type, type);
    EXPECT_EQ(label.span, SpanLabel{});
    EXPECT_EQ(std::count(label.supporting.begin(), label.supporting.end(), 1), 2);
  }
}

TEST_F(HotpotInputTest, RealFilesAreReadAndTheirLabelsGiveTheAnswerBack) {
  BIGBIRD_REQUIRE_SHARED();
  const auto path = *testing::shared_dir() / "data/text/hotpotqa/hotpot_dev_distractor_v1.json.gz";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "SKIPPED: " << path << " is absent";
  HotpotReader reader(path.string());
  const HotpotEncoder encoder(*tokenizer_, {});
  HotpotQuestion example;
  std::size_t records = 0, spans = 0;
  while (reader.next(example)) {
    ++records;
    const EncodedHotpot input = encoder.encode(example, 1u << 20);
    const HotpotLabel label = hotpot_label(example, input);
    if (label.type != HotpotAnswerType::span) continue;
    ++spans;
    EXPECT_NE(labelled(example, input, label.span).find(example.answer), std::string::npos) << example.where;
  }
  EXPECT_EQ(records + reader.skipped().total(), 80u);
  EXPECT_GT(spans, 50u);
}

}  // namespace
}  // namespace bigbird
