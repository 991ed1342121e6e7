// Attention of one query block over its listed key blocks on AMX. As in
// levels/attention_forward.cpp, scores are kept transposed, (keys, queries): keys and transposed values are
// the left operands, packed once per head, and the probabilities of a block need no turning to be the right
// one.
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
  const Index block_size = head.block_size;
  const Index depth = head.head_size, depth_steps = amx_groups(depth);
  const Index first_query = query_block * block_size;
  const Index queries = queries_in_block(head, query_block);
  const Index width = round_up_to_group(queries);
  out += first_query * out_stride;
  for (Index row = queries; row < smaller(block_size, head.rows - first_query); ++row) {
    for (Index d = 0; d < depth; ++d) out[row * out_stride + d] = 0.0f;
  }
  if (queries == 0) return;

  const Index block_bytes = attention_packed_bytes(block_size, depth, parts);
  const Index values_at = key_bytes(block_size, depth, parts);
  const KeyBlocks listed(head, query_block);
  const auto block_of = [&](Index at) {
    return static_cast<const unsigned char*>(packed) + listed.blocks[at] * block_bytes;
  };
  float* const packed_q = scratch;
  float* const packed_p = packed_q + values_at / Index{sizeof(float)};
  float* const sums = packed_p + amx_groups(block_size) * amx_group_bytes(amx_groups(block_size), parts) /
                                     Index{sizeof(float)};  // [depth][width], the output before division
  float* const q = sums + depth * width;                    // [queries][depth], scaled
  float* const maximum = q + width * depth;                 // [width]
  float* const sum = maximum + width;
  float* const factor = sum + width;
  float* const scores = factor + width;  // [keys of a chunk][width]
  const auto take_queries = [&](const auto* from) {
    copy_rows(from + first_query * head.q_stride, head.q_stride, queries, depth, head.scale * log2_e, q,
              depth);
  };
  head.narrow_q != nullptr ? take_queries(head.narrow_q) : take_queries(head.q);
  pack_b({q, queries, depth, depth, 1}, parts, packed_q);
  const Index q_group_bytes = amx_group_bytes(depth_steps, parts);
  begin_sums(depth, width, sums, maximum, sum);

  configure_tiles();
  const Index chunk = blocks_per_chunk(block_size);
  for (Index begin = 0; begin < listed.count; begin += chunk) {
    const Index end = smaller(begin + chunk, listed.count);
    Index rows = 0;
    for (Index at = begin; at < end; ++at) {
      const Index keys = keys_in_block(head, listed.blocks[at]);
      if (keys == 0) continue;
      multiply_configured({keys, width, depth_steps, parts, block_of(at), packed_q, q_group_bytes,
                           scores + rows * width, width, false});
      listed.raise(at, scores + rows * width, keys * width);
      rows += keys;
    }
    if (rows == 0) continue;
    const bool in_pairs = parts == 1 && head.drop_probability == 0.0f;
    raise_maxima(scores, rows, width, maximum, sum, factor);
    if (!in_pairs) scores_to_probabilities(scores, rows, width, maximum, sum);
    scale_sums(depth, width, sums, factor);
    rows = 0;
    for (Index at = begin; at < end; ++at) {
      const Index keys = keys_in_block(head, listed.blocks[at]);
      if (keys == 0) continue;
      if (head.drop_probability > 0.0f) {
        drop_probabilities(head, first_query, listed.blocks[at] * block_size, scores + rows * width, keys,
                           width);
      }
      const Index steps = amx_groups(keys);
      if (in_pairs) {
        pack_probabilities(scores + rows * width, keys, width, maximum, sum, packed_p);
      } else {
        pack_b({scores + rows * width, width, keys, 1, width}, parts, packed_p);
      }
      multiply_configured({depth, width, steps, parts, block_of(at) + values_at, packed_p,
                           amx_group_bytes(steps, parts), sums, width, true});
      rows += keys;
    }
  }
  release_tiles();

  // A row that sees only padding has no keys at all: zeros, and a log-sum-exp of minus infinity.
  for (Index row = 0; row < width; ++row) {
    factor[row] = sum[row] == 0.0f ? 0.0f : 1.0f / sum[row];
    if (row >= queries || log_sum_exp == nullptr) continue;
    log_sum_exp[first_query + row] =
        sum[row] == 0.0f ? -__builtin_inff() : maximum[row] * ln_2 + __builtin_logf(sum[row]);
  }
  scale_sums(depth, width, sums, factor);
  transpose(sums, width, depth, queries, 1.0f, out, out_stride, depth);
}

}  // namespace bigbird::kernels::BIGBIRD_LEVEL
