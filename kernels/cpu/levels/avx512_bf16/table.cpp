// The entry of this folder that bf16_choice.cpp gives out.
#include "kernels/cpu/levels/avx512_bf16/kernels.h"

namespace bigbird::kernels::avx512_bf16 {

extern const Bf16Kernels kernels;
const Bf16Kernels kernels = {
    pack_a,
    pack_b,
    multiply,
    {1, attention_packed_bytes, attention_pack_block, attention_forward_scratch, attention_forward_block}};

}  // namespace bigbird::kernels::avx512_bf16
