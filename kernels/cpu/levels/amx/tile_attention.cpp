// Attention of one query block over its listed key blocks on AMX; attention_forward.h has the steps. Scores
// are kept transposed, (keys, queries): keys and transposed values are the left operands, packed once per
// head, and the probabilities of a block need no turning to be the right one.
#include "kernels/cpu/levels/amx/kernels.h"
#include "kernels/cpu/levels/pair_probabilities.h"

namespace bigbird::kernels::BIGBIRD_LEVEL {

namespace {

Index round_up_to_group(Index count) {
  return amx_groups(count) * amx_group;
}

Index key_bytes(Index block_size, Index head_size, Index parts) {
  return amx_groups(block_size) * amx_group_bytes(amx_groups(head_size), parts);
}
Index value_bytes(Index block_size, Index head_size, Index parts) {
  return amx_groups(head_size) * amx_group_bytes(amx_groups(block_size), parts);
}

// As pack_b of the probabilities that these scores become: pairs of keys are the lines of tiles of 16
// queries.
void pack_probabilities(const float* scores, Index keys, Index width, const float* maximum, float* sum,
                        float* packed) {
  constexpr Index tile = 256;  // floats, 16 lines of 16 pairs
  const Index steps = amx_groups(keys), group = steps * 2 * tile;
  const auto line_of = [&](Index pair, Index column) {
    return packed + column / amx_group * group + pair / 16 * 2 * tile + column % amx_group / 16 * tile +
           pair % 16 * 16;
  };
  pair_probabilities(scores, keys, width, maximum, sum, line_of);
  for (Index pair = (keys + 1) / 2; pair < steps * 16; ++pair) {
    for (Index column = 0; column < width; column += 16) store(line_of(pair, column), Floats{});
  }
}

struct TileProducts {
  const AttentionHead& head;
  const Index width;
  const Index parts;
  const Index depth_steps = amx_groups(head.head_size);
  const Index values_at = key_bytes(head.block_size, head.head_size, parts);
  const Index block_bytes = values_at + value_bytes(head.block_size, head.head_size, parts);
  const unsigned char* const packed;
  float* const packed_q;
  float* const packed_p;
  float* scratch;

  TileProducts(const AttentionHead& of, Index first_query, Index queries, float* room, const void* keys,
               Index parts_of_floats)
      : head(of),
        width(round_up_to_group(queries)),
        parts(parts_of_floats),
        packed(static_cast<const unsigned char*>(keys)),
        packed_q(room),
        packed_p(packed_q + values_at / Index{sizeof(float)}),
        scratch(packed_p + amx_groups(head.block_size) * amx_group_bytes(amx_groups(head.block_size), parts) /
                               Index{sizeof(float)}) {
    const Index depth = head.head_size;
    float* const q = scratch;  // [queries][depth], scaled
    scratch += width * depth;
    const auto take = [&](const auto* from) {
      copy_rows(from + first_query * head.q_stride, head.q_stride, queries, depth, head.scale * log2_e, q,
                depth);
    };
    head.narrow_q != nullptr ? take(head.narrow_q) : take(head.q);
    pack_b({q, queries, depth, depth, 1}, parts, packed_q);
    configure_tiles();
  }
  ~TileProducts() { release_tiles(); }
  TileProducts(const TileProducts&) = delete;
  TileProducts& operator=(const TileProducts&) = delete;

  bool makes_probabilities() const { return parts == 1 && head.drop_probability == 0.0f; }
  void scores(Index block, Index keys, float* to) const {
    if (keys == 0) return;
    multiply_configured({keys, width, depth_steps, parts, packed + block * block_bytes, packed_q,
                         amx_group_bytes(depth_steps, parts), to, width, false});
  }
  void add_values(Index block, Index keys, const float* scores, const float* maximum, float* sum,
                  float* sums) const {
    if (keys == 0) return;
    const Index steps = amx_groups(keys);
    if (makes_probabilities()) {
      pack_probabilities(scores, keys, width, maximum, sum, packed_p);
    } else {
      pack_b({scores, width, keys, 1, width}, parts, packed_p);
    }
    multiply_configured({head.head_size, width, steps, parts, packed + block * block_bytes + values_at,
                         packed_p, amx_group_bytes(steps, parts), sums, width, true});
  }
};

}  // namespace

Index attention_packed_bytes(Index block_size, Index head_size, Index parts) {
  return key_bytes(block_size, head_size, parts) + value_bytes(block_size, head_size, parts);
}

void attention_pack_block(const AttentionHead& head, Index block, Index parts, void* to) {
  const Index first = block * head.block_size;
  const Index keys = keys_in_block(head, block);
  auto* const values = static_cast<unsigned char*>(to) + key_bytes(head.block_size, head.head_size, parts);
  AmxOperand of_keys{nullptr, keys, head.head_size, head.k_stride, 1};
  AmxOperand of_values{nullptr, head.head_size, keys, 1, head.v_stride};
  if (head.narrow_k != nullptr) {
    of_keys.narrow = head.narrow_k + first * head.k_stride;
    of_values.narrow = head.narrow_v + first * head.v_stride;
  } else {
    of_keys.data = head.k + first * head.k_stride;
    of_values.data = head.v + first * head.v_stride;
  }
  pack_a(of_keys, parts, to);
  pack_a(of_values, parts, values);
}

Index attention_forward_scratch(Index block_size, Index head_size, Index parts) {
  const Index width = round_up_to_group(block_size), depth = round_up_to_group(head_size);
  const Index bytes = key_bytes(block_size, head_size, parts) +                            // packed queries
                      amx_groups(width) * amx_group_bytes(amx_groups(block_size), parts);  // probabilities
  return bytes / Index{sizeof(float)} + width * (2 * depth + blocks_per_chunk(block_size) * block_size + 3);
}

void attention_forward_block(const AttentionHead& head, const void* packed, Index parts, Index query_block,
                             float* out, Index out_stride, float* log_sum_exp, float* scratch) {
  attention_forward<TileProducts>(head, query_block, out, out_stride, log_sum_exp, scratch, packed, parts);
}

}  // namespace bigbird::kernels::BIGBIRD_LEVEL
