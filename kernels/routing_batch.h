// The views of attention within learned clusters of tokens (kernels/operations.inc).
#pragma once

#include "kernels/types.h"

namespace bigbird::kernels {

// Heads of a ragged batch whose tokens are routed to clusters (Roy et al. 2021, section 4.1, with what the
// published code adds). Sequence s owns rows token_offsets[s] .. token_offsets[s + 1], of which the first
// lengths[s] are real; no other is routed.
//
// A row of a query or a key becomes x = (row - mean) / sqrt(variance + epsilon). Cluster c of a head has a
// centroid mu_c, and takes those min(window, lengths[s]) queries whose x.mu_c is largest, and as many keys,
// the first of equal ones; within the cluster they stand by their positions. Its queries see its keys, by one
// softmax of x.y without a scale. A query has the sum of what its clusters give, over their number plus 0.01:
// it may be in several, or in none, where it has zeros.
struct RoutingBatch {
  Index sequences = 0;                   // B
  Index heads = 0;                       // H, those that are routed
  Index head_size = 0;                   // D
  Index clusters = 0;                    // k
  Index window = 0;                      // w
  const Index* token_offsets = nullptr;  // host, [B + 1]
  const Index* lengths = nullptr;        // host, [B]
  const Index* place_offsets = nullptr;  // host, [B + 1], of k min(w, lengths[s]) places each
  // Queries are their own keys: those of the inputs are not read, and get zeros. A query sees its cluster up
  // to its own place.
  bool causal = false;
  float epsilon = 1e-6f;

  Index places() const { return sequences == 0 ? 0 : place_offsets[sequences]; }
  Index tokens() const { return sequences == 0 ? 0 : token_offsets[sequences]; }
};

// Where queries, or keys, go.
struct RoutedTokens {
  // [H, places]: of each sequence the rows of its first cluster, then of the next, ascending, counted from
  // the sequence's first row.
  std::int32_t* order = nullptr;
  std::int32_t* nearest = nullptr;  // [H, T], the cluster with the largest x.mu, the first of equal ones
  float* distances = nullptr;       // [H, T], |x - mu|^2 to it; 0 of padding
};

// Of a batch; of a causal one the same twice.
struct RoutedPair {
  const std::int32_t* queries = nullptr;  // [H, places]
  const std::int32_t* keys = nullptr;
};

}  // namespace bigbird::kernels
