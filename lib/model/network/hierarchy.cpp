// See hierarchy.h.
#include "lib/model/network/hierarchy.h"

#include <cmath>
#include <cstddef>
#include <utility>

#include "lib/core/cancel.h"
#include "lib/model/network/encoder.h"
#include "lib/model/network/head_losses.h"

namespace bigbird {
namespace {

AttentionRun document_run(const ModelConfig& config, std::int64_t layer, bool training,
                          const std::uint64_t* dropout_seed) {
  kernels::AttentionBatch call = attention_call(config);
  if (training && config.attention_probs_dropout_prob > 0) {
    call.drop_probability = static_cast<float>(config.attention_probs_dropout_prob);
    call.dropout_seed = dropout_seed;
    call.dropout_site = dropout_site(DropoutSite::attention_probabilities, layer);
  }
  return {0, call};
}

void document_layer_forward(const PassContext& pass, std::int64_t layer, const LayerTensors& tensors,
                            kernels::ConstValues input, const LayerActivations& kept) {
  attention_layer_forward(pass, layer, tensors.attention, input, kept.attention, {});
  feed_forward_forward(pass, layer, tensors.feed_forward, kept.attention.norm, kept.feed_forward);
}

std::size_t bytes_of_rows(const PassContext& pass, kernels::Values values) {
  return bytes_of(values, pass.batch.sequences() * pass.width());
}

}  // namespace

ModelConfig document_config(const ModelConfig& config) {
  ModelConfig of_documents = config;
  of_documents.num_hidden_layers = config.documents.num_hidden_layers;
  of_documents.block_size = 1;
  return of_documents;
}

PassContext DocumentPass::context(const PassContext& encoder) const {
  PassContext pass{encoder.backend, config, batch, runs, 0, encoder.training, encoder.dropout_seed};
  pass.first_layer = encoder.config.num_hidden_layers;
  return pass;
}

void document_pass(const ModelConfig& config, DecoderPlans& plans, const Batch& batch, bool training,
                   const std::uint64_t* dropout_seed, kernels::Index first_slot, DocumentPass& pass) {
  pass.config = document_config(config);
  pass.batch = {};
  pass.batch.token_offsets = batch.documents.sentence_offsets;
  for (std::size_t d = 0; d + 1 < pass.batch.token_offsets.size(); ++d)
    pass.batch.lengths.push_back(pass.batch.token_offsets[d + 1] - pass.batch.token_offsets[d]);
  pass.runs.clear();
  for (std::int64_t layer = 0; layer < pass.config.num_hidden_layers; ++layer) {
    AttentionRun run = document_run(pass.config, config.num_hidden_layers + layer, training, dropout_seed);
    for (const std::int64_t sentences : pass.batch.lengths)
      run.append(sentences, sentences, sentences, plans.cross(sentences, sentences));
    run.set_slot(first_slot + layer);
    pass.runs.push_back({std::move(run)});
  }
}

kernels::Index later_stacks(const ModelConfig& config, DecoderPlans& plans, const Batch& batch, bool training,
                            const std::uint64_t* dropout_seed, kernels::Index end, DocumentPass& documents,
                            DecoderPass& decoder) {
  if (config.has_any_decoder()) {
    end -= 2 * config.decoder.num_hidden_layers;
    decoder = decoder_pass(config, plans, batch, training, dropout_seed, end);
  }
  if (!config.has_documents()) return end;
  end -= config.documents.num_hidden_layers;
  document_pass(config, plans, batch, training, dropout_seed, end, documents);
  return end;
}

std::vector<float> sinusoids(std::int64_t positions, std::int64_t width) {
  std::vector<float> table;
  table.reserve(static_cast<std::size_t>(positions * width));
  for (std::int64_t position = 0; position < positions; ++position) {
    for (std::int64_t column = 0; column < width; ++column) {
      const std::int64_t even = column - column % 2;
      const double power = static_cast<double>(even) / static_cast<double>(width);
      const double angle = static_cast<double>(position) / std::pow(10000.0, power);
      table.push_back(static_cast<float>(column % 2 == 0 ? std::sin(angle) : std::cos(angle)));
    }
  }
  return table;
}

void fill_sinusoids(kernels::Backend& backend, const ModelConfig& config, float* to, ModelTensors& tensors) {
  if (to == nullptr) return;
  const std::vector<float> table = sinusoids(config.max_position_embeddings, config.hidden_size);
  backend.upload(to, table.data(), table.size() * sizeof(float));
  tensors.embeddings.position = tensors.decoder.embeddings.position = to;
  tensors.documents.sinusoids = to;
}

void documents_stage(const PassContext& pass, const Activations& kept) {
  const Batch& batch = pass.batch;
  const auto upload = [&](std::int32_t* to, const std::vector<std::int32_t>& from) {
    pass.backend.upload(to, from.data(), from.size() * sizeof(std::int32_t));
  };
  std::vector<std::int32_t> ends, places, target_rows;
  for (std::size_t s = 0; s < batch.lengths.size(); ++s)
    ends.push_back(static_cast<std::int32_t>(batch.token_offsets[s] + batch.lengths[s] - 1));
  for (const std::int64_t sentences : pass.documents->batch.lengths) {
    for (std::int64_t place = 0; place < sentences; ++place)
      places.push_back(static_cast<std::int32_t>(place));
  }
  upload(kept.documents.ends, ends);
  upload(kept.documents.places, places);
  if (pass.config.writes_sentences()) {
    for (std::size_t s = 0; s < batch.documents.written.size(); ++s) {
      const auto rows = static_cast<std::size_t>(batch.targets.token_offsets[s + 1]);
      target_rows.resize(rows, batch.documents.written[s]);  // padding too, whose gradients are zeros
    }
    if (!target_rows.empty()) upload(kept.documents.target_rows, target_rows);
  } else if (!batch.sequence_labels.empty()) {
    upload(kept.sequence.labels, batch.sequence_labels);
  }
}

void documents_forward(const PassContext& encoder, const ModelTensors& tensors, const Activations& all,
                       kernels::ConstValues hidden) {
  const PassContext pass = encoder.documents->context(encoder);
  const DocumentActivations& kept = all.documents;
  kernels::Backend& backend = pass.backend;
  const kernels::Index rows = pass.tokens(), width = pass.width();
  const kernels::Values first = kept.states[0];
  backend.gather_rows(hidden, kept.ends, first, rows, width);
  backend.gather_rows(tensors.documents.sinusoids, kept.places, kept.placed, rows, width);
  backend.add(kept.placed, first, rows * width);
  const kernels::Dropout dropout = pass.dropout(DropoutSite::document_places, 0);
  if (dropout.probability > 0) backend.dropout(first, first, rows * width, dropout);
  for (std::size_t i = 0; i < kept.layers.size(); ++i) {
    throw_if_cancelled_anywhere();
    document_layer_forward(pass, static_cast<std::int64_t>(i), tensors.documents.layers[i], kept.states[i],
                           kept.layers[i]);
  }
}

void documents_backward(const PassContext& encoder, const ModelTensors& tensors,
                        const ModelTensors& gradients, const Activations& all, bool grad_checkpoint) {
  const PassContext pass = encoder.documents->context(encoder);
  const DocumentActivations& kept = all.documents;
  const BackwardWorkspace& work = kept.workspace;
  kernels::Backend& backend = pass.backend;
  const kernels::Index rows = pass.tokens(), width = pass.width();
  for (std::size_t i = kept.layers.size(); i-- > 0;) {
    throw_if_cancelled_anywhere();
    const std::int64_t layer = static_cast<std::int64_t>(i);
    const LayerTensors &of = tensors.documents.layers[i], &to = gradients.documents.layers[i];
    const LayerActivations& of_layer = kept.layers[i];
    if (grad_checkpoint && i + 1 < kept.layers.size())
      document_layer_forward(pass, layer, of, kept.states[i], of_layer);
    feed_forward_backward(pass, layer, of.feed_forward, to.feed_forward, of_layer.attention.norm,
                          of_layer.feed_forward, work);
    attention_layer_backward(pass, layer, of.attention, to.attention, kept.states[i], of_layer.attention, {},
                             work);
  }
  const kernels::Dropout dropout = pass.dropout(DropoutSite::document_places, 0);
  if (dropout.probability > 0) backend.dropout(work.gradient, work.gradient, rows * width, dropout);
  backend.scatter_add_rows(work.gradient, kept.ends, all.workspace.gradient, rows, width);
}

void zero_document_gradient(const PassContext& pass, const DocumentActivations& kept) {
  pass.backend.zero(kept.workspace.gradient.data(), bytes_of_rows(pass, kept.workspace.gradient));
}

void sentence_head_forward(const PassContext& pass, const ModelTensors& tensors, const Activations& kept) {
  const kernels::Index sentences = pass.batch.sequences();
  pass.backend.dropout(kept.documents.last_state(), kept.sequence.gathered, sentences * pass.width(),
                       pass.classifier_dropout(DropoutSite::classifier_input));
  pass.backend.linear_forward(kept.sequence.gathered, tensors.documents.labels, kept.sequence.logits,
                              sentences);
  sequence_loss_forward(pass, kept.sequence, 2);
}

void sentence_head_backward(const PassContext& pass, const ModelTensors& tensors,
                            const ModelTensors& gradients, const Activations& kept) {
  kernels::Backend& backend = pass.backend;
  const kernels::Index sentences = pass.batch.sequences();
  const kernels::Values gradient = kept.documents.workspace.gradient;
  sequence_loss_backward(pass, kept.sequence, 2, kept.scalars.scale(Loss::sequence));
  backend.linear_backward_weight(kept.sequence.dlogits, kept.sequence.gathered, tensors.documents.labels,
                                 gradients.documents.labels, sentences);
  backend.linear_backward_input(kept.sequence.dlogits, tensors.documents.labels, gradient, sentences, false);
  backend.dropout(gradient, gradient, sentences * pass.width(),
                  pass.classifier_dropout(DropoutSite::classifier_input));
}

void added_row_forward(const PassContext& decoder, std::int64_t layer, const NormTensors& norm,
                       kernels::ConstValues input, const CrossAttentionActivations& kept,
                       const DocumentActivations& documents) {
  decoder.backend.gather_rows(documents.last_state(), documents.target_rows, kept.sum, decoder.tokens(),
                              decoder.width());
  residual_forward(decoder, decoder.dropout(DropoutSite::cross_attention_output, layer), norm, input,
                   {kept.sum, kept.norm, kept.norm_state});
}

void added_row_backward(const PassContext& decoder, std::int64_t layer, const NormTensors& norm,
                        const NormTensors& gradients, const CrossAttentionActivations& kept,
                        const BackwardWorkspace& work, const DocumentActivations& documents) {
  kernels::LinearGradients none;
  const kernels::ConstValues branch =
      residual_backward(decoder, decoder.dropout(DropoutSite::cross_attention_output, layer), norm, gradients,
                        none, {kept.sum, kept.norm, kept.norm_state}, work);
  // Many rows are of one sentence: sums by row, as a table of embeddings gets them.
  const kernels::Index sentences = decoder.documents->batch.tokens();
  kernels::EmbeddingIndices rows;
  rows.ids = documents.target_rows;
  rows.tokens = decoder.tokens();
  kernels::EmbeddingTables sizes;
  sizes.width = decoder.width();
  sizes.vocabulary = sentences;
  kernels::EmbeddingGradients sums;
  sums.word = static_cast<float*>(documents.workspace.gradient.data());
  decoder.backend.embedding_backward(branch, rows, sizes, sums);
}

}  // namespace bigbird
