// Words as pieces, and the windows of long sentences: every word gets its class once, where it has context.
#include "lib/text/tag/word_pieces.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lib/core/rng.h"
#include "tests/support/tiny_text_data.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using Pieces = std::vector<std::vector<std::int32_t>>;

Pieces words_of(const std::vector<std::size_t>& sizes) {
  Pieces pieces;
  for (const std::size_t size : sizes) pieces.emplace_back(size, 7);
  return pieces;
}

TEST(WordWindows, OfAShortSentenceThereIsOne) {
  EXPECT_EQ(word_windows(words_of({2, 3, 1}), 6, 2), (std::vector<WordWindow>{{0, 3, 0, 3}}));
  EXPECT_TRUE(word_windows({}, 6, 2).empty());
}

TEST(WordWindows, ShareWordsWhoseClassIsReadWhereTheyHaveMoreContext) {
  // Ten words of one piece, six of which fit: the words 4 and 5 are in both windows.
  EXPECT_EQ(word_windows(words_of(std::vector<std::size_t>(10, 1)), 6, 2),
            (std::vector<WordWindow>{{0, 6, 0, 5}, {4, 10, 5, 10}}));
  EXPECT_EQ(word_windows(words_of({1, 1, 1, 1}), 2, 0),
            (std::vector<WordWindow>{{0, 2, 0, 2}, {2, 4, 2, 4}}));
  // A word that is longer than a window stands in one of its own, cut.
  EXPECT_EQ(word_windows(words_of({1, 9, 1}), 4, 0),
            (std::vector<WordWindow>{{0, 1, 0, 1}, {1, 2, 1, 2}, {2, 3, 2, 3}}));
}

TEST(WordWindows, GiveEveryWordOneClassAndFitWhateverTheSizes) {
  CounterRng random(11, Purpose::test, 0);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::size_t> sizes(1 + random.below(40));
    for (std::size_t& size : sizes) size = random.below(6);
    const std::size_t room = 5 + random.below(20), overlap = random.below(static_cast<std::uint64_t>(room));
    const std::vector<WordWindow> windows = word_windows(words_of(sizes), room, overlap);
    std::size_t next = 0, last_end = 0;
    for (const WordWindow& window : windows) {
      EXPECT_EQ(window.first, next);
      EXPECT_LE(window.begin, window.first);
      EXPECT_LE(window.last, window.end);
      EXPECT_LE(window.first, window.last);
      EXPECT_GT(window.end, last_end);
      std::size_t pieces = 0;
      for (std::size_t word = window.begin; word < window.end; ++word) pieces += sizes[word];
      EXPECT_LE(pieces, room);
      next = window.last;
      last_end = window.end;
    }
    EXPECT_EQ(next, sizes.size());
  }
}

TEST(WordPieces, RowsAreThoseOfFirstPieces) {
  const testing::TemporaryFolder folder;
  testing::write_tiny_text_tokenizer(folder.path());
  const auto tokenizer = load_tokenizer(folder.path().string());
  EXPECT_EQ(blank_before_words(*tokenizer), "");
  UnknownTally unknown;
  const Pieces pieces = pieces_of_words(*tokenizer, "", {"ab", "", "c"}, {}, &unknown);
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_EQ(pieces[0].size(), 2u);
  EXPECT_TRUE(pieces[1].empty());
  EXPECT_EQ(unknown.pieces(), 3u);
  const WindowInput all = window_input(pieces, {0, 3, 0, 3}, 10, *tokenizer);
  EXPECT_EQ(all.ids.size(), 5u);
  EXPECT_EQ(all.rows, (std::vector<std::int32_t>{1, 3}));
  EXPECT_EQ(all.words, (std::vector<std::size_t>{0, 2}));
  const WindowInput cut = window_input(pieces, {0, 1, 0, 1}, 1, *tokenizer);
  EXPECT_EQ(cut.ids.size(), 3u);
  EXPECT_EQ(window_input(pieces, {0, 3, 2, 3}, 10, *tokenizer).rows, (std::vector<std::int32_t>{3}));
  EXPECT_EQ(room_of(10, *tokenizer), 8u);
  testing::expect_message(testing::error_of([&] { room_of(2, *tokenizer); }), "`length` 2", "no room");
}

}  // namespace
}  // namespace bigbird
