// Windows over a context, their inputs, and the tokens of an answer in them.
#include "lib/text/qa/windows.h"

#include <gtest/gtest.h>

#include "lib/core/rng.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_message;

using Windows = std::vector<ContextWindow>;

WindowOptions window_options(std::size_t length, std::size_t overlap) {
  WindowOptions options;
  options.length = length;
  options.overlap = overlap;
  options.max_question = 8;
  return options;
}

WindowOptions stepping(std::size_t length, std::size_t step) {
  WindowOptions options = window_options(length, 0);
  options.step = step;
  return options;
}

// Tokens of the lengths given, one after the other: the first piece of "ab cd" is (0, 2), the second (2, 5).
ContextTokens tokens_of(const std::vector<std::size_t>& lengths) {
  ContextTokens tokens;
  std::size_t at = 0;
  for (const std::size_t length : lengths) {
    tokens.ids.push_back(static_cast<std::uint32_t>(200 + tokens.ids.size()));
    tokens.spans.push_back({at, at + length});
    tokens.word_begins.push_back(1);
    at += length;
  }
  return tokens;
}

TEST(ContextWindows, OneIsEnoughForWhatFits) {
  // 20 - 5 - 3 = 12 tokens of context.
  EXPECT_EQ(context_windows(5, 12, window_options(20, 4), "q"), (Windows{{0, 12}}));
  EXPECT_EQ(context_windows(5, 1, window_options(20, 4), "q"), (Windows{{0, 1}}));
}

TEST(ContextWindows, OverlapIsWhatTwoWindowsShare) {
  EXPECT_EQ(context_windows(5, 13, window_options(20, 4), "q"), (Windows{{0, 12}, {8, 5}}));
  EXPECT_EQ(context_windows(5, 20, window_options(20, 4), "q"), (Windows{{0, 12}, {8, 12}}));
  EXPECT_EQ(context_windows(5, 21, window_options(20, 4), "q"), (Windows{{0, 12}, {8, 12}, {16, 5}}));
  EXPECT_EQ(context_windows(5, 24, window_options(20, 0), "q"), (Windows{{0, 12}, {12, 12}}));
}

TEST(ContextWindows, StepIsFromBeginToBegin) {
  EXPECT_EQ(context_windows(5, 20, stepping(20, 8), "q"), (Windows{{0, 12}, {8, 12}}));
  EXPECT_EQ(context_windows(5, 25, stepping(20, 12), "q"), (Windows{{0, 12}, {12, 12}, {24, 1}}));
  EXPECT_EQ(context_windows(5, 14, stepping(20, 1), "q"), (Windows{{0, 12}, {1, 12}, {2, 12}}));
}

TEST(ContextWindows, EveryTokenIsInOneAndNeighboursShareTheOverlap) {
  CounterRng rng(7, Purpose::test, 0);
  for (int round = 0; round < 500; ++round) {
    const auto question = static_cast<std::size_t>(rng.between(1, 8));
    const auto room = static_cast<std::size_t>(rng.between(2, 40));
    const auto overlap = static_cast<std::size_t>(rng.below(room));
    const auto tokens = static_cast<std::size_t>(rng.between(1, 300));
    const Windows windows =
        context_windows(question, tokens, window_options(question + 3 + room, overlap), "q");
    EXPECT_EQ(windows.front().first, 0u);
    EXPECT_EQ(windows.back().first + windows.back().count, tokens);
    for (std::size_t i = 0; i + 1 < windows.size(); ++i) {
      EXPECT_EQ(windows[i].count, room);
      EXPECT_EQ(windows[i].first + room - windows[i + 1].first, overlap);
      EXPECT_LT(windows[i].first + room, tokens);
    }
  }
}

TEST(ContextWindows, AnEmptyContextHasOneEmptyWindow) {
  EXPECT_EQ(context_windows(5, 0, window_options(20, 4), "q"), (Windows{{0, 0}}));
}

TEST(ContextWindows, AnOverlapOfTheWholeWindowIsAUsageError) {
  // 20 - 8 - 3 = 9.
  check_window_options(window_options(20, 8));
  const auto error = error_of([] { check_window_options(window_options(20, 9)); });
  expect_message(error, "`overlap` is 9", "`length` 20 leaves 9 context tokens next to a question of 8");
  EXPECT_EQ(error->kind(), ErrorKind::usage);
  EXPECT_FALSE(error->hint().empty());
}

TEST(ContextWindows, AQuestionThatFillsTheInputIsAUsageError) {
  expect_message(error_of([] { check_window_options(window_options(11, 0)); }), "`length` 11",
                 "leaves 0 context tokens");
  expect_message(error_of([] { check_window_options(window_options(3, 0)); }), "`length` 3", "leaves 0");
  WindowOptions options = window_options(20, 4);
  options.max_question = 0;
  expect_message(error_of([&] { check_window_options(options); }), "`max_question` 0", "at least one token");
}

TEST(ContextWindows, AStepLeavesNoTokenOut) {
  check_window_options(stepping(20, 9));
  check_window_options(stepping(20, 1));
  expect_message(error_of([] { check_window_options(stepping(20, 10)); }), "`step` is 10", "leaves 9");
  expect_message(error_of([] { check_window_options(stepping(20, 0)); }), "`step` is 0", "leaves 9");
}

TEST(ContextWindows, AQuestionWithoutRoomIsNamed) {
  const auto error =
      error_of([] { context_windows(13, 50, window_options(20, 4), "dev.json: question 'x'"); });
  expect_message(error, "dev.json: question 'x': ", "leaves 4 context tokens next to a question of 13");
  EXPECT_EQ(error->kind(), ErrorKind::usage);
}

TEST(WindowInput, IsQuestionAndContextBetweenSpecialPieces) {
  const ContextTokens context = tokens_of({1, 1, 1, 1});
  const std::vector<std::uint32_t> question{7, 8};
  const auto [ids, types, globals] = window_input(question, context, {1, 2}, 65, 66);
  EXPECT_EQ(ids, (std::vector<std::uint32_t>{65, 7, 8, 66, 201, 202, 66}));
  EXPECT_EQ(types, (std::vector<std::uint32_t>{0, 0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(input_length(2, {1, 2}), 7u);
  EXPECT_EQ(ids[context_position(2)], 201u);
}

TEST(WindowInput, OfAnEmptyContextEndsWithTwoSeparators) {
  const auto [ids, types, globals] = window_input(std::vector<std::uint32_t>{7}, {}, {0, 0}, 65, 66);
  EXPECT_EQ(ids, (std::vector<std::uint32_t>{65, 7, 66, 66}));
  EXPECT_EQ(types, (std::vector<std::uint32_t>{0, 0, 0, 1}));
}

TEST(SpanLabels, WholeTokensAreThemselves) {
  // Tokens 0-3, 3-7, 7-9, 9-12; the context begins at position 2 + 2.
  const ContextTokens context = tokens_of({3, 4, 2, 3});
  EXPECT_EQ(span_label(context, {0, 4}, 2, {3, 7}), (SpanLabel{5, 5}));
  EXPECT_EQ(span_label(context, {0, 4}, 2, {3, 9}), (SpanLabel{5, 6}));
  EXPECT_EQ(span_label(context, {0, 4}, 2, {0, 12}), (SpanLabel{4, 7}));
}

TEST(SpanLabels, AnswersWithinPiecesTakeTheWidestPieces) {
  const ContextTokens context = tokens_of({3, 4, 2, 3});
  EXPECT_EQ(span_label(context, {0, 4}, 2, {4, 6}), (SpanLabel{5, 5}));
  EXPECT_EQ(span_label(context, {0, 4}, 2, {2, 4}), (SpanLabel{4, 5}));
  EXPECT_EQ(span_label(context, {0, 4}, 2, {6, 10}), (SpanLabel{5, 7}));
}

TEST(SpanLabels, TheFirstAndTheLastTokenOfAWindowAreOnes) {
  const ContextTokens context = tokens_of({3, 4, 2, 3});
  EXPECT_EQ(span_label(context, {1, 2}, 2, {3, 5}), (SpanLabel{4, 4}));
  // Where run_qa's start goes on behind the context.
  EXPECT_EQ(span_label(context, {1, 2}, 2, {7, 9}), (SpanLabel{5, 5}));
  EXPECT_EQ(span_label(context, {1, 2}, 2, {8, 9}), (SpanLabel{5, 5}));
}

TEST(SpanLabels, AnAnswerThatIsPartlyOutsideIsNone) {
  const ContextTokens context = tokens_of({3, 4, 2, 3});
  EXPECT_EQ(span_label(context, {1, 2}, 2, {2, 5}), SpanLabel{});
  EXPECT_EQ(span_label(context, {1, 2}, 2, {8, 10}), SpanLabel{});
  EXPECT_EQ(span_label(context, {1, 2}, 2, {0, 12}), SpanLabel{});
  EXPECT_EQ(span_label(context, {0, 1}, 2, {9, 12}), SpanLabel{});
  EXPECT_EQ(span_label(context, {0, 0}, 2, {0, 1}), SpanLabel{});
  EXPECT_EQ(span_label(context, {0, 4}, 2, {5, 5}), SpanLabel{});
}

// The loops of run_qa's prepare_train_features, bounded by the context on the left side too.
SpanLabel label_by_loops(const ContextTokens& context, const ContextWindow& window, std::size_t question,
                         const TextSpan& answer) {
  const auto& spans = context.spans;
  std::size_t first = window.first, last = window.first + window.count - 1;
  if (!(spans[first].begin <= answer.begin && spans[last].end >= answer.end)) return {};
  while (first <= window.first + window.count - 1 && spans[first].begin <= answer.begin) ++first;
  while (last + 1 > window.first && spans[last].end >= answer.end) {
    if (last == window.first) {
      return {question + 2 + first - 1 - window.first, question + 2};
    }
    --last;
  }
  return {question + 2 + first - 1 - window.first, question + 2 + last + 1 - window.first};
}

TEST(SpanLabels, EqualTheLoopsOfRunQa) {
  CounterRng rng(11, Purpose::test, 1);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::size_t> lengths(static_cast<std::size_t>(rng.between(1, 30)));
    std::size_t characters = 0;
    for (std::size_t& length : lengths) {
      length = static_cast<std::size_t>(rng.between(lengths.size() > 3 ? 0 : 1, 5));
      characters += length;
    }
    if (characters == 0) continue;
    const ContextTokens context = tokens_of(lengths);
    ContextWindow window;
    window.first = static_cast<std::size_t>(rng.below(lengths.size()));
    window.count = 1 + static_cast<std::size_t>(rng.below(lengths.size() - window.first));
    for (int i = 0; i < 20; ++i) {
      TextSpan answer;
      answer.begin = static_cast<std::size_t>(rng.below(characters));
      answer.end = answer.begin + 1 + static_cast<std::size_t>(rng.below(characters - answer.begin));
      EXPECT_EQ(span_label(context, window, 3, answer), label_by_loops(context, window, 3, answer));
    }
  }
}

TEST(LabelledText, DropsTheBlankThatATokenOwns) {
  // "ab cd ef": (0, 2), (2, 5), (5, 8).
  const ContextTokens context = tokens_of({2, 3, 3});
  const std::string text = "ab cd ef";
  EXPECT_EQ(labelled_text(text, context, {0, 3}, 1, {4, 4}), (TextSpan{3, 5}));
  EXPECT_EQ(labelled_text(text, context, {0, 3}, 1, {3, 5}), (TextSpan{0, 8}));
  EXPECT_EQ(labelled_text(text, context, {1, 2}, 1, {3, 4}), (TextSpan{3, 8}));
  EXPECT_EQ(labelled_text(text, context, {0, 3}, 1, {0, 0}), TextSpan{});
}

}  // namespace
}  // namespace bigbird
