// The attention of a decoder's layer over the encoder's last hidden state (docs/specification.md 2.6):
// queries of the decoder's rows, keys and values of the encoder's, output product, dropout, residual and
// LayerNorm (post-LN: after the sum; pre-LN: on the way in, of the decoder's rows alone).
#pragma once

#include "lib/model/network/memory.h"
#include "lib/model/network/pass_context.h"
#include "lib/model/network/tensors.h"

namespace bigbird {

// The two stacks that meet in a layer.
struct CrossAttentionPass {
  const PassContext& decoder;
  const std::vector<AttentionRun>& runs;  // of this layer
  kernels::ConstValues hidden;            // [T, C], the encoder's
  kernels::Index hidden_rows = 0;         // T
};

// input [T', C]; the output is kept.norm (post-LN) or kept.sum (pre-LN).
void cross_attention_forward(const CrossAttentionPass& pass, std::int64_t layer,
                             const CrossAttentionTensors& tensors, kernels::ConstValues input,
                             const CrossAttentionActivations& kept);
// As attention_layer_backward(); the gradient of the encoder's hidden state is added to dhidden [T, C].
// key_value_gradient [T, 2C] is scratch.
void cross_attention_backward(const CrossAttentionPass& pass, std::int64_t layer,
                              const CrossAttentionTensors& tensors, const CrossAttentionTensors& gradients,
                              kernels::ConstValues input, const CrossAttentionActivations& kept,
                              const BackwardWorkspace& work, kernels::Values key_value_gradient,
                              kernels::Values dhidden);

}  // namespace bigbird
