// Attention of one query block over its listed key blocks: online softmax (Milakov and Gimelshein 2018; Dao
// et al. 2022) over chunks of key blocks, so that scratch does not grow with the length of the list. Scores
// are kept transposed, (keys, queries). attention_forward() is all of it but for the products, which a policy
// takes: in floats, in pairs of bf16 numbers, or on AMX's tiles.
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

// The output of a query that sees its own key alone (PairRule::self_last).
static inline void see_own_key(const AttentionHead& head, Index query_block, Index row, float* out,
                               float* log_sum_exp) {
  const Index query = head.query_origin + row;
  if (!own_key_is_last(head, query_block, query)) return;
  const float factor = dropout_factor(head, row, query);
  for (Index d = 0; d < head.head_size; ++d)
    out[d] = number_at(head.v, head.narrow_v, query * head.v_stride + d) * factor;
  if (log_sum_exp != nullptr) *log_sum_exp = own_key_score(head, query);
}

// The output of one query block, and its log-sum-exp unless null. `out` is at row 0 of the sequence.
// Products(head, first_query, queries, scratch, own...) packs the queries, scaled so that scores are powers
// of two, and has
//   width                    queries, rounded up to what the products take at a time
//   scratch                  what is behind its own part of the scratch
//   makes_probabilities()    whether add_values() is given scores in place of probabilities, and adds these
//                            to `sum` itself
//   scores(block, keys, to)  to[keys][width] = scores of the keys of a block
//   add_values(block, keys, scores, maximum, sum, sums)
//                            sums[head_size][width] += values of the block, weighted
template <typename Products, typename... Own>
static inline void attention_forward(const AttentionHead& head, Index query_block, float* out,
                                     Index out_stride, float* log_sum_exp, float* scratch, Own... own) {
  const Index block_size = head.block_size, depth = head.head_size;
  const Index first_query = query_block * block_size;
  const Index queries = queries_in_block(head, query_block);
  out += first_query * out_stride;
  for (Index row = queries; row < smaller(block_size, head.rows - first_query); ++row) {
    for (Index d = 0; d < depth; ++d) out[row * out_stride + d] = 0.0f;
    if (log_sum_exp != nullptr) log_sum_exp[first_query + row] = __builtin_inff();
  }
  if (queries == 0) return;

  Products products(head, first_query, queries, scratch, own...);
  const Index width = products.width;
  float* const sums = products.scratch;         // [depth][width], the output before division
  float* const maximum = sums + depth * width;  // [width]
  float* const sum = maximum + width;
  float* const factor = sum + width;
  float* const scores = factor + width;  // [keys of a chunk][width]
  begin_sums(depth, width, sums, maximum, sum);
  const bool labelled = has_labels(head);
  LabelSpan labels;
  if (labelled) labels = make_label_terms(head, query_block, queries, width, head.scale * log2_e);

  const bool dropping = head.drop_probability > 0.0f;
  const Index chunk = blocks_per_chunk(block_size);
  const KeyBlocks listed(head, query_block);
  for (Index begin = 0; begin < listed.count; begin += chunk) {
    const Index end = smaller(begin + chunk, listed.count);
    Index rows = 0;
    for (Index at = begin; at < end; ++at) {
      const Index block = listed.blocks[at], keys = keys_in_block(head, block);
      float* const of_block = scores + rows * width;
      products.scores(block, keys, of_block);
      const ScorePiece piece{head.query_origin + first_query, queries, block * block_size, keys, width};
      if (labelled) add_label_terms(head, labels, piece, of_block);
      hide_pairs(head, piece, of_block);
      listed.raise(at, of_block, keys * width);
      rows += keys;
    }
    if (rows == 0) continue;
    raise_maxima(scores, rows, width, maximum, sum, factor);
    if (!products.makes_probabilities()) scores_to_probabilities(scores, rows, width, maximum, sum);
    scale_sums(depth, width, sums, factor);
    rows = 0;
    for (Index at = begin; at < end; ++at) {
      const Index block = listed.blocks[at], keys = keys_in_block(head, block);
      float* const of_block = scores + rows * width;
      if (dropping) drop_probabilities(head, first_query, block * block_size, of_block, keys, width);
      products.add_values(block, keys, of_block, maximum, sum, sums);
      rows += keys;
    }
  }

  for (Index row = 0; row < width; ++row) {
    // A row that sees only padding, or what is hidden, has no keys at all: zeros, and +infinity. NaN is seen.
    const bool nothing = sum[row] == 0.0f || maximum[row] < least_seen;
    factor[row] = nothing ? 0.0f : 1.0f / sum[row];
    if (row >= queries || log_sum_exp == nullptr) continue;
    log_sum_exp[first_query + row] =
        nothing ? __builtin_inff() : maximum[row] * ln_2 + __builtin_logf(sum[row]);
  }
  scale_sums(depth, width, sums, factor);
  // A few rows of the output at a time: all of them side by side would meet in a few lines of the cache.
  for (Index row = 0; row < queries; row += 4) {
    transpose(sums + row, width, depth, smaller(4, queries - row), 1.0f, out + row * out_stride, out_stride,
              depth);
  }
  if (head.pairs == nullptr || !head.pairs->rule.self_last) return;
  for (Index row = 0; row < queries; ++row) {
    if (factor[row] != 0.0f) continue;
    see_own_key(head, query_block, first_query + row, out + row * out_stride,
                log_sum_exp != nullptr ? log_sum_exp + first_query + row : nullptr);
  }
}

}  // namespace bigbird::kernels::BIGBIRD_LEVEL
