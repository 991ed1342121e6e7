// kernels/cpu/levels/int8 holds products in int8 by the instructions of each level; the sums are whole
// numbers, the same on all of them.
//
// The functions of this folder, as kernels/cpu/int8.h says what they do.
#pragma once

#include "kernels/cpu/int8.h"

namespace bigbird::kernels::BIGBIRD_LEVEL {

void quantize(const float* from, Index row_step, Index rows, Index depth, void* to, Int8Row* facts);
void quantize_bf16(const bf16* from, Index row_step, Index rows, Index depth, void* to, Int8Row* facts);
void multiply(const Int8Product& product);

}  // namespace bigbird::kernels::BIGBIRD_LEVEL
