// The product over the register tile. The depth is not cut: a panel of b comes from the second-level cache
// again for every few rows, which costs less than going through c between pieces of the depth (Zen 5).
#include "kernels/cpu/levels/bf16/kernels.h"
#include "kernels/cpu/levels/pairs.h"

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

namespace {

// pair(low, high, column, part): the words of one vector; high is null for the missing half of the last pair.
template <typename Element, typename Pair>
void pack_rows_of(const Element* from, Index row_step, Index columns, Index depth, Index stride, void* to,
                  const Pair& pair) {
  constexpr Index padded = 16;
  const Index written = (columns + padded - 1) / padded * padded;
  for (Index p = 0; p < depth; p += 2) {
    const Element* const low = from + p * row_step;
    const Element* const high = p + 1 < depth ? low + row_step : nullptr;
    float* const words = static_cast<float*>(to) + p / 2 * stride;
    for_each_vector(columns, [&](Index j, auto part) { store(words + j, pair(low, high, j, part)); });
    for (Index j = round_up_to_lanes(columns); j < written; j += lanes) store(words + j, Floats{});
  }
}

}  // namespace

void pack_rows(const float* from, Index row_step, Index columns, Index depth, Index stride, void* to) {
  pack_rows_of(from, row_step, columns, depth, stride, to,
               [](const float* low, const float* high, Index j, auto part) {
                 return paired(part.get(low + j), high != nullptr ? part.get(high + j) : Floats{});
               });
}

void pack_narrow_rows(const bf16* from, Index row_step, Index columns, Index depth, Index stride, void* to) {
  pack_rows_of(from, row_step, columns, depth, stride, to,
               [](const bf16* low, const bf16* high, Index j, auto part) {
                 return paired(low + j, high != nullptr ? high + j : nullptr, part);
               });
}

void multiply(const Bf16Product& x) {
  const float* const a = static_cast<const float*>(x.a);
  const float* panel = static_cast<const float*>(x.b);
  const Index pairs = bf16_pairs(x.k);
  const Index a_row = x.a_stride == 0 ? pairs : 1, a_column = x.a_stride == 0 ? 1 : x.a_stride;
  for (Index column = 0; column < x.n; column += bf16_panel) {
    multiply<PairProduct>({x.m, smaller(bf16_panel, x.n - column), pairs, a, a_row, a_column, panel,
                           bf16_panel, x.c + column, x.c_row, x.accumulate});
    panel += bf16_panel * pairs;
  }
}

// The entry of this folder that cpu_options.cpp gives out.
extern const Bf16Kernels kernels;
const Bf16Kernels kernels = {
    BIGBIRD_LEVEL_NAME,
    pack_a,
    pack_b,
    pack_rows,
    pack_narrow_rows,
    multiply,
    {1, attention_packed_bytes, attention_pack_block, attention_forward_scratch, attention_forward_block},
    {backward_packed_bytes, backward_pack_block, backward_scratch, backward_block}};

}  // namespace bigbird::kernels::BIGBIRD_LEVEL
