// Sums over the rows of a matrix (gradients of biases), in an order fixed by the shape. Launchers of
// columns.cu, plain C++.
#pragma once

#include <cstddef>

#include "kernels/cuda/runtime.h"
#include "kernels/types.h"

namespace bigbird::kernels::cuda {

// Device memory for the sums of parts of the rows, in bytes: at most about 1 MiB, or 32 for each column.
std::size_t column_sums_workspace(Index rows, Index width);

// sums[j] += the sum of x[:, j], x [rows, width] with rows `stride` elements apart; in fp32.
void add_column_sums(ConstRows x, float* sums, Index rows, Index width, void* workspace, Stream stream);

}  // namespace bigbird::kernels::cuda
