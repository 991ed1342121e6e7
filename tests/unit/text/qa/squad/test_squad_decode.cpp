// From logits to answers: what run_qa and the pipeline do, on cases that can be worked out by hand.
#include "lib/text/qa/squad/questions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_message;

// A context of words, one token each; a token owns the blank before its word. The question has one token, so
// that the context begins at position 3.
class QaDecode : public ::testing::Test {
 protected:
  QaDecode() { set_context("Ada went to Rome in May"); }

  void set_context(const std::string& text) {
    example_.id = "q1";
    example_.where = "dev.json: question 'q1'";
    example_.context = std::make_shared<const std::string>(text);
    context_ = {};
    std::size_t begin = 0;
    for (std::size_t at = 0; at <= text.size(); ++at) {
      if (at < text.size() && text[at] != ' ') continue;
      if (at > begin) add_token(begin, at, true);
      begin = at;
    }
  }
  void add_token(std::size_t begin, std::size_t end, bool word_begins) {
    context_.ids.push_back(200);
    context_.spans.push_back({begin, end});
    context_.word_begins.push_back(word_begins ? 1 : 0);
  }
  std::size_t tokens() const { return context_.ids.size(); }

  // Logits of a window: low everywhere but at the positions given.
  using Peaks = std::vector<std::pair<std::size_t, float>>;
  static std::vector<float> logits(std::size_t length, const Peaks& peaks, float low = -20) {
    std::vector<float> values(length);
    for (std::size_t i = 0; i < length; ++i) values[i] = low - 0.01f * static_cast<float>(i);
    for (const auto& [at, value] : peaks) values[at] = value;
    return values;
  }
  void add_window(std::size_t first, std::size_t count, const Peaks& starts, const Peaks& ends,
                  std::size_t padding = 0) {
    starts_.push_back(logits(count + 4 + padding, starts));
    ends_.push_back(logits(count + 4 + padding, ends));
    stretches_.push_back({first, count});
  }
  void add_window(const Peaks& starts, const Peaks& ends) { add_window(0, tokens(), starts, ends); }
  std::vector<WindowLogits> windows() const {
    std::vector<WindowLogits> list;
    for (std::size_t i = 0; i < stretches_.size(); ++i) list.push_back({stretches_[i], starts_[i], ends_[i]});
    return list;
  }
  DecodedAnswer spans(const SpanDecoding& options = {}) const {
    return decode_spans({example_, context_, 1}, windows(), options);
  }
  std::vector<ScoredAnswer> pipeline(const PipelineDecoding& options = {}) const {
    return decode_pipeline({example_, context_, 1}, windows(), options);
  }
  static SpanDecoding version_2(double threshold = 0) {
    SpanDecoding options;
    options.version_2 = true;
    options.null_threshold = threshold;
    return options;
  }

  QuestionExample example_;
  ContextTokens context_;
  std::vector<std::vector<float>> starts_, ends_;
  std::vector<ContextWindow> stretches_;
};

TEST_F(QaDecode, TheBestSpanIsTheAnswerWithoutItsBlank) {
  add_window({{5, 6}}, {{6, 5}});
  const DecodedAnswer answer = spans();
  EXPECT_EQ(answer.text, "to Rome");
  EXPECT_EQ(answer.span, (TextSpan{9, 16}));
  EXPECT_GT(answer.probability, 0.99);
  ASSERT_FALSE(answer.candidates.empty());
  EXPECT_EQ(answer.candidates[0].start_logit, 6);
  EXPECT_EQ(answer.candidates[0].end_logit, 5);
}

TEST_F(QaDecode, CandidatesAreSortedAndTheirProbabilitiesSumToOne) {
  add_window({{5, 6}, {3, 4}}, {{6, 5}, {3, 4.5f}});
  const DecodedAnswer answer = spans();
  ASSERT_GE(answer.candidates.size(), 3u);
  EXPECT_EQ(answer.candidates[0].text, "to Rome");
  EXPECT_EQ(answer.candidates[1].text, "Ada went to Rome");
  EXPECT_EQ(answer.candidates[2].text, "Ada");
  double sum = 0;
  for (const auto& candidate : answer.candidates) sum += candidate.probability;
  EXPECT_NEAR(sum, 1, 1e-12);
  EXPECT_NEAR(answer.candidates[1].probability / answer.candidates[0].probability, std::exp(-2.0), 1e-7);
}

TEST_F(QaDecode, AnEndBeforeItsStartIsNone) {
  add_window({{6, 9}}, {{4, 9}, {7, 1}});
  EXPECT_EQ(spans().text, "Rome in");
}

TEST_F(QaDecode, LongerThanMaxAnswerIsNone) {
  add_window({{4, 9}}, {{7, 9}, {6, 1}});
  SpanDecoding options;
  options.max_answer = 3;
  EXPECT_EQ(spans(options).text, "went to Rome");
  options.max_answer = 4;
  EXPECT_EQ(spans(options).text, "went to Rome in");
}

TEST_F(QaDecode, QuestionAndSpecialPiecesAreNoAnswers) {
  add_window({{0, 99}, {1, 98}, {2, 97}, {9, 96}, {5, 1}}, {{0, 99}, {1, 98}, {2, 97}, {9, 96}, {5, 1}});
  EXPECT_EQ(spans().text, "to");
}

TEST_F(QaDecode, PaddingTakesPartInTheRankingAndIsNoAnswer) {
  // Two places in the ranking, both taken by padding: nothing is left.
  add_window(0, 6, {{10, 50}, {11, 49}, {5, 6}}, {{6, 5}}, 2);
  SpanDecoding options;
  options.n_best = 2;
  EXPECT_EQ(spans(options).text, "empty");
  options.n_best = 3;
  EXPECT_EQ(spans(options).text, "to Rome");
}

TEST_F(QaDecode, TheBestOfAllWindowsWins) {
  add_window(0, 4, {{5, 3}}, {{6, 3}});
  add_window(2, 4, {{4, 5}}, {{4, 5}});  // "Rome" is the second token here
  const DecodedAnswer answer = spans();
  EXPECT_EQ(answer.text, "Rome");
  EXPECT_EQ(answer.span, (TextSpan{12, 16}));
}

TEST_F(QaDecode, OneSpanOfTwoWindowsIsTwoCandidates) {
  add_window(0, 4, {{6, 3}}, {{6, 3}});
  add_window(2, 4, {{4, 5}}, {{4, 5}});
  const DecodedAnswer answer = spans();
  ASSERT_GE(answer.candidates.size(), 2u);
  EXPECT_EQ(answer.candidates[0].text, "Rome");
  EXPECT_EQ(answer.candidates[1].text, "Rome");
  EXPECT_EQ(answer.candidates[1].span, (TextSpan{12, 16}));
}

TEST_F(QaDecode, EqualLogitsRankByPosition) {
  starts_.push_back(std::vector<float>(10, 1.0f));
  ends_.push_back(std::vector<float>(10, 1.0f));
  stretches_.push_back({0, 6});
  const DecodedAnswer answer = spans();
  EXPECT_EQ(answer.text, "Ada");
  ASSERT_GE(answer.candidates.size(), 2u);
  EXPECT_EQ(answer.candidates[1].text, "Ada went");
}

TEST_F(QaDecode, NullWinsAboveTheThreshold) {
  add_window({{0, 4}, {6, 3}}, {{0, 4}, {6, 3}});
  const DecodedAnswer answer = spans(version_2());
  EXPECT_EQ(answer.text, "");
  EXPECT_EQ(answer.null_odds, 2);
  EXPECT_NEAR(answer.probability, 1 / (1 + std::exp(-2.0)), 1e-6);
  EXPECT_EQ(answer.candidates[0].text, "");
  EXPECT_EQ(answer.candidates[1].text, "Rome");
  EXPECT_EQ(spans(version_2(2)).text, "Rome");
  EXPECT_EQ(spans(version_2(1.9)).text, "");
  EXPECT_EQ(spans().text, "Rome");
}

TEST_F(QaDecode, TheLeastNullOfAllWindowsCounts) {
  add_window(0, 4, {{0, 9}}, {{0, 9}});
  add_window(2, 4, {{0, 1}, {4, 3}}, {{0, 1}, {4, 3}});
  const DecodedAnswer answer = spans(version_2());
  EXPECT_EQ(answer.null_odds, -4);
  EXPECT_EQ(answer.text, "Rome");
}

TEST_F(QaDecode, NullIsPutBackWhenItFellOut) {
  add_window({{0, -90}, {5, 6}, {3, 4}}, {{0, -90}, {6, 5}, {7, 4}});
  SpanDecoding options = version_2();
  options.n_best = 2;
  const DecodedAnswer answer = spans(options);
  ASSERT_EQ(answer.candidates.size(), 3u);
  EXPECT_EQ(answer.candidates[2].text, "");
  EXPECT_EQ(answer.candidates[2].start_logit, -90);
  EXPECT_EQ(answer.null_odds, -191);
}

TEST_F(QaDecode, NothingButNullGetsAStandIn) {
  add_window({{0, -3}, {9, 5}}, {{0, -3}, {3, 5}});
  SpanDecoding options = version_2();
  options.n_best = 1;
  DecodedAnswer answer = spans(options);
  ASSERT_EQ(answer.candidates.size(), 2u);
  EXPECT_EQ(answer.candidates[0].text, "empty");
  EXPECT_EQ(answer.candidates[0].start_logit, 0);
  EXPECT_EQ(answer.null_odds, -6);
  EXPECT_EQ(answer.text, "empty");
  starts_[0][0] = 3;
  ends_[0][0] = 4;
  // [CLS] is the best start now, and null odds are 7.
  answer = spans(options);
  EXPECT_EQ(answer.null_odds, 7);
  EXPECT_EQ(answer.text, "");
  EXPECT_GT(answer.probability, 0.99);
}

TEST_F(QaDecode, AnEmptyContextHasNoAnswer) {
  set_context("");
  add_window({}, {});
  EXPECT_EQ(spans().text, "");
  EXPECT_EQ(spans(version_2()).text, "");
  EXPECT_TRUE(pipeline().empty());
}

TEST_F(QaDecode, SpansOfCodePointsAreCutAsSuch) {
  example_.context = std::make_shared<const std::string>("\u00c9t\u00e9 \U0001F600 Rome");
  context_ = {};
  add_token(0, 3, true);
  add_token(3, 5, true);
  add_token(5, 10, true);
  add_window({{4, 5}}, {{5, 5}});
  EXPECT_EQ(spans().text, "\U0001F600 Rome");
  EXPECT_EQ(spans().span, (TextSpan{4, 10}));
}

TEST_F(QaDecode, LogitsThatAreNotFiniteNameTheQuestion) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()}) {
    starts_.clear(), ends_.clear(), stretches_.clear();
    add_window({}, {{2, bad}});
    for (const auto& error : {error_of([&] { spans(); }), error_of([&] { pipeline(); })}) {
      expect_message(error, "question 'q1'", "not finite");
      EXPECT_EQ(error->kind(), ErrorKind::runtime);
      EXPECT_FALSE(error->hint().empty());
    }
  }
}

TEST_F(QaDecode, TooFewLogitsAreAnError) {
  add_window({}, {});
  starts_[0].pop_back();
  ends_[0].pop_back();
  expect_message(error_of([&] { spans(); }), "question 'q1'",
                 "9 start and 9 end logits for an input of 10 tokens");
}

TEST_F(QaDecode, SettingsOfZeroAreUsageErrors) {
  add_window({}, {});
  SpanDecoding options;
  options.n_best = 0;
  expect_message(error_of([&] { spans(options); }), "`n_best`", "at least 1");
  PipelineDecoding pipes;
  pipes.max_answer = 0;
  expect_message(error_of([&] { pipeline(pipes); }), "`max_answer`", "at least 1");
}

TEST_F(QaDecode, ThePipelineScoresProbabilitiesOfContextAndCls) {
  // Equal logits everywhere: 7 competitors a side ([CLS] and six tokens), so that every span has 1/49.
  starts_.push_back(std::vector<float>(10, 2.0f));
  ends_.push_back(std::vector<float>(10, 2.0f));
  stretches_.push_back({0, 6});
  const auto answers = pipeline();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].text, "Ada");
  EXPECT_NEAR(answers[0].score, 1.0 / 49, 1e-8);
}

TEST_F(QaDecode, ThePipelineAddsUpEqualTextsInSmallLetters) {
  set_context("x Rome y ROME z");
  add_window({{4, 5}, {6, 5}}, {{4, 5}, {6, 5}});
  PipelineDecoding options;
  options.top_k = 3;
  const auto answers = pipeline(options);
  EXPECT_EQ(answers[0].text, "Rome");
  EXPECT_EQ(answers[0].span, (TextSpan{2, 6}));
  EXPECT_NEAR(answers[0].score, 0.5, 1e-3);
  EXPECT_EQ(answers[1].text, "Rome y ROME");
  EXPECT_NEAR(answers[1].score, 0.25, 1e-3);
}

TEST_F(QaDecode, ThePipelineWidensToWords) {
  context_.word_begins = {1, 1, 0, 0, 1, 1};  // "went to Rome" in three pieces
  add_window({{5, 5}}, {{5, 5}});
  EXPECT_EQ(pipeline()[0].text, "went to Rome");
  PipelineDecoding options;
  options.align_to_words = false;
  EXPECT_EQ(pipeline(options)[0].text, "to");
}

TEST_F(QaDecode, WordsEndWithTheirWindow) {
  context_.word_begins = {1, 1, 0, 0, 1, 1};
  add_window(2, 1, {{3, 5}}, {{3, 5}});
  EXPECT_EQ(pipeline()[0].text, "to");
}

TEST_F(QaDecode, ThePipelinesImpossibleAnswerIsTheLeastOfAllWindows) {
  add_window(0, 4, {{0, 9}}, {{0, 9}});
  add_window(2, 4, {{0, 9}, {4, 9}}, {{0, 9}, {4, 9}});
  PipelineDecoding options;
  options.impossible_answer = true;
  options.top_k = 2;
  auto answers = pipeline(options);
  // Probabilities of 1/2 on each side in the second window, for either.
  EXPECT_EQ(answers[0].text, "Rome");
  EXPECT_EQ(answers[1].text, "");
  EXPECT_NEAR(answers[1].score, 0.25, 1e-6);
  options.impossible_answer = false;
  answers = pipeline(options);
  EXPECT_EQ(answers[0].text, "Rome");
  EXPECT_NE(answers[1].text, "");
}

TEST_F(QaDecode, ThePipelineLeavesPaddingOut) {
  add_window(0, 6, {{5, 3}, {11, 50}}, {{6, 3}, {11, 50}}, 2);
  EXPECT_EQ(pipeline()[0].text, "to Rome");
  EXPECT_GT(pipeline()[0].score, 0.9);
}

}  // namespace
}  // namespace bigbird
