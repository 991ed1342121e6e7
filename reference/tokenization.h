// Tokenization by its definitions, written out: BPE, and the longest match.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bigbird::reference {

// Byte-pair encoding by its definition, for the nucleotide alphabet: a quadratic trainer and a quadratic
// encoder. The fast trainer and encoder of lib/tokenization must equal these two piece by piece.

// The five letters, which are pieces from the start and are not counted among the learnt ones.
inline constexpr const char* bpe_alphabet = "ACGTN";

// One learnt piece: piece == left + right, and count is the number of occurrences at the step that learnt it.
struct BpePiece {
  std::string piece;
  std::string left;
  std::string right;
  std::int64_t count = 0;
  bool operator==(const BpePiece&) const = default;
};

// Which pairs count; see train_bpe.
enum class BpePairs { adjacent, apart };

// THE DEFINITION OF TRAINING.
// Input: sentences, strings over ACGTN (any other character throws std::invalid_argument; empty sentences are
// allowed). Every sentence starts as a list of one-letter symbols. Symbols never merge across two sentences.
// Repeat:
//  1. For every ordered pair (left piece, right piece) of adjacent symbols, count its occurrences. adjacent:
//     all of them, AAAA holds three pairs (A, A). apart: those that do not overlap, each sentence scanned
//     from left to right, AAA holds one and AAAA two. Only a pair of equal pieces can overlap.
//  2. Leave out the pairs whose concatenation is longer than max_piece_length letters. (A pair never spells
//     a piece learnt before through another split: between two standing symbol borders the same letters are
//     always cut alike, so that earlier step would have merged them. A trainer that looks for it gets the
//     same result.)
//  3. Stop when no pair is left, when the highest count is below 2, or when number_of_pieces have been
//     learnt.
//  4. Take the pair with the highest count. Ties, adjacent: the pair whose left piece is older, then the one
//     whose right piece is (the letters first, A C G N T, then the learnt pieces in their order). Ties,
//     apart: the shorter concatenation first, then the lexicographically smaller concatenation (by byte:
//     A < C < G < N < T), then the shorter left piece.
//  5. Its concatenation becomes the next piece. Replace its occurrences, each sentence scanned from left to
//     right.
// Returned in the order learnt; the index is the rank.
std::vector<BpePiece> train_bpe(const std::vector<std::string>& sentences, std::int64_t number_of_pieces,
                                std::int64_t max_piece_length, BpePairs pairs);

// THE DEFINITION OF ENCODING (SentencePiece's BPE).
// Start from single letters; of all adjacent pairs of symbols whose concatenation is in `pieces`, by any
// split, merge the one with the lowest index in `pieces` (the leftmost of several), one occurrence at a time,
// until none is left. Letters are never in `pieces`. Characters outside the alphabet are symbols that never
// merge.
std::vector<std::string> encode_bpe(const std::string& sentence, const std::vector<std::string>& pieces);

// THE DEFINITION OF ENCODING BY A LIST OF MERGES (Hugging Face's BPE).
// The same, except that only the pairs of `merges` merge; the lowest index is the best rank. No alphabet.
std::vector<std::string> encode_bpe_merges(const std::string& sentence,
                                           const std::vector<std::pair<std::string, std::string>>& merges);

// A piece with the code points [begin, end) of the text that it stands for; known is false for a run of
// characters that no piece holds.
struct MatchedPiece {
  std::u32string piece;
  std::size_t begin = 0;
  std::size_t end = 0;
  bool known = true;
  bool operator==(const MatchedPiece&) const = default;
};

// THE DEFINITION. A text is words between runs of U+0020. In front of every word stands the word sign U+2581,
// which stands for the last blank before the word, or for nothing in front of the first word of a text
// without a leading blank. From the right end of a word, the longest piece that ends there is taken, again
// and again; where none ends there, one character is unknown, and neighbouring unknown characters are one.
// Pieces are in any order; the text holds no U+2581.
std::vector<MatchedPiece> longest_match_from_the_right(const std::u32string& text,
                                                       const std::vector<std::u32string>& pieces);

}  // namespace bigbird::reference
