// The encoder: the stack of layers behind its embeddings (embeddings.h), and the final LayerNorm of a pre-LN
// model that has one; and the parts of a layer, of which a decoder's stack is built too.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/model/network/embeddings.h"
#include "lib/model/network/memory.h"
#include "lib/model/network/pass_context.h"
#include "lib/model/network/tensors.h"

namespace bigbird {

// Rotary positions (Su et al. 2021), [positions, rotary_dim]: the cosines of the angles
// position * base^(-2i / rotary_dim), i < rotary_dim / 2, then their sines. Frequencies and angles are
// rounded to fp32 step by step as the published PyTorch code does, since at position 4096 the last bit of a
// frequency is seen in the hidden states.
std::vector<float> rotary_table(const ModelConfig& config, std::int64_t positions);
// The same on the device, where there is a table.
void fill_rotary_table(kernels::Backend& backend, const ModelConfig& config, std::int64_t positions,
                       const RotaryTable& to);
// How it turns so many heads that lie side by side in a row.
kernels::Rotary rotary_of(const ModelConfig& config, const RotaryTable& rotations, kernels::Index heads);

// Where a branch of a layer (attention or feed-forward) joins the residual stream, and on the way back, where
// it leaves it.

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

// The attention half of a layer: one product for query, key and value, rotary positions, attention over the
// block plans, output product, dropout, residual and LayerNorm (post-LN: after the sum; pre-LN: on the way
// in).

// input [T, C]; the output is kept.norm (post-LN) or kept.sum (pre-LN), [T, C] or, with head_rows that are
// not null, [R, C].
// Up to what its output product reads: kept.context.
void attention_branch_forward(const PassContext& pass, std::int64_t layer, const AttentionTensors& tensors,
                              kernels::ConstValues input, const AttentionActivations& kept,
                              const HeadRowActivations& head_rows = {});
void attention_layer_forward(const PassContext& pass, std::int64_t layer, const AttentionTensors& tensors,
                             kernels::ConstValues input, const AttentionActivations& kept,
                             const HeadRowActivations& head_rows);
// work.gradient holds the gradient of the output on entry and of the input, [T, C], on return; with
// work.other it stays, and what the branch's input gets is added there. The rest of work is scratch.
void attention_layer_backward(const PassContext& pass, std::int64_t layer, const AttentionTensors& tensors,
                              const AttentionTensors& gradients, kernels::ConstValues input,
                              const AttentionActivations& kept, const HeadRowActivations& head_rows,
                              const BackwardWorkspace& work);

// The feed-forward half of a layer: C -> F (gated: 2F), gelu, F -> C, dropout, residual and LayerNorm
// (post-LN: after the sum; pre-LN: on the way in).

// input [T, C]; the output is kept.norm (post-LN) or kept.sum (pre-LN).
// Up to its output product, before dropout: kept.sum.
void feed_forward_branch_forward(const PassContext& pass, std::int64_t layer,
                                 const FeedForwardTensors& tensors, kernels::ConstValues input,
                                 const FeedForwardActivations& kept);
void feed_forward_forward(const PassContext& pass, std::int64_t layer, const FeedForwardTensors& tensors,
                          kernels::ConstValues input, const FeedForwardActivations& kept);
// work.gradient holds the gradient of the output on entry and of the input on return; the rest of work is
// scratch.
void feed_forward_backward(const PassContext& pass, std::int64_t layer, const FeedForwardTensors& tensors,
                           const FeedForwardTensors& gradients, kernels::ConstValues input,
                           const FeedForwardActivations& kept, const BackwardWorkspace& work);

// The stack.

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
