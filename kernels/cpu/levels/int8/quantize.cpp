// Rows of activations as integers. Two passes over a row: its range, then its integers.
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

struct Range {
  float least, most;  // 0 among them
  bool finite;
};

// As whole numbers floats have the order of their sizes, infinity and NaN above all others.
template <typename Element>
BIGBIRD_INLINE Range range_of(const Element* from, Index depth) {
  const __m512i sign = _mm512_set1_epi32(0x7FFFFFFF);
  __m512i largest = _mm512_setzero_si512();
  __m512 least = _mm512_setzero_ps(), most = _mm512_setzero_ps();
  for (Index i = 0; i < depth; i += lanes) {
    const __m512 x = sixteen(from + i, first_lanes(depth - i));
    largest = _mm512_max_epi32(largest, _mm512_and_si512(_mm512_castps_si512(x), sign));
    least = _mm512_min_ps(least, x);
    most = _mm512_max_ps(most, x);
  }
  return {_mm512_reduce_min_ps(least), _mm512_reduce_max_ps(most),
          _mm512_reduce_max_epi32(largest) < 0x7F800000};
}

template <typename Element>
BIGBIRD_INLINE void quantize_rows(const Element* from, Index row_step, Index rows, Index depth, void* to,
                                  Int8Row* facts) {
  const Index row_bytes = int8_row_bytes(depth);
  const __m512i nothing = _mm512_setzero_si512(), most = _mm512_set1_epi32(255);
  for (Index row = 0; row < rows; ++row) {
    const Element* const x = from + row * row_step;
    uint8_t* const bytes = static_cast<uint8_t*>(to) + row * row_bytes;
    const Range range = range_of(x, depth);
    const bool zeros = !(range.most >= 0x1p-100f || range.least <= -0x1p-100f);
    if (!range.finite || zeros) {
      facts[row] = {range.finite ? 0.0f : __builtin_nanf(""), 0};
      __builtin_memset(bytes, 0, static_cast<size_t>(row_bytes));
      continue;
    }
    const float most_part = range.most / 255.0f, least_part = range.least / 255.0f;
    const float scale = most_part - least_part, steps = 1.0f / scale;
    const int32_t zero = _mm_cvtss_si32(_mm_set_ss(-range.least * steps));
    facts[row] = {scale, zero};
    const __m512 factor = _mm512_set1_ps(steps);
    const __m512i offset = _mm512_set1_epi32(zero);
    for (Index i = 0; i < row_bytes; i += lanes) {
      const __mmask16 mask = i < depth ? first_lanes(depth - i) : __mmask16{0};
      __m512i integers = _mm512_cvtps_epi32(_mm512_mul_ps(sixteen(x + i, mask), factor));
      integers = _mm512_add_epi32(integers, offset);
      integers = _mm512_min_epi32(_mm512_max_epi32(integers, nothing), most);
      _mm512_mask_cvtepi32_storeu_epi8(bytes + i, first_lanes(row_bytes - i), integers);
    }
  }
}

}  // namespace

void quantize(const float* from, Index row_step, Index rows, Index depth, void* to, Int8Row* facts) {
  quantize_rows(from, row_step, rows, depth, to, facts);
}
void quantize_bf16(const bf16* from, Index row_step, Index rows, Index depth, void* to, Int8Row* facts) {
  quantize_rows(from, row_step, rows, depth, to, facts);
}

}  // namespace bigbird::kernels::BIGBIRD_LEVEL
