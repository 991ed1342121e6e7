// Products in int8 on tiles: 32 rows by 32 channels at a time. Operands are those of levels/int8, whose quads
// are the tiles' own; what no whole tile holds, rows behind the last 32 and depth behind the last 64, is
// multiplied as there, to the same sums.
#include "kernels/cpu/levels/amx/kernels.h"
#include "kernels/cpu/levels/amx/tiles.h"
#include "kernels/cpu/levels/int8_sums.h"

namespace bigbird::kernels {

namespace avx512_vnni {
void quantize(const float* from, Index row_step, Index rows, Index depth, void* to, Int8Row* facts);
void quantize_bf16(const bf16* from, Index row_step, Index rows, Index depth, void* to, Int8Row* facts);
void multiply(const Int8Product& product);
}  // namespace avx512_vnni

namespace BIGBIRD_LEVEL {

namespace {

constexpr Index rows_at_once = 32, channels_at_once = 32;
constexpr Index tile_quads = 16;                 // of depth
constexpr Index quad_bytes = 4 * int8_panel;     // of b, from one quad to the next
constexpr Index tile_columns_bytes = 4 * lanes;  // of b, from one tile's channels to the next one's

// sums[32][32] = rows a[32] times the 32 channels at b, over `steps` tiles of depth.
void sum_tiles(const uint8_t* a, Index row_bytes, const int8_t* b, Index steps, int32_t* sums) {
  BIGBIRD_TILE_ZERO(0);
  BIGBIRD_TILE_ZERO(1);
  BIGBIRD_TILE_ZERO(2);
  BIGBIRD_TILE_ZERO(3);
  for (Index step = 0; step < steps; ++step) {
    BIGBIRD_TILE_LOAD(4, a, row_bytes);
    BIGBIRD_TILE_LOAD(5, a + 16 * row_bytes, row_bytes);
    BIGBIRD_TILE_LOAD(6, b, quad_bytes);
    BIGBIRD_TILE_LOAD(7, b + tile_columns_bytes, quad_bytes);
    BIGBIRD_TILE_DOT_INT8(0, 4, 6);
    BIGBIRD_TILE_DOT_INT8(1, 4, 7);
    BIGBIRD_TILE_DOT_INT8(2, 5, 6);
    BIGBIRD_TILE_DOT_INT8(3, 5, 7);
    a += 4 * tile_quads;
    b += tile_quads * quad_bytes;
  }
  constexpr Index row = channels_at_once * 4;
  BIGBIRD_TILE_STORE(0, sums, row);
  BIGBIRD_TILE_STORE(1, sums + 16, row);
  BIGBIRD_TILE_STORE(2, sums + 16 * channels_at_once, row);
  BIGBIRD_TILE_STORE(3, sums + 16 * channels_at_once + 16, row);
}

void multiply_int8(const Int8Product& x) {
  const auto* const a = static_cast<const uint8_t*>(x.a);
  const auto* const b = static_cast<const int8_t*>(x.b);
  const auto* const scales = reinterpret_cast<const float*>(b + int8_scales_at(x.b_columns, x.k)) + x.column;
  const auto* const weight_sums =
      reinterpret_cast<const int32_t*>(b + int8_sums_at(x.b_columns, x.k)) + x.column;
  const Index row_bytes = int8_row_bytes(x.k), quads = int8_quads(x.k), steps = quads / tile_quads;
  const Index whole = x.m / rows_at_once * rows_at_once;
  alignas(64) int32_t sums[rows_at_once * channels_at_once];
  if (whole > 0) configure_tiles();
  for (Index column = 0; column < x.n && whole > 0; column += channels_at_once) {
    const int8_t* const channels =
        b + (x.column + column) / int8_panel * int8_panel_bytes(x.k) + 4 * ((x.column + column) % int8_panel);
    for (Index first = 0; first < whole; first += rows_at_once) {
      sum_tiles(a + first * row_bytes, row_bytes, channels, steps, sums);
      for (Index part = 0; part < channels_at_once && column + part < x.n; part += lanes) {
        const SixteenChannels sixteen(scales + column + part, weight_sums + column + part,
                                      x.n - column - part);
        for (Index row = 0; row < rows_at_once; ++row) {
          __m512i sum = _mm512_load_si512(sums + row * channels_at_once + part);
          for (Index quad = steps * tile_quads; quad < quads; ++quad) {
            add_quads(sum, quad_of(a + (first + row) * row_bytes + 4 * quad),
                      _mm512_load_si512(channels + quad * quad_bytes + 4 * part));
          }
          sixteen.put(sum, x.a_rows[first + row], x.c + (first + row) * x.c_row + column + part);
        }
      }
    }
  }
  if (whole > 0) release_tiles();
  if (whole == x.m) return;
  Int8Product rest = x;
  rest.m -= whole;
  rest.a = a + whole * row_bytes;
  rest.a_rows += whole;
  rest.c += whole * x.c_row;
  avx512_vnni::multiply(rest);
}

}  // namespace

extern const Int8Kernels int8_kernels;
const Int8Kernels int8_kernels = {"AMX int8", avx512_vnni::quantize, avx512_vnni::quantize_bf16,
                                  multiply_int8, rows_at_once};

}  // namespace BIGBIRD_LEVEL
}  // namespace bigbird::kernels
