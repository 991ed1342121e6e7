// The decoder of a model that writes (HeadType::generation), as a head of the encoder: embeddings of what is
// written so far, layers of causal attention, attention over the encoder's last hidden state and
// feed-forward, the final LayerNorm of pre-LN, and logits against the word table (docs/specification.md 2.6).
#pragma once

#include "lib/model/network/decoder_pass.h"
#include "lib/model/network/losses.h"
#include "lib/model/network/memory.h"
#include "lib/model/network/pass_context.h"
#include "lib/model/network/tensors.h"

namespace bigbird {

// All of them do nothing when the batch has no targets. hidden [T, C] is the encoder's last hidden state.

// Brings the targets and their labels to the device.
void decoder_stage(const PassContext& pass, const DecoderActivations& kept);
// Fills the decoder's logits and, of a batch with labels, its losses. Where logits are taken in pieces
// (DecoderActivations::logit_rows), they are the last piece's, and `gradients`, unless null, get that of the
// word table here, while the logits are there: decoder_backward() goes on from the last hidden state.
void decoder_forward(const PassContext& pass, const DecoderTensors& tensors, const DecoderTensors* gradients,
                     const Activations& kept, kernels::ConstValues hidden, const StateListener& on_state);
void count_target_labels(const Batch& batch, LabelCounts& labels);
void decoder_result(const PassContext& pass, const DecoderActivations& kept, ForwardResult& result);
// Adds the gradient of hidden to `all`.workspace.gradient. With grad_checkpoint as encoder_backward().
void decoder_backward(const PassContext& pass, const DecoderTensors& tensors, const DecoderTensors& gradients,
                      const Activations& all, bool grad_checkpoint);

}  // namespace bigbird
