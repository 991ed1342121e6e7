// The largest logits of every row with their log-softmax. Launcher of top_columns.cu, plain C++. Semantics
// are those of the operation of the same name in kernels/backend.h.
#pragma once

#include "kernels/cuda/runtime.h"
#include "kernels/types.h"

namespace bigbird::kernels::cuda {

// A block for each row. std::logic_error for a count beyond most_top_columns.
void top_log_softmax(const ConstMatrix& logits, const TopColumns& top, Stream stream);

}  // namespace bigbird::kernels::cuda
