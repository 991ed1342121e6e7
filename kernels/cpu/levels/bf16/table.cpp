// The entry of this folder that bf16_choice.cpp gives out.
#include "kernels/cpu/levels/bf16/kernels.h"

namespace bigbird::kernels::BIGBIRD_LEVEL {

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
