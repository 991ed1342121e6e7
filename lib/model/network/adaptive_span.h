// lib/model/network holds the network: layout (each tensor declared once), memory plan, batch, encoder,
// decoder, heads, losses, forward and backward in a fixed order. No file is opened here, and no loop trains.
//
// The spans of Adaptive-Span (Sukhbaatar et al. 2019, section 2.2; AttentionPattern::adaptive_span). A token
// sees those before it, never itself; one table p [S, D] of distances serves all layers and heads, and head h
// weighs what it sees at distance d by
//
//   m_h(d) e^s / sum m_h e^s,  s = q.(k + p_d) / sqrt(D),  m_h(d) = clamp((R + z_h S + 1 - d) / R, 0, 1)
//
// with z_h in 0..1 learned, in every layer its own. The published code has one more 1e-8 in the divisor; it
// is left out. As a kernel's term for labels, which are distances, m is a bias: ln m / scale, -infinity where
// there is no weight; keys beyond a layer's longest span are not read, nor listed for heads with shorter
// ones.
//
//   dz = S/R times the sum of dm over the distances where 0 <= (R + z S + 1 - d) / R <= 1
//
// Both ends belong to it, as PyTorch of the paper's time derived clamp (2.15 leaves them out): a run begins
// on them. Where m is 0 the gradient is not: dm = sum over pairs of e^s / Z (dp - p.dp). The kernel gives
// sums of p (dp - p.dp), which have to be divided by m. So in training m is 2^-40 where the ramp ends on a
// distance, a key further than there is any weight: no fp32 output feels it, and the quotient is exact.
//
// Dynamic spans (the same section): token t has z_th = 1 / (1 + exp(-(v_h.x_t + b_h))) of the layer's input
// x, with v [H, C] and b [H] of the layer, v at first 0. The kernel makes the weights, and the gradients of
// logits (RelativeTerm::span_logits). The loss is the mean over tokens. A layer reads all that is remembered:
// no span is known before the layer runs. Computed on the CPU only.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/backend.h"
#include "lib/model/config.h"
#include "lib/model/network/losses.h"
#include "lib/model/network/memory.h"
#include "lib/model/network/pass_context.h"
#include "lib/model/network/tensors.h"

namespace bigbird {

// (R + z S + 1 - d) / R, in the order in which the published code computes it in fp32.
float span_ramp(const SpanOptions& options, float z, std::int64_t distance);
// The largest distance that a head sees, of at most S. with_gradients: also one at which its ramp just ends.
std::int64_t span_reach(const SpanOptions& options, float z, bool with_gradients);
// What a span is called: z S, rounded up.
std::int64_t span_tokens(const SpanOptions& options, float z);

// The host's copy of all z [layers, heads] of a model, and what follows from them; of models without any all
// but forget() does nothing.
class Spans {
 public:
  Spans(const ModelConfig& config, bool with_gradients) : config_(config), with_gradients_(with_gradients) {}

  // The device's are others from now on.
  void forget() { z_.clear(); }
  // Before a pass: reads the device's where they are not known. Error{bad_input} for one outside of 0..1.
  void read(kernels::Backend& backend, const float* z);
  // After an update: brings each back into 0..1, on the device as well.
  void limit(kernels::Backend& backend, float* z);
  // [heads] of a layer: span_reach()
  const std::vector<std::int64_t>& reaches(std::int64_t layer) const {
    return reaches_[static_cast<std::size_t>(layer)];
  }
  // span_loss S (mean of a layer's z), summed over layers: one label of a micro-batch in training, of dynamic
  // spans one of every token, else none.
  LossTerm loss(const PassContext& pass, const RecurrentActivations& kept) const;
  // Brings the layers' biases and slopes to the device, where they are others than before.
  void bring(kernels::Backend& backend, const RecurrentActivations& kept);
  // kept.span_loss_gradient, of so many times the loss.
  void bring_loss(kernels::Backend& backend, float scale, const RecurrentActivations& kept) const;

 private:
  void set(std::vector<float> z);
  std::size_t count() const {
    return static_cast<std::size_t>(config_.num_hidden_layers * config_.num_attention_heads);
  }
  double loss_of_one() const;
  LossTerm loss_of_tokens(const PassContext& pass, const RecurrentActivations& kept) const;

  ModelConfig config_;
  bool with_gradients_;
  bool brought_ = false;
  std::vector<float> z_;
  std::vector<std::vector<std::int64_t>> reaches_;
};

// kept.by_distance of so many labels from the table of distances [S, D], in a row of every label the same for
// each head.
void make_rows_of_distances(kernels::Backend& backend, const ModelConfig& config, const ModelTensors& tensors,
                            kernels::Index labels, const RecurrentActivations& kept);
// From kept.dweight and kept.dbias of a layer to the gradients of the table and of the layer's z.
void backward_of_spans(const PassContext& pass, std::int64_t layer, const AttentionTensors& gradients,
                       const RecurrentActivations& kept);
// Error{usage} where a device computes no dynamic spans.
void check_span_device(const kernels::Backend& backend, const ModelConfig& config);
// Of dynamic spans: the layer's part of kept.span_logits; and from kept.dspan_logits, which gets what the
// loss adds, to the gradients of the layer's v and b, and of its input, added to `dinput`.
void own_spans_forward(const PassContext& pass, std::int64_t layer, const AttentionTensors& tensors,
                       kernels::ConstValues input, const RecurrentActivations& kept);
void own_spans_backward(const PassContext& pass, std::int64_t layer, const AttentionTensors& tensors,
                        const AttentionTensors& gradients, kernels::ConstValues input,
                        const RecurrentActivations& kept, kernels::Values dinput);
// Adds kept.span_loss_gradient to the gradients of all z.
void backward_of_span_loss(const PassContext& pass, float* gradients, const RecurrentActivations& kept);

}  // namespace bigbird
