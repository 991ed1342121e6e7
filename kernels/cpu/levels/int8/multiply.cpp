// The product over a register tile of 6 rows by 64 channels: 24 registers of sums, 4 of a quad of weights.
// The depth is not cut: see levels/bf16/gemm.cpp.
#include "kernels/cpu/levels/int8/kernels.h"
#include "kernels/cpu/levels/int8_sums.h"

namespace bigbird::kernels::BIGBIRD_LEVEL {
namespace {

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
