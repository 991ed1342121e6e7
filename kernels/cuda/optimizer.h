// The gradient norm and AdamW. Launchers of optimizer.cu, plain C++.
#pragma once

#include <cstddef>

#include "kernels/backend.h"
#include "kernels/cuda/runtime.h"
#include "kernels/types.h"

namespace bigbird::kernels::cuda {

// Device memory that sum_of_squares writes first, in bytes: at most 8 KiB.
std::size_t sum_of_squares_workspace(Index count);
// *result (on the device) = the sum of x[i]^2, in double and in an order fixed by count.
void sum_of_squares(const float* x, Index count, double* result, void* workspace, Stream stream);

// One step over all runs in one launch. runs: on the device, ascending, apart from each other; `span` is
// where the last of them ends (elements). p, m and v are fp32 and written in place; copy (bf16, may be null)
// receives the new p rounded to nearest. g is read. p, g, m, v and copy have one numbering.
void adamw(float* p, const float* g, float* m, float* v, bf16* copy, const ParameterRun* runs,
           Index run_count, Index span, const AdamWStep& step, Stream stream);

}  // namespace bigbird::kernels::cuda
