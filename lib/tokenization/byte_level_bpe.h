// The steps of byte-level BPE (GPT-2's encoder.py, RoBERTa): GPT-2's regular expression cuts a text into
// words, the bytes of a word are the first symbols, and of all neighbours the pair of the best rank merges,
// the leftmost first, one at a time, as in the tokenizers package.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/tokenization/bpe_encoder.h"
#include "lib/tokenization/text_steps.h"

namespace bigbird {

// The character that stands for a byte in pieces: ! to ~, U+00A1-00AC and U+00AE-00FF stand for themselves,
// the other bytes in order for U+0100 and on; so a blank is U+0120. UTF-8.
const std::array<std::string, 256>& byte_level_characters();

// The end of the word that begins at byte `begin`, by GPT-2's expression, where \s is Unicode's White_Space:
//     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// Words lie end to end: every byte is in one.
std::size_t byte_level_word_end(std::string_view text, std::size_t begin);

// Merges of the bytes of words, or of other symbols. Immutable after construction: safe from many threads at
// once.
class ByteLevelMerger {
 public:
  // A symbol that merges with nothing.
  static constexpr std::uint32_t none = 0xffffffffu;

  // A byte without a piece of its own: becomes `unknown`, and merges with nothing.
  ByteLevelMerger(const std::vector<std::string>& pieces, const std::vector<BpeMerge>& merges,
                  std::uint32_t unknown);

  // A piece and the bytes of the word that it covers, from the end of the one before it.
  struct Symbol {
    std::uint32_t id = 0;
    std::size_t end = 0;
  };
  // Sets `symbols` to those of one word.
  void encode(std::string_view word, std::vector<Symbol>& symbols) const;
  // Appends the bytes of a word, which merge() has not seen.
  void add_bytes(std::string_view bytes, std::vector<Symbol>& symbols) const;
  // Merges symbols that are there: ids of pieces, or none, which stays.
  void merge(std::vector<Symbol>& symbols) const;
  // Of the beginning of a word, before merges: sets `settled` to the first pieces of the word, as far as they
  // are certain whatever follows, with ends that count symbols, and returns how many symbols they cover; 0
  // where nothing is.
  std::size_t settle(const std::vector<Symbol>& symbols, std::vector<Symbol>& settled) const;
  // Symbols of a piece, at most; 0: not known.
  std::size_t longest() const { return longest_; }

 private:
  static constexpr std::uint64_t no_pair = ~std::uint64_t{0};

  struct Slot {
    std::uint64_t pair = no_pair;  // left << 32 | right
    std::uint32_t rank = none;
    std::uint32_t piece = none;
  };

  const Slot* find(std::uint32_t left, std::uint32_t right) const;
  void merge_short(std::vector<Symbol>& symbols) const;
  void merge_long(std::vector<Symbol>& symbols) const;

  std::array<std::uint32_t, 256> bytes_{};
  std::uint32_t unknown_;
  std::vector<Slot> slots_;  // open addressing
  unsigned shift_ = 0;
  std::size_t longest_ = 0;
};

// The symbols of one word that come in parts, and its pieces as soon as they are certain.
class GrowingWord {
 public:
  // The merger must outlive it. Looks for what is certain once `part` symbols are held.
  GrowingWord(const ByteLevelMerger& merger, std::size_t part);

  // Held, to be appended to: what merge() takes; ends are not looked at.
  std::vector<ByteLevelMerger::Symbol>& symbols() { return symbols_; }
  // Sets `pieces` to those that are certain, `ended` to all that are left. Their ends count symbols from the
  // first that is held; what they cover is held no longer. Returns how many symbols that are.
  std::size_t take(bool ended, std::vector<ByteLevelMerger::Symbol>& pieces);

 private:
  const ByteLevelMerger& merger_;
  std::size_t part_;
  std::size_t enough_;
  std::vector<ByteLevelMerger::Symbol> symbols_;
};

}  // namespace bigbird
