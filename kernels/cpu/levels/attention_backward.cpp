// Gradients of attention for one head of one sequence (Dao et al. 2022, algorithm 4, over block lists):
// probabilities are recomputed from log-sum-exp, and dq, dk, dv are made in one pass over the query blocks,
// in order, so that every sum has one order. Five products for each listed block; a pass of its own for dk
// and dv would need seven.
#include "kernels/cpu/levels/attention.h"

namespace bigbird::kernels::BIGBIRD_LEVEL {

Index attention_backward_scratch(Index block_size, Index head_size) {
  const Index width = round_up_to_lanes(block_size);
  const Index padded = round_up_to_lanes(head_size);
  return width * (3 * head_size + 2 * block_size + 3) + 2 * block_size * padded;
}

void attention_backward_head(const AttentionHead& head, const AttentionHeadGradients& gradients,
                             float* scratch) {
  const Index block_size = head.block_size;
  const Index depth = head.head_size;
  const Index width = round_up_to_lanes(block_size);
  const Index padded = round_up_to_lanes(depth);
  const Index key_rows = head.key_count * block_size;
  zero_rows(gradients.dq, gradients.dq_stride, head.blocks * block_size, depth);
  zero_rows(gradients.dk, gradients.dk_stride, key_rows, depth);
  zero_rows(gradients.dv, gradients.dv_stride, key_rows, depth);

  float* const q_columns = scratch;  // [depth][width], scaled so that scores are powers of two
  float* const dout_columns = q_columns + depth * width;  // [depth][width]
  float* const dq_columns = dout_columns + depth * width;
  float* const scores = dq_columns + depth * width;  // [keys of a block][width]
  float* const score_gradients = scores + block_size * width;
  float* const shift = score_gradients + block_size * width;  // [width]
  float* const delta = shift + width;                         // [width], sum of dout * out
  float* const company = delta + width;                       // [width], for AloneQueries
  float* const q_rows = company + width;                      // [queries][padded], times the scale
  float* const dout_rows = q_rows + block_size * padded;

  for (Index query_block = 0; query_block < head.blocks; ++query_block) {
    const Index queries = queries_in_block(head, query_block);
    if (queries == 0) break;
    const Index first_query = query_block * block_size;
    const float* q = head.q + first_query * head.q_stride;
    const float* dout = gradients.dout + first_query * gradients.dout_stride;
    const float* out = gradients.out + first_query * gradients.out_stride;
    transpose(q, head.q_stride, queries, depth, head.scale * log2_e, q_columns, width, width);
    transpose(dout, gradients.dout_stride, queries, depth, 1.0f, dout_columns, width, width);
    copy_rows(q, head.q_stride, queries, depth, head.scale, q_rows, padded);
    copy_rows(dout, gradients.dout_stride, queries, depth, 1.0f, dout_rows, padded);
    for (Index i = 0; i < depth * width; ++i) dq_columns[i] = 0.0f;
    const bool labelled = has_labels(head);
    LabelSpan labels;
    if (labelled) {
      labels = make_label_terms(head, query_block, queries, width, head.scale * log2_e);
      begin_labels(head, labels, width);
    }
    const AloneQueries alone(head, queries, company);
    for (Index row = 0; row < width; ++row) {
      // Lanes without a query have zeros in q and dout, so that they add nothing below.
      shift[row] = row < queries ? gradients.log_sum_exp[first_query + row] * log2_e : 0.0f;
      float sum = 0.0f;
      for (Index d = 0; d < depth && row < queries; ++d) {
        sum += dout[row * gradients.dout_stride + d] * out[row * gradients.out_stride + d];
      }
      delta[row] = sum;
    }
    for (Index at = head.row_offsets[query_block]; at < head.row_offsets[query_block + 1]; ++at) {
      const Index key_block = head.key_blocks[at];
      const Index keys = keys_in_block(head, key_block);
      if (keys == 0) continue;
      const Index first_key = key_block * block_size;
      const float* k = head.k + first_key * head.k_stride;
      const float* v = head.v + first_key * head.v_stride;
      multiply({keys, width, depth, k, head.k_stride, 1, q_columns, width, scores, width, false});
      const ScorePiece piece{head.query_origin + first_query, queries, first_key, keys, width};
      if (labelled) add_label_terms(head, labels, piece, scores);
      hide_pairs(head, piece, scores);
      alone.look(piece, scores);
      multiply({keys, width, depth, v, head.v_stride, 1, dout_columns, width, score_gradients, width, false});
      softmax_backward(head, first_query, first_key, keys, width, shift, delta, scores, score_gradients);
      if (labelled) collect_labels(head, labels, piece, score_gradients);
      multiply({keys, depth, queries, scores, width, 1, dout_rows, padded,
                gradients.dv + first_key * gradients.dv_stride, gradients.dv_stride, true});
      multiply({keys, depth, queries, score_gradients, width, 1, q_rows, padded,
                gradients.dk + first_key * gradients.dk_stride, gradients.dk_stride, true});
      multiply({depth, width, keys, k, 1, head.k_stride, score_gradients, width, dq_columns, width, true});
    }
    if (labelled) end_labels(head, labels, query_block, queries, width, q_rows, padded, dq_columns);
    alone.add_to_values(query_block, first_query, dout, gradients);
    for (Index row = 0; row < queries; ++row) {
      float* dq = gradients.dq + (first_query + row) * gradients.dq_stride;
      for (Index d = 0; d < depth; ++d) dq[d] = dq_columns[d * width + row] * head.scale;
    }
  }
}

}  // namespace bigbird::kernels::BIGBIRD_LEVEL
