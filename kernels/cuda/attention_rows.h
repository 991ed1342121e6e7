// Attention of single queries over rows that lists name: a decoder's step. Launcher of attention_rows.cu,
// plain C++. Semantics are those of the operation of the same name in kernels/backend.h.
#pragma once

#include "kernels/cuda/runtime.h"
#include "kernels/types.h"

namespace bigbird::kernels::cuda {

// A block for each query and head, of at most 128 columns. Rows of all matrices begin at multiples of 16
// bytes where heads have 32, 64 or 128 columns.
void attend_rows(const RowAttention& batch, const QueryKeyValue& inputs, Rows out, Stream stream);

}  // namespace bigbird::kernels::cuda
