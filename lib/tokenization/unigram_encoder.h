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
  static constexpr std::size_t unreached = ~std::size_t{0};

  // Of a byte of a word: the last piece of the best way to it.
  struct Best {
    std::size_t begin = unreached;
    double score = 0;  // of the whole way
    std::uint32_t id = none;
  };
  struct Edge {
    std::uint64_t key = ~std::uint64_t{0};  // node << 8 | byte
    std::uint32_t node = none;
  };
  struct Value {
    std::uint32_t id = none;
    double score = 0;
  };

  // Follows the pieces that begin at `begin` or later and before `stop`, and returns where the next one would.
  // `letters` and `ends` are of the word from byte `origin` on; `begin` and `stop` count from there too.
  std::size_t follow(std::string_view letters, std::size_t origin, std::size_t begin, std::size_t stop,
                     std::vector<Best>& ends) const;
  // Appends the pieces of the best way from byte `origin` of the word to `end`.
  void trace(const std::vector<Best>& ends, std::size_t origin, std::size_t end,
             std::vector<FoundPiece>& found) const;

  std::uint32_t next(std::uint32_t node, unsigned char byte) const;
  void insert_edge(std::uint64_t key, std::uint32_t node);

  std::vector<Edge> edges_;    // open addressing
  std::vector<Value> values_;  // by node: the piece that ends there
  unsigned shift_ = 0;
  std::uint32_t unknown_;
  double unknown_score_;
  std::size_t longest_ = 4;  // bytes of a piece, or of a character

 public:
  // The search over a word that comes in parts. The best ways to all places at which the word may go on have
  // the same beginning, as a rule up to a few pieces before them: it is handed out, and what is held is only
  // what lies behind it. Sums of scores go on, so that rounding and ties are those of the whole word.
  class Growing {
   public:
    // The encoder must outlive it. Looks for what is certain once `part` bytes are held.
    Growing(const UnigramEncoder& encoder, std::size_t part)
        : encoder_(encoder), part_(part), enough_(part) {}

    // Appends letters (whole characters), and to `found` the pieces that they make certain: places in the
    // word. Pieces of unknown characters that stand side by side in two calls are one.
    void append(std::string_view letters, std::vector<FoundPiece>& found);
    // The rest, and the next letters begin another word.
    void finish(std::vector<FoundPiece>& found);
    // The first byte of the word that is held.
    std::size_t origin() const { return origin_; }

   private:
    void settle(std::vector<FoundPiece>& found);
    void follow(std::size_t stop);

    const UnigramEncoder& encoder_;
    std::size_t part_;
    std::size_t enough_;
    std::string letters_;  // from origin_ on
    std::vector<Best> ends_;
    std::size_t origin_ = 0;
    std::size_t begin_ = 0;  // in letters_: pieces that begin before were followed
  };
};

}  // namespace bigbird
