// Byte-pair encoding by its definition, for the nucleotide alphabet: a quadratic trainer and a quadratic
// encoder. The fast trainer and encoder of lib/tokenization must equal these two piece by piece.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bigbird::reference {

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

}  // namespace bigbird::reference
