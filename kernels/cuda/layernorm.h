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

void layernorm_forward(ConstValues x, const float* gamma, const float* beta, float epsilon, Values y,
                       float* mean, float* rstd, Index rows, Index width, Stream stream);
void dropout_add_layernorm_forward(ConstValues x, ConstValues residual, const Dropout& dropout, Values sum,
                                   const float* gamma, const float* beta, float epsilon, Values y,
                                   float* mean, float* rstd, Index rows, Index width, Stream stream);

// Device memory for the partial sums of dgamma and dbeta, in bytes: grows with rows until about 6 MiB.
std::size_t layernorm_backward_workspace(Index rows, Index width);
void layernorm_backward(ConstValues dy, ConstValues x, const float* gamma, const float* mean,
                        const float* rstd, Values dx, bool accumulate, float* dgamma, float* dbeta,
                        Index rows, Index width, void* workspace, Stream stream);
void layernorm_backward_dropout(ConstValues dy, ConstValues sum, const float* gamma, const float* mean,
                                const float* rstd, Values dx, Values branch, const Dropout& dropout,
                                float* dgamma, float* dbeta, Index rows, Index width, void* workspace,
                                Stream stream);

}  // namespace bigbird::kernels::cuda
