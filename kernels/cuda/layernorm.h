// LayerNorm (Ba et al. 2016), alone and as the end of a post-LN branch. Launchers of layernorm.cu, plain C++.
// Semantics are those of the operations of the same name in kernels/backend.h; statistics are fp32.
//
// All matrices of one call have one element type. The fused forms equal the chain of their steps to the last
// bit.
#pragma once

#include <cstddef>

#include "kernels/backend.h"
#include "kernels/cuda/runtime.h"
#include "kernels/types.h"

namespace bigbird::kernels::cuda {

void layernorm_forward(ConstValues x, const Norm& norm, Values y, const NormState& state, Index rows,
                       Stream stream);
void dropout_add_layernorm_forward(const ResidualSum& join, const Norm& norm, Values y,
                                   const NormState& state, Index rows, Stream stream);

// Device memory for the partial sums of the gradients, in bytes: grows with rows until about 6 MiB.
std::size_t layernorm_backward_workspace(Index rows, Index width);
void layernorm_backward(const NormBackward& pass, const Norm& norm, const NormGradients& gradients,
                        bool accumulate, void* workspace, Stream stream);
void layernorm_backward_dropout(const NormBackward& pass, const Norm& norm, const NormGradients& gradients,
                                const Dropout& dropout, Values branch, void* workspace, Stream stream);

}  // namespace bigbird::kernels::cuda
