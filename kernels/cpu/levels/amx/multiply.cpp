// Products of packed operands: four tiles of c at a time stay in registers over the whole depth. See amx.h.
#include "kernels/cpu/levels/amx/kernels.h"
#include "kernels/cpu/levels/amx/tiles.h"

namespace bigbird::kernels::BIGBIRD_LEVEL {

namespace {

constexpr Index tile_bytes = 1024;
constexpr Index part_bytes = 2 * tile_bytes;  // the two tiles of one part

#if !defined(BIGBIRD_EMULATED_TILES)
// Eight full tiles: 0..3 are c, 4 and 5 a, 6 and 7 b.
struct alignas(64) TileConfiguration {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr TileConfiguration configuration;
#endif

BIGBIRD_INLINE void load_a(const unsigned char* from) {
  BIGBIRD_TILE_LOAD(4, from, 64);
  BIGBIRD_TILE_LOAD(5, from + tile_bytes, 64);
}
BIGBIRD_INLINE void load_rows(const unsigned char* from, Index row_bytes) {
  BIGBIRD_TILE_LOAD(4, from, row_bytes);
  BIGBIRD_TILE_LOAD(5, from + 16 * row_bytes, row_bytes);
}
BIGBIRD_INLINE void load_b(const unsigned char* from) {
  BIGBIRD_TILE_LOAD(6, from, 64);
  BIGBIRD_TILE_LOAD(7, from + tile_bytes, 64);
}
BIGBIRD_INLINE void multiply_tiles() {
  BIGBIRD_TILE_DOT_BF16(0, 4, 6);
  BIGBIRD_TILE_DOT_BF16(1, 4, 7);
  BIGBIRD_TILE_DOT_BF16(2, 5, 6);
  BIGBIRD_TILE_DOT_BF16(3, 5, 7);
}

BIGBIRD_INLINE void load_c(const float* c, Index c_row) {
  const Index bytes = c_row * 4;
  BIGBIRD_TILE_LOAD(0, c, bytes);
  BIGBIRD_TILE_LOAD(1, c + 16, bytes);
  BIGBIRD_TILE_LOAD(2, c + 16 * c_row, bytes);
  BIGBIRD_TILE_LOAD(3, c + 16 * c_row + 16, bytes);
}
BIGBIRD_INLINE void store_c(float* c, Index c_row) {
  const Index bytes = c_row * 4;
  BIGBIRD_TILE_STORE(0, c, bytes);
  BIGBIRD_TILE_STORE(1, c + 16, bytes);
  BIGBIRD_TILE_STORE(2, c + 16 * c_row, bytes);
  BIGBIRD_TILE_STORE(3, c + 16 * c_row + 16, bytes);
}
BIGBIRD_INLINE void zero_c() {
  BIGBIRD_TILE_ZERO(0);
  BIGBIRD_TILE_ZERO(1);
  BIGBIRD_TILE_ZERO(2);
  BIGBIRD_TILE_ZERO(3);
}

// `lines` cache lines at `next` are brought into the second-level cache in each step.
BIGBIRD_INLINE void sum_over_depth(const unsigned char* a, const unsigned char* b, Index steps, Index parts,
                                   const unsigned char* next, Index lines) {
  if (parts == 1) {
    for (Index step = 0; step < steps; ++step) {
      load_a(a);
      load_b(b);
      multiply_tiles();
      for (Index i = 0; i < lines; ++i) __builtin_prefetch(next + 64 * i, 0, 2);
      next += 64 * lines;
      a += part_bytes;
      b += part_bytes;
    }
    return;
  }
  // Six of the nine terms, in an order that reloads little: high a with low, middle, high b; middle a with
  // high, middle b; low a with high b.
  for (Index step = 0; step < steps; ++step) {
    load_a(a);
    load_b(b + 2 * part_bytes);
    multiply_tiles();
    for (Index i = 0; i < lines; ++i) __builtin_prefetch(next + 64 * i, 0, 2);
    next += 64 * lines;
    load_b(b + part_bytes);
    multiply_tiles();
    load_b(b);
    multiply_tiles();
    load_a(a + part_bytes);
    multiply_tiles();
    load_b(b + part_bytes);
    multiply_tiles();
    load_a(a + 2 * part_bytes);
    load_b(b);
    multiply_tiles();
    a += 3 * part_bytes;
    b += 3 * part_bytes;
  }
}

// As above with one part, of rows that lie as they are.
BIGBIRD_INLINE void sum_rows_over_depth(const unsigned char* a, Index row_bytes, const unsigned char* b,
                                        Index steps, const unsigned char* next, Index lines) {
  for (Index step = 0; step < steps; ++step) {
    load_rows(a + 64 * step, row_bytes);
    load_b(b);
    multiply_tiles();
    for (Index i = 0; i < lines; ++i) __builtin_prefetch(next + 64 * i, 0, 2);
    next += 64 * lines;
    b += part_bytes;
  }
}

void copy(const float* from, Index from_row, float* to, Index to_row, Index rows, Index columns) {
  for (Index i = 0; i < rows; ++i) {
    __builtin_memcpy(to + i * to_row, from + i * from_row, static_cast<std::size_t>(columns) * sizeof(float));
  }
}

}  // namespace

#if defined(BIGBIRD_EMULATED_TILES)
void configure_tiles() {}
void release_tiles() {}
#else
// In words that name all 64 bytes: gcc 12's _tile_loadconfig declares only the first eight as read.
void configure_tiles() {
  __asm__ volatile("ldtilecfg %0" : : "m"(configuration));
}

void release_tiles() {
  _tile_release();
}
#endif

void multiply(const AmxProduct& product) {
  configure_tiles();
  multiply_configured(product);
  release_tiles();
}

void multiply_configured(const AmxProduct& x) {
  const auto* const a = static_cast<const unsigned char*>(x.a);
  const auto* const b = static_cast<const unsigned char*>(x.b);
  const Index a_group_bytes = amx_group_bytes(x.steps, x.parts);
  alignas(64) float edge[amx_group * amx_group];
  for (Index j = 0; j < x.n; j += amx_group) {
    const Index columns = x.n - j < amx_group ? x.n - j : amx_group;
    const unsigned char* const b_group = b + j / amx_group * x.b_group_bytes;
    // Every row group brings in its share of the next columns.
    const unsigned char* next = b_group + x.b_group_bytes;
    const Index lines = j + amx_group < x.n ? part_bytes * x.parts / 64 / amx_groups(x.m) : 0;
    for (Index i = 0; i < x.m; i += amx_group) {
      const Index rows = x.m - i < amx_group ? x.m - i : amx_group;
      const bool whole = rows == amx_group && columns == amx_group;
      float* const target = x.c + i * x.c_row + j;
      float* const c = whole ? target : edge;
      const Index c_row = whole ? x.c_row : amx_group;
      if (x.accumulate) {
        if (!whole) copy(target, x.c_row, edge, amx_group, rows, columns);
        load_c(c, c_row);
      } else {
        zero_c();
      }
      if (x.a_row > 0) {
        sum_rows_over_depth(a + i * x.a_row, x.a_row, b_group, x.steps, next, lines);
      } else {
        sum_over_depth(a + i / amx_group * a_group_bytes, b_group, x.steps, x.parts, next, lines);
      }
      next += 64 * lines * x.steps;
      store_c(c, c_row);
      if (!whole) copy(edge, amx_group, target, x.c_row, rows, columns);
    }
  }
}

// The entry of this folder that cpu_options.cpp gives out.
extern const AmxKernels kernels;
const AmxKernels kernels = {pack_a,
                            pack_b,
                            multiply,
                            {amx_group, attention_packed_bytes, attention_pack_block,
                             attention_forward_scratch, attention_forward_block}};

}  // namespace bigbird::kernels::BIGBIRD_LEVEL
