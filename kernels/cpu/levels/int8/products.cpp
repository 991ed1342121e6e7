// kernels/cpu/levels/int8 holds products in int8 by the instructions of AVX-512; the sums are whole numbers,
// the same on all levels. kernels/cpu/int8.h says what the functions do.
#include <immintrin.h>

#include "kernels/cpu/levels/int8_sums.h"

namespace bigbird::kernels::BIGBIRD_LEVEL {
namespace {

// --- rows of activations as integers: two passes over a row, its range, then its integers

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

// --- the product over a register tile of 6 rows by 64 channels: 24 registers of sums, 4 of a quad of
// weights. The depth is not cut: see levels/bf16/gemm.cpp.

struct Tile {
  Index quads;
  const uint8_t* a;
  Index row_bytes;
  const Int8Row* a_rows;
  const int8_t* panel;
  const float* b_scales;
  const int32_t* b_sums;
  float* c;
  Index c_row;
  Index columns;  // written; at most int8_panel
};

template <unsigned RowCount>
void multiply_tile(const Tile& t) {
  constexpr unsigned vectors = int8_panel / lanes;
  __m512i sum[RowCount][vectors];
  BIGBIRD_UNROLL
  for (unsigned r = 0; r < RowCount; ++r) {
    BIGBIRD_UNROLL
    for (unsigned j = 0; j < vectors; ++j) sum[r][j] = _mm512_setzero_si512();
  }
  const uint8_t* a = t.a;
  const int8_t* b = t.panel;
  const Index row_bytes = t.row_bytes;
  for (Index quad = 0; quad < t.quads; ++quad) {
    __m512i weights[vectors];
    BIGBIRD_UNROLL
    for (unsigned j = 0; j < vectors; ++j) weights[j] = _mm512_load_si512(b + j * 64);
    BIGBIRD_UNROLL
    for (unsigned r = 0; r < RowCount; ++r) {
      const __m512i activations = quad_of(a + r * row_bytes);
      BIGBIRD_UNROLL
      for (unsigned j = 0; j < vectors; ++j) add_quads(sum[r][j], activations, weights[j]);
    }
    a += 4;
    b += 4 * int8_panel;
  }
  BIGBIRD_UNROLL
  for (unsigned j = 0; j < vectors; ++j) {
    const Index first = j * lanes;
    if (t.columns <= first) break;
    const SixteenChannels channels(t.b_scales + first, t.b_sums + first, t.columns - first);
    BIGBIRD_UNROLL
    for (unsigned r = 0; r < RowCount; ++r) channels.put(sum[r][j], t.a_rows[r], t.c + r * t.c_row + first);
  }
}

}  // namespace

// These three serve levels/amx/int8.cpp as well, which declares them.
void quantize(const float* from, Index row_step, Index rows, Index depth, void* to, Int8Row* facts) {
  quantize_rows(from, row_step, rows, depth, to, facts);
}
void quantize_bf16(const bf16* from, Index row_step, Index rows, Index depth, void* to, Int8Row* facts) {
  quantize_rows(from, row_step, rows, depth, to, facts);
}

void multiply(const Int8Product& x) {
  const int8_t* const b = static_cast<const int8_t*>(x.b);
  const Index row_bytes = int8_row_bytes(x.k);
  for (Index column = 0; column < x.n; column += int8_panel) {
    const Index first = x.column + column;
    Tile tile{int8_quads(x.k),
              nullptr,
              row_bytes,
              nullptr,
              b + first / int8_panel * int8_panel_bytes(x.k),
              reinterpret_cast<const float*>(b + int8_scales_at(x.b_columns, x.k)) + first,
              reinterpret_cast<const int32_t*>(b + int8_sums_at(x.b_columns, x.k)) + first,
              nullptr,
              x.c_row,
              smaller(int8_panel, x.n - column)};
    for (Index row = 0; row < x.m; row += int8_tile_rows) {
      tile.a = static_cast<const uint8_t*>(x.a) + row * row_bytes;
      tile.a_rows = x.a_rows + row;
      tile.c = x.c + row * x.c_row + column;
      switch (smaller(int8_tile_rows, x.m - row)) {
        case 1:
          multiply_tile<1>(tile);
          break;
        case 2:
          multiply_tile<2>(tile);
          break;
        case 3:
          multiply_tile<3>(tile);
          break;
        case 4:
          multiply_tile<4>(tile);
          break;
        case 5:
          multiply_tile<5>(tile);
          break;
        default:
          multiply_tile<int8_tile_rows>(tile);
      }
    }
  }
}

// The entry of this folder that kernels/cpu/int8.cpp gives out.
extern const Int8Kernels kernels;
const Int8Kernels kernels = {"AVX-512 VNNI int8", quantize, quantize_bf16, multiply, int8_tile_rows};

}  // namespace bigbird::kernels::BIGBIRD_LEVEL
