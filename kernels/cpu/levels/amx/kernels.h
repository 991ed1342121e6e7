// kernels/cpu/levels/amx holds products and attention on AMX's tiles; in the tests on tiles in memory, so
// that they run on every machine.
//
// What the files of this folder share.
#pragma once

#include "kernels/cpu/amx.h"
#include "kernels/cpu/levels/simd.h"

namespace bigbird::kernels::BIGBIRD_LEVEL {

void pack_a(const AmxOperand& from, Index parts, void* to);
void pack_b(const AmxOperand& from, Index parts, void* to);
void multiply(const AmxProduct& product);
Index attention_packed_bytes(Index block_size, Index head_size, Index parts);
Index attention_forward_scratch(Index block_size, Index head_size, Index parts);
void attention_pack_block(const AttentionHead& head, Index block, Index parts, void* to);
void attention_forward_block(const AttentionHead& head, const void* packed, Index parts, Index query_block,
                             float* out, Index out_stride, float* log_sum_exp, float* scratch);

// For several products in a row on one thread: multiply_configured() between the two others.
void configure_tiles();
void multiply_configured(const AmxProduct& product);
void release_tiles();

}  // namespace bigbird::kernels::BIGBIRD_LEVEL
