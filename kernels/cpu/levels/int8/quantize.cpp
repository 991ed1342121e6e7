// Rows of activations as integers with one scale each. Two passes over a row: its largest, then its integers.
#include <immintrin.h>

#include "kernels/cpu/levels/int8/kernels.h"
#include "kernels/cpu/levels/simd.h"

namespace bigbird::kernels::BIGBIRD_LEVEL {
namespace {

// A bit for each of the first `count` of 16 lanes.
BIGBIRD_INLINE __mmask16 first_lanes(Index count) {
  return static_cast<__mmask16>(count >= lanes ? 0xFFFFu : (1u << count) - 1u);
}

BIGBIRD_INLINE __m512 sixteen(const float* from, __mmask16 mask) {
  return _mm512_maskz_loadu_ps(mask, from);
}
BIGBIRD_INLINE __m512 sixteen(const bf16* from, __mmask16 mask) {
  const __m256i halves = _mm256_maskz_loadu_epi16(mask, from);
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
}

// The bits of the largest |value|: as whole numbers floats have the order of their sizes, infinity and NaN
// above all others.
template <typename Element>
BIGBIRD_INLINE int32_t largest_bits(const Element* from, Index depth) {
  const __m512i sign = _mm512_set1_epi32(0x7FFFFFFF);
  __m512i largest = _mm512_setzero_si512();
  for (Index i = 0; i < depth; i += lanes) {
    const __m512i bits = _mm512_castps_si512(sixteen(from + i, first_lanes(depth - i)));
    largest = _mm512_max_epi32(largest, _mm512_and_si512(bits, sign));
  }
  return _mm512_reduce_max_epi32(largest);
}

template <typename Element>
BIGBIRD_INLINE void quantize_rows(const Element* from, Index row_step, Index rows, Index depth, void* to,
                                  float* scales) {
  const Index row_bytes = int8_row_bytes(depth);
  const __m512i offset = _mm512_set1_epi32(128), least = _mm512_set1_epi32(-127),
                most = _mm512_set1_epi32(127);
  for (Index row = 0; row < rows; ++row) {
    const Element* const x = from + row * row_step;
    uint8_t* const bytes = static_cast<uint8_t*>(to) + row * row_bytes;
    const int32_t bits = largest_bits(x, depth);
    float largest;
    __builtin_memcpy(&largest, &bits, sizeof largest);
    const bool finite = bits < 0x7F800000;
    scales[row] = !finite ? __builtin_nanf("") : largest < 0x1p-100f ? 0.0f : largest / 127.0f;
    // Without a scale all are zeros: the factor is 0, and lanes that are not finite are left out.
    const __m512 factor = _mm512_set1_ps(scales[row] > 0.0f ? 127.0f / largest : 0.0f);
    for (Index i = 0; i < row_bytes; i += lanes) {
      const __mmask16 mask = finite && i < depth ? first_lanes(depth - i) : __mmask16{0};
      __m512i integers = _mm512_cvtps_epi32(_mm512_mul_ps(sixteen(x + i, mask), factor));
      integers = _mm512_min_epi32(_mm512_max_epi32(integers, least), most);
      _mm512_mask_cvtepi32_storeu_epi8(bytes + i, first_lanes(row_bytes - i),
                                       _mm512_add_epi32(integers, offset));
    }
  }
}

}  // namespace

void quantize(const float* from, Index row_step, Index rows, Index depth, void* to, float* scales) {
  quantize_rows(from, row_step, rows, depth, to, scales);
}
void quantize_bf16(const bf16* from, Index row_step, Index rows, Index depth, void* to, float* scales) {
  quantize_rows(from, row_step, rows, depth, to, scales);
}

}  // namespace bigbird::kernels::BIGBIRD_LEVEL
