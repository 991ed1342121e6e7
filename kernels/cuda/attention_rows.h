// Attention of single queries over rows that lists name: a decoder's step. Launcher of attention_rows.cu,
// plain C++. Semantics are those of the operation of the same name in kernels/backend.h.
#pragma once

#include "kernels/cuda/runtime.h"
#include "kernels/types.h"

namespace bigbird::kernels::cuda {

// A block for each query and head, of a size that attention_refusal() lets pass (std::logic_error otherwise).
// Rows of all matrices begin at multiples of 16 bytes.
void attend_rows(const RowAttention& batch, const QueryKeyValue& inputs, Rows out, Stream stream);

}  // namespace bigbird::kernels::cuda
