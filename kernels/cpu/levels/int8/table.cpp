// The entry of this folder that kernels/cpu/int8.cpp gives out.
#include "kernels/cpu/levels/int8/kernels.h"

namespace bigbird::kernels::BIGBIRD_LEVEL {

extern const Int8Kernels kernels;
const Int8Kernels kernels = {"AVX-512 VNNI int8", quantize, quantize_bf16, multiply, int8_tile_rows};

}  // namespace bigbird::kernels::BIGBIRD_LEVEL
