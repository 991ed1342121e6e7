// The encoder: embeddings, the stack of layers, and the final LayerNorm of a pre-LN model that has one.
#pragma once

#include "lib/model/network/memory.h"
#include "lib/model/network/pass_context.h"
#include "lib/model/network/tensors.h"

namespace bigbird {

// After embeddings_stage() and prepare_attention() of every run. Fills kept.states and what backward needs;
// the result is kept.last_hidden_state(). on_state, when set, receives a host copy of every state: such a
// pass cannot be recorded.
void encoder_forward(const PassContext& pass, const ModelTensors& tensors, const Activations& kept,
                     const StateListener& on_state);

// kept.workspace.gradient is that of the last hidden state on entry; parameter gradients are added.
// With grad_checkpoint, the layers share one set of activations and every layer but the last is run again
// first.
void encoder_backward(const PassContext& pass, const ModelTensors& tensors, const ModelTensors& gradients,
                      const Activations& kept, bool grad_checkpoint);

}  // namespace bigbird
