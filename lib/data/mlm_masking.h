// Masked language modelling: which tokens of a sample are hidden, and what stands in their place
// (docs/specification.md 4.3). Token by token, never whole words: a "word" of DNA would be a whole sentence.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/core/rng.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {

// What was hidden in one sample: positions ascending, and the true id at each.
struct MaskedTokens {
  std::vector<std::int32_t> positions;
  std::vector<std::int32_t> labels;
};

// How many of n ordinary tokens are hidden: max(1, round(probability * n)), none when n = 0.
std::int64_t masked_count(double probability, std::int64_t ordinary_tokens);

// Immutable: safe from many threads.
class MlmMasker {
 public:
  // probability in (0, 1): Error{usage} otherwise. Special tokens ([UNK] included) are never hidden and never
  // drawn.
  MlmMasker(const Tokenizer& tokenizer, double probability);

  // Hides masked_count() of the n ordinary tokens, drawn without replacement. A hidden token becomes [MASK]
  // with probability 0.8, a uniformly drawn ordinary id with 0.1, and stays as it is with 0.1.
  MaskedTokens mask(std::vector<std::int32_t>& ids, CounterRng& rng) const;

 private:
  double probability_;
  std::int32_t mask_id_;
  std::vector<bool> ordinary_;                 // per id
  std::vector<std::int32_t> replacement_ids_;  // every ordinary id
};

}  // namespace bigbird
