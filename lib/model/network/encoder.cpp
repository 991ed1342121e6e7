// See encoder.h.
#include "lib/model/network/encoder.h"

#include "lib/core/cancel.h"
#include "lib/model/network/attention.h"
#include "lib/model/network/embeddings.h"
#include "lib/model/network/feed_forward.h"
#include "lib/model/network/head_rows.h"

namespace bigbird {
namespace {

kernels::ConstValues attention_output(const PassContext& pass, const LayerActivations& kept) {
  return pass.config.norm_type == NormType::postnorm ? kept.attention.norm : kept.attention.sum;
}

void layer_forward(const PassContext& pass, std::int64_t layer, const LayerTensors& tensors,
                   kernels::ConstValues input, const LayerActivations& kept,
                   const HeadRowActivations& head_rows) {
  attention_layer_forward(pass, layer, tensors.attention, input, kept.attention, head_rows);
  feed_forward_forward(at_head_rows(pass, head_rows), layer, tensors.feed_forward,
                       attention_output(pass, kept), kept.feed_forward);
}

void layer_backward(const PassContext& pass, std::int64_t layer, const LayerTensors& tensors,
                    const LayerTensors& gradients, kernels::ConstValues input, const LayerActivations& kept,
                    const HeadRowActivations& head_rows, const BackwardWorkspace& work) {
  feed_forward_backward(at_head_rows(pass, head_rows), layer, tensors.feed_forward, gradients.feed_forward,
                        attention_output(pass, kept), kept.feed_forward, work);
  attention_layer_backward(pass, layer, tensors.attention, gradients.attention, input, kept.attention,
                           head_rows, work);
}

}  // namespace

void encoder_forward(const PassContext& pass, const ModelTensors& tensors, const Activations& kept,
                     const StateListener& on_state) {
  const std::size_t layers = tensors.layers.size();
  const PassContext last = at_head_rows(pass, kept.head_rows);
  const auto report = [&](std::size_t state, kernels::ConstValues values) {
    (state < layers ? pass : last).report_state(on_state, state, values);
  };

  embeddings_forward(pass, tensors.embeddings, kept.embeddings, kept.states[0]);
  report(0, kept.states[0]);
  for (std::size_t layer = 0; layer < layers; ++layer) {
    throw_if_cancelled_anywhere();
    const bool is_last = layer + 1 == layers;
    if (is_last && last.rows() == 0) return;  // there is nothing that the head reads
    if (pass.drops(static_cast<std::int64_t>(layer))) {
      pass.copy_state(kept.states[layer], kept.states[layer + 1]);
    } else {
      layer_forward(pass, static_cast<std::int64_t>(layer), tensors.layers[layer], kept.states[layer],
                    kept.layers[layer], is_last ? kept.head_rows : HeadRowActivations{});
    }
    report(layer + 1, kept.states[layer + 1]);
  }
  if (pass.config.has_final_norm()) {
    pass.backend.layernorm_forward(kept.states[layers], tensors.final_norm, kept.final_norm,
                                   kept.final_norm_state, last.rows());
  }
}

void encoder_backward(const PassContext& pass, const ModelTensors& tensors, const ModelTensors& gradients,
                      const Activations& kept, bool grad_checkpoint) {
  const std::size_t layers = tensors.layers.size();
  const BackwardWorkspace& work = kept.workspace;
  const kernels::Index last_rows = at_head_rows(pass, kept.head_rows).rows();
  if (last_rows == 0) return;
  if (pass.config.has_final_norm()) {
    pass.backend.layernorm_backward(
        {work.gradient, kept.states[layers], kept.final_norm_state, work.gradient, last_rows},
        tensors.final_norm, gradients.final_norm, false);
  }
  for (std::size_t i = layers; i-- > 0;) {
    throw_if_cancelled_anywhere();
    const std::int64_t layer = static_cast<std::int64_t>(i);
    if (pass.drops(layer)) continue;
    if (grad_checkpoint && i + 1 < layers) {
      layer_forward(pass, layer, tensors.layers[i], kept.states[i], kept.layers[i], {});
    }
    layer_backward(pass, layer, tensors.layers[i], gradients.layers[i], kept.states[i], kept.layers[i],
                   i + 1 == layers ? kept.head_rows : HeadRowActivations{}, work);
  }
  embeddings_backward(pass, tensors.embeddings, gradients.embeddings, kept.embeddings, work.gradient);
}

}  // namespace bigbird
