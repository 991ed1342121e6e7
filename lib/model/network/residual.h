// Where a branch of a layer (attention or feed-forward) joins the residual stream, on the way back.
#pragma once

#include "lib/model/network/call.h"
#include "lib/model/network/memory.h"
#include "lib/model/network/tensors.h"

namespace bigbird {

// work.stream holds the gradient of the branch's end on entry: of LayerNorm(sum) in post-LN, of the sum
// itself in pre-LN. On return it is the gradient of the sum, which goes to the residual as it is; what goes
// into the branch (through its dropout) is returned: work.branch, or work.stream without dropout.
kernels::ConstValues residual_backward(const Call& call, const kernels::Dropout& dropout,
                                       const NormTensors& tensors, const NormTensors& gradients,
                                       kernels::ConstValues sum, const NormState& norm_state,
                                       const BackwardWorkspace& work);

}  // namespace bigbird
