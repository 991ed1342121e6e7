// What attention by features and attention within clusters share: pieces of a thread's scratch, products of
// matrices that lie there, and rows by their numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "kernels/cpu/attention_heads.h"

namespace bigbird::kernels {

constexpr Index most_columns = 512;  // of one product

inline Index padded(Index floats) {
  return pieces(floats, line_floats) * line_floats;
}

// Pieces of a thread's scratch.
class ScratchPieces {
 public:
  explicit ScratchPieces(float* memory) : next_(memory) {}
  float* take(Index floats) { return std::exchange(next_, next_ + padded(floats)); }

 private:
  float* next_;
};

// A matrix whose rows and columns are so far apart.
struct Strided {
  const float* data;
  Index row, column;
};

// c[m, n], dense, (+)= a[m, k] b[k, n]; scratch of level.gemm_scratch(most_columns) floats.
inline void multiply(const Level& level, float* scratch, Index m, Index n, Index k, const Strided& a,
                     const Strided& b, float* c, bool accumulate) {
  for (Index column = 0; column < n; column += most_columns) {
    Product product;
    product.m = m;
    product.n = std::min(most_columns, n - column);
    product.k = k;
    product.a = a.data;
    product.a_row = a.row;
    product.a_column = a.column;
    product.b = b.data + column * b.column;
    product.b_row = b.row;
    product.b_column = b.column;
    product.c = c + column;
    product.c_row = n;
    product.accumulate = accumulate;
    level.gemm(product, scratch);
  }
}

// Rows of [.., size] by their numbers, a row each; those of nobody, -1, are zeros.
inline void gather_numbered(const float* from, const std::int32_t* rows, Index count, Index size, float* to) {
  for (Index i = 0; i < count; ++i) {
    float* const row = to + i * size;
    if (rows[i] < 0) {
      std::fill(row, row + size, 0.0f);
    } else {
      std::copy_n(from + rows[i] * size, size, row);
    }
  }
}
// The way back, one row behind the other: a number may stand there twice.
inline void add_numbered(const Level& level, const float* from, const std::int32_t* rows, Index count,
                         Index size, float* to) {
  for (Index i = 0; i < count; ++i) {
    if (rows[i] >= 0) level.add_scaled(from + i * size, 1.0f, to + rows[i] * size, size);
  }
}
// Zeros to `count` rows of a head from `first` on; `zeros` has `together` rows of room.
inline void zero_rows(const Level& level, const Rows& to, Index first, Index column, Index count, Index size,
                      float* zeros, Index together) {
  std::fill(zeros, zeros + std::min(count, together) * size, 0.0f);
  for (Index at = 0; at < count; at += together)
    put_rows(level, zeros, size, to, first + at, column, std::min(together, count - at));
}

// Scratch of all threads, of which each works on one head at a time and has so many floats for it.
inline Index floats_of_heads(const Level& level, Index floats) {
  return thread_count() * (padded(level.gemm_scratch(most_columns)) + floats);
}
// body(sequence, head, scratch, scratch of products) for every head, each a task.
template <typename Body>
void for_heads(const Level& level, ScratchBuffer& memory, Index sequences, Index heads, Index floats,
               const Body& body) {
  const Index products = padded(level.gemm_scratch(most_columns)), each = products + floats;
  float* const scratch = memory.reserve(floats_of_heads(level, floats));
  parallel_for_worker(static_cast<std::size_t>(sequences * heads), [&](std::size_t task, int worker) {
    float* const own = scratch + each * worker;
    const Index number = static_cast<Index>(task);
    body(number / heads, number % heads, own + products, own);
  });
}

}  // namespace bigbird::kernels
