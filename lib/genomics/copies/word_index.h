// Words of 16 bases, and where each of a text stands.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace bigbird {

inline constexpr int word_length = 16;  // bases; 4^16 words are the values of 32 bits

// The longest text that an index takes.
inline constexpr std::size_t most_indexed_bases = std::size_t{1} << 26;

// A word at a place of a text: the smaller one of its two strands, as a number of two bits a base.
struct Word {
  std::uint32_t value = 0;
  bool reverse = false;  // it is the reverse complement that is smaller
};

// The words of a text, base by base. Words with a letter other than A C G T are none; nor are words of low
// complexity, which alike places have by chance (homopolymers, repeats of two or three letters: DUST's score
// of Morgulis et al. 2006, sum over triples c (c - 1) / 2 by their number less one, above 1.5); nor those
// that are their own reverse complement, which have no strand.
class WordScanner {
 public:
  // Takes the next base; whether the 16 bases that end with it are a word.
  bool next(char base);
  const Word& word() const { return word_; }

 private:
  static constexpr int triples_of_word = word_length - 2;

  void add_triple(std::uint32_t triple, int sign);

  std::uint32_t forward_ = 0;
  std::uint32_t backward_ = 0;
  int valid_ = 0;                         // bases since the last letter that is none, at most word_length
  std::array<std::uint8_t, 64> count_{};  // of triples in the word
  int pairs_ = 0;                         // equal triples in the word, as pairs
  Word word_;
};

// Where a word stands in the text, and on which of its strands.
struct WordPlace {
  std::uint32_t begin = 0;
  bool reverse = false;
};

// Memory: 8 bytes for each base of the text, and 4 for a quarter of them.
class WordIndex {
 public:
  // The text is not kept. Error{runtime} for one of more than most_indexed_bases.
  explicit WordIndex(std::string_view text);

  // The places of a word, in the order of the text; the first `most` of them.
  void find(std::uint32_t word, std::size_t most, std::vector<WordPlace>& places) const;

 private:
  std::size_t bucket_of(std::uint32_t word) const { return static_cast<std::size_t>(word >> shift_); }

  int shift_ = 0;
  std::vector<std::uint32_t> begins_;   // of buckets, words by their first bits; one more than there are
  std::vector<std::uint64_t> entries_;  // ascending in each: word, place, strand
};

}  // namespace bigbird
