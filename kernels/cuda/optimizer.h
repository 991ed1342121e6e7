// The gradient norm and AdamW. Launchers of optimizer.cu, plain C++.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/backend.h"
#include "kernels/cuda/runtime.h"
#include "kernels/types.h"

namespace bigbird::kernels::cuda {

// Device memory that sum_of_squares writes first, in bytes: at most 8 KiB.
std::size_t sum_of_squares_workspace(Index count);
// *result (on the device) = the sum of x[i]^2, in double and in an order fixed by count.
void sum_of_squares(const float* x, Index count, double* result, void* workspace, Stream stream);

// One step over all runs in one launch. runs lie on the device, ascending, apart from each other; `end` is
// where the last of them ends (elements). Parameters and moments are fp32 and written in place; copy (bf16,
// of the same numbering, may be null) receives the new parameters rounded to nearest.
void adamw(const AdamWArrays& arrays, bf16* copy, std::span<const ParameterRun> runs, Index end,
           const AdamWStep& step, Stream stream);

// average[i] += share * (values[i] - average[i]), in place.
void move_towards(float* average, const float* values, Index count, float share, Stream stream);

}  // namespace bigbird::kernels::cuda
