// See encoder.h.
#include "lib/model/network/encoder.h"

#include "lib/core/cancel.h"
#include "lib/model/network/attention.h"
#include "lib/model/network/embeddings.h"
#include "lib/model/network/feed_forward.h"

namespace bigbird {
namespace {

kernels::ConstValues attention_output(const PassContext& pass, const LayerActivations& kept) {
  return pass.config.norm_type == NormType::postnorm ? kept.attention.norm : kept.attention.sum;
}

void layer_forward(const PassContext& pass, std::int64_t layer, const LayerTensors& tensors,
                   kernels::ConstValues input, const LayerActivations& kept) {
  attention_layer_forward(pass, layer, tensors.attention, input, kept.attention);
  feed_forward_forward(pass, layer, tensors.feed_forward, attention_output(pass, kept), kept.feed_forward);
}

void layer_backward(const PassContext& pass, std::int64_t layer, const LayerTensors& tensors,
                    const LayerTensors& gradients, kernels::ConstValues input, const LayerActivations& kept,
                    const BackwardWorkspace& work) {
  feed_forward_backward(pass, layer, tensors.feed_forward, gradients.feed_forward,
                        attention_output(pass, kept), kept.feed_forward, work);
  attention_layer_backward(pass, layer, tensors.attention, gradients.attention, input, kept.attention, work);
}

}  // namespace

void encoder_forward(const PassContext& pass, const ModelTensors& tensors, const Activations& kept,
                     const StateListener& on_state) {
  const std::size_t layers = tensors.layers.size();
  const auto report = [&](std::size_t state, kernels::ConstValues values) {
    pass.report_state(on_state, state, values);
  };

  embeddings_forward(pass, tensors.embeddings, kept.embeddings, kept.states[0]);
  report(0, kept.states[0]);
  for (std::size_t layer = 0; layer < layers; ++layer) {
    throw_if_cancelled_anywhere();
    if (pass.drops(static_cast<std::int64_t>(layer))) {
      pass.copy_state(kept.states[layer], kept.states[layer + 1]);
    } else {
      layer_forward(pass, static_cast<std::int64_t>(layer), tensors.layers[layer], kept.states[layer],
                    kept.layers[layer]);
    }
    report(layer + 1, kept.states[layer + 1]);
  }
  if (pass.config.has_final_norm()) {
    pass.backend.layernorm_forward(kept.states[layers], tensors.final_norm, kept.final_norm,
                                   kept.final_norm_state, pass.tokens());
  }
}

void encoder_backward(const PassContext& pass, const ModelTensors& tensors, const ModelTensors& gradients,
                      const Activations& kept, bool grad_checkpoint) {
  const std::size_t layers = tensors.layers.size();
  const BackwardWorkspace& work = kept.workspace;
  if (pass.config.has_final_norm()) {
    pass.backend.layernorm_backward(
        {work.gradient, kept.states[layers], kept.final_norm_state, work.gradient, pass.tokens()},
        tensors.final_norm, gradients.final_norm, false);
  }
  for (std::size_t i = layers; i-- > 0;) {
    throw_if_cancelled_anywhere();
    const std::int64_t layer = static_cast<std::int64_t>(i);
    if (pass.drops(layer)) continue;
    if (grad_checkpoint && i + 1 < layers) {
      layer_forward(pass, layer, tensors.layers[i], kept.states[i], kept.layers[i]);
    }
    layer_backward(pass, layer, tensors.layers[i], gradients.layers[i], kept.states[i], kept.layers[i], work);
  }
  embeddings_backward(pass, tensors.embeddings, gradients.embeddings, kept.embeddings, work.gradient);
}

}  // namespace bigbird
