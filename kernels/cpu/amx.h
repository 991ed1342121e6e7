// kernels/cpu holds the backend of processors: products, attention, LayerNorm, losses, optimizers. What
// depends on a processor's instructions is in levels.
//
// GEMM on AMX, the tiles of x86 processors, in bf16: 16 times the arithmetic of AVX-512. A float goes in as
// one bf16 number (precision bf16) or as the sum of three, which hold all its 24 bits; the product of two
// such sums is taken without the three smallest of its nine terms, which are below 2^-24 of it, so
// that sums of products are as exact as in fp32 (the idea of Henry, Tang and Heinecke 2019, "Leveraging the
// bfloat16 artificial intelligence datatype for higher-precision computations"). Infinite operands give NaN,
// and operands below about 1e-33 lose digits.
//
// Operands are packed first, in groups of 32 rows of a (or columns of b) by steps of 32 in depth; whatever
// is missing in the last group or step is filled with zeros. levels/amx/*.cpp is compiled for such processors
// only, under the rules of level.h (hence the static functions).
#pragma once

#include "kernels/cpu/level.h"

namespace bigbird::kernels {

constexpr Index amx_group = 32;  // rows, columns, or depth

static inline Index amx_groups(Index count) {
  return (count + amx_group - 1) / amx_group;
}
// Bytes of one group packed over `steps` steps of depth with `parts` (1 or 3) numbers for each float.
static inline Index amx_group_bytes(Index steps, Index parts) {
  return steps * parts * 2 * amx_group * amx_group;
}

// The matrix to pack: element (outer, depth) is at data[outer * outer_step + depth * depth_step]; one of the
// two steps is 1. Outer counts the rows of a or the columns of b.
struct AmxOperand {
  const float* data = nullptr;
  Index outer = 0;
  Index depth = 0;
  Index outer_step = 0;
  Index depth_step = 0;
  const bf16* narrow = nullptr;  // in place of data; of one part
};

struct AmxProduct {
  Index m = 0;
  Index n = 0;
  Index steps = 0;  // of depth
  Index parts = 0;
  const void* a = nullptr;  // packed, groups amx_group_bytes(steps, parts) apart; or rows (a_row)
  const void* b = nullptr;  // packed, groups b_group_bytes apart
  Index b_group_bytes = 0;
  float* c = nullptr;
  Index c_row = 0;
  bool accumulate = false;
  // Bytes from one row of a to the next, where whole groups of bf16 rows lie as they are; 0: packed.
  Index a_row = 0;
};

struct AmxKernels {
  // Packed memory is 64-byte aligned.
  void (*pack_a)(const AmxOperand& from, Index parts, void* to);
  void (*pack_b)(const AmxOperand& from, Index parts, void* to);
  // c (+)= a b on the calling thread.
  void (*multiply)(const AmxProduct& product);
  PackedAttention attention;
};

// Null when the processor or the kernel of the operating system does not offer tiles, when the program was
// built for another architecture, and when BIGBIRD_CPU_LEVEL asks for a level without them.
const AmxKernels* amx_kernels();

}  // namespace bigbird::kernels
