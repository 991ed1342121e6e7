// What follows the sums of a product in int8, for the files that compute them.
#pragma once

#include <immintrin.h>

#include "kernels/cpu/int8.h"
#include "kernels/cpu/levels/simd.h"

namespace bigbird::kernels::BIGBIRD_LEVEL {

// sum += the four products of each lane's quads; `activations` are unsigned, `weights` signed. As assembly,
// because g++ 12 makes of the intrinsic copies of registers, and runs out of them.
BIGBIRD_INLINE void add_quads(__m512i& sum, __m512i activations, __m512i weights) {
  __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(activations), "v"(weights));
}

// A quad of a row, in every lane.
BIGBIRD_INLINE __m512i quad_of(const uint8_t* a) {
  int32_t four;
  __builtin_memcpy(&four, a, sizeof four);
  return _mm512_set1_epi32(four);
}

// Sixteen channels of a packed weight.
struct SixteenChannels {
  __m512 scales;
  __m512i sums_of_weights;
  __mmask16 written;

  // From `first` on, `count` of which are there.
  BIGBIRD_INLINE_MEMBER SixteenChannels(const float* b_scales, const int32_t* b_sums, Index count)
      : scales(_mm512_load_ps(b_scales)),
        sums_of_weights(_mm512_load_si512(b_sums)),
        written(static_cast<__mmask16>(count >= lanes ? 0xFFFFu : (1u << count) - 1u)) {}

  BIGBIRD_INLINE_MEMBER void put(__m512i sums, const Int8Row& row, float* c) const {
    const __m512i offset = _mm512_mullo_epi32(sums_of_weights, _mm512_set1_epi32(row.zero));
    const __m512 value = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_sub_epi32(sums, offset)),
                                       _mm512_mul_ps(_mm512_set1_ps(row.scale), scales));
    _mm512_mask_storeu_ps(c, written, value);
  }
};

}  // namespace bigbird::kernels::BIGBIRD_LEVEL
