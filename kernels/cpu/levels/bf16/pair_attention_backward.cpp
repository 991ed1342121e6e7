// Gradients of attention for one query block in bf16: what is multiplied is rounded to bf16 and multiplied in
// pairs (pairs.h), probabilities are recomputed from log-sum-exp and sums are fp32. As in
// levels/attention_backward.cpp, scores are kept transposed, (keys, queries), and every sum has one order.
#include "kernels/cpu/levels/attention.h"
#include "kernels/cpu/levels/bf16/kernels.h"
#include "kernels/cpu/levels/pairs.h"

namespace bigbird::kernels::BIGBIRD_LEVEL {

namespace {

// A packed block: keys and values as [keys][pairs of depth], keys again as [pairs of keys][depth].
Index rows_floats(Index block_size, Index head_size) {
  return (block_size * bf16_pairs(head_size) + lanes - 1) / lanes * lanes;
}
Index columns_floats(Index block_size, Index head_size) {
  return (bf16_pairs(block_size) * head_size + lanes - 1) / lanes * lanes;
}

// to[i][width] = the pairs of rows 2i and 2i + 1, a row a multiple of `lanes` wide.
void pair_rows(const float* from, Index rows, Index width, float* to) {
  for (Index row = 0; row < rows; row += 2) {
    for (Index j = 0; j < width; j += lanes) {
      store(to + row / 2 * width + j, paired(load(from + row * width + j),
                                             row + 1 < rows ? load(from + (row + 1) * width + j) : Floats{}));
    }
  }
}

// to[row][pitch] = the pairs of neighbours in a row.
void pair_columns(const float* from, Index rows, Index width, Index columns, float* to, Index pitch) {
  for (Index row = 0; row < rows; ++row) pair_row(from + row * width, columns, 1.0f, to + row * pitch);
}

}  // namespace

Index backward_packed_bytes(Index block_size, Index head_size) {
  return (2 * rows_floats(block_size, head_size) + columns_floats(block_size, head_size)) *
         Index{sizeof(float)};
}

void backward_pack_block(const AttentionHead& head, void* to) {
  const Index depth = head.head_size, pairs = bf16_pairs(depth), keys = keys_in_block(head, 0);
  float* const key_rows = static_cast<float*>(to);
  float* const value_rows = key_rows + rows_floats(head.block_size, depth);
  float* const key_columns = value_rows + rows_floats(head.block_size, depth);
  for (Index key = 0; key < keys; ++key) {
    pair_row(head.k + key * head.k_stride, depth, 1.0f, key_rows + key * pairs);
    pair_row(head.v + key * head.v_stride, depth, 1.0f, value_rows + key * pairs);
  }
  for (Index key = 0; key < keys; key += 2) {
    const float* const low = head.k + key * head.k_stride;
    const bool two = key + 1 < keys;
    for_each_vector(depth, [&](Index d, auto part) {
      part.put(key_columns + key / 2 * depth + d,
               paired(part.get(low + d), two ? part.get(low + head.k_stride + d) : Floats{}));
    });
  }
}

Index backward_scratch(Index block_size, Index head_size) {
  const Index width = round_up_to_lanes(block_size), padded = round_up_to_lanes(head_size);
  const Index pairs = bf16_pairs(head_size), query_pairs = bf16_pairs(block_size);
  return width * (2 * pairs + head_size + 2 * block_size + 3 + query_pairs) + 2 * query_pairs * padded +
         (block_size + 1) * padded + 2 * block_size * query_pairs;
}

void backward_block(const AttentionHead& head, const AttentionHeadGradients& gradients, const void* packed,
                    float* scratch) {
  const Index block_size = head.block_size, depth = head.head_size, pairs = bf16_pairs(depth);
  const Index queries = queries_in_block(head, 0), query_pairs = bf16_pairs(queries);
  const Index width = round_up_to_lanes(queries), padded = round_up_to_lanes(depth);
  const Index rows = smaller(block_size, head.rows);
  if (queries < rows)
    zero_rows(gradients.dq + queries * gradients.dq_stride, gradients.dq_stride, rows - queries, depth);
  if (queries == 0) return;
  const Index values_at = rows_floats(block_size, depth), columns_at = 2 * values_at;
  const Index block_floats = columns_at + columns_floats(block_size, depth);

  float* const q_columns = scratch;                        // [pairs of depth][width], scaled: powers of two
  float* const dout_columns = q_columns + pairs * width;   // [pairs of depth][width]
  float* const dq_columns = dout_columns + pairs * width;  // [depth][width]
  float* const scores = dq_columns + depth * width;        // [keys of a block][width]
  float* const score_gradients = scores + block_size * width;
  float* const shift = score_gradients + block_size * width;  // [width]
  float* const delta = shift + width;                         // [width], sum of dout * out
  float* const company = delta + width;                       // [width], for AloneQueries
  float* const key_pairs = company + width;                   // [pairs of keys][width]: gradients of scores
  float* const q_rows = key_pairs + bf16_pairs(block_size) * width;   // [pairs of queries][padded], scaled
  float* const dout_rows = q_rows + query_pairs * padded;             // [pairs of queries][padded]
  float* const room = dout_rows + query_pairs * padded;               // [queries][padded], and a row
  float* const probability_pairs = room + (block_size + 1) * padded;  // [keys][pairs of queries]
  float* const gradient_pairs = probability_pairs + block_size * query_pairs;

  transpose_pairs(head.q, head.q_stride, queries, depth, head.scale * log2_e, q_columns, width);
  transpose_pairs(gradients.dout, gradients.dout_stride, queries, depth, 1.0f, dout_columns, width);
  copy_rows(head.q, head.q_stride, queries, depth, head.scale, room, padded);
  pair_rows(room, queries, padded, q_rows);
  copy_rows(gradients.dout, gradients.dout_stride, queries, depth, 1.0f, room, padded);
  pair_rows(room, queries, padded, dout_rows);
  for (Index i = 0; i < depth * width; ++i) dq_columns[i] = 0.0f;
  for (Index row = 0; row < width; ++row) {
    // Lanes without a query have zeros in q and dout, so that they add nothing below.
    shift[row] = row < queries ? gradients.log_sum_exp[row] * log2_e : 0.0f;
    delta[row] = 0.0f;
    if (row >= queries) continue;
    Floats sum = {};
    for_each_vector(depth, [&](Index d, auto part) {
      sum += part.get(gradients.dout + row * gradients.dout_stride + d) *
             part.get(gradients.out + row * gradients.out_stride + d);
    });
    delta[row] = sum_of_lanes(sum);
  }

  const bool labelled = has_labels(head);
  LabelSpan labels;
  if (labelled) {
    labels = make_label_terms(head, 0, queries, width, head.scale * log2_e);
    begin_labels(head, labels, width);
  }
  const AloneQueries alone(head, queries, company);
  for (Index at = head.row_offsets[0]; at < head.row_offsets[1]; ++at) {
    const Index key_block = head.key_blocks[at], keys = keys_in_block(head, key_block);
    if (keys == 0) continue;
    const Index first_key = key_block * block_size;
    const float* const k = static_cast<const float*>(packed) + key_block * block_floats;
    multiply<PairProduct>({keys, width, pairs, k, pairs, 1, q_columns, width, scores, width, false});
    multiply<PairProduct>(
        {keys, width, pairs, k + values_at, pairs, 1, dout_columns, width, score_gradients, width, false});
    const ScorePiece piece{head.query_origin, queries, first_key, keys, width};
    if (labelled) add_label_terms(head, labels, piece, scores);
    hide_pairs(head, piece, scores);
    alone.look(piece, scores);
    softmax_backward(head, 0, first_key, keys, width, shift, delta, scores, score_gradients);
    if (labelled) collect_labels(head, labels, piece, score_gradients);
    pair_columns(scores, keys, width, queries, probability_pairs, query_pairs);
    pair_columns(score_gradients, keys, width, queries, gradient_pairs, query_pairs);
    pair_rows(score_gradients, keys, width, key_pairs);
    multiply<PairProduct>({keys, depth, query_pairs, probability_pairs, query_pairs, 1, dout_rows, padded,
                           gradients.dv + first_key * gradients.dv_stride, gradients.dv_stride, true});
    multiply<PairProduct>({keys, depth, query_pairs, gradient_pairs, query_pairs, 1, q_rows, padded,
                           gradients.dk + first_key * gradients.dk_stride, gradients.dk_stride, true});
    multiply<PairProduct>({depth, width, bf16_pairs(keys), k + columns_at, 1, depth, key_pairs, width,
                           dq_columns, width, true});
  }
  if (labelled) {
    // In floats: `room` holds what was copied there last, the gradients of the outputs.
    copy_rows(head.q, head.q_stride, queries, depth, head.scale, room, padded);
    end_labels(head, labels, 0, queries, width, room, padded, dq_columns);
  }
  alone.add_to_values(0, 0, gradients.dout, gradients);
  for (Index row = 0; row < queries; ++row) {
    float* const dq = gradients.dq + row * gradients.dq_stride;
    for (Index d = 0; d < depth; ++d) dq[d] = dq_columns[d * width + row] * head.scale;
  }
}

}  // namespace bigbird::kernels::BIGBIRD_LEVEL
