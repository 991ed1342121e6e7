// See decoder.h.
#include "lib/model/network/decoder.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "lib/core/cancel.h"
#include "lib/core/rng.h"
#include "lib/model/network/encoder.h"
#include "lib/model/network/head_losses.h"
#include "lib/model/network/hierarchy.h"
#include "lib/model/network/pass_context.h"
#include "lib/model/plans/patterns.h"

namespace bigbird {
namespace {

// One run over the whole batch, with no sequences yet.
AttentionRun decoder_run(const ModelConfig& config, bool causal, DropoutSite site, std::int64_t layer,
                         bool training, const std::uint64_t* dropout_seed) {
  kernels::AttentionBatch call = attention_call(config);
  call.causal = causal;
  if (training && config.attention_probs_dropout_prob > 0) {
    call.drop_probability = static_cast<float>(config.attention_probs_dropout_prob);
    call.dropout_seed = dropout_seed;
    call.dropout_site = dropout_site(site, layer);
  }
  return {0, call};
}

kernels::QueryKeyValue cross_inputs(const CrossAttentionActivations& kept, kernels::Index width) {
  return {{kept.query, width}, {kept.key_value, 2 * width}, {kept.key_value + width, 2 * width}};
}

// The attention of a decoder's layer over the encoder's last hidden state (docs/specification.md 2.6):
// queries of the decoder's rows, keys and values of the encoder's, output product, dropout, residual and
// LayerNorm (post-LN: after the sum; pre-LN: on the way in, of the decoder's rows alone).
//
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
                             const CrossAttentionActivations& kept) {
  kernels::Backend& backend = pass.decoder.backend;
  const kernels::Index rows = pass.decoder.tokens(), width = pass.decoder.width();
  const bool postnorm = pass.decoder.config.norm_type == NormType::postnorm;
  if (!postnorm) backend.layernorm_forward(input, tensors.norm, kept.norm, kept.norm_state, rows);
  backend.linear_forward(postnorm ? input : kept.norm, tensors.query, kept.query, rows);
  backend.linear_forward(pass.hidden, tensors.key_value, kept.key_value, pass.hidden_rows);
  for (const AttentionRun& run : pass.runs) {
    backend.attention_forward(run.call(), cross_inputs(kept, width), {kept.context, width}, kept.log_sum_exp);
  }
  backend.linear_forward(kept.context, tensors.output, kept.sum, rows);
  residual_forward(pass.decoder, pass.decoder.dropout(DropoutSite::cross_attention_output, layer),
                   tensors.norm, input, {kept.sum, kept.norm, kept.norm_state});
}

// As attention_layer_backward(); the gradient of the encoder's hidden state is added to dhidden [T, C].
// key_value_gradient [T, 2C] is scratch.
void cross_attention_backward(const CrossAttentionPass& pass, std::int64_t layer,
                              const CrossAttentionTensors& tensors, const CrossAttentionTensors& gradients,
                              kernels::ConstValues input, const CrossAttentionActivations& kept,
                              const BackwardWorkspace& work, kernels::Values key_value_gradient,
                              kernels::Values dhidden) {
  kernels::Backend& backend = pass.decoder.backend;
  const kernels::Index rows = pass.decoder.tokens(), width = pass.decoder.width();
  const bool postnorm = pass.decoder.config.norm_type == NormType::postnorm;
  const kernels::Values dcontext = work.wide, dquery = work.wide + rows * width;

  kernels::LinearGradients output = gradients.output;
  const kernels::ConstValues branch =
      residual_backward(pass.decoder, pass.decoder.dropout(DropoutSite::cross_attention_output, layer),
                        tensors.norm, gradients.norm, output, {kept.sum, kept.norm, kept.norm_state}, work);
  backend.linear_backward_weight(branch, kept.context, tensors.output, output, rows);
  backend.linear_backward_input(branch, tensors.output, dcontext, rows, false);
  for (const AttentionRun& run : pass.runs) {
    backend.attention_backward(
        run.call(), cross_inputs(kept, width), {kept.context, width}, kept.log_sum_exp, {dcontext, width},
        {{dquery, width}, {key_value_gradient, 2 * width}, {key_value_gradient + width, 2 * width}});
  }
  backend.linear_backward_weight(key_value_gradient, pass.hidden, tensors.key_value, gradients.key_value,
                                 pass.hidden_rows);
  backend.linear_backward_input(key_value_gradient, tensors.key_value, dhidden, pass.hidden_rows, true);

  backend.linear_backward_weight(dquery, postnorm ? input : kept.norm, tensors.query, gradients.query, rows);
  backend.linear_backward_input(dquery, tensors.query, postnorm ? work.gradient : work.branch, rows,
                                postnorm);
  if (!postnorm) {
    backend.layernorm_backward({work.branch, input, kept.norm_state, work.gradient, rows}, tensors.norm,
                               gradients.norm, true);
  }
}

// A pass through the layers.
struct DecoderStack {
  PassContext pass;
  const DecoderPass& decoder;
  kernels::ConstValues hidden;
  kernels::Index hidden_rows;

  // The vector of a sentence takes the place of cross-attention (hierarchy.h).
  bool adds_rows() const { return pass.documents != nullptr; }
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
                     const DecoderLayerActivations& kept, const DocumentActivations& documents) const {
    attention_layer_forward(pass, layer, tensors.attention, input, kept.self.attention, {});
    if (adds_rows()) {
      added_row_forward(pass, layer, tensors.cross_attention.norm, written(kept.self.attention), kept.cross,
                        documents);
    } else {
      cross_attention_forward(cross(layer), layer, tensors.cross_attention, written(kept.self.attention),
                              kept.cross);
    }
    feed_forward_forward(pass, layer, tensors.feed_forward, read(kept.cross), kept.self.feed_forward);
  }
};

DecoderStack stack_of(const PassContext& pass, kernels::ConstValues hidden) {
  return {pass.decoder->context(pass), *pass.decoder, hidden, pass.tokens()};
}

// Layers of encoders, which masks count first.
std::int64_t layers_before_decoder(const ModelConfig& config) {
  return config.num_hidden_layers + (config.has_documents() ? config.documents.num_hidden_layers : 0);
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

ModelConfig decoder_config(const ModelConfig& config) {
  ModelConfig of_decoder = config;
  of_decoder.num_hidden_layers = config.decoder.num_hidden_layers;
  of_decoder.num_attention_heads = config.decoder.num_attention_heads;
  of_decoder.intermediate_size = config.decoder.intermediate_size;
  of_decoder.max_position_embeddings = config.decoder_positions();
  of_decoder.type_vocab_size = 0;
  return of_decoder;
}

const BlockPlan& DecoderPlans::plan(std::int64_t query_blocks, std::int64_t key_blocks) {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto& slot = plans_[{query_blocks, key_blocks}];
  if (slot) return *slot;
  KeyLists lists = causal_rows(query_blocks, heads_);
  if (key_blocks > 0) {
    std::vector<std::int32_t> keys(static_cast<std::size_t>(key_blocks));
    std::iota(keys.begin(), keys.end(), 0);
    for (auto& head : lists) std::fill(head.begin(), head.end(), keys);
  }
  slot = std::make_unique<BlockPlan>(lists, key_blocks);
  return *slot;
}

const BlockPlan& DecoderPlans::causal(std::int64_t blocks) {
  return plan(blocks, 0);
}

const BlockPlan& DecoderPlans::cross(std::int64_t query_blocks, std::int64_t key_blocks) {
  return plan(query_blocks, key_blocks);
}

PassContext DecoderPass::context(const PassContext& encoder) const {
  PassContext pass{encoder.backend, config, batch, runs, 0, encoder.training, encoder.dropout_seed};
  pass.first_layer = layers_before_decoder(encoder.config);
  pass.documents = encoder.documents;
  pass.smoothing = encoder.smoothing;
  pass.dropped = encoder.dropped;
  return pass;
}

std::vector<std::uint8_t> drawn_layers(const ModelConfig& config, bool training, std::uint64_t seed) {
  std::vector<std::uint8_t> dropped;
  const double of_encoder = config.decoder.encoder_layer_drop, of_decoder = config.decoder.layer_drop;
  if (!training || !config.has_decoder() || (of_encoder == 0.0 && of_decoder == 0.0)) return dropped;
  const std::int64_t encoder_layers = config.num_hidden_layers;
  for (std::int64_t layer = 0; layer < encoder_layers + config.decoder.num_hidden_layers; ++layer) {
    CounterRng random(seed, Purpose::layer_drop, static_cast<std::uint64_t>(layer));
    dropped.push_back(random.uniform() < (layer < encoder_layers ? of_encoder : of_decoder) ? 1 : 0);
  }
  return dropped;
}

DecoderPass decoder_pass(const ModelConfig& config, DecoderPlans& plans, const Batch& batch, bool training,
                         const std::uint64_t* dropout_seed, kernels::Index first_slot) {
  DecoderPass pass;
  pass.config = decoder_config(config);
  pass.batch.ids = batch.targets.ids;
  pass.batch.types.assign(batch.targets.ids.size(), 0);
  pass.batch.token_offsets = batch.targets.token_offsets;
  pass.batch.lengths = batch.targets.lengths;
  if (!pass.runs_at_all()) return pass;
  const auto blocks = [&](std::int64_t rows) { return (rows + config.block_size - 1) / config.block_size; };
  kernels::Index slot = first_slot;
  for (std::int64_t layer = 0; layer < config.decoder.num_hidden_layers; ++layer) {
    const std::int64_t number = layers_before_decoder(config) + layer;
    AttentionRun self =
        decoder_run(pass.config, true, DropoutSite::attention_probabilities, number, training, dropout_seed);
    AttentionRun cross = decoder_run(pass.config, false, DropoutSite::cross_attention_probabilities, number,
                                     training, dropout_seed);
    for (std::size_t s = 0; s < batch.targets.lengths.size(); ++s) {
      const std::int64_t rows = batch.targets.token_offsets[s + 1] - batch.targets.token_offsets[s];
      const std::int64_t length = batch.targets.lengths[s];
      self.append(rows, length, length, plans.causal(blocks(rows)));
      if (config.has_documents()) continue;
      const std::int64_t key_rows = batch.token_offsets[s + 1] - batch.token_offsets[s];
      cross.append_cross(rows, length, key_rows, batch.lengths[s],
                         plans.cross(blocks(rows), blocks(key_rows)));
    }
    self.set_slot(slot++);
    pass.runs.push_back({std::move(self)});
    if (config.has_documents()) continue;
    cross.set_slot(slot++);
    pass.cross_runs.push_back({std::move(cross)});
  }
  return pass;
}

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
      stack.layer_forward(static_cast<std::int64_t>(i), tensors.layers[i], kept.states[i], kept.layers[i],
                          all.documents);
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
      stack.layer_forward(layer, of, kept.states[i], of_layer, all.documents);
    feed_forward_backward(pass, layer, of.feed_forward, to.feed_forward, stack.read(of_layer.cross),
                          of_layer.self.feed_forward, work);
    if (stack.adds_rows()) {
      added_row_backward(pass, layer, of.cross_attention.norm, to.cross_attention.norm, of_layer.cross, work,
                         all.documents);
    } else {
      cross_attention_backward(stack.cross(layer), layer, of.cross_attention, to.cross_attention,
                               stack.written(of_layer.self.attention), of_layer.cross, work,
                               kept.key_value_gradient, all.workspace.gradient);
    }
    attention_layer_backward(pass, layer, of.attention, to.attention, kept.states[i], of_layer.self.attention,
                             {}, work);
  }
  embeddings_backward(pass, tensors.embeddings, gradients.embeddings, kept.embeddings, work.gradient);
}

}  // namespace bigbird
