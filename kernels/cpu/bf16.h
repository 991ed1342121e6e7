// Products and attention in bf16 with the instructions that add two products of bf16 numbers to a float
// (AVX-512's vdpbf16ps, arm64's bfdot), for processors that have them and no tiles (those use amx.h).
// Operands are rounded to nearest even, sums are fp32 and run over the depth in order: a row's result does
// not depend on the rows beside it.
//
// Operands are packed first, as pairs of neighbours in depth, 32 bits each; a missing half is zero. Where
// rows are the neighbours (of a weight on the way back, of what a weight's gradient is made of) they are
// packed pair by pair, a as well as b.
#pragma once

#include "kernels/cpu/level.h"
#include "kernels/types.h"

namespace bigbird::kernels {

constexpr Index bf16_tile_rows = 6;  // of a, multiplied side by side
constexpr Index bf16_panel = 64;     // columns of b that are packed together

static inline Index bf16_pairs(Index depth) {
  return (depth + 1) / 2;
}
// Bytes of one row of a, and of one panel of b.
static inline Index bf16_row_bytes(Index depth) {
  return bf16_pairs(depth) * 4;
}
static inline Index bf16_panel_bytes(Index depth) {
  return bf16_panel * bf16_row_bytes(depth);
}

struct Bf16Product {
  Index m = 0;
  Index n = 0;
  Index k = 0;
  const void* a = nullptr;  // packed
  const void* b = nullptr;  // packed: panels bf16_panel_bytes(k) apart
  float* c = nullptr;
  Index c_row = 0;
  bool accumulate = false;
  Index a_stride = 0;  // words between the pairs of a, whose rows are neighbours; 0: pack_a's rows
};

// Attention's gradients, a query block of a head at a time, over the packed keys and values of the head.
// Their blocks lie packed_bytes apart. Scratch is counted in floats.
struct Bf16AttentionBackward {
  Index (*packed_bytes)(Index block_size, Index head_size);
  // Block 0 of the head's keys and values.
  void (*pack_block)(const AttentionHead& head, void* to);
  Index (*scratch)(Index block_size, Index head_size);
  // Query block 0 of the head, where the gradients' out, dout, dq and log_sum_exp begin too: overwrites dq,
  // adds to dk and dv, which are those of all keys.
  void (*block)(const AttentionHead& head, const AttentionHeadGradients& gradients, const void* packed,
                float* scratch);
};

// Packed memory is 64-byte aligned.
struct Bf16Kernels {
  const char* name;  // of the instructions, for people
  // Element (i, p) of a is from[i * row_step + p].
  void (*pack_a)(const float* from, Index row_step, Index rows, Index depth, void* to);
  // Element (p, j) of b is from[j * column_step + p].
  void (*pack_b)(const float* from, Index column_step, Index columns, Index depth, void* to);
  // Element (p, j) is from[p * row_step + j], `columns` of them; pairs come to lie `stride` words apart, with
  // zeros behind `columns` up to a multiple of 16. With a stride of bf16_panel it is a panel of b.
  void (*pack_rows)(const float* from, Index row_step, Index columns, Index depth, Index stride, void* to);
  void (*pack_narrow_rows)(const bf16* from, Index row_step, Index columns, Index depth, Index stride,
                           void* to);
  // c (+)= a b on the calling thread.
  void (*multiply)(const Bf16Product& product);
  PackedAttention attention;  // with parts = 1
  Bf16AttentionBackward attention_backward;
};

// Null when the processor has no such instructions, and when the program was built for another architecture.
const Bf16Kernels* bf16_kernels();

}  // namespace bigbird::kernels
