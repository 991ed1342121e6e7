// Logits made by hand to the answers of HotpotQA, Natural Questions, TriviaQA and WikiHop.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lib/core/unicode.h"
#include "lib/tasks/text/qa/hotpotqa/decode.h"
#include "lib/tasks/text/qa/natural_questions/decode.h"
#include "lib/tasks/text/qa/question_task.h"
#include "lib/tasks/text/qa/triviaqa/decode.h"
#include "lib/tasks/text/qa/wikihop/encode.h"
#include "tests/unit/io/expect_error.h"
#include "tests/unit/tasks/text/qa/qa_tokenizer.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_message;

constexpr float nan_logit = std::numeric_limits<float>::quiet_NaN();

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
  EXPECT_EQ(decode({0.5, 1, 30}).text, "") << "the one best pair lies in no supporting sentence";
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
  support_[0] = nan_logit;
  expect_message(error_of([&] { decode(); }), "question 'h'", "not finite");
  support_[0] = 0;
  types_ = {0, INFINITY, 0};
  expect_message(error_of([&] { decode(); }), "question 'h'", "not finite");
  types_ = {0, 1};
  expect_message(error_of([&] { decode(); }), "question 'h'", "2 logits where there are 3");
}

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
    example_.candidates = {{{0, 7, 0, 65}, true}, {{2, 4, 20, 35}, false}, {{10, 14, 100, 135}, true}};
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
  const PageCandidate page{{0, 14, 0, 135}, true};
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
  logits_[0].scores[nq_long_end][1] = nan_logit;
  expect_message(error_of([&] { decode(); }), "question '-7'", "not finite");
  logits_[0].scores[nq_long_end][1] = 0;
  logits_[0].types[2] = nan_logit;
  expect_message(error_of([&] { decode(); }), "question '-7'", "not finite");
}

class DocumentDecode : public ::testing::Test {
 protected:
  DocumentDecode() {
    example_.id = "t";
    example_.where = "question 't'";
    // Two tokens a word.
    std::string text;
    for (std::size_t i = 0; i < 40; ++i) {
      text += " w" + std::to_string(i % 10);
      context_.spans.push_back({3 * i, 3 * i + 2});
      context_.spans.push_back({3 * i + 2, 3 * i + 3});
      context_.word_begins.insert(context_.word_begins.end(), {1, 0});
    }
    context_.ids.assign(80, 9);
    example_.context = std::make_shared<const std::string>(text);
  }
  std::optional<DocumentAnswer> decode(const std::vector<ContextWindow>& windows, std::size_t most = 16) {
    std::vector<WindowLogits> logits;
    for (std::size_t w = 0; w < windows.size(); ++w) logits.push_back({windows[w], starts_[w], ends_[w]});
    return decode_trivia({example_, context_, 3}, logits, most);
  }
  void clear(const std::vector<ContextWindow>& windows) {
    starts_.clear();
    for (const ContextWindow& window : windows) starts_.emplace_back(input_length(3, window), 0.0f);
    ends_ = starts_;
  }

  QuestionExample example_;
  ContextTokens context_;
  std::vector<std::vector<float>> starts_, ends_;
};

TEST_F(DocumentDecode, TheBestSpanOfAllWindowsWithinTheWordsWins) {
  const std::vector<ContextWindow> windows = {{0, 50}, {40, 40}};
  clear(windows);
  starts_[0][0] = 50;  // [CLS] does not compete
  ends_[0][4] = 50;    // nor does the [SEP] behind the question
  starts_[0][5 + 2] = 3;
  ends_[0][5 + 5] = 3;
  starts_[1][5 + 10] = 2;
  ends_[1][5 + 11] = 5;
  const auto best = decode(windows);
  ASSERT_TRUE(best.has_value());
  EXPECT_EQ(best->text, "w5");
  EXPECT_EQ(best->span, (TextSpan{76, 78}));
  EXPECT_EQ(best->score, 7);
  ends_[1][5 + 11] = 1;
  EXPECT_EQ(decode(windows)->text, "w1 w2");
}

TEST_F(DocumentDecode, WordsAreCountedNotTokens) {
  const std::vector<ContextWindow> windows = {{0, 80}};
  clear(windows);
  starts_[0][5 + 1] = 4;  // inside of the first word
  ends_[0][5 + 31] = 4;   // the last token of the sixteenth
  EXPECT_EQ(decode(windows)->score, 8);
  EXPECT_EQ(decode(windows, 15)->score, 4);
  ends_[0][5 + 31] = 0;
  ends_[0][5 + 32] = 4;
  EXPECT_EQ(decode(windows)->score, 4);
  EXPECT_EQ(decode(windows, 17)->score, 8);
  EXPECT_EQ(decode(windows, 17)->text.size(), 1U + 3 * 15 + 2);
}

TEST_F(DocumentDecode, EqualsGoToTheFirstAndNothingToNone) {
  const std::vector<ContextWindow> windows = {{0, 80}};
  clear(windows);
  EXPECT_EQ(decode(windows)->text, "w");
  clear({{0, 0}});
  EXPECT_FALSE(decode({{0, 0}}).has_value());
  clear(windows);
  expect_message(error_of([&] { decode(windows, 0); }), "`max_answer`", "at least 1");
  ends_[0][0] = nan_logit;
  expect_message(error_of([&] { decode(windows); }), "question 't'", "not finite");
}

TEST(CandidateDecode, LogitsAreSummedOverTheInputs) {
  const std::vector<std::vector<float>> one = {{1, 3, 2}}, two = {{1, 3, 2}, {5, 0, 4}};
  EXPECT_EQ(decode_wikihop(one, 3, "w"), 1U);
  EXPECT_EQ(decode_wikihop(two, 3, "w"), 0U) << "6, 3, 6: the first of the highest";
  const std::vector<std::vector<float>> bad = {{1, nan_logit}}, few = {{1}};
  expect_message(error_of([&] { decode_wikihop(bad, 2, "question 'w'"); }), "question 'w'", "not finite");
  expect_message(error_of([&] { decode_wikihop(few, 2, "question 'w'"); }), "question 'w'", "1 logits");
}

}  // namespace
}  // namespace bigbird
