// The register-blocked product that everything stands on: c[m, n] (+)= a[m, k] b[k, n] for operands that are
// in the caches. a may have any strides (its elements are broadcast); rows of b are contiguous and readable
// up to the next multiple of `lanes` columns (what stands there does not matter); rows of c are contiguous
// and written exactly.
#pragma once

#if BIGBIRD_LANES > 4
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#include "kernels/cpu/levels/simd.h"

namespace bigbird::kernels::BIGBIRD_LEVEL {

// Registers: tile_rows * tile_vectors sums, one row of b, one broadcast.
#if BIGBIRD_LANES == 16
constexpr unsigned tile_rows = 6;
constexpr unsigned tile_vectors = 4;
#elif BIGBIRD_LANES == 8
constexpr unsigned tile_rows = 6;
constexpr unsigned tile_vectors = 2;
#elif defined(__ARM_NEON)  // 32 registers, but of four floats
constexpr unsigned tile_rows = 8;
constexpr unsigned tile_vectors = 3;
#else
constexpr unsigned tile_rows = 4;
constexpr unsigned tile_vectors = 2;
#endif
constexpr Index tile_columns = tile_vectors * lanes;

struct TileOperands {
  Index k;
  const float* a;
  Index a_row;
  Index a_column;
  const float* b;
  Index b_row;
  float* c;
  Index c_row;
  Index columns;  // written; at most Vectors * lanes
  bool accumulate;
};

// What a tile adds up: floats here, pairs of bf16 numbers in levels/bf16.
struct FloatProduct {
  BIGBIRD_INLINE_MEMBER static Floats broadcast(const float* factor) { return splat(*factor); }
  // Fused where the level has it, and said so: a compiler that contracts one tile and not another would let a
  // row depend on how many rows are beside it.
  BIGBIRD_INLINE_MEMBER static Floats add(Floats sum, Floats factor, Floats row) {
#if BIGBIRD_LANES == 16
    return reinterpret_cast<Floats>(_mm512_fmadd_ps(
        reinterpret_cast<__m512>(factor), reinterpret_cast<__m512>(row), reinterpret_cast<__m512>(sum)));
#elif BIGBIRD_LANES == 8
    return reinterpret_cast<Floats>(_mm256_fmadd_ps(
        reinterpret_cast<__m256>(factor), reinterpret_cast<__m256>(row), reinterpret_cast<__m256>(sum)));
#elif defined(__ARM_NEON)
    return reinterpret_cast<Floats>(vfmaq_f32(reinterpret_cast<float32x4_t>(sum),
                                              reinterpret_cast<float32x4_t>(factor),
                                              reinterpret_cast<float32x4_t>(row)));
#else
    return sum + factor * row;
#endif
  }
};

// A function of its own: inlined beside the others, g++ 12 keeps half of the sums on the stack, and with AVX2
// a product takes twice as long.
template <unsigned RowCount, unsigned VectorCount, typename Step>
__attribute__((noinline)) static void multiply_tile(const TileOperands& t) {
  Floats sum[RowCount][VectorCount];
  BIGBIRD_UNROLL
  for (unsigned r = 0; r < RowCount; ++r) {
    BIGBIRD_UNROLL
    for (unsigned j = 0; j < VectorCount; ++j) sum[r][j] = Floats{};
  }
  const float* a = t.a;
  const float* b = t.b;
  const Index a_row = t.a_row;
  for (Index p = 0; p < t.k; ++p) {
    Floats row[VectorCount];
    BIGBIRD_UNROLL
    for (unsigned j = 0; j < VectorCount; ++j) row[j] = load(b + j * lanes);
    BIGBIRD_UNROLL
    for (unsigned r = 0; r < RowCount; ++r) {
      const Floats factor = Step::broadcast(a + r * a_row);
      BIGBIRD_UNROLL
      for (unsigned j = 0; j < VectorCount; ++j) sum[r][j] = Step::add(sum[r][j], factor, row[j]);
    }
    a += t.a_column;
    b += t.b_row;
  }
  const bool full = t.columns == VectorCount * lanes;
  BIGBIRD_UNROLL
  for (unsigned r = 0; r < RowCount; ++r) {
    float* c = t.c + r * t.c_row;
    BIGBIRD_UNROLL
    for (unsigned j = 0; j < VectorCount; ++j) {
      if (full || (j + 1) * lanes <= t.columns) {
        store(c + j * lanes, t.accumulate ? load(c + j * lanes) + sum[r][j] : sum[r][j]);
      } else if (j * lanes < t.columns) {
        const Index count = t.columns - j * lanes;
        store_part(c + j * lanes, t.accumulate ? load_part(c + j * lanes, count) + sum[r][j] : sum[r][j],
                   count);
      }
    }
  }
}

template <unsigned VectorCount, typename Step>
static void multiply_rows(int rows, const TileOperands& t) {
  switch (rows) {
    case 1:
      return multiply_tile<1, VectorCount, Step>(t);
    case 2:
      return multiply_tile<2, VectorCount, Step>(t);
    case 3:
      return multiply_tile<3, VectorCount, Step>(t);
#if BIGBIRD_LANES > 4 || defined(__ARM_NEON)
    case 4:
      return multiply_tile<4, VectorCount, Step>(t);
    case 5:
      return multiply_tile<5, VectorCount, Step>(t);
#endif
#if defined(__ARM_NEON)
    case 6:
      return multiply_tile<6, VectorCount, Step>(t);
    case 7:
      return multiply_tile<7, VectorCount, Step>(t);
#endif
    default:
      return multiply_tile<tile_rows, VectorCount, Step>(t);
  }
}

template <typename Step = FloatProduct>
BIGBIRD_INLINE void multiply_tile_of(int rows, const TileOperands& t) {
  const Index vectors = (t.columns + lanes - 1) / lanes;
#if BIGBIRD_LANES == 16
  if (vectors == 4) return multiply_rows<4, Step>(rows, t);
#endif
#if BIGBIRD_LANES == 16 || defined(__ARM_NEON)
  if (vectors == 3) return multiply_rows<3, Step>(rows, t);
#endif
  if (vectors == 2) return multiply_rows<2, Step>(rows, t);
  return multiply_rows<1, Step>(rows, t);
}

struct SmallProduct {
  Index m;
  Index n;
  Index k;
  const float* a;
  Index a_row;
  Index a_column;
  const float* b;
  Index b_row;
  float* c;
  Index c_row;
  bool accumulate;
};

template <typename Step = FloatProduct>
static inline void multiply(const SmallProduct& x) {
  for (Index j = 0; j < x.n; j += tile_columns) {
    const Index columns = x.n - j < tile_columns ? x.n - j : tile_columns;
    for (Index i = 0; i < x.m; i += tile_rows) {
      const int rows = static_cast<int>(x.m - i < tile_rows ? x.m - i : tile_rows);
      multiply_tile_of<Step>(rows, {x.k, x.a + i * x.a_row, x.a_row, x.a_column, x.b + j, x.b_row,
                                    x.c + i * x.c_row + j, x.c_row, columns, x.accumulate});
    }
  }
}

// to[column * to_row + row] = from[row * from_row + column] * scale; columns of `to` from `rows` to `padded`
// are zeros. Four rows by four columns at a time, so that reads and writes are vectors.
static inline void transpose(const float* from, Index from_row, Index rows, Index columns, float scale,
                             float* to, Index to_row, Index padded) {
  typedef float Four __attribute__((vector_size(16)));
  Index row = 0;
  for (; row + 4 <= rows; row += 4) {
    const float* source = from + row * from_row;
    float* target = to + row;
    Index column = 0;
    for (; column + 4 <= columns; column += 4) {
      Four a, b, c, d;
      __builtin_memcpy(&a, source + column, sizeof a);
      __builtin_memcpy(&b, source + column + from_row, sizeof b);
      __builtin_memcpy(&c, source + column + 2 * from_row, sizeof c);
      __builtin_memcpy(&d, source + column + 3 * from_row, sizeof d);
      const Four ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5),
                 ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
      const Four cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5),
                 cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
      const Four out[4] = {__builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5) * scale,
                           __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7) * scale,
                           __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5) * scale,
                           __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7) * scale};
      BIGBIRD_UNROLL
      for (int i = 0; i < 4; ++i) __builtin_memcpy(target + (column + i) * to_row, &out[i], sizeof out[i]);
    }
    for (; column < columns; ++column) {
      for (Index i = 0; i < 4; ++i) target[column * to_row + i] = source[i * from_row + column] * scale;
    }
  }
  for (; row < padded; ++row) {
    for (Index column = 0; column < columns; ++column) {
      to[column * to_row + row] = row < rows ? from[row * from_row + column] * scale : 0.0f;
    }
  }
}

}  // namespace bigbird::kernels::BIGBIRD_LEVEL
