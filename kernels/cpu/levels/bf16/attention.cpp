// Attention of one query block over its listed key blocks in bf16: queries, keys, values and probabilities
// are rounded to bf16 and multiplied in pairs (pairs.h), sums and softmax are fp32. As in
// levels/attention_forward.cpp, scores are kept transposed, (keys, queries).
#include "kernels/cpu/levels/bf16/kernels.h"
#include "kernels/cpu/levels/pair_probabilities.h"

namespace bigbird::kernels::BIGBIRD_LEVEL {

namespace {

// [keys][pairs of depth]
Index key_floats(Index block_size, Index head_size) {
  return (block_size * bf16_pairs(head_size) + lanes - 1) / lanes * lanes;
}
// [pairs of keys][depth]
Index value_floats(Index block_size, Index head_size) {
  return (bf16_pairs(block_size) * head_size + lanes - 1) / lanes * lanes;
}

// Pairs of neighbouring rows.
void pair_rows(const float* from, Index rows, Index width, float* pairs) {
  for (Index row = 0; row < rows; row += 2) {
    const float* const low = from + row * width;
    for (Index j = 0; j < width; j += lanes) {
      store(pairs + row / 2 * width + j,
            paired(load(low + j), row + 1 < rows ? load(low + width + j) : Floats{}));
    }
  }
}

}  // namespace

Index attention_packed_bytes(Index block_size, Index head_size, Index) {
  return (key_floats(block_size, head_size) + value_floats(block_size, head_size)) * Index{sizeof(float)};
}

void attention_pack_block(const AttentionHead& head, Index block, Index, void* to) {
  const Index first = block * head.block_size, depth = head.head_size;
  const Index keys = keys_in_block(head, block);
  float* const packed_keys = static_cast<float*>(to);
  float* const packed_values = packed_keys + key_floats(head.block_size, depth);
  if (head.narrow_k != nullptr) {
    const bf16* const k = head.narrow_k + first * head.k_stride;
    const bf16* const v = head.narrow_v + first * head.v_stride;
    for (Index key = 0; key < keys; ++key)
      pair_row(k + key * head.k_stride, depth, packed_keys + key * bf16_pairs(depth));
    for (Index key = 0; key < keys; key += 2) {
      const bf16* const low = v + key * head.v_stride;
      const bf16* const high = key + 1 < keys ? low + head.v_stride : nullptr;
      for_each_vector(depth, [&](Index d, auto part) {
        part.put(packed_values + key / 2 * depth + d,
                 paired(low + d, high != nullptr ? high + d : nullptr, part));
      });
    }
    return;
  }
  for (Index key = 0; key < keys; ++key) {
    pair_row(head.k + (first + key) * head.k_stride, depth, 1.0f, packed_keys + key * bf16_pairs(depth));
  }
  for (Index key = 0; key < keys; key += 2) {
    const float* const low = head.v + (first + key) * head.v_stride;
    const bool two = key + 1 < keys;
    for_each_vector(depth, [&](Index d, auto part) {
      part.put(packed_values + key / 2 * depth + d,
               paired(part.get(low + d), two ? part.get(low + head.v_stride + d) : Floats{}));
    });
  }
}

Index attention_forward_scratch(Index block_size, Index head_size, Index) {
  const Index width = round_up_to_lanes(block_size), pairs = bf16_pairs(head_size);
  return width * (pairs + head_size + bf16_pairs(block_size) + blocks_per_chunk(block_size) * block_size + 3);
}

void attention_forward_block(const AttentionHead& head, const void* packed, Index, Index query_block,
                             float* out, Index out_stride, float* log_sum_exp, float* scratch) {
  const Index block_size = head.block_size, depth = head.head_size, depth_pairs = bf16_pairs(depth);
  const Index first_query = query_block * block_size;
  const Index queries = queries_in_block(head, query_block);
  const Index width = round_up_to_lanes(queries);
  out += first_query * out_stride;
  for (Index row = queries; row < smaller(block_size, head.rows - first_query); ++row) {
    for (Index d = 0; d < depth; ++d) out[row * out_stride + d] = 0.0f;
  }
  if (queries == 0) return;

  const Index values_at = key_floats(block_size, depth);
  const Index block_floats = values_at + value_floats(block_size, depth);
  const KeyBlocks listed(head, query_block);
  const auto block_of = [&](Index at) {
    return static_cast<const float*>(packed) + listed.blocks[at] * block_floats;
  };
  float* const q = scratch;                     // [pairs of depth][width], scaled: scores are powers of two
  float* const sums = q + depth_pairs * width;  // [depth][width], the output before division
  float* const maximum = sums + depth * width;  // [width]
  float* const sum = maximum + width;
  float* const factor = sum + width;
  float* const probabilities = factor + width;  // [pairs of the keys of a block][width]
  float* const scores = probabilities + bf16_pairs(block_size) * width;  // [keys of a chunk][width]
  const auto take_queries = [&](const auto* from) {
    transpose_pairs(from + first_query * head.q_stride, head.q_stride, queries, depth, head.scale * log2_e, q,
                    width);
  };
  head.narrow_q != nullptr ? take_queries(head.narrow_q) : take_queries(head.q);
  begin_sums(depth, width, sums, maximum, sum);

  const Index chunk = blocks_per_chunk(block_size);
  for (Index begin = 0; begin < listed.count; begin += chunk) {
    const Index end = smaller(begin + chunk, listed.count);
    Index rows = 0;
    for (Index at = begin; at < end; ++at) {
      const Index keys = keys_in_block(head, listed.blocks[at]);
      multiply<PairProduct>({keys, width, depth_pairs, block_of(at), depth_pairs, 1, q, width,
                             scores + rows * width, width, false});
      listed.raise(at, scores + rows * width, keys * width);
      rows += keys;
    }
    if (rows == 0) continue;
    const bool dropping = head.drop_probability > 0.0f;
    raise_maxima(scores, rows, width, maximum, sum, factor);
    if (dropping) scores_to_probabilities(scores, rows, width, maximum, sum);
    scale_sums(depth, width, sums, factor);
    rows = 0;
    for (Index at = begin; at < end; ++at) {
      const Index keys = keys_in_block(head, listed.blocks[at]);
      float* const of_block = scores + rows * width;
      if (dropping) {
        drop_probabilities(head, first_query, listed.blocks[at] * block_size, of_block, keys, width);
        pair_rows(of_block, keys, width, probabilities);
      } else {
        pair_probabilities(of_block, keys, width, maximum, sum,
                           [&](Index pair, Index column) { return probabilities + pair * width + column; });
      }
      multiply<PairProduct>({depth, width, bf16_pairs(keys), block_of(at) + values_at, 1, depth,
                             probabilities, width, sums, width, true});
      rows += keys;
    }
  }

  // A row that sees only padding has no keys at all: zeros, and a log-sum-exp of minus infinity.
  for (Index row = 0; row < queries; ++row) {
    factor[row] = sum[row] == 0.0f ? 0.0f : 1.0f / sum[row];
    if (log_sum_exp == nullptr) continue;
    log_sum_exp[first_query + row] =
        sum[row] == 0.0f ? -__builtin_inff() : maximum[row] * ln_2 + __builtin_logf(sum[row]);
  }
  for (Index row = queries; row < width; ++row) factor[row] = 0.0f;
  scale_sums(depth, width, sums, factor);
  transpose(sums, width, depth, queries, 1.0f, out, out_stride, depth);
}

}  // namespace bigbird::kernels::BIGBIRD_LEVEL
