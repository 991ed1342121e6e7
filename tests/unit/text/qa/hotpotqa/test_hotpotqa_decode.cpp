// Logits made by hand to the answers of HotpotQA, and their entries.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lib/core/unicode.h"
#include "lib/text/qa/hotpotqa/questions.h"
#include "tests/unit/io/expect_error.h"
#include "tests/unit/text/qa/qa_tokenizer.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_message;

constexpr float hotpot_nan = std::numeric_limits<float>::quiet_NaN();

class HotpotDecode : public testing::QuestionTokenizer {
 protected:
  HotpotDecode() {
    example_.id = "h";
    example_.where = "question 'h'";
    example_.question = "What is it?";
    example_.paragraphs = {{"Mat", {"The mat is on it.", " The paper is sparse."}},
                           {"Cat", {"The cat sat.", " The cat is a graph."}}};
    input_ = HotpotEncoder(*tokenizer_, {}).encode(example_, 4096);
    start_.assign(input_.ids.size(), 0.0f);
    end_ = start_;
    support_.assign(input_.ids.size(), -5.0f);
  }
  const HotpotSegment& segment(std::size_t paragraph, std::optional<std::size_t> sentence) const {
    for (const HotpotSegment& one : input_.segments) {
      if (one.paragraph == paragraph && one.sentence == sentence) return one;
    }
    throw_runtime("no such segment");
  }
  void support(std::size_t paragraph, std::size_t sentence, float logit) {
    support_[segment(paragraph, sentence).mark] = logit;
  }
  // Of the segment's tokens `first` to `last`; the text below them.
  std::string score(const HotpotSegment& part, std::size_t first, std::size_t last, float logit) {
    start_[part.first + first] = logit;
    end_[part.first + last] = logit;
    const HotpotParagraph& paragraph = example_.paragraphs[part.paragraph];
    const std::string& text = part.sentence ? paragraph.sentences[*part.sentence] : paragraph.title;
    const std::string covered =
        text.substr(part.spans[first].begin, part.spans[last].end - part.spans[first].begin);
    return std::string(strip_white_space_left(covered));
  }
  DecodedHotpot decode(const HotpotDecoding& options = {}) const {
    return decode_hotpot(example_, input_, {start_, end_, support_, types_}, options);
  }

  HotpotQuestion example_;
  EncodedHotpot input_;
  std::vector<float> start_, end_, support_, types_ = {1, 0, 0};
};

TEST_F(HotpotDecode, TheBestSpanInsideOfASupportingSentenceWins) {
  support(1, 1, 2);
  support(0, 0, 0.0f);            // a probability of one half is enough
  score(segment(0, 1), 0, 1, 9);  // does not support
  const std::string right = score(segment(1, 1), 1, 2, 5);
  score(segment(0, 0), 0, 0, 4);
  const DecodedHotpot decoded = decode();
  EXPECT_EQ(decoded.text, right);
  EXPECT_EQ(decoded.facts, (std::vector<SupportingFact>{{"Mat", 0}, {"Cat", 1}}));
}

TEST_F(HotpotDecode, TitlesOfParagraphsWithASupportingSentenceMayAnswer) {
  support(1, 0, 3);
  score(segment(0, std::nullopt), 0, 0, 9);
  const std::string right = score(segment(1, std::nullopt), 0, segment(1, std::nullopt).spans.size() - 1, 8);
  EXPECT_EQ(decode().text, right);
  EXPECT_EQ(right, "Cat");
}

TEST_F(HotpotDecode, SpansDoNotReachOverSentencesNorBeyondTheLimit) {
  support(0, 0, 3);
  support(0, 1, 3);
  const HotpotSegment &first = segment(0, 0), &second = segment(0, 1);
  start_[first.first] = 9;
  end_[second.first] = 9;  // the pair would be the best
  end_[first.first] = 2;
  const std::size_t last = first.spans.size() - 1;
  end_[first.first + last] = 3;
  EXPECT_EQ(decode().text, "The mat is on it.");
  HotpotDecoding options;
  options.max_answer = last;  // tokens: one too few for the sentence
  EXPECT_NE(decode(options).text, "The mat is on it.");
  options.max_answer = 1;
  EXPECT_EQ(decode(options).text, std::string("The mat is on it.").substr(0, first.spans[0].end));
  // An end before the start is none.
  std::swap(start_[first.first], start_[first.first + last]);
  end_[first.first + last] = -9;
  EXPECT_NE(decode({0.5, 2, 30}).text, "The mat is on it.");
}

TEST_F(HotpotDecode, OnlyTheBestPositionsAreLookedAt) {
  support(1, 1, 3);
  score(segment(0, 0), 0, 0, 9);
  const std::string right = score(segment(1, 1), 0, 2, 5);
  EXPECT_EQ(decode({0.5, 1, 30}).text, "") << "the one best pair is in no supporting sentence";
  EXPECT_EQ(decode({0.5, 2, 30}).text, right);
  EXPECT_NE(right, "");
}

TEST_F(HotpotDecode, YesAndNoAreAnswersWithoutASpan) {
  support(0, 1, 3);
  score(segment(0, 1), 0, 0, 9);
  types_ = {0, 2, 1};
  EXPECT_EQ(decode().text, "yes");
  types_ = {0, 1, 2};
  EXPECT_EQ(decode().text, "no");
  EXPECT_EQ(decode().facts, (std::vector<SupportingFact>{{"Mat", 1}}));
}

TEST_F(HotpotDecode, WithoutSupportThereIsNoAnswer) {
  score(segment(0, 0), 0, 1, 9);
  EXPECT_EQ(decode().text, "");
  EXPECT_TRUE(decode().facts.empty());
  HotpotDecoding options;
  options.support_threshold = 0;
  EXPECT_NE(decode(options).text, "");
  EXPECT_EQ(decode(options).facts.size(), 4U);
}

TEST_F(HotpotDecode, WhatCannotBeDecodedIsRefused) {
  expect_message(error_of([&] { decode({1.5, 50, 30}); }), "`support_threshold` 1.5", "between 0 and 1");
  expect_message(error_of([&] { decode({0.5, 0, 30}); }), "`n_best`", "at least 1");
  support_[0] = hotpot_nan;
  expect_message(error_of([&] { decode(); }), "question 'h'", "not finite");
  support_[0] = 0;
  types_ = {0, INFINITY, 0};
  expect_message(error_of([&] { decode(); }), "question 'h'", "not finite");
  types_ = {0, 1};
  expect_message(error_of([&] { decode(); }), "question 'h'", "2 logits where there are 3");
}

TEST(HotpotEntries, AnAnswerAndItsFacts) {
  EXPECT_EQ(hotpot_entry("one", {"the \u20ac", {{"A \"b\"", 0}, {"\u00e9", 12}}}),
            (AnswerEntry{"        \"one\": \"the \\u20ac\"",
                         "        \"one\": [[\"A \\\"b\\\"\", 0], [\"\\u00e9\", 12]]"}));
  EXPECT_EQ(hotpot_entry("two", {}), (AnswerEntry{"        \"two\": \"\"", "        \"two\": []"}));
}

}  // namespace
}  // namespace bigbird
