// The product over the register tile. The depth is not cut: a panel of b comes from the second-level cache
// again for every few rows, which costs less than going through c between pieces of the depth (Zen 5).
#include "kernels/cpu/levels/bf16/kernels.h"
#include "kernels/cpu/levels/bf16/pairs.h"

namespace bigbird::kernels::BIGBIRD_LEVEL {

void pack_a(const float* from, Index row_step, Index rows, Index depth, void* to) {
  float* const pairs = static_cast<float*>(to);
  for (Index row = 0; row < rows; ++row)
    pair_row(from + row * row_step, depth, 1.0f, pairs + row * bf16_pairs(depth));
}

void pack_b(const float* from, Index column_step, Index columns, Index depth, void* to) {
  float* panel = static_cast<float*>(to);
  for (Index first = 0; first < columns; first += bf16_panel) {
    const Index count = smaller(bf16_panel, columns - first);
    transpose_pairs(from + first * column_step, column_step, count, depth, 1.0f, panel, bf16_panel);
    panel += bf16_panel * bf16_pairs(depth);
  }
}

void multiply(const Bf16Product& x) {
  const float* const a = static_cast<const float*>(x.a);
  const float* panel = static_cast<const float*>(x.b);
  const Index pairs = bf16_pairs(x.k);
  for (Index column = 0; column < x.n; column += bf16_panel) {
    multiply<PairProduct>({x.m, smaller(bf16_panel, x.n - column), pairs, a, pairs, 1, panel, bf16_panel,
                           x.c + column, x.c_row, false});
    panel += bf16_panel * pairs;
  }
}

}  // namespace bigbird::kernels::BIGBIRD_LEVEL
