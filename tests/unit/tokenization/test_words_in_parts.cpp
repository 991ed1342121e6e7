// Words that come in parts: what the encoders by scores and by merges call certain is so in the whole word.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lib/core/rng.h"
#include "lib/tokenization/byte_level_bpe.h"
#include "lib/tokenization/text_steps.h"
#include "lib/tokenization/unigram_encoder.h"
#include "tests/unit/tokenization/random_vocabularies.h"

namespace bigbird {
namespace {

using testing::PlacedId;
using testing::RandomMerges;
using testing::Strings;

TEST(UnigramEncoder, AWordInPartsHasThePiecesOfTheWhole) {
  std::size_t most_held = 0;
  for (std::uint64_t round = 0; round < 300; ++round) {
    CounterRng rng(49, Purpose::test, round);
    const Strings alphabet = rng.below(2) == 0 ? Strings{"a", "b"} : Strings{"a", "b", "\u00E9"};
    const std::vector<UnigramPiece> pieces =
        testing::random_unigram(rng, testing::random_pieces(rng, alphabet, rng.below(16)));
    const UnigramEncoder encoder(pieces, 0, -12);
    const std::string word = testing::random_text(rng, {"a", "b", "\u00E9", "ab", "\U0001F600"}, 600);
    std::vector<FoundPiece> expected;
    encoder.encode(word, expected);
    for (const std::size_t part : {1U, 20U, 200U}) {
      UnigramEncoder::Growing growing(encoder, part);
      std::vector<FoundPiece> found;
      for (std::size_t at = 0; at < word.size();) {
        std::size_t end = at;
        for (std::uint64_t i = 1 + rng.below(30); i > 0 && end < word.size(); --i)
          end += character_length(word, end);
        growing.append(std::string_view(word).substr(at, end - at), found);
        at = end;
        if (part == 1) most_held = std::max(most_held, at - growing.origin());
      }
      growing.finish(found);
      // Unknown characters of two calls stand side by side.
      std::vector<PlacedId> joined, all;
      for (const FoundPiece& piece : found) {
        if (piece.id == 0 && !joined.empty() && std::get<0>(joined.back()) == 0) {
          std::get<2>(joined.back()) = piece.end;
        } else {
          joined.emplace_back(piece.id, piece.begin, piece.end);
        }
      }
      for (const FoundPiece& piece : expected) all.emplace_back(piece.id, piece.begin, piece.end);
      ASSERT_EQ(joined, all) << round << " " << word;
    }
  }
  EXPECT_LT(most_held, 400u) << "nothing is certain before the end";
}

TEST(ByteLevelMerger, WhatIsSettledIsOfTheWholeWord) {
  std::size_t settled_words = 0;
  for (std::uint64_t round = 0; round < 300; ++round) {
    CounterRng rng(50, Purpose::test, round);
    const RandomMerges random = testing::random_merges(rng, {"a", "b", "c"}, rng.below(24));
    const ByteLevelMerger merger(random.pieces, random.merges, 0);
    const std::string word = testing::random_text(rng, {"a", "b", "c", "ab", "x"}, 900);
    std::vector<ByteLevelMerger::Symbol> expected;
    merger.encode(word, expected);
    for (const std::size_t cut : {word.size() / 3, word.size() / 2, word.size() - 1}) {
      std::vector<ByteLevelMerger::Symbol> symbols, settled;
      merger.add_bytes(word.substr(0, cut), symbols);
      const std::size_t count = merger.settle(symbols, settled);
      ASSERT_LT(count, cut);
      settled_words += count > 0 ? 1u : 0u;
      for (std::size_t i = 0; i < settled.size(); ++i) {
        const std::uint32_t id = settled[i].id == ByteLevelMerger::none ? 0 : settled[i].id;
        ASSERT_EQ(id, expected[i].id) << word;
        ASSERT_EQ(settled[i].end, expected[i].end) << word;
      }
      ASSERT_EQ(count, settled.empty() ? 0 : settled.back().end);
    }
  }
  EXPECT_GT(settled_words, 800u) << "of 900 beginnings of words";
}

TEST(ByteLevelMerger, SettlesNothingThatTheNextLetterDecides) {
  const RandomMerges chain = testing::chain_of(120);
  const ByteLevelMerger merger({}, chain.merges, 0);
  std::vector<ByteLevelMerger::Symbol> symbols;
  for (std::uint32_t i = 120; i-- > 20;) symbols.push_back({i + 1, symbols.size() + 1});
  for (std::size_t size = 1; size < symbols.size(); ++size) {
    const std::vector<ByteLevelMerger::Symbol> beginning(symbols.begin(),
                                                         symbols.begin() + static_cast<std::ptrdiff_t>(size));
    std::vector<ByteLevelMerger::Symbol> settled;
    EXPECT_EQ(merger.settle(beginning, settled), 0u) << size;
  }
}

}  // namespace
}  // namespace bigbird
