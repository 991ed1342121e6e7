// Attention of one query block over its listed key blocks in bf16: queries, keys, values and probabilities
// are rounded to bf16 and multiplied in pairs (pairs.h), sums and softmax are fp32. attention_forward.h has
// the steps.
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

struct PairProducts {
  const AttentionHead& head;
  const Index width;
  const Index depth_pairs = bf16_pairs(head.head_size);
  float* const q;              // [pairs of depth][width]
  float* const probabilities;  // [pairs of the keys of a block][width]
  float* const scratch;
  const float* const packed;
  const Index values_at = key_floats(head.block_size, head.head_size);
  const Index block_floats = values_at + value_floats(head.block_size, head.head_size);
  const bool dropping = head.drop_probability > 0.0f;

  PairProducts(const AttentionHead& of, Index first_query, Index queries, float* room, const void* keys)
      : head(of),
        width(round_up_to_lanes(queries)),
        q(room),
        probabilities(q + depth_pairs * width),
        scratch(probabilities + bf16_pairs(head.block_size) * width),
        packed(static_cast<const float*>(keys)) {
    const auto take = [&](const auto* from) {
      transpose_pairs(from + first_query * head.q_stride, head.q_stride, queries, head.head_size,
                      head.scale * log2_e, q, width);
    };
    head.narrow_q != nullptr ? take(head.narrow_q) : take(head.q);
  }
  bool makes_probabilities() const { return !dropping; }
  void scores(Index block, Index keys, float* to) const {
    multiply<PairProduct>({keys, width, depth_pairs, packed + block * block_floats, depth_pairs, 1, q, width,
                           to, width, false});
  }
  void add_values(Index block, Index keys, const float* scores, const float* maximum, float* sum,
                  float* sums) const {
    if (dropping) {
      pair_rows(scores, keys, width, probabilities);
    } else {
      pair_probabilities(scores, keys, width, maximum, sum,
                         [&](Index pair, Index column) { return probabilities + pair * width + column; });
    }
    multiply<PairProduct>({head.head_size, width, bf16_pairs(keys), packed + block * block_floats + values_at,
                           1, head.head_size, probabilities, width, sums, width, true});
  }
};

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
  attention_forward<PairProducts>(head, query_block, out, out_stride, log_sum_exp, scratch, packed);
}

}  // namespace bigbird::kernels::BIGBIRD_LEVEL
