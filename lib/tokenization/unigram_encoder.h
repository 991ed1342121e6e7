// The segmentation of Hugging Face's fast tokenizers for a unigram model: the best sum of scores over a word,
// unknown characters far below every piece, ties for the piece that begins furthest left (models.Unigram of
// the tokenizers package, encode_optimized). With equal scores, as in the published BigBird vocabulary, that
// is the longest match from the right (reference/tokenization.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bigbird {

// A piece that stands in a text, with the bytes [begin, end) of the word that it covers.
struct FoundPiece {
  std::uint32_t id = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct UnigramPiece {
  std::string text;  // not empty, no two alike
  double score = 0;  // finite
  std::uint32_t id = 0;
};

// Immutable after construction: safe from many threads at once.
class UnigramEncoder {
 public:
  // `lowest_score` is that of all entries of the model, those that no text leads to with them: what an
  // unknown character costs is 10 below it.
  UnigramEncoder(const std::vector<UnigramPiece>& pieces, std::uint32_t unknown, double lowest_score);

  // Appends the pieces of one word (valid UTF-8); neighbouring unknown characters are one.
  void encode(std::string_view word, std::vector<FoundPiece>& found) const;

 private:
  static constexpr std::uint32_t none = 0xffffffffu;

  struct Edge {
    std::uint64_t key = ~std::uint64_t{0};  // node << 8 | byte
    std::uint32_t node = none;
  };
  struct Value {
    std::uint32_t id = none;
    double score = 0;
  };

  std::uint32_t next(std::uint32_t node, unsigned char byte) const;
  void insert_edge(std::uint64_t key, std::uint32_t node);

  std::vector<Edge> edges_;    // open addressing
  std::vector<Value> values_;  // by node: the piece that ends there
  unsigned shift_ = 0;
  std::uint32_t unknown_;
  double unknown_score_;
};

}  // namespace bigbird
