// The views of attention within clusters of tokens (kernels/operations.inc).
#pragma once

#include "kernels/types.h"

namespace bigbird::kernels {

// The tokens of a ragged batch in an order that each head has for itself, which is cut into clusters of equal
// size (Kitaev et al. 2020, section 2). Sequence s owns rows token_offsets[s] .. token_offsets[s + 1], of
// which the first lengths[s] are real. A head's order has place_offsets[s + 1] - place_offsets[s] places for
// it, a whole number of clusters: a place holds a row of the sequence, counted from its first, or -1. A row
// may have several places.
//
// A query sees the keys of its cluster and of the one before it; before the first stands the last, and a
// sequence of one cluster has none before. All clusters that a row has a place in give one softmax, in which
// a key that is met several times counts several times.
struct ClusterBatch {
  Index sequences = 0;                   // B
  Index heads = 0;                       // H
  Index head_size = 0;                   // D
  Index cluster = 0;                     // m, places
  const Index* token_offsets = nullptr;  // host, [B + 1]
  const Index* lengths = nullptr;        // host, [B]
  const Index* place_offsets = nullptr;  // host, [B + 1]
  bool causal = false;                   // a query sees keys up to its own row
  // Keys are the queries, made as long as sqrt(D), over D: x / (sqrt(mean x^2 + epsilon) sqrt(D)). A query
  // sees its own key only where it sees no other.
  float epsilon = 1e-6f;

  Index places() const { return sequences == 0 ? 0 : place_offsets[sequences]; }
};

// How rows are sorted into clusters: by buckets of random rotations (Andoni et al. 2015), several times over.
// Round r of a head has a matrix R [D, b / 2]; with two factors b1 and b2 it has columns for each of both.
// The bucket of a row x is the place of the largest number of (x R, -x R), the first one of equal ones; with
// factors it is bucket1 + b1 bucket2. A round puts the rows in the order of their buckets, those of one
// bucket ascending, and fills its last cluster with -1; the rounds follow each other.
struct TokenHash {
  Index rounds = 0;
  const Index* factors = nullptr;  // host, [B, 2]: even numbers; the second is 0 where there is one factor
  // Device, [H, rounds, columns, D]: columns of R lie one behind the other, those of the first factor first.
  const float* rotations = nullptr;
  Index columns = 0;  // at least (b1 + b2) / 2 of every sequence

  Index buckets(Index sequence) const {
    const Index* const of = factors + 2 * sequence;
    return of[1] > 0 ? of[0] * of[1] : of[0];
  }
};

}  // namespace bigbird::kernels
