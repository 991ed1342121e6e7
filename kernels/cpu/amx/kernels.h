// What the files of this folder share.
#pragma once

#include "kernels/cpu/amx/amx.h"

#define AMX_INLINE static inline __attribute__((always_inline))

namespace bigbird::kernels::amx {

void pack_a(const AmxOperand& from, Index parts, void* to);
void pack_b(const AmxOperand& from, Index parts, void* to);
void multiply(const AmxProduct& product);

}  // namespace bigbird::kernels::amx
