// Reversible layers (Gomez et al. 2017; Kitaev et al. 2020, section 3): two streams of states [T, C], each of
// which one half of a layer changes, in place,
//
//   first += attention(LN second),  second += feed_forward(LN first)
//
// Both begin as what the embeddings give; the heads read both side by side, [T, 2C], through a LayerNorm. No
// layer keeps its activations: a way back takes from a stream what its half adds, computed again from the
// other one, and so has every input anew, to rounding. What was drawn stays as it was: dropout is a function
// of its place, and the orders of tokens (attention_clusters.h) are kept.
#pragma once

#include "lib/model/network/encoder.h"
#include "lib/model/network/memory.h"

namespace bigbird {

ReversibleActivations plan_streams(Arena& arena, const ModelConfig& config, std::int64_t tokens,
                                   bool training);

// Of the embeddings in kept.reversible.first on; on_state gets the second stream behind each layer.
void reversible_forward(const PassContext& pass, const ModelTensors& tensors, const Activations& kept,
                        const StateListener& on_state);
// From the gradient of what the final LayerNorm reads, or of what the heads read where there is none, in
// kept.workspace.gradient [T, 2C], to that of the embeddings in its first [T, C].
void reversible_backward(const PassContext& pass, const ModelTensors& tensors, const ModelTensors& gradients,
                         const Activations& kept);

}  // namespace bigbird
