// kernels/cpu/levels/bf16 holds products and attention by the bf16 instructions of AVX-512 and arm64.
//
// The functions of this folder, as kernels/cpu/bf16.h says what they do.
#pragma once

#include "kernels/cpu/bf16.h"

namespace bigbird::kernels::BIGBIRD_LEVEL {

void pack_a(const float* from, Index row_step, Index rows, Index depth, void* to);
void pack_b(const float* from, Index column_step, Index columns, Index depth, void* to);
void pack_rows(const float* from, Index row_step, Index columns, Index depth, Index stride, void* to);
void pack_narrow_rows(const bf16* from, Index row_step, Index columns, Index depth, Index stride, void* to);
void multiply(const Bf16Product& product);

Index attention_packed_bytes(Index block_size, Index head_size, Index parts);
void attention_pack_block(const AttentionHead& head, Index block, Index parts, void* to);
Index attention_forward_scratch(Index block_size, Index head_size, Index parts);
void attention_forward_block(const AttentionHead& head, const void* packed, Index parts, Index query_block,
                             float* out, Index out_stride, float* log_sum_exp, float* scratch);

Index backward_packed_bytes(Index block_size, Index head_size);
void backward_pack_block(const AttentionHead& head, void* to);
Index backward_scratch(Index block_size, Index head_size);
void backward_block(const AttentionHead& head, const AttentionHeadGradients& gradients, const void* packed,
                    float* scratch);

}  // namespace bigbird::kernels::BIGBIRD_LEVEL
