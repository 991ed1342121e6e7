// Pairs of bf16 numbers for AVX-512's vdpbf16ps; see pairs.h.
#pragma once

#include <immintrin.h>

#include "kernels/cpu/bf16.h"
#include "kernels/cpu/levels/tile.h"

namespace bigbird::kernels::BIGBIRD_LEVEL {

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

// A bit for each of the first `count` of 16 lanes; none for counts below 1.
BIGBIRD_INLINE __mmask16 first_lanes(Index count) {
  if (count <= 0) return 0;
  return static_cast<__mmask16>(count >= lanes ? 0xFFFFu : (1u << count) - 1u);
}

// The 16 pairs of from[0, 32), zeros after `count`.
BIGBIRD_INLINE __m512i sixteen_pairs(const float* from, Index count, Floats scale) {
  const __m512 low = _mm512_maskz_loadu_ps(first_lanes(count), from);
  const __m512 high = _mm512_maskz_loadu_ps(first_lanes(count - lanes), from + lanes);
  const __m512 factor = reinterpret_cast<__m512>(scale);
  return reinterpret_cast<__m512i>(
      _mm512_cvtne2ps_pbh(_mm512_mul_ps(high, factor), _mm512_mul_ps(low, factor)));
}

// Of bf16 numbers.
BIGBIRD_INLINE __m512i sixteen_pairs(const bf16* from, Index count, Floats scale) {
  const auto widened = [](__m256i halves) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
  };
  const __mmask32 there =
      static_cast<__mmask32>(first_lanes(count)) | static_cast<__mmask32>(first_lanes(count - lanes)) << 16;
  const __m512i halves = _mm512_maskz_loadu_epi16(there, from);
  const __m512 low = widened(_mm512_castsi512_si256(halves));
  const __m512 high = widened(_mm512_extracti64x4_epi64(halves, 1));
  const __m512 factor = reinterpret_cast<__m512>(scale);
  return reinterpret_cast<__m512i>(
      _mm512_cvtne2ps_pbh(_mm512_mul_ps(high, factor), _mm512_mul_ps(low, factor)));
}

// to[column / 2] = the pair of two neighbours of one row, times scale.
BIGBIRD_INLINE void pair_row(const float* from, Index columns, float scale, float* to) {
  for (Index column = 0; column < columns; column += 2 * lanes) {
    const Index count = columns - column;
    _mm512_mask_storeu_epi32(to + column / 2, first_lanes(bf16_pairs(count)),
                             sixteen_pairs(from + column, count, splat(scale)));
  }
}

// rows[i] lane j becomes rows[j] lane i.
BIGBIRD_INLINE void transpose_lanes(__m512i (&rows)[16]) {
  __m512i other[16];
  BIGBIRD_UNROLL
  for (unsigned i = 0; i < 16; i += 2) {  // two by two
    other[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
    other[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
  }
  BIGBIRD_UNROLL
  for (unsigned i = 0; i < 16; i += 4) {  // four by four: rows[i + c] has column c of every four
    rows[i] = _mm512_unpacklo_epi64(other[i], other[i + 2]);
    rows[i + 1] = _mm512_unpackhi_epi64(other[i], other[i + 2]);
    rows[i + 2] = _mm512_unpacklo_epi64(other[i + 1], other[i + 3]);
    rows[i + 3] = _mm512_unpackhi_epi64(other[i + 1], other[i + 3]);
  }
  BIGBIRD_UNROLL
  for (unsigned c = 0; c < 4; ++c) {  // quarters to their places
    const __m512i even_low = _mm512_shuffle_i32x4(rows[c], rows[4 + c], 0x88);
    const __m512i odd_low = _mm512_shuffle_i32x4(rows[c], rows[4 + c], 0xDD);
    const __m512i even_high = _mm512_shuffle_i32x4(rows[8 + c], rows[12 + c], 0x88);
    const __m512i odd_high = _mm512_shuffle_i32x4(rows[8 + c], rows[12 + c], 0xDD);
    other[c] = _mm512_shuffle_i32x4(even_low, even_high, 0x88);
    other[4 + c] = _mm512_shuffle_i32x4(odd_low, odd_high, 0x88);
    other[8 + c] = _mm512_shuffle_i32x4(even_low, even_high, 0xDD);
    other[12 + c] = _mm512_shuffle_i32x4(odd_low, odd_high, 0xDD);
  }
  BIGBIRD_UNROLL
  for (unsigned i = 0; i < 16; ++i) rows[i] = other[i];
}

// to[pair * to_row + row] = pair `pair` of row `row`, whose numbers begin at from + row * row_step, times
// scale. `to` is written up to a multiple of 16 rows; those from `rows` on are zeros.
template <typename Element>
static inline void transpose_pairs(const Element* from, Index row_step, Index rows, Index columns,
                                   float scale, float* to, Index to_row) {
  for (Index row = 0; row < rows; row += lanes) {
    for (Index column = 0; column < columns; column += 2 * lanes) {
      const Index count = columns - column;
      __m512i block[lanes];
      BIGBIRD_UNROLL
      for (Index i = 0; i < lanes; ++i) {
        block[i] = row + i < rows ? sixteen_pairs(from + (row + i) * row_step + column, count, splat(scale))
                                  : _mm512_setzero_si512();
      }
      transpose_lanes(block);
      const Index pairs = bf16_pairs(count);
      BIGBIRD_UNROLL
      for (Index i = 0; i < lanes; ++i) {
        if (i < pairs) _mm512_storeu_si512(to + (column / 2 + i) * to_row + row, block[i]);
      }
    }
  }
}

// 16 floats as bf16, each in the low half of a lane.
BIGBIRD_INLINE Ints rounded(Floats values) {
  const __m256bh halves = _mm512_cvtneps_pbh(reinterpret_cast<__m512>(values));
  return reinterpret_cast<Ints>(_mm512_cvtepu16_epi32(reinterpret_cast<__m256i>(halves)));
}

// Pairs of two rows of floats: those of `low` in the low halves.
BIGBIRD_INLINE Floats paired(Floats low, Floats high) {
  return as_floats(rounded(low) | rounded(high) << 16);
}

}  // namespace bigbird::kernels::BIGBIRD_LEVEL
