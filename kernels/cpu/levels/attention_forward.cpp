// Attention of one query block over its listed key blocks: online softmax (Milakov and Gimelshein 2018; Dao
// et al. 2022) over chunks of key blocks, so that scratch does not grow with the length of the list.
#include "kernels/cpu/levels/attention.h"

namespace bigbird::kernels::BIGBIRD_LEVEL {

namespace {

constexpr Index chunk_keys =
    256;  // enough to make the rescaling of the sums cheap; the scores stay in the cache

Index blocks_per_chunk(Index block_size) {
  return block_size >= chunk_keys ? 1 : chunk_keys / block_size;
}

// Turns scores of `rows` keys into probabilities relative to the running maximum, updates maximum and sum of
// every query, and leaves in `factor` what older sums must be multiplied by.
void softmax_chunk(float* scores, Index rows, Index width, float* maximum, float* sum, float* factor) {
  for (Index j = 0; j < width; j += lanes) {
    const Floats old = load(maximum + j);
    Floats largest = old;
    for (Index row = 0; row < rows; ++row) largest = larger(load(scores + row * width + j), largest);
    const Floats shrink = exp2(old - largest);
    Floats total = {};
    for (Index row = 0; row < rows; ++row) {
      const Floats probability = exp2(load(scores + row * width + j) - largest);
      store(scores + row * width + j, probability);
      total += probability;
    }
    store(sum + j, load(sum + j) * shrink + total);
    store(maximum + j, largest);
    store(factor + j, shrink);
  }
}

void drop_probabilities(const AttentionHead& head, Index first_query, Index first_key, float* scores,
                        Index rows, Index width) {
  for (Index j = 0; j < width; j += lanes) {
    ProbabilityDropout drop = dropout_of(head, first_query + j);
    for (Index row = 0; row < rows; ++row) {
      float* at = scores + row * width + j;
      store(at, load(at) * drop.factors(first_key + row));
    }
  }
}

}  // namespace

Index attention_forward_scratch(Index block_size, Index head_size) {
  const Index width = round_up_to_lanes(block_size);
  return width * (2 * head_size + blocks_per_chunk(block_size) * block_size + 3) +
         block_size * round_up_to_lanes(head_size);
}

void attention_forward_block(const AttentionHead& head, Index query_block, float* out, Index out_stride,
                             float* log_sum_exp, float* scratch) {
  const Index block_size = head.block_size;
  const Index depth = head.head_size;
  const Index width = round_up_to_lanes(block_size);
  const Index first_query = query_block * block_size;
  const Index queries = queries_in_block(head, query_block);
  out += first_query * out_stride;
  for (Index row = queries; row < block_size; ++row) {
    for (Index d = 0; d < depth; ++d) out[row * out_stride + d] = 0.0f;
  }
  if (queries == 0) return;

  float* const q = scratch;                     // [depth][width], scaled so that scores are powers of two
  float* const sums = q + depth * width;        // [depth][width], the output before division
  float* const maximum = sums + depth * width;  // [width]
  float* const sum = maximum + width;
  float* const factor = sum + width;
  float* const scores = factor + width;  // [keys of a chunk][width]
  transpose(head.q + first_query * head.q_stride, head.q_stride, queries, depth, head.scale * log2_e, q,
            width, width);
  for (Index i = 0; i < depth * width; ++i) sums[i] = 0.0f;
  for (Index j = 0; j < width; ++j) {
    maximum[j] = -__builtin_inff();
    sum[j] = 0.0f;
  }

  const Index chunk = blocks_per_chunk(block_size);
  const Index last = head.row_offsets[query_block + 1];
  for (Index begin = head.row_offsets[query_block]; begin < last; begin += chunk) {
    const Index end = smaller(begin + chunk, last);
    Index rows = 0;
    for (Index at = begin; at < end; ++at) {
      const Index block = head.key_blocks[at];
      const Index keys = keys_in_block(head, block);
      multiply({keys, width, depth, head.k + block * block_size * head.k_stride, head.k_stride, 1, q, width,
                scores + rows * width, width, false});
      rows += keys;
    }
    if (rows == 0) continue;
    softmax_chunk(scores, rows, width, maximum, sum, factor);
    for (Index d = 0; d < depth; ++d) {
      for (Index j = 0; j < width; j += lanes)
        store(sums + d * width + j, load(sums + d * width + j) * load(factor + j));
    }
    rows = 0;
    for (Index at = begin; at < end; ++at) {
      const Index block = head.key_blocks[at];
      const Index keys = keys_in_block(head, block);
      if (head.drop_probability > 0.0f) {
        drop_probabilities(head, first_query, block * block_size, scores + rows * width, keys, width);
      }
      multiply({depth, width, keys, head.v + block * block_size * head.v_stride, 1, head.v_stride,
                scores + rows * width, width, sums, width, true});
      rows += keys;
    }
  }

  for (Index row = 0; row < queries; ++row) {
    // A row that sees only padding has no keys at all: zeros, and a log-sum-exp of minus infinity.
    const float inverse = sum[row] == 0.0f ? 0.0f : 1.0f / sum[row];
    for (Index d = 0; d < depth; ++d) out[row * out_stride + d] = sums[d * width + row] * inverse;
    if (log_sum_exp != nullptr) {
      log_sum_exp[first_query + row] =
          sum[row] == 0.0f ? -__builtin_inff() : maximum[row] * ln_2 + __builtin_logf(sum[row]);
    }
  }
}

}  // namespace bigbird::kernels::BIGBIRD_LEVEL
