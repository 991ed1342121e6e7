// Attention of one query block over its listed key blocks: online softmax (Milakov and Gimelshein 2018; Dao
// et al. 2022) over chunks of key blocks, so that scratch does not grow with the length of the list.
#include "kernels/cpu/levels/softmax.h"

namespace bigbird::kernels::BIGBIRD_LEVEL {

Index attention_forward_scratch(Index block_size, Index head_size) {
  const Index width = round_up_to_lanes(block_size);
  return width * (2 * head_size + blocks_per_chunk(block_size) * block_size + 3) +
         block_size * round_up_to_lanes(head_size);
}

void attention_forward_block(const AttentionHead& head, Index query_block, float* out, Index out_stride,
                             float* log_sum_exp, float* scratch) {
  const Index block_size = head.block_size;
  const Index depth = head.head_size;
  const Index first_query = query_block * block_size;
  const Index queries = queries_in_block(head, query_block);
  const Index width = round_up_to_lanes(queries);
  out += first_query * out_stride;
  for (Index row = queries; row < smaller(block_size, head.rows - first_query); ++row) {
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
  begin_sums(depth, width, sums, maximum, sum);

  const Index chunk = blocks_per_chunk(block_size);
  const KeyBlocks listed(head, query_block);
  for (Index begin = 0; begin < listed.count; begin += chunk) {
    const Index end = smaller(begin + chunk, listed.count);
    Index rows = 0;
    for (Index at = begin; at < end; ++at) {
      const Index block = listed.blocks[at];
      const Index keys = keys_in_block(head, block);
      multiply({keys, width, depth, head.k + block * block_size * head.k_stride, head.k_stride, 1, q, width,
                scores + rows * width, width, false});
      hide_later_keys(head, first_query, block * block_size, keys, width, scores + rows * width);
      listed.raise(at, scores + rows * width, keys * width);
      rows += keys;
    }
    if (rows == 0) continue;
    softmax_chunk(scores, rows, width, maximum, sum, factor);
    scale_sums(depth, width, sums, factor);
    rows = 0;
    for (Index at = begin; at < end; ++at) {
      const Index block = listed.blocks[at];
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
