// BPE encoding over a small alphabet, with the ids of the SentencePiece library or of Hugging Face's
// tokenizers, several times faster.
//
// The rule: start from letters; of all adjacent pairs that may merge, merge the one with the best rank, the
// leftmost of several; until none is left. SentencePiece merges every pair whose concatenation is a piece and
// ranks it by the piece; Hugging Face merges the pairs of a list, in the order of the list.
//
// How it is fast. A sequence of pieces is the encoding of its text exactly when every piece encodes to itself
// and every two neighbours, taken alone, stay apart: up to the first merge across a border, each piece's
// letters merge as they would alone. So the encoding is found from left to right: the longest matching piece
// that stays apart from the one before it, else the next shorter, else one step back; a position given up
// once is never entered again, because the encoding of a prefix is unique. Whether two pieces stay apart is
// read off their merge trees. This needs every merge to rank below the merges inside it, one listed merge to
// a piece, and at most 5 letters; a vocabulary that is not so (hand-made; training on DNA gives none) is
// encoded by the rule itself, with a heap. Idea: github.com/github/rust-gems, crates/bpe; the
// merge-by-concatenation rule and the proof are ours.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bigbird {

// A pair of pieces that may merge, and the piece that it makes: numbers of pieces.
struct BpeMerge {
  std::uint32_t left = 0;
  std::uint32_t right = 0;
  std::uint32_t piece = 0;
};

// A text whose pieces are known, and where another one may have the same letters.
struct KnownPieces {
  std::string_view text;
  // Of its beginning, as BpeEncoder::encode gives them, without an `unknown`: of all of it, or fewer.
  std::span<const std::uint32_t> numbers;
  // Letter i of the other text is compared with letter i + offset of this one. Offsets at which nothing is
  // the same cost time, and change nothing.
  std::span<const std::int64_t> offsets;
};

class BpeEncoder {
 public:
  // SentencePiece's rule. pieces in order of rank, best first; single letters anywhere. Letters are
  // single-byte pieces, at most 5 of them; all other pieces are made of these. The number of a piece is its
  // index here.
  explicit BpeEncoder(const std::vector<std::string>& pieces);
  // Hugging Face's rule: merges in order of rank, best first. Letters are single-byte pieces, at most 254.
  // Text is encoded fastest when pieces longer than a letter come in the order of their merges. A pair may
  // stand only once in the list.
  BpeEncoder(const std::vector<std::string>& pieces, const std::vector<BpeMerge>& merges);

  // What stands for a byte that is no letter: a run of them is one piece.
  static constexpr std::uint32_t unknown = 0xffffffffu;

  // Appends the numbers of the pieces of text. Linear in practice; text of any length.
  void encode(std::string_view text, std::vector<std::uint32_t>& numbers) const;
  // The same numbers, in a time that goes by what is not shared: pieces of stretches that are the same are
  // taken over. Returns the letters of these. bpe_encode_like.cpp has the reasoning.
  std::size_t encode_like(std::string_view text, const KnownPieces& known,
                          std::vector<std::uint32_t>& numbers) const;
  // The same by the rule itself, n log n: the yardstick, and the way for irregular vocabularies.
  void encode_by_rule(std::string_view text, std::vector<std::uint32_t>& numbers) const;

  std::uint32_t length(std::uint32_t number) const { return lengths_[number]; }
  bool is_letter(char byte) const { return letter_of_byte_[static_cast<unsigned char>(byte)] != no_letter; }
  // False when encode() has to go by the rule.
  bool is_regular() const { return regular_; }

 private:
  static constexpr std::uint32_t none = 0xffffffffu;
  static constexpr std::size_t max_letters = 5;
  static constexpr std::uint8_t no_letter = 0xff;

  struct Node {
    std::array<std::uint32_t, max_letters> next;
    std::uint32_t piece = none;  // the piece that ends here; once built, only if some text encodes to it
  };
  struct Merge {
    std::uint32_t left = none;
    std::uint32_t right = none;
  };
  struct PairSlot {
    std::uint64_t key = ~std::uint64_t{0};
    std::uint32_t piece = none;
    std::uint32_t rank = none;
  };

  void find_letters(const std::vector<std::string>& pieces);
  void build_trie(const std::vector<std::string>& pieces);
  std::vector<PairSlot> pairs_by_concatenation(const std::vector<std::string>& pieces) const;
  void build_pair_table(const std::vector<PairSlot>& pairs);
  void build_merge_trees(const std::vector<std::string>& pieces);
  void build_prefixes(const std::vector<std::string>& pieces);
  const PairSlot* find_pair(std::uint32_t left, std::uint32_t right) const;
  std::uint32_t joined(std::uint32_t left, std::uint32_t right) const;
  Merge reduce(std::string_view letters, std::vector<std::uint32_t>& numbers) const;
  bool stay_apart(std::uint32_t left, std::uint32_t right) const;
  std::uint32_t longest_match(std::string_view text, std::size_t position) const;
  void encode_letters(std::string_view letters, std::vector<std::uint32_t>& numbers) const;
  // `begin`: of the letters in the text that `known.offsets` is of.
  std::size_t encode_letters_like(std::string_view letters, std::int64_t begin, const KnownPieces& known,
                                  std::vector<std::uint32_t>& numbers) const;
  // encode_run(letters) for every run of letters, one `unknown` for every run of others.
  template <typename EncodeRun>
  void split_at_unknown(std::string_view text, std::vector<std::uint32_t>& numbers,
                        const EncodeRun& encode_run) const {
    for (std::size_t begin = 0; begin < text.size();) {
      const bool letters = is_letter(text[begin]);
      std::size_t end = begin + 1;
      while (end < text.size() && is_letter(text[end]) == letters) ++end;
      if (letters) {
        encode_run(text.substr(begin, end - begin));
      } else {
        numbers.push_back(unknown);
      }
      begin = end;
    }
  }

  std::array<std::uint8_t, 256> letter_of_byte_{};
  std::vector<std::uint32_t> letter_pieces_;
  std::vector<std::uint32_t> lengths_;
  std::vector<Merge> merges_;                 // the last merge of a piece; none for letters
  std::vector<std::uint32_t> shorter_match_;  // longest reachable proper prefix
  std::vector<Node> trie_;
  std::vector<PairSlot> pairs_;        // open addressing: two pieces to the piece that they make
  std::vector<std::uint64_t> filter_;  // bits: whether a pair of this hash may be in the table
  unsigned pair_shift_ = 0;
  bool regular_ = true;
};

// The numbers of pieces by id, where `ids` has the ids by number: `unknown` for ids that have none.
std::vector<std::uint32_t> numbers_by_id(const std::vector<std::uint32_t>& ids, std::size_t vocabulary);
// The numbers of the ids; up to the first that is no piece of the encoder.
std::vector<std::uint32_t> numbers_of(std::span<const std::int32_t> ids,
                                      const std::vector<std::uint32_t>& numbers_by_id);

}  // namespace bigbird
