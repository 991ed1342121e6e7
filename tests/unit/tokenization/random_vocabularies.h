// Random vocabularies and texts, for what must be the same however a text is cut.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "lib/core/rng.h"
#include "lib/core/unicode.h"
#include "lib/tokenization/bpe_encoder.h"
#include "lib/tokenization/unigram_encoder.h"

namespace bigbird::testing {

using PlacedId = std::tuple<std::uint32_t, std::size_t, std::size_t>;  // id, begin, end
using Strings = std::vector<std::string>;

inline std::string random_text(CounterRng& rng, const Strings& bits, std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) {
    const std::string& bit = bits[rng.below(bits.size())];
    const std::uint64_t times = rng.below(8) == 0 ? 1 + rng.below(40) : 1;
    for (std::uint64_t i = 0; i < times; ++i) text += bit;
  }
  return text;
}

// Pieces of two or more characters over an alphabet, each put together of two that are there.
inline Strings random_pieces(CounterRng& rng, const Strings& alphabet, std::size_t count) {
  Strings pieces = alphabet;
  while (pieces.size() < alphabet.size() + count) {
    const std::string piece = pieces[rng.below(pieces.size())] + pieces[rng.below(pieces.size())];
    if (piece.size() < 24 && std::find(pieces.begin(), pieces.end(), piece) == pieces.end())
      pieces.push_back(piece);
  }
  return pieces;
}

// Scores of which sums round, and ties.
inline std::vector<UnigramPiece> random_unigram(CounterRng& rng, const Strings& pieces) {
  const std::uint64_t kind = rng.below(3);
  std::vector<UnigramPiece> result;
  for (std::uint32_t id = 0; id < pieces.size(); ++id) {
    const double score = kind == 0   ? 0
                         : kind == 1 ? -0.1 * static_cast<double>(1 + rng.below(4))
                                     : -static_cast<double>(rng.below(1000000)) / 98765.0;
    result.push_back({pieces[id], score, id + 1});
  }
  return result;
}

struct RandomMerges {
  Strings pieces{"<unk>"};
  std::vector<BpeMerge> merges;
};

inline RandomMerges random_merges(CounterRng& rng, const Strings& alphabet, std::uint64_t count) {
  RandomMerges result;
  Strings& pieces = result.pieces;
  for (const std::string& letter : alphabet) pieces.push_back(letter);
  const auto id_of = [&](const std::string& piece) {
    const auto found = std::find(pieces.begin(), pieces.end(), piece);
    if (found != pieces.end()) return static_cast<std::uint32_t>(found - pieces.begin());
    pieces.push_back(piece);
    return static_cast<std::uint32_t>(pieces.size() - 1);
  };
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto left = static_cast<std::uint32_t>(1 + rng.below(pieces.size() - 1));
    const auto right = static_cast<std::uint32_t>(1 + rng.below(pieces.size() - 1));
    const bool there = std::any_of(result.merges.begin(), result.merges.end(), [&](const BpeMerge& merge) {
      return merge.left == left && merge.right == right;
    });
    if (there || pieces[left].size() + pieces[right].size() > 12) continue;
    result.merges.push_back({left, right, id_of(pieces[left] + pieces[right])});
  }
  if (rng.below(2) == 0) std::reverse(result.merges.begin(), result.merges.end());
  return result;
}

// Letters 0, 1, 2, ...; a letter merges with the one below it, the sooner the lower they are. Of a word of
// descending letters the last one decides how all the others pair.
inline std::string chain_letter(std::size_t number) {
  std::string letter;
  append_utf8(letter, static_cast<char32_t>(0x4E00 + number));
  return letter;
}

inline RandomMerges chain_of(std::size_t letters) {
  RandomMerges chain;
  for (std::size_t i = 0; i < letters; ++i) chain.pieces.push_back(chain_letter(i));
  for (std::size_t i = 0; i + 1 < letters; ++i) {
    const auto lower = static_cast<std::uint32_t>(1 + i);
    chain.merges.push_back({lower + 1, lower, static_cast<std::uint32_t>(chain.pieces.size())});
    chain.pieces.push_back(chain_letter(i + 1) + chain_letter(i));
  }
  return chain;
}

}  // namespace bigbird::testing
