// Logits made by hand to the answers of TriviaQA.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lib/text/qa/triviaqa/questions.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_message;

constexpr float trivia_nan = std::numeric_limits<float>::quiet_NaN();

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
  ends_[0][0] = trivia_nan;
  expect_message(error_of([&] { decode(windows); }), "question 't'", "not finite");
}

}  // namespace
}  // namespace bigbird
