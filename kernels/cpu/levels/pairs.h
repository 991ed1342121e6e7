// Floats as pairs of bf16 numbers that are neighbours in the depth of a product, 32 bits each, and the
// instruction that adds the two products of a pair to a float: with "pair" for "float" the tiles are those of
// levels/tile.h. For each processor:
//   PairProduct        one pair against a vector of them
//   pair_row           a row of floats, times a scale, as pairs
//   transpose_pairs    rows of them, or of bf16 numbers, pairs first
//   paired             pairs of two rows of floats
#pragma once

#include "kernels/cpu/bf16.h"
#include "kernels/cpu/levels/simd.h"

#if defined(__ARM_NEON)
#include "kernels/cpu/levels/pairs_neon.h"
#else
#include "kernels/cpu/levels/pairs_avx512.h"
#endif

namespace bigbird::kernels::BIGBIRD_LEVEL {

// As pair_row; neighbours in a row are the pairs already.
BIGBIRD_INLINE void pair_row(const bf16* from, Index columns, float* to) {
  const Index pairs = columns / 2;
  __builtin_memcpy(to, from, static_cast<__SIZE_TYPE__>(pairs) * sizeof(float));
  if (columns % 2 == 0) return;
  const uint32_t last = from[columns - 1].bits;  // the low half: little-endian, as the instructions are
  __builtin_memcpy(to + pairs, &last, sizeof last);
}

// As paired; `high` is null for the missing half of the last pair.
template <typename Lanes>
BIGBIRD_INLINE Floats paired(const bf16* low, const bf16* high, Lanes part) {
  const Ints below = __builtin_convertvector(part.get(low), Ints);
  const Ints above = high != nullptr ? __builtin_convertvector(part.get(high), Ints) : Ints{};
  return as_floats(below | above << 16);
}

}  // namespace bigbird::kernels::BIGBIRD_LEVEL
