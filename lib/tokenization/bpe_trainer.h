// Training of byte-pair vocabularies over A C G T N: one interface, the exact trainer with two rules, and
// the SentencePiece library's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace bigbird {

// The five letters in the order of their ids (5..9, after the special pieces).
inline constexpr std::string_view dna_alphabet = "ACGTN";

// Sentences over ACGTN, each followed by '\n', in one string: 1 byte a base, which counts for large samples.
class BpeSample {
 public:
  // Empty sentences are left out. The caller has seen to the alphabet (lib/data does).
  void add(std::string_view sentence);
  const std::string& text() const { return text_; }
  std::uint64_t sentence_count() const { return sentence_count_; }
  std::uint64_t base_count() const { return text_.size() - sentence_count_; }

 private:
  std::string text_;
  std::uint64_t sentence_count_ = 0;
};

struct BpeTrainingOptions {
  std::uint32_t learnt_pieces = 0;     // wanted beyond the letters and the special pieces
  std::uint32_t max_piece_length = 0;  // bases; 0 = no limit
};

class BpeTrainer {
 public:
  virtual ~BpeTrainer() = default;
  // What a tokenizer folder keeps of it: "exact, adjacent pairs", "apart" ("exact" in folders of before),
  // "sentencepiece 0.1.97".
  virtual std::string name() const = 0;
  // The learnt pieces, best rank first, without the letters. Fewer than wanted when the sample holds no more
  // pairs that occur twice. Error{interrupted} on cancellation.
  virtual std::vector<std::string> train(const BpeSample& sample,
                                         const BpeTrainingOptions& options) const = 0;
};

// How the pairs of a run are counted, and which of several pairs with one count is merged. Merging goes from
// left to right in both.
enum class PairRule {
  // Every two symbols side by side count: AAAA holds three pairs (A, A). Ties: the older left piece, then the
  // older right one; the letters are there from the start in the order A C G N T. So count Hugging Face's
  // BpeTrainer (tokenizers 0.22: the same merges in the same order, min_frequency 2) and SentencePiece's.
  adjacent,
  // Occurrences that do not overlap: AAAA holds two. Ties: the shorter piece, then byte order, then the
  // shorter left part.
  apart
};

// By the definition (stated in reference/tokenization.h as a plain quadratic program): at every step the pair
// of the highest count. One thread; about 18 bytes a base. Samples up to 4.29 Gb.
std::unique_ptr<BpeTrainer> make_exact_bpe_trainer(PairRule rule);
// The SentencePiece library's trainer. Its vocabulary depends on the library's version (0.1.97 drops runs
// such as AAA for good) and it is slow before 0.2.3: minutes for 20 Mb.
std::unique_ptr<BpeTrainer> make_sentencepiece_bpe_trainer();
// "exact" (adjacent), "apart" or "sentencepiece"; Error{usage} for any other name.
std::unique_ptr<BpeTrainer> make_bpe_trainer(const std::string& name);

}  // namespace bigbird
