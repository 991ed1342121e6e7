// Softmax of the forward pass, a chunk of key blocks at a time; shared by the levels and AMX.
#pragma once

#include "kernels/cpu/levels/attention.h"

namespace bigbird::kernels::BIGBIRD_LEVEL {

// enough to make the rescaling of the sums cheap; the scores stay in the cache
constexpr Index chunk_keys = 256;

static inline Index blocks_per_chunk(Index block_size) {
  return block_size >= chunk_keys ? 1 : chunk_keys / block_size;
}

// What a query block begins with: nothing summed up, in sums [depth][width], maximum and sum [width].
static inline void begin_sums(Index depth, Index width, float* sums, float* maximum, float* sum) {
  for (Index i = 0; i < depth * width; ++i) sums[i] = 0.0f;
  for (Index j = 0; j < width; ++j) {
    maximum[j] = -__builtin_inff();
    sum[j] = 0.0f;
  }
}

// sums[d][j] *= factor[j]
static inline void scale_sums(Index depth, Index width, float* sums, const float* factor) {
  for (Index d = 0; d < depth; ++d) {
    for (Index j = 0; j < width; j += lanes)
      store(sums + d * width + j, load(sums + d * width + j) * load(factor + j));
  }
}

// Vectors of queries that go down the scores side by side: whole cache lines of a row are read in order, and
// no sum waits for the one before it.
template <unsigned Vectors>
BIGBIRD_INLINE void softmax_columns(float* scores, Index rows, Index width, float* maximum, float* sum,
                                    float* factor) {
  Floats largest[Vectors];
  Floats shrink[Vectors];
  Floats total[Vectors];
  BIGBIRD_UNROLL
  for (unsigned j = 0; j < Vectors; ++j) largest[j] = load(maximum + j * lanes);
  for (Index row = 0; row < rows; ++row) {
    BIGBIRD_UNROLL
    for (unsigned j = 0; j < Vectors; ++j) {
      largest[j] = larger(load(scores + row * width + j * lanes), largest[j]);
    }
  }
  BIGBIRD_UNROLL
  for (unsigned j = 0; j < Vectors; ++j) {
    shrink[j] = exp2(load(maximum + j * lanes) - largest[j]);
    total[j] = Floats{};
  }
  for (Index row = 0; row < rows; ++row) {
    BIGBIRD_UNROLL
    for (unsigned j = 0; j < Vectors; ++j) {
      float* const at = scores + row * width + j * lanes;
      const Floats probability = exp2(load(at) - largest[j]);
      store(at, probability);
      total[j] += probability;
    }
  }
  BIGBIRD_UNROLL
  for (unsigned j = 0; j < Vectors; ++j) {
    store(sum + j * lanes, load(sum + j * lanes) * shrink[j] + total[j]);
    store(maximum + j * lanes, largest[j]);
    store(factor + j * lanes, shrink[j]);
  }
}

// Turns scores of `rows` keys into probabilities relative to the running maximum, updates maximum and sum of
// every query, and leaves in `factor` what older sums must be multiplied by.
static inline void softmax_chunk(float* scores, Index rows, Index width, float* maximum, float* sum,
                                 float* factor) {
  Index j = 0;
  for (; j + 4 * lanes <= width; j += 4 * lanes) {
    softmax_columns<4>(scores + j, rows, width, maximum + j, sum + j, factor + j);
  }
  for (; j < width; j += lanes) {
    softmax_columns<1>(scores + j, rows, width, maximum + j, sum + j, factor + j);
  }
}

static inline void drop_probabilities(const AttentionHead& head, Index first_query, Index first_key,
                                      float* scores, Index rows, Index width) {
  for (Index j = 0; j < width; j += lanes) {
    ProbabilityDropout drop = dropout_of(head, first_query + j);
    for (Index row = 0; row < rows; ++row) {
      float* at = scores + row * width + j;
      store(at, load(at) * drop.factors(first_key + row));
    }
  }
}

}  // namespace bigbird::kernels::BIGBIRD_LEVEL
