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

template <unsigned Count>
struct Columns {
  static constexpr unsigned count = Count;
};

// Vectors of queries that go down the scores side by side: whole cache lines of a row are read in order, and
// no sum waits for the one before it.
template <unsigned Vectors>
BIGBIRD_INLINE void raise_maximum(const float* scores, Index rows, Index width, float* maximum, float* sum,
                                  float* factor) {
  Floats largest[Vectors];
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
    const Floats shrink = exp2(load(maximum + j * lanes) - largest[j]);
    store(sum + j * lanes, load(sum + j * lanes) * shrink);
    store(maximum + j * lanes, largest[j]);
    store(factor + j * lanes, shrink);
  }
}

// body(column, count of vectors side by side, as a type) over the width.
template <typename Body>
BIGBIRD_INLINE void for_each_columns(Index width, const Body& body) {
  Index j = 0;
  for (; j + 4 * lanes <= width; j += 4 * lanes) body(j, Columns<4>{});
  for (; j < width; j += lanes) body(j, Columns<1>{});
}

// Of the scores of `rows` keys: updates the maximum of every query, leaves in `factor` what older sums must
// be multiplied by, and multiplies `sum` by it.
static inline void raise_maxima(const float* scores, Index rows, Index width, float* maximum, float* sum,
                                float* factor) {
  for_each_columns(width, [&](Index j, auto columns) {
    raise_maximum<columns.count>(scores + j, rows, width, maximum + j, sum + j, factor + j);
  });
}

// Scores to probabilities relative to the maximum, which `sum` collects.
static inline void scores_to_probabilities(float* scores, Index rows, Index width, const float* maximum,
                                           float* sum) {
  for_each_columns(width, [&](Index j, auto columns) {
    constexpr unsigned count = columns.count;
    Floats total[count] = {};
    for (Index row = 0; row < rows; ++row) {
      BIGBIRD_UNROLL
      for (unsigned i = 0; i < count; ++i) {
        float* const at = scores + row * width + j + i * lanes;
        const Floats probability = exp2(load(at) - load(maximum + j + i * lanes));
        store(at, probability);
        total[i] += probability;
      }
    }
    BIGBIRD_UNROLL
    for (unsigned i = 0; i < count; ++i) store(sum + j + i * lanes, load(sum + j + i * lanes) + total[i]);
  });
}

// Both, of a chunk.
static inline void softmax_chunk(float* scores, Index rows, Index width, float* maximum, float* sum,
                                 float* factor) {
  raise_maxima(scores, rows, width, maximum, sum, factor);
  scores_to_probabilities(scores, rows, width, maximum, sum);
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
