// The entry of this folder in the list of amx_choice.cpp.
#include "kernels/cpu/levels/amx/kernels.h"

namespace bigbird::kernels::BIGBIRD_LEVEL {

extern const AmxKernels kernels;
const AmxKernels kernels = {pack_a,
                            pack_b,
                            multiply,
                            {amx_group, attention_packed_bytes, attention_pack_block,
                             attention_forward_scratch, attention_forward_block}};

}  // namespace bigbird::kernels::BIGBIRD_LEVEL
