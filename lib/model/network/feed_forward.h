// The feed-forward half of a layer: C -> F, gelu, F -> C, dropout, residual and LayerNorm (post-LN: after the
// sum; pre-LN: on the way in).
#pragma once

#include "lib/model/network/memory.h"
#include "lib/model/network/pass_context.h"
#include "lib/model/network/tensors.h"

namespace bigbird {

// input [T, C]; the output is kept.norm (post-LN) or kept.sum (pre-LN).
void feed_forward_forward(const PassContext& pass, std::int64_t layer, const FeedForwardTensors& tensors,
                          kernels::ConstValues input, const FeedForwardActivations& kept);
// work.gradient holds the gradient of the output on entry and of the input on return; the rest of work is
// scratch.
void feed_forward_backward(const PassContext& pass, std::int64_t layer, const FeedForwardTensors& tensors,
                           const FeedForwardTensors& gradients, kernels::ConstValues input,
                           const FeedForwardActivations& kept, const BackwardWorkspace& work);

}  // namespace bigbird
