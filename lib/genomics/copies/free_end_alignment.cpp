// Myers' bit vectors; see free_end_alignment.h.
#include "lib/genomics/copies/free_end_alignment.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace bigbird {
namespace {

constexpr std::size_t letters_of_bases = 4;
constexpr std::size_t bits_of_block = 64;

std::size_t letter_number(char letter) {
  constexpr std::string_view bases = "ACGT";
  const std::size_t at = bases.find(letter);
  return at == std::string_view::npos ? letters_of_bases : at;
}

// 64 rows of one column of the table of distances, as the differences between them: +1 in `plus`, -1 in
// `minus`.
struct Block {
  std::uint64_t plus = ~std::uint64_t{0};
  std::uint64_t minus = 0;
};

// The next column of a block. `same`: rows whose base is the text's; `above`: what the row over the block
// changed by, from the column before to this one. Returns the same of the row `last`, a single bit.
int advance(Block& block, std::uint64_t same, int above, std::uint64_t last) {
  const std::uint64_t vertical = same | block.minus;
  if (above < 0) same |= 1;
  const std::uint64_t horizontal = (((same & block.plus) + block.plus) ^ block.plus) | same;
  std::uint64_t plus = block.minus | ~(horizontal | block.plus);
  std::uint64_t minus = block.plus & horizontal;
  const int below = (plus & last) != 0 ? 1 : (minus & last) != 0 ? -1 : 0;
  plus = (plus << 1) | (above > 0 ? 1u : 0u);
  minus = (minus << 1) | (above < 0 ? 1u : 0u);
  block.plus = minus | ~(vertical | plus);
  block.minus = plus & vertical;
  return below;
}

struct BestEnd {
  std::size_t edits = 0;
  std::size_t end = 0;  // bases of the text up to there
};

// The whole pattern against a part of the text: one that begins anywhere, or (`anchored`) with the text.
BestEnd best_end(std::string_view pattern, std::string_view text, bool anchored) {
  const std::size_t count = (pattern.size() + bits_of_block - 1) / bits_of_block;
  std::vector<Block> blocks(count);
  std::array<std::vector<std::uint64_t>, letters_of_bases + 1> same;
  for (auto& rows : same) rows.assign(count, 0);
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const std::size_t letter = letter_number(pattern[i]);
    if (letter < letters_of_bases) same[letter][i / bits_of_block] |= std::uint64_t{1} << (i % bits_of_block);
  }
  const std::uint64_t high = std::uint64_t{1} << (bits_of_block - 1);
  const std::uint64_t last = std::uint64_t{1} << ((pattern.size() - 1) % bits_of_block);
  std::int64_t edits = static_cast<std::int64_t>(pattern.size());
  BestEnd best{pattern.size(), 0};
  for (std::size_t j = 0; j < text.size(); ++j) {
    const std::vector<std::uint64_t>& rows = same[letter_number(text[j])];
    int change = anchored ? 1 : 0;
    for (std::size_t block = 0; block < count; ++block)
      change = advance(blocks[block], rows[block], change, block + 1 == count ? last : high);
    edits += change;
    if (static_cast<std::size_t>(edits) < best.edits) best = {static_cast<std::size_t>(edits), j + 1};
  }
  return best;
}

}  // namespace

FreeEndAlignment align_free_ends(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return {};
  const BestEnd end = best_end(pattern, text, false);
  const std::string_view before = text.substr(0, end.end);
  const BestEnd begin = best_end(std::string(pattern.rbegin(), pattern.rend()),
                                 std::string(before.rbegin(), before.rend()), true);
  return {end.edits, end.end - begin.end, end.end};
}

}  // namespace bigbird
