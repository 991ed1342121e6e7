// Masked language modelling: which tokens of a sample are hidden, and what stands in their place
// (docs/specification.md 4.3). DNA token by token, as a "word" of DNA would be a whole sentence; text by
// whole words, as the published code does (google-research/bigbird, pretrain/run_pretraining.py:
// numpy_masking).
//
// A word is a piece that begins one (word_starts()) and what follows up to the next such piece or special
// piece. [UNK] neither begins nor ends a word and is never hidden itself. All pieces of a drawn word are
// hidden, each draws for itself what stands in its place. Two departures keep the number of hidden tokens
// bounded, which the memory of a run is planned by:
//   - a stretch of more than longest_word pieces without a word start (scripts without blanks, base64) is no
//     word: each of its pieces counts as one. The published code does so for samples without any word start;
//   - a drawn word that would take the sample past most_masked() is left as it is. That is twice what a full
//     sample hides on average, which running text does not reach; the published code cuts at the average.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/core/rng.h"

namespace bigbird {

class Tokenizer;

enum class MaskingUnit { tokens, words };

// What stands in place of a hidden token: [MASK], another one or itself (0.8, 0.1, 0.1), as BERT is trained,
// or [MASK] always. Only with the second a model knows as little of the token as an n-gram does.
enum class Masks { as_trained, all };

inline constexpr std::int64_t longest_word = 32;  // pieces

// What was hidden in one sample: positions ascending, and the true id at each.
struct MaskedTokens {
  std::vector<std::int32_t> positions;
  std::vector<std::int32_t> labels;
};

// How many of n ordinary tokens (of n words) are hidden: max(1, round(probability * n)), none when n = 0.
std::int64_t masked_count(double probability, std::int64_t ordinary_tokens);

// The most tokens that are hidden in a sample of at most so many ordinary ones.
std::int64_t most_masked(MaskingUnit unit, double probability, std::int64_t ordinary_tokens);

// Immutable: safe from many threads.
class MlmMasker {
 public:
  // probability in (0, 1): Error{usage} otherwise. Special tokens ([UNK] included) are never hidden and never
  // drawn. Words need a vocabulary that marks where they begin (Error{bad_input}) and the largest number of
  // ordinary tokens of a sample, for most_masked().
  MlmMasker(const Tokenizer& tokenizer, double probability);
  MlmMasker(const Tokenizer& tokenizer, double probability, MaskingUnit unit, std::int64_t ordinary_tokens,
            Masks masks = Masks::as_trained);

  // Hides masked_count() of the n ordinary tokens or words, drawn without replacement. As trained, a hidden
  // token becomes [MASK] with probability 0.8, a uniformly drawn ordinary id with 0.1, and stays as it is
  // with 0.1. The tokens that are hidden are the same with either kind of masks.
  MaskedTokens mask(std::vector<std::int32_t>& ids, CounterRng& rng) const;

 private:
  std::vector<std::int32_t> draw_tokens(const std::vector<std::int32_t>& ids, CounterRng& rng) const;
  std::vector<std::int32_t> draw_words(const std::vector<std::int32_t>& ids, CounterRng& rng) const;

  double probability_;
  std::int32_t mask_id_;
  std::int32_t unknown_id_;
  MaskingUnit unit_ = MaskingUnit::tokens;
  Masks masks_ = Masks::as_trained;
  std::int64_t most_ = 0;                      // words only: hidden tokens of a sample
  std::vector<bool> ordinary_;                 // per id
  std::vector<bool> starts_word_;              // per id; words only
  std::vector<std::int32_t> replacement_ids_;  // every ordinary id
};

// Where words begin in a text vocabulary: a word is a piece that carries the sign of a blank in front, and
// what follows up to the next one (google-research/bigbird, pretrain/run_pretraining.py:
// word_start_subtoken).
//
// Per id: Tokenizer::begins_word(). Special pieces begin no word. Error{bad_input} when no piece does, as in
// DNA vocabularies.
std::vector<bool> word_starts(const Tokenizer& tokenizer);

}  // namespace bigbird
