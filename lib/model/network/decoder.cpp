// See decoder.h.
#include "lib/model/network/decoder.h"

#include <algorithm>

#include "lib/core/cancel.h"
#include "lib/model/network/attention.h"
#include "lib/model/network/cross_attention.h"
#include "lib/model/network/embeddings.h"
#include "lib/model/network/feed_forward.h"
#include "lib/model/network/sequence_loss.h"

namespace bigbird {
namespace {

// A pass through the layers.
struct DecoderStack {
  PassContext pass;
  const DecoderPass& decoder;
  kernels::ConstValues hidden;
  kernels::Index hidden_rows;

  CrossAttentionPass cross(std::int64_t layer) const {
    return {pass, decoder.cross_runs[static_cast<std::size_t>(layer)], hidden, hidden_rows};
  }
  bool postnorm() const { return pass.config.norm_type == NormType::postnorm; }
  kernels::ConstValues written(const AttentionActivations& kept) const {
    return postnorm() ? kept.norm : kept.sum;
  }
  kernels::ConstValues read(const CrossAttentionActivations& kept) const {
    return postnorm() ? kept.norm : kept.sum;
  }

  void layer_forward(std::int64_t layer, const DecoderLayerTensors& tensors, kernels::ConstValues input,
                     const DecoderLayerActivations& kept) const {
    attention_layer_forward(pass, layer, tensors.attention, input, kept.self.attention, {});
    cross_attention_forward(cross(layer), layer, tensors.cross_attention, written(kept.self.attention),
                            kept.cross);
    feed_forward_forward(pass, layer, tensors.feed_forward, read(kept.cross), kept.self.feed_forward);
  }
};

DecoderStack stack_of(const PassContext& pass, kernels::ConstValues hidden) {
  return {pass.decoder->context(pass), *pass.decoder, hidden, pass.tokens()};
}

bool labelled(const PassContext& pass) {
  return !pass.batch.targets.labels.empty();
}

// Some rows of the last hidden state and the logits of them.
struct OutputRows {
  const PassContext& pass;  // of the decoder
  const DecoderTensors& tensors;
  const DecoderActivations& kept;
  kernels::Index first, rows;

  kernels::ConstValues hidden() const { return kept.last_hidden_state() + first * pass.width(); }

  kernels::Linear output() const { return pass.backend.in_wide_rows(tensors.output); }

  void forward() const { pass.backend.linear_forward(hidden(), output(), kept.logits, rows); }

  // Their losses; with a scale (on the device) the logits become their gradient.
  void loss(const float* scale) const {
    const std::int64_t columns = pass.config.vocab_size;
    const kernels::ClassLabels labels{kept.labels + first,
                                      static_cast<float>(pass.smoothing.own_share(columns)),
                                      static_cast<float>(pass.smoothing.other_share(columns))};
    const kernels::Values gradient = scale == nullptr ? kernels::Values() : kept.logits;
    pass.backend.cross_entropy({kept.logits, rows, columns, output().out_stride}, labels, kept.losses + first,
                               kept.predictions + first, {gradient, scale});
  }

  // Of loss(scale), to the word table and to workspace.gradient.
  void backward(const DecoderTensors& gradients) const {
    pass.backend.linear_backward_weight(kept.logits, hidden(), output(), {gradients.output.weight, nullptr},
                                        rows);
    pass.backend.linear_backward_input(kept.logits, output(), kept.workspace.gradient + first * pass.width(),
                                       rows, false);
  }
};

}  // namespace

void decoder_stage(const PassContext& pass, const DecoderActivations& kept) {
  if (!pass.decoder->runs_at_all()) return;
  embeddings_stage(pass.decoder->context(pass), kept.embeddings);
  const std::vector<std::int32_t>& labels = pass.batch.targets.labels;
  if (labelled(pass)) pass.backend.upload(kept.labels, labels.data(), labels.size() * sizeof(std::int32_t));
}

void decoder_forward(const PassContext& encoder, const DecoderTensors& tensors,
                     const DecoderTensors* gradients, const Activations& all, kernels::ConstValues hidden,
                     const StateListener& on_state) {
  const DecoderActivations& kept = all.decoder;
  if (!encoder.decoder->runs_at_all()) return;
  const DecoderStack stack = stack_of(encoder, hidden);
  const PassContext& pass = stack.pass;
  embeddings_forward(pass, tensors.embeddings, kept.embeddings, kept.states[0]);
  pass.report_state(on_state, 0, kept.states[0]);
  for (std::size_t i = 0; i < tensors.layers.size(); ++i) {
    throw_if_cancelled_anywhere();
    if (pass.drops(static_cast<std::int64_t>(i))) {
      pass.copy_state(kept.states[i], kept.states[i + 1]);
    } else {
      stack.layer_forward(static_cast<std::int64_t>(i), tensors.layers[i], kept.states[i], kept.layers[i]);
    }
    pass.report_state(on_state, i + 1, kept.states[i + 1]);
  }
  if (pass.config.has_final_norm()) {
    pass.backend.layernorm_forward(kept.states.back(), tensors.final_norm, kept.final_norm,
                                   kept.final_norm_state, pass.tokens());
  }
  const kernels::Index rows = pass.tokens();
  for (kernels::Index first = 0; first < rows; first += kept.logit_rows) {
    const OutputRows piece{pass, tensors, kept, first, std::min(kept.logit_rows, rows - first)};
    piece.forward();
    if (!labelled(encoder)) continue;
    piece.loss(gradients == nullptr ? nullptr : all.scalars.scale(Loss::target));
    if (gradients != nullptr) piece.backward(*gradients);
  }
}

void count_target_labels(const Batch& batch, LabelCounts& labels) {
  labels[Loss::target] = known_labels(batch.targets.labels);
}

void decoder_result(const PassContext& pass, const DecoderActivations& kept, ForwardResult& result) {
  if (!pass.decoder->runs_at_all() || !labelled(pass)) return;
  LossTerm& term = result[Loss::target];
  add_losses(pass.backend, kept.losses, kept.predictions, pass.batch.targets.labels, term);
  term.sum -= static_cast<double>(term.count) * pass.smoothing.entropy(pass.config.vocab_size);
}

void decoder_backward(const PassContext& encoder, const DecoderTensors& tensors,
                      const DecoderTensors& gradients, const Activations& all, bool grad_checkpoint) {
  if (!encoder.decoder->runs_at_all() || !labelled(encoder)) return;
  const DecoderActivations& kept = all.decoder;
  const BackwardWorkspace& work = kept.workspace;
  const DecoderStack stack = stack_of(encoder, all.last_hidden_state());
  const PassContext& pass = stack.pass;
  kernels::Backend& backend = pass.backend;
  const kernels::Index rows = pass.tokens();

  if (!kept.logits_in_pieces) {
    const OutputRows whole{pass, tensors, kept, 0, rows};
    whole.loss(all.scalars.scale(Loss::target));
    whole.backward(gradients);
  }
  if (pass.config.has_final_norm()) {
    backend.layernorm_backward(
        {work.gradient, kept.states.back(), kept.final_norm_state, work.gradient, rows}, tensors.final_norm,
        gradients.final_norm, false);
  }
  for (std::size_t i = tensors.layers.size(); i-- > 0;) {
    throw_if_cancelled_anywhere();
    const std::int64_t layer = static_cast<std::int64_t>(i);
    const DecoderLayerTensors& of = tensors.layers[i];
    const DecoderLayerTensors& to = gradients.layers[i];
    const DecoderLayerActivations& of_layer = kept.layers[i];
    if (pass.drops(layer)) continue;
    if (grad_checkpoint && i + 1 < tensors.layers.size())
      stack.layer_forward(layer, of, kept.states[i], of_layer);
    feed_forward_backward(pass, layer, of.feed_forward, to.feed_forward, stack.read(of_layer.cross),
                          of_layer.self.feed_forward, work);
    cross_attention_backward(stack.cross(layer), layer, of.cross_attention, to.cross_attention,
                             stack.written(of_layer.self.attention), of_layer.cross, work,
                             kept.key_value_gradient, all.workspace.gradient);
    attention_layer_backward(pass, layer, of.attention, to.attention, kept.states[i], of_layer.self.attention,
                             {}, work);
  }
  embeddings_backward(pass, tensors.embeddings, gradients.embeddings, kept.embeddings, work.gradient);
}

}  // namespace bigbird
