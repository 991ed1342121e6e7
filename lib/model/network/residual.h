// Where a branch of a layer (attention or feed-forward) joins the residual stream, and on the way back, where
// it leaves it.
#pragma once

#include "lib/model/network/memory.h"
#include "lib/model/network/pass_context.h"
#include "lib/model/network/tensors.h"

namespace bigbird {

// The end of a branch: sum = input + dropout(branch), and in post-LN norm = LayerNorm(sum).
struct ResidualActivations {
  kernels::Values sum;
  kernels::Values norm;
  NormState norm_state;
};

// kept.sum holds what the branch gives on entry.
void residual_forward(const PassContext& pass, const kernels::Dropout& dropout, const NormTensors& tensors,
                      kernels::ConstValues input, const ResidualActivations& kept);

// work.gradient holds the gradient of the branch's end on entry: of LayerNorm(sum) in post-LN, of the sum
// itself in pre-LN. On return it is the gradient of the sum, which goes to the residual as it is; what goes
// into the branch (through its dropout) is returned: work.branch, or work.gradient without dropout.
// output: the gradients of the branch's last linear layer. Post-LN sums that of its bias beside its own and
// leaves null there; what is not null is the caller's.
kernels::ConstValues residual_backward(const PassContext& pass, const kernels::Dropout& dropout,
                                       const NormTensors& tensors, const NormTensors& gradients,
                                       kernels::LinearGradients& output, const ResidualActivations& kept,
                                       const BackwardWorkspace& work);

}  // namespace bigbird
