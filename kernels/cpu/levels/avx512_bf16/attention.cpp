// Attention of one query block over its listed key blocks with vdpbf16ps, which adds two products of bf16
// numbers to a float: queries, keys, values and probabilities are rounded to bf16, sums and softmax are fp32.
// As in levels/attention_forward.cpp, scores are kept transposed, (keys, queries). What is multiplied stands
// as pairs that are neighbours in the depth of the product, 32 bits each: with "pair" for "float" the tiles
// are those of levels/tile.h.
#include <immintrin.h>

#include "kernels/cpu/levels/softmax.h"
#include "kernels/cpu/packed_attention.h"

namespace bigbird::kernels::avx512_bf16 {

namespace {

Index pairs_of(Index count) {
  return (count + 1) / 2;
}

// sum + low halves' product + high halves' product, lane by lane; one pair against a vector of them.
struct PairProduct {
  BIGBIRD_INLINE_MEMBER static Floats broadcast(const float* pair) {
    int32_t bits;
    __builtin_memcpy(&bits, pair, sizeof bits);
    return reinterpret_cast<Floats>(_mm512_set1_epi32(bits));
  }
  BIGBIRD_INLINE_MEMBER static Floats add(Floats sum, Floats factor, Floats row) {
    return reinterpret_cast<Floats>(_mm512_dpbf16_ps(
        reinterpret_cast<__m512>(sum), reinterpret_cast<__m512bh>(factor), reinterpret_cast<__m512bh>(row)));
  }
};

// 16 floats as bf16, each in the low half of a lane.
BIGBIRD_INLINE Ints rounded(Floats values) {
  const __m256bh halves = _mm512_cvtneps_pbh(reinterpret_cast<__m512>(values));
  return reinterpret_cast<Ints>(_mm512_cvtepu16_epi32(reinterpret_cast<__m256i>(halves)));
}

// Pairs of two rows of floats: those of `low` in the low halves.
BIGBIRD_INLINE Floats paired(Floats low, Floats high) {
  return as_floats(rounded(low) | rounded(high) << 16);
}

// to[column / 2] = the pair of two neighbours of one row; a missing last one is zero.
BIGBIRD_INLINE void pair_row(const float* from, Index columns, float scale, float* to) {
  uint16_t halves[lanes];
  for (Index column = 0; column < columns; column += lanes) {
    const Index count = smaller(lanes, columns - column);
    const Floats values = count == lanes ? load(from + column) : load_part(from + column, count);
    const __m256bh both = _mm512_cvtneps_pbh(reinterpret_cast<__m512>(values * splat(scale)));
    __builtin_memcpy(halves, &both, sizeof halves);
    __builtin_memcpy(to + column / 2, halves, static_cast<size_t>(pairs_of(count)) * sizeof(float));
  }
}

// to[column][row] = from[row][column], bits as they are; columns of `to` from `rows` to `padded` are zeros.
void transpose_pairs(const float* from, Index rows, Index columns, float* to, Index padded) {
  for (Index row = 0; row < padded; ++row) {
    for (Index column = 0; column < columns; ++column) {
      int32_t bits = 0;
      if (row < rows) __builtin_memcpy(&bits, from + row * columns + column, sizeof bits);
      __builtin_memcpy(to + column * padded + row, &bits, sizeof bits);
    }
  }
}

// [keys][pairs of depth]
Index key_floats(Index block_size, Index head_size) {
  return (block_size * pairs_of(head_size) + lanes - 1) / lanes * lanes;
}
// [pairs of keys][depth]
Index value_floats(Index block_size, Index head_size) {
  return (pairs_of(block_size) * head_size + lanes - 1) / lanes * lanes;
}

Index packed_bytes(Index block_size, Index head_size, Index) {
  return (key_floats(block_size, head_size) + value_floats(block_size, head_size)) * Index{sizeof(float)};
}

void pack_block(const AttentionHead& head, Index block, Index, void* to) {
  const Index first = block * head.block_size, depth = head.head_size;
  const Index keys = keys_in_block(head, block);
  float* const packed_keys = static_cast<float*>(to);
  float* const packed_values = packed_keys + key_floats(head.block_size, depth);
  for (Index key = 0; key < keys; ++key) {
    pair_row(head.k + (first + key) * head.k_stride, depth, 1.0f, packed_keys + key * pairs_of(depth));
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

Index forward_scratch(Index block_size, Index head_size, Index) {
  const Index width = round_up_to_lanes(block_size), pairs = pairs_of(head_size);
  return width *
         (2 * pairs + head_size + pairs_of(block_size) + blocks_per_chunk(block_size) * block_size + 3);
}

void forward_block(const AttentionHead& head, const void* packed, Index, Index query_block, float* out,
                   Index out_stride, float* log_sum_exp, float* scratch) {
  const Index block_size = head.block_size, depth = head.head_size, depth_pairs = pairs_of(depth);
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
  const auto block_of = [&](Index at) {
    return static_cast<const float*>(packed) + head.key_blocks[at] * block_floats;
  };
  float* const q = scratch;                       // [pairs of depth][width], scaled: scores are powers of two
  float* const q_rows = q + depth_pairs * width;  // [queries][pairs of depth]
  float* const sums = q_rows + depth_pairs * width;  // [depth][width], the output before division
  float* const maximum = sums + depth * width;       // [width]
  float* const sum = maximum + width;
  float* const factor = sum + width;
  float* const probabilities = factor + width;  // [pairs of the keys of a block][width]
  float* const scores = probabilities + pairs_of(block_size) * width;  // [keys of a chunk][width]
  for (Index row = 0; row < queries; ++row) {
    pair_row(head.q + (first_query + row) * head.q_stride, depth, head.scale * log2_e,
             q_rows + row * depth_pairs);
  }
  transpose_pairs(q_rows, queries, depth_pairs, q, width);
  begin_sums(depth, width, sums, maximum, sum);

  const Index chunk = blocks_per_chunk(block_size);
  const Index last = head.row_offsets[query_block + 1];
  for (Index begin = head.row_offsets[query_block]; begin < last; begin += chunk) {
    const Index end = smaller(begin + chunk, last);
    Index rows = 0;
    for (Index at = begin; at < end; ++at) {
      const Index keys = keys_in_block(head, head.key_blocks[at]);
      multiply<PairProduct>({keys, width, depth_pairs, block_of(at), depth_pairs, 1, q, width,
                             scores + rows * width, width, false});
      rows += keys;
    }
    if (rows == 0) continue;
    softmax_chunk(scores, rows, width, maximum, sum, factor);
    scale_sums(depth, width, sums, factor);
    rows = 0;
    for (Index at = begin; at < end; ++at) {
      const Index keys = keys_in_block(head, head.key_blocks[at]);
      if (head.drop_probability > 0.0f) {
        drop_probabilities(head, first_query, head.key_blocks[at] * block_size, scores + rows * width, keys,
                           width);
      }
      for (Index key = 0; key < keys; key += 2) {
        const float* const low = scores + (rows + key) * width;
        for (Index j = 0; j < width; j += lanes) {
          store(probabilities + key / 2 * width + j,
                paired(load(low + j), key + 1 < keys ? load(low + width + j) : Floats{}));
        }
      }
      multiply<PairProduct>({depth, width, pairs_of(keys), block_of(at) + values_at, 1, depth, probabilities,
                             width, sums, width, true});
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

}  // namespace

extern const PackedAttention attention;
const PackedAttention attention = {1, packed_bytes, pack_block, forward_scratch, forward_block};

}  // namespace bigbird::kernels::avx512_bf16
