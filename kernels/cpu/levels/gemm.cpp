// Cache-blocked GEMM over the register tile (Goto and van de Geijn 2008): a slice of b is packed
// into panels as wide as the tile, a is packed when its rows are not contiguous.
#include "kernels/cpu/levels/tile.h"

namespace bigbird::kernels::BIGBIRD_LEVEL {

namespace {

// To nearest even, as the processors that have bf16 do; NaN stays.
BIGBIRD_INLINE float to_bf16(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  const uint32_t rounded = (bits + 0x7FFFu + (bits >> 16 & 1u)) & 0xFFFF0000u;
  bits = value == value ? rounded : bits;
  __builtin_memcpy(&value, &bits, sizeof bits);
  return value;
}

void round_all(float* values, Index count) {
  for (Index i = 0; i < count; ++i) values[i] = to_bf16(values[i]);
}

constexpr Index depth = gemm_depth;
constexpr Index row_block = 16 * tile_rows;

Index panels(Index n) {
  return (n + tile_columns - 1) / tile_columns;
}

// Panels of tile_rows rows, (k, tile_rows) each. a is a transpose: its columns are the contiguous direction
// (a_row == 1), so every step of depth is read in one piece for all panels; the distance between steps is
// often a multiple of the page size, and coming back for each panel would find nothing in the cache.
void pack_a_columns(const Product& x, Index row, Index rows, Index first, Index k, float* packed) {
  for (Index p = 0; p < k; ++p) {
    const float* from = x.a + row + (first + p) * x.a_column;
    Index i = 0;
    for (; i + tile_rows <= rows; i += tile_rows) {
      __builtin_memcpy(packed + i * k + p * tile_rows, from + i, tile_rows * sizeof(float));
    }
    for (Index r = 0; i + r < rows; ++r) packed[i * k + p * tile_rows + r] = from[i + r];
  }
}

// The same panels from contiguous rows, rounded.
void pack_a_rounded_rows(const Product& x, Index row, Index rows, Index first, Index k, float* packed) {
  for (Index i = 0; i < rows; ++i) {
    const float* from = x.a + (row + i) * x.a_row + first;
    float* to = packed + i / tile_rows * tile_rows * k + i % tile_rows;
    for (Index p = 0; p < k; ++p) to[p * tile_rows] = to_bf16(from[p]);
  }
}

// Rows of a in one slice, by panels of b: the slice's columns that x has, one panel behind the other.
void multiply_row_block(const Product& x, Index row, Index rows, Index first, Index k,
                        const float* panels_of_b, float* packed_a) {
  const bool contiguous_rows = x.a_column == 1;
  const bool in_place = contiguous_rows && !x.round_to_bf16;
  const bool accumulate = x.accumulate || first > 0;
  if (!contiguous_rows) {
    pack_a_columns(x, row, rows, first, k, packed_a);
    if (x.round_to_bf16) round_all(packed_a, (rows + tile_rows - 1) / tile_rows * tile_rows * k);
  } else if (!in_place) {
    pack_a_rounded_rows(x, row, rows, first, k, packed_a);
  }
  for (Index j = 0; j < x.n; j += tile_columns) {
    const Index columns = x.n - j < tile_columns ? x.n - j : tile_columns;
    const float* panel = panels_of_b + j * k;
    for (Index i = 0; i < rows; i += tile_rows) {
      const int count = static_cast<int>(rows - i < tile_rows ? rows - i : tile_rows);
      const float* a = in_place ? x.a + (row + i) * x.a_row + first : packed_a + i * k;
      multiply_tile_of(count, {k, a, in_place ? x.a_row : 1, in_place ? 1 : Index{tile_rows}, panel,
                               tile_columns, x.c + (row + i) * x.c_row + j, x.c_row, columns, accumulate});
    }
  }
}

}  // namespace

void gemm_pack(const Product& x, Index first, Index k, float* packed) {
  for (Index j = 0; j < x.n; j += tile_columns) {
    const Index columns = x.n - j < tile_columns ? x.n - j : tile_columns;
    const float* from = x.b + first * x.b_row + j * x.b_column;
    if (x.b_column == 1) {
      for (Index p = 0; p < k; ++p) {
        for (Index c = 0; c < columns; ++c) packed[p * tile_columns + c] = from[p * x.b_row + c];
        for (Index c = columns; c < tile_columns; ++c) packed[p * tile_columns + c] = 0.0f;
      }
    } else {
      // b is a transpose: its columns are the contiguous direction (b_row == 1).
      transpose(from, x.b_column, columns, k, 1.0f, packed, tile_columns, tile_columns);
    }
    if (x.round_to_bf16) round_all(packed, k * tile_columns);
    packed += k * tile_columns;
  }
}

Index gemm_scratch(Index n) {
  return depth * tile_columns * panels(n) + depth * row_block;
}

Index gemm_panel() {
  return tile_columns;
}

Index gemm_rows_scratch() {
  return depth * row_block;
}

void gemm(const Product& x, float* scratch) {
  float* packed_b = scratch;
  float* packed_a = scratch + depth * tile_columns * panels(x.n);
  for (Index first = 0; first < x.k || first == 0; first += depth) {
    const Index k = x.k - first < depth ? x.k - first : depth;
    gemm_pack(x, first, k, packed_b);
    for (Index row = 0; row < x.m; row += row_block) {
      const Index rows = x.m - row < row_block ? x.m - row : row_block;
      multiply_row_block(x, row, rows, first, k, packed_b, packed_a);
    }
  }
}

void gemm_rows(const Product& x, const float* packed_b, Index packed_columns, Index column, float* scratch) {
  for (Index row = 0; row < x.m; row += row_block) {
    const Index rows = x.m - row < row_block ? x.m - row : row_block;
    for (Index first = 0; first < x.k || first == 0; first += depth) {
      const Index k = x.k - first < depth ? x.k - first : depth;
      multiply_row_block(x, row, rows, first, k, packed_b + first * packed_columns + column * k, scratch);
    }
  }
}

}  // namespace bigbird::kernels::BIGBIRD_LEVEL
