// The eight tiles: 16 lines of 64 bytes each, with 16 sums, 32 bf16 numbers or 64 small integers in a line.
// BIGBIRD_EMULATED_TILES: as arrays in memory, on processors with AVX-512 bf16 that have no tiles, so that
// their tests can run what is around the instructions (tests/kernels).
#pragma once

#include <immintrin.h>

#include "kernels/cpu/levels/simd.h"

// The intrinsics are macros that want the number of a tile as it is written.
#if defined(BIGBIRD_EMULATED_TILES)
#define BIGBIRD_TILE_ZERO emulated_zero
#define BIGBIRD_TILE_LOAD emulated_load
#define BIGBIRD_TILE_STORE emulated_store
#define BIGBIRD_TILE_DOT_BF16 emulated_dot_bf16
#define BIGBIRD_TILE_DOT_INT8 emulated_dot_int8
#else
#define BIGBIRD_TILE_ZERO _tile_zero
#define BIGBIRD_TILE_LOAD _tile_loadd
#define BIGBIRD_TILE_STORE _tile_stored
#define BIGBIRD_TILE_DOT_BF16 _tile_dpbf16ps
#define BIGBIRD_TILE_DOT_INT8 _tile_dpbusd
#endif

#if defined(BIGBIRD_EMULATED_TILES)
namespace bigbird::kernels::BIGBIRD_LEVEL {

struct alignas(64) EmulatedTile {
  unsigned char lines[16][64];
};
static thread_local EmulatedTile emulated_tiles[8];

// Functions, for many of them inlined take a minute to compile.
#define BIGBIRD_CALLED [[maybe_unused]] static __attribute__((noinline))
BIGBIRD_CALLED void emulated_zero(int tile) {
  emulated_tiles[tile] = {};
}
BIGBIRD_CALLED void emulated_load(int tile, const void* from, Index stride) {
  for (Index line = 0; line < 16; ++line)
    __builtin_memcpy(emulated_tiles[tile].lines[line], static_cast<const char*>(from) + line * stride, 64);
}
BIGBIRD_CALLED void emulated_store(int tile, void* to, Index stride) {
  for (Index line = 0; line < 16; ++line)
    __builtin_memcpy(static_cast<char*>(to) + line * stride, emulated_tiles[tile].lines[line], 64);
}

// body(sums of a line of c, four bytes of a line of a, the line of b that they meet)
template <typename Body>
BIGBIRD_INLINE void emulated_dot(int c, int a, int b, const Body& body) {
  for (Index line = 0; line < 16; ++line) {
    __m512i sums = _mm512_load_si512(emulated_tiles[c].lines[line]);
    for (Index depth = 0; depth < 16; ++depth) {
      int32_t four;
      __builtin_memcpy(&four, emulated_tiles[a].lines[line] + 4 * depth, sizeof four);
      body(sums, _mm512_set1_epi32(four), _mm512_load_si512(emulated_tiles[b].lines[depth]));
    }
    _mm512_store_si512(emulated_tiles[c].lines[line], sums);
  }
}
BIGBIRD_CALLED void emulated_dot_bf16(int c, int a, int b) {
  emulated_dot(c, a, b, [](__m512i& sums, __m512i left, __m512i right) {
    sums = _mm512_castps_si512(_mm512_dpbf16_ps(_mm512_castsi512_ps(sums), reinterpret_cast<__m512bh>(left),
                                                reinterpret_cast<__m512bh>(right)));
  });
}
BIGBIRD_CALLED void emulated_dot_int8(int c, int a, int b) {
  emulated_dot(c, a, b, [](__m512i& sums, __m512i left, __m512i right) {
    sums = _mm512_dpbusd_epi32(sums, left, right);
  });
}

}  // namespace bigbird::kernels::BIGBIRD_LEVEL
#endif
