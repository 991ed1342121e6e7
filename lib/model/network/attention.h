// lib/model/network holds the network: layout (each tensor declared once), memory plan, batch, encoder,
// decoder, heads, losses, forward and backward in a fixed order. No file is opened here, and no loop trains.
//
// The attention half of a layer: one product for query, key and value, rotary positions, attention over the
// block plans, output product, dropout, residual and LayerNorm (post-LN: after the sum; pre-LN: on the way
// in).
#pragma once

#include "lib/model/network/memory.h"
#include "lib/model/network/pass_context.h"
#include "lib/model/network/tensors.h"

namespace bigbird {

// input [T, C]; the output is kept.norm (post-LN) or kept.sum (pre-LN), [T, C] or, with head_rows that are
// not null, [R, C].
void attention_layer_forward(const PassContext& pass, std::int64_t layer, const AttentionTensors& tensors,
                             kernels::ConstValues input, const AttentionActivations& kept,
                             const HeadRowActivations& head_rows);
// work.gradient holds the gradient of the output on entry and of the input, [T, C], on return; the rest of
// work is scratch.
void attention_layer_backward(const PassContext& pass, std::int64_t layer, const AttentionTensors& tensors,
                              const AttentionTensors& gradients, kernels::ConstValues input,
                              const AttentionActivations& kept, const HeadRowActivations& head_rows,
                              const BackwardWorkspace& work);

}  // namespace bigbird
