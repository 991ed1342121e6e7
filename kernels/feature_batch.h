// The views of attention by features (kernels/operations.inc).
#pragma once

#include "kernels/types.h"

namespace bigbird::kernels {

// What queries and keys become before they meet (Choromanski et al. 2020, sections 2.2 to 2.4, with the
// stabilizers of the published code), with M rows of a projection W and x' = D^-1/4 x:
//   positive       M^-1/2 (exp(W x' - |x'|^2 / 2 - most) + epsilon)
//   trigonometric  M^-1/2 (cos W x', sin W x') exp(|x'|^2 / 2 - most)
//   relu           relu(W x) + 0.001, or of x itself
//   elu            elu(W x) + 1, or of x itself
// `most` is the largest number of W x', of trigonometric features the largest |x'|^2 / 2: of a query its own,
// of a key that of all keys which a query sees. It is a constant of the gradients.
enum class FeatureMap : std::uint8_t { positive, trigonometric, relu, elu };

// A ragged batch whose attention goes by features. Sequence s owns rows token_offsets[s] .. token_offsets[s +
// 1], of which the first lengths[s] are real; no other is anyone's key.
struct FeatureBatch {
  Index sequences = 0;                   // B
  Index heads = 0;                       // H
  Index head_size = 0;                   // D
  Index chunk = 0;                       // rows that are worked on together
  const Index* token_offsets = nullptr;  // host, [B + 1]
  const Index* lengths = nullptr;        // host, [B]
  bool causal = false;                   // a query sees keys up to its own row
  FeatureMap map = FeatureMap::positive;
  const float* projection = nullptr;  // W [projected, D], of all heads; null: none
  Index projected = 0;                // M; D without W
  float epsilon = 1e-6f;

  Index features() const { return map == FeatureMap::trigonometric ? 2 * projected : projected; }
};

}  // namespace bigbird::kernels
