// The pieces of one word by WordPiece (Wu et al. 2016; BERT): from its begin on the longest piece that fits,
// then the longest of those that go on within a word, whose texts open with a prefix ("##ing"). A word that
// no pieces make up is one unknown piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/core/hash.h"
#include "lib/tokenization/unigram_encoder.h"

namespace bigbird {

// Immutable after construction: safe from many threads at once.
class WordPieceEncoder {
 public:
  // `pieces` by id, of those that stand twice the last one is meant. `hidden`, by id: no text gives it.
  WordPieceEncoder(const std::vector<std::string>& pieces, const std::vector<std::uint8_t>& hidden,
                   const std::string& prefix, std::size_t longest_word, std::uint32_t unknown);

  // A word of more characters is unknown.
  std::size_t longest_word() const { return longest_word_; }

  // Appends the pieces of a word that is not empty, with their bytes in it.
  void encode(std::string_view word, std::vector<FoundPiece>& found) const;

 private:
  struct Pieces {
    std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>> ids;
    std::size_t longest = 0;  // bytes
  };

  Pieces first_;    // of a word
  Pieces further_;  // without the prefix
  std::size_t longest_word_;
  std::uint32_t unknown_;
};

}  // namespace bigbird
