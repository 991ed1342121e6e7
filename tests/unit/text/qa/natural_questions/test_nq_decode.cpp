// Logits made by hand to the predictions of Natural Questions, and their entries.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lib/text/qa/natural_questions/questions.h"
#include "tests/unit/io/expect_error.h"
#include "tests/unit/text/qa/qa_tokenizer.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_message;

constexpr float nq_nan = std::numeric_limits<float>::quiet_NaN();

// "<P> the cat sat on mat </P> <H2> x </H2> <P> sparse graph </P>", a piece or more a token; candidates are
// the two paragraphs and a cell inside of the first.
class PageDecode : public testing::QuestionTokenizer {
 protected:
  PageDecode() {
    example_.id = -7;
    example_.where = "question '-7'";
    example_.question = "the cat";
    for (const char* word : {"<P>", "the", "cat", "sat", "on", "mat", "</P>", "<H2>", "x", "</H2>", "<P>",
                             "sparse", "graph", "</P>"}) {
      const auto at = static_cast<std::int64_t>(example_.tokens.size());
      example_.tokens.push_back({word, word[0] == '<', 10 * at, 10 * at + 5});
    }
    example_.candidates = {{{0, 65, 0, 7}, true}, {{20, 35, 2, 4}, false}, {{100, 135, 10, 14}, true}};
    page_ = NqEncoder(*tokenizer_, {}).encode(example_);
    windows_ = {{0, page_.pieces.ids.size()}};
    clear();
  }
  void clear() {
    logits_.assign(windows_.size(), {});
    for (std::size_t w = 0; w < windows_.size(); ++w) {
      logits_[w].scores.assign(4, std::vector<float>(input_length(page_.question.size(), windows_[w]), 0.0f));
      logits_[w].types = {0, 0, 0, 0, 1};
    }
  }
  // Of the first piece of a token, or its last one, in a window.
  float& at(std::size_t window, std::size_t score, std::uint32_t token) {
    const bool is_end = score == nq_short_end || score == nq_long_end;
    std::size_t piece = 0;
    for (std::size_t i = 0; i < page_.tokens.size(); ++i) {
      if (page_.tokens[i] != token) continue;
      piece = i;
      if (!is_end) break;
    }
    return logits_[window].scores[score].at(context_position(page_.question.size()) + piece -
                                            windows_[window].first);
  }
  NqPrediction decode(std::size_t max_answer = 38) const {
    std::vector<NqLogits> all;
    for (std::size_t w = 0; w < windows_.size(); ++w) {
      const auto& scores = logits_[w].scores;
      all.push_back({windows_[w], scores[0], scores[1], scores[2], scores[3], logits_[w].types});
    }
    return decode_nq(example_, page_, all, max_answer);
  }
  static std::pair<std::int64_t, std::int64_t> tokens(const NqSpan& span) {
    return {span.start_token, span.end_token};
  }

  struct Values {
    std::vector<std::vector<float>> scores;
    std::vector<float> types;
  };
  NqQuestion example_;
  EncodedNq page_;
  std::vector<ContextWindow> windows_;
  std::vector<Values> logits_;
};

using Tokens = std::pair<std::int64_t, std::int64_t>;

TEST_F(PageDecode, SpansAreWholeTokensWithTheirBytesAndScores) {
  at(0, nq_short_start, 2) = 5;
  at(0, nq_short_end, 3) = 4;
  logits_[0].scores[nq_short_start][0] = 1;
  logits_[0].scores[nq_short_end][0] = 0.5f;
  at(0, nq_long_start, 0) = 3;
  at(0, nq_long_end, 6) = 3;
  logits_[0].scores[nq_long_end][0] = -1;
  const NqPrediction prediction = decode();
  EXPECT_EQ(prediction.id, -7);
  ASSERT_EQ(prediction.short_answers.size(), 1U);
  EXPECT_EQ(tokens(prediction.short_answers[0]), (Tokens{2, 4}));
  EXPECT_EQ(prediction.short_answers[0].start_byte, 20);
  EXPECT_EQ(prediction.short_answers[0].end_byte, 35);
  EXPECT_EQ(prediction.short_score, 7.5);
  EXPECT_EQ(tokens(prediction.long_answer), (Tokens{0, 7}));
  EXPECT_EQ(prediction.long_answer.end_byte, 65);
  EXPECT_EQ(prediction.long_score, 7);
  EXPECT_EQ(prediction.yes_no, NqYesNo::none);
}

TEST_F(PageDecode, TheEndIsTheBestOneBehindTheBestStartWithinTheWords) {
  at(0, nq_short_start, 3) = 5;
  at(0, nq_short_end, 1) = 9;  // before the start
  at(0, nq_short_end, 12) = 8;
  at(0, nq_short_end, 4) = 2;
  EXPECT_EQ(tokens(decode().short_answers.at(0)), (Tokens{3, 13}));
  // sat on mat sparse graph are five words: tags are none, and x lies in no candidate.
  EXPECT_EQ(tokens(decode(5).short_answers.at(0)), (Tokens{3, 13}));
  EXPECT_EQ(tokens(decode(4).short_answers.at(0)), (Tokens{3, 5}));
  at(0, nq_short_end, 4) = 0;
  EXPECT_EQ(tokens(decode(1).short_answers.at(0)), (Tokens{3, 4}));
}

TEST_F(PageDecode, LongAnswersSnapToTopLevelCandidates) {
  at(0, nq_long_start, 11) = 3;
  at(0, nq_long_end, 12) = 3;
  EXPECT_EQ(tokens(decode().long_answer), (Tokens{10, 14})) << "inside of the second paragraph";
  at(0, nq_long_start, 3) = 4;  // from one paragraph into the other
  at(0, nq_short_start, 12) = 5;
  at(0, nq_short_end, 12) = 5;
  EXPECT_EQ(tokens(decode().long_answer), (Tokens{10, 14})) << "the one around the short answer";
  at(0, nq_short_start, 2) = 6;
  EXPECT_EQ(tokens(decode().long_answer), (Tokens{0, 7})) << "where the long answer begins";
}

TEST_F(PageDecode, OfCandidatesWithinEachOtherTheShortestIsTaken) {
  at(0, nq_long_start, 11) = 3;
  at(0, nq_long_end, 12) = 3;
  const std::vector<PageCandidate> candidates = example_.candidates;
  const PageCandidate page{{0, 135, 0, 14}, true};
  example_.candidates.insert(example_.candidates.begin(), page);
  EXPECT_EQ(tokens(decode().long_answer), (Tokens{10, 14}));
  example_.candidates = candidates;
  example_.candidates.push_back(page);
  EXPECT_EQ(tokens(decode().long_answer), (Tokens{10, 14}));
}

TEST_F(PageDecode, YesAndNoComeWithoutSpans) {
  at(0, nq_long_start, 0) = 2;
  at(0, nq_long_end, 6) = 2;
  logits_[0].types = {0.5f, 4, 1, 2, 3};
  NqPrediction prediction = decode();
  EXPECT_EQ(prediction.yes_no, NqYesNo::yes);
  EXPECT_TRUE(prediction.short_answers.empty());
  EXPECT_EQ(prediction.short_score, 3.5);
  EXPECT_EQ(tokens(prediction.long_answer), (Tokens{0, 7}));
  logits_[0].types = {0, 1, 2, 0, 0};
  EXPECT_EQ(decode().yes_no, NqYesNo::no);
}

TEST_F(PageDecode, TheTypeIsThatOfTheWindowThatAnswers) {
  const std::size_t half = page_.pieces.ids.size() / 2;
  windows_ = {{0, half + 2}, {half, page_.pieces.ids.size() - half}};
  clear();
  at(0, nq_short_start, 1) = 2;
  at(0, nq_short_end, 2) = 2;
  at(1, nq_short_start, 12) = 3;
  at(1, nq_short_end, 12) = 3;
  logits_[0].types = {0, 9, 0, 0, 0};
  EXPECT_EQ(decode().yes_no, NqYesNo::none);
  EXPECT_EQ(tokens(decode().short_answers.at(0)), (Tokens{12, 13}));
  // What [CLS] has is taken off in each window.
  logits_[1].scores[nq_short_start][0] = 5;
  EXPECT_EQ(decode().yes_no, NqYesNo::yes);
  // No short answer beats [CLS]: the window of the long answer tells.
  logits_[0].scores[nq_short_start][0] = 5;
  at(1, nq_long_start, 10) = 4;
  at(1, nq_long_end, 13) = 4;
  logits_[1].types = {0, 0, 9, 0, 0};
  EXPECT_EQ(decode().yes_no, NqYesNo::no);
  EXPECT_EQ(tokens(decode().long_answer), (Tokens{10, 14}));
}

TEST_F(PageDecode, PagesWithoutTextHaveNoAnswer) {
  for (PageCandidate& candidate : example_.candidates) candidate.top_level = false;
  page_ = NqEncoder(*tokenizer_, {}).encode(example_);
  windows_ = {{0, 0}};
  clear();
  const NqPrediction prediction = decode();
  EXPECT_TRUE(prediction.long_answer.is_null());
  EXPECT_TRUE(prediction.short_answers.empty());
  EXPECT_EQ(prediction.short_score, 0);
}

TEST_F(PageDecode, WhatCannotBeDecodedIsRefused) {
  expect_message(error_of([&] { decode(0); }), "`max_answer`", "at least 1");
  logits_[0].scores[nq_long_end][1] = nq_nan;
  expect_message(error_of([&] { decode(); }), "question '-7'", "not finite");
  logits_[0].scores[nq_long_end][1] = 0;
  logits_[0].types[2] = nq_nan;
  expect_message(error_of([&] { decode(); }), "question '-7'", "not finite");
}

TEST(NqEntries, APredictionIsAnObjectOnALine) {
  NqPrediction prediction;
  prediction.id = -5;
  prediction.long_answer = {10, 20, 1, 2};
  prediction.long_score = 1.5;
  prediction.short_answers.push_back({-1, -1, 1, 2});
  EXPECT_EQ(
      nq_entry(prediction).at(0),
      R"({"example_id":-5,"long_answer":{"start_byte":10,"end_byte":20,"start_token":1,"end_token":2},)"
      R"("long_answer_score":1.5,"short_answers":[{"start_byte":-1,"end_byte":-1,"start_token":1,"end_token":2}],)"
      R"("short_answers_score":0.0,"yes_no_answer":"NONE"})");
  NqPrediction other;
  other.id = 6;
  other.yes_no = NqYesNo::yes;
  EXPECT_EQ(
      nq_entry(other).at(0),
      R"({"example_id":6,"long_answer":{"start_byte":-1,"end_byte":-1,"start_token":-1,"end_token":-1},)"
      R"("long_answer_score":0.0,"short_answers":[],"short_answers_score":0.0,"yes_no_answer":"YES"})");
}

}  // namespace
}  // namespace bigbird
