// Attention whose keys and values are packed, block by block and once for each head, before the queries are
// run: on AMX's tiles, and in bf16 with the instructions of AVX-512. Each is one entry of functions;
// attention.cpp cuts the work into tasks for both.
#pragma once

#include "kernels/cpu/level.h"

namespace bigbird::kernels {

// Blocks lie packed_bytes apart, 64-byte aligned. `parts`: numbers of bf16 for each float, 1 or 3 (amx.h).
// Scratch is counted in floats.
struct PackedAttention {
  Index block_multiple;  // the block size must be one of it
  Index (*packed_bytes)(Index block_size, Index head_size, Index parts);
  void (*pack_block)(const AttentionHead& head, Index block, Index parts, void* to);
  Index (*forward_scratch)(Index block_size, Index head_size, Index parts);
  // As Level::attention_forward_block.
  void (*forward_block)(const AttentionHead& head, const void* packed, Index parts, Index query_block,
                        float* out, Index out_stride, float* log_sum_exp, float* scratch);
};

}  // namespace bigbird::kernels
