// Pairs of bf16 numbers for arm64's bfdot (FEAT_BF16, Armv8.6); see pairs.h. The instruction rounds its sums
// to odd and takes subnormal numbers for zero, so that its last bits are not those of other processors.
#pragma once

#include <arm_neon.h>

#include "kernels/cpu/bf16.h"
#include "kernels/cpu/levels/tile.h"

namespace bigbird::kernels::BIGBIRD_LEVEL {

struct PairProduct {
  BIGBIRD_INLINE_MEMBER static Floats broadcast(const float* pair) {
    int32_t bits;
    __builtin_memcpy(&bits, pair, sizeof bits);
    return reinterpret_cast<Floats>(vdupq_n_s32(bits));
  }
  BIGBIRD_INLINE_MEMBER static Floats add(Floats sum, Floats factor, Floats row) {
    return reinterpret_cast<Floats>(vbfdotq_f32(reinterpret_cast<float32x4_t>(sum),
                                                reinterpret_cast<bfloat16x8_t>(factor),
                                                reinterpret_cast<bfloat16x8_t>(row)));
  }
};

// The four pairs of from[0, 8), zeros after `count`.
BIGBIRD_INLINE Floats four_pairs(const float* from, Index count, Floats scale) {
  const Floats low = count >= lanes ? load(from) : load_part(from, count);
  const Floats high = count >= 2 * lanes ? load(from + lanes)
                      : count > lanes    ? load_part(from + lanes, count - lanes)
                                         : Floats{};
  const bfloat16x8_t half = vcvtq_low_bf16_f32(reinterpret_cast<float32x4_t>(low * scale));
  return reinterpret_cast<Floats>(vcvtq_high_bf16_f32(half, reinterpret_cast<float32x4_t>(high * scale)));
}

// Of bf16 numbers.
BIGBIRD_INLINE Floats four_pairs(const bf16* from, Index count, Floats scale) {
  float wide[2 * lanes];
  for (Index i = 0; i < 2 * lanes; ++i) {
    const uint32_t bits = i < count ? static_cast<uint32_t>(from[i].bits) << 16 : 0u;
    __builtin_memcpy(wide + i, &bits, sizeof bits);
  }
  return four_pairs(wide, 2 * lanes, scale);
}

// to[column / 2] = the pair of two neighbours of one row, times scale.
BIGBIRD_INLINE void pair_row(const float* from, Index columns, float scale, float* to) {
  for (Index column = 0; column < columns; column += 2 * lanes) {
    const Index count = columns - column, pairs = bf16_pairs(count);
    const Floats four = four_pairs(from + column, count, splat(scale));
    pairs >= lanes ? store(to + column / 2, four) : store_part(to + column / 2, four, pairs);
  }
}

// to[pair * to_row + i] = block[i * lanes + pair] for the first pairs. Words, not numbers.
BIGBIRD_INLINE void transpose_words(const float* block, Index pairs, float* to, Index to_row) {
  for (Index pair = 0; pair < pairs; ++pair) {
    for (Index i = 0; i < lanes; ++i) {
      __builtin_memcpy(to + pair * to_row + i, block + i * lanes + pair, sizeof(float));
    }
  }
}

// to[pair * to_row + row] = pair `pair` of row `row`, whose numbers begin at from + row * row_step, times
// scale. `to` is written up to a multiple of `lanes` rows; those from `rows` on are zeros.
template <typename Element>
static inline void transpose_pairs(const Element* from, Index row_step, Index rows, Index columns,
                                   float scale, float* to, Index to_row) {
  for (Index row = 0; row < rows; row += lanes) {
    for (Index column = 0; column < columns; column += 2 * lanes) {
      const Index count = columns - column;
      float block[lanes * lanes];
      for (Index i = 0; i < lanes; ++i) {
        store(block + i * lanes, row + i < rows
                                     ? four_pairs(from + (row + i) * row_step + column, count, splat(scale))
                                     : Floats{});
      }
      const Index pairs = smaller(bf16_pairs(count), lanes);
      transpose_words(block, pairs, to + column / 2 * to_row + row, to_row);
    }
  }
}

// Pairs of two rows of floats: those of `low` in the low halves.
BIGBIRD_INLINE Floats paired(Floats low, Floats high) {
  const bfloat16x8_t halves = vcvtq_high_bf16_f32(vcvtq_low_bf16_f32(reinterpret_cast<float32x4_t>(low)),
                                                  reinterpret_cast<float32x4_t>(high));
  // low 0..3, high 0..3 -> low 0, high 0, low 1, high 1 ...
  const uint16x8_t bits = vreinterpretq_u16_bf16(halves);
  return reinterpret_cast<Floats>(vzip1q_u16(bits, vextq_u16(bits, bits, 4)));
}

}  // namespace bigbird::kernels::BIGBIRD_LEVEL
