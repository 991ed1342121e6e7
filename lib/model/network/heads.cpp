// Which head a pass goes through, and those that read masked tokens or the first one; see heads.h.
#include "lib/model/network/heads.h"

#include <algorithm>
#include <numeric>

#include "lib/model/network/contrast.h"
#include "lib/model/network/decoder.h"
#include "lib/model/network/head_losses.h"
#include "lib/model/network/head_rows.h"
#include "lib/model/network/hierarchy.h"
#include "lib/model/network/stem.h"

namespace bigbird {
namespace {

// BigBirdForMaskedLM, and one half of BigBirdForPreTraining: dense, gelu, LayerNorm and a decoder tied to the
// word table, on the masked rows only.
void masked_head_stage(const PassContext& pass, const Activations& activations) {
  const MaskedActivations& kept = activations.masked;
  const std::vector<std::int32_t> rows = head_row_numbers(pass, activations.head_rows).masked;
  pass.backend.upload(kept.rows, rows.data(), rows.size() * sizeof(std::int32_t));
  if (pass.batch.masked_labels.empty()) return;
  std::vector<std::int32_t> labels = pass.batch.masked_labels;
  labels.resize(rows.size(), ignored_label);
  pass.backend.upload(kept.labels, labels.data(), labels.size() * sizeof(std::int32_t));
}

void masked_head_forward(const PassContext& pass, const ModelTensors& model, const Activations& activations,
                         kernels::ConstValues hidden) {
  kernels::Backend& backend = pass.backend;
  const MaskedHeadTensors& tensors = model.masked;
  const MaskedActivations& kept = activations.masked;
  const kernels::Index rows = pass.masked_rows;
  if (rows == 0) return;
  if (pass.stem != nullptr) {
    spread_forward(pass, model.embeddings.stem, activations.embeddings.stem, hidden);
    hidden = activations.embeddings.stem.tokens;
  }
  backend.gather_rows(hidden, kept.rows, kept.gathered, rows, pass.head_width());
  backend.linear_activation_forward(kept.gathered, tensors.transform, pass.config.masked_head_activation(),
                                    kept.transform_pre, kept.transform, rows);
  backend.layernorm_forward(kept.transform, tensors.norm, kept.norm, kept.norm_state, rows);
  const kernels::Linear decoder = backend.in_wide_rows(tensors.decoder);
  backend.linear_forward(kept.norm, decoder, kept.logits, rows);
  if (pass.batch.masked_labels.empty()) return;
  const kernels::LossGradient dlogits{kept.logits, activations.scalars.scale(Loss::mlm)};
  backend.cross_entropy({kept.logits, rows, pass.config.vocab_size, decoder.out_stride}, {kept.labels},
                        kept.losses, kept.predictions, pass.scale_known ? dlogits : kernels::LossGradient{});
}

// Every token's next one, of the rows that the batch lists: the decoder of the head for masked tokens without
// the layers before it. Where logits are taken in pieces, their gradient is too, in the forward pass.
struct NextTokenRows {
  const PassContext& pass;
  const MaskedHeadTensors& tensors;
  const Activations& all;
  kernels::Index first, rows;

  const MaskedActivations& kept() const { return all.masked; }
  kernels::Linear output() const { return pass.backend.in_wide_rows(tensors.decoder); }
  kernels::ConstValues hidden() const { return kept().gathered + first * pass.head_width(); }

  void forward() const { pass.backend.linear_forward(hidden(), output(), kept().logits, rows); }
  void loss(bool with_gradient) const {
    const kernels::LossGradient dlogits{kept().logits, all.scalars.scale(Loss::mlm)};
    pass.backend.cross_entropy({kept().logits, rows, pass.config.vocab_size, output().out_stride},
                               {kept().labels + first}, kept().losses + first, kept().predictions + first,
                               with_gradient ? dlogits : kernels::LossGradient{});
  }
  // Of loss(true); the gradient of the rows lies where a head for masked tokens has its LayerNorm.
  void backward(const MaskedHeadTensors& gradients) const {
    pass.backend.linear_backward_weight(kept().logits, hidden(), output(), gradients.decoder, rows);
    pass.backend.linear_backward_input(kept().logits, output(), kept().norm + first * pass.head_width(), rows,
                                       false);
  }
};

void next_token_head_forward(const PassContext& pass, const ModelTensors& tensors,
                             const ModelTensors* gradients, const Activations& activations,
                             kernels::ConstValues hidden) {
  const MaskedActivations& kept = activations.masked;
  const kernels::Index rows = pass.masked_rows;
  if (rows == 0) return;
  pass.backend.gather_rows(hidden, kept.rows, kept.gathered, rows, pass.head_width());
  const bool labelled = !pass.batch.masked_labels.empty();
  for (kernels::Index first = 0; first < rows; first += kept.logit_rows) {
    const NextTokenRows piece{pass, tensors.masked, activations, first,
                              std::min(kept.logit_rows, rows - first)};
    piece.forward();
    if (!labelled) continue;
    piece.loss(pass.scale_known);
    if (gradients != nullptr) piece.backward(gradients->masked);
  }
}

void next_token_head_backward(const PassContext& pass, const ModelTensors& tensors,
                              const ModelTensors& gradients, const Activations& activations) {
  const MaskedActivations& kept = activations.masked;
  const kernels::Index rows = pass.masked_rows;
  if (pass.batch.masked_labels.empty() || rows == 0) return;
  if (!kept.logits_in_pieces) {
    const NextTokenRows whole{pass, tensors.masked, activations, 0, rows};
    if (!pass.scale_known) whole.loss(true);
    whole.backward(gradients.masked);
  }
  pass.backend.scatter_add_rows(kept.norm, kept.rows, activations.workspace.gradient, rows,
                                pass.head_width());
}

void count_masked_labels(const Batch& batch, LabelCounts& labels) {
  labels[Loss::mlm] = known_labels(batch.masked_labels);
}

void masked_head_result(const PassContext& pass, const MaskedActivations& kept, ForwardResult& result) {
  if (pass.batch.masked_labels.empty()) return;
  result.mlm_losses =
      add_losses(pass.backend, kept.losses, kept.predictions, pass.batch.masked_labels, result[Loss::mlm]);
}

void masked_head_backward(const PassContext& pass, const ModelTensors& model,
                          const ModelTensors& model_gradients, const Activations& activations) {
  if (pass.batch.masked_labels.empty()) return;
  kernels::Backend& backend = pass.backend;
  const MaskedHeadTensors &tensors = model.masked, &gradients = model_gradients.masked;
  const MaskedActivations& kept = activations.masked;
  const kernels::Index rows = pass.masked_rows, width = pass.width();
  // There are never more masked rows than tokens, so both fit into the [T, >= 4C] scratch. A stem's tokens
  // are more; what is gathered and normalised is spent there when its gradient comes.
  const kernels::Values dtransform =
      pass.stem != nullptr ? kept.norm : activations.workspace.wide_of_stream();
  const kernels::Values dgathered = pass.stem != nullptr ? kept.gathered : dtransform + rows * width;

  const kernels::Values dlogits = kept.logits;
  const kernels::Linear decoder = backend.in_wide_rows(tensors.decoder);
  if (!pass.scale_known)
    backend.cross_entropy({kept.logits, rows, pass.config.vocab_size, decoder.out_stride}, {kept.labels},
                          kept.losses, nullptr, {dlogits, activations.scalars.scale(Loss::mlm)});
  backend.linear_backward_weight(dlogits, kept.norm, decoder, gradients.decoder, rows);
  backend.linear_backward_input(dlogits, decoder, dtransform, rows, false);
  backend.layernorm_backward({dtransform, kept.transform, kept.norm_state, dtransform, rows}, tensors.norm,
                             gradients.norm, false);
  backend.activation_backward(kept.transform_pre, dtransform, dtransform, rows * width,
                              pass.config.masked_head_activation());
  backend.linear_backward_weight(dtransform, kept.gathered, tensors.transform, gradients.transform, rows);
  backend.linear_backward_input(dtransform, tensors.transform, dgathered, rows, false);
  const kernels::Values gradient = activations.workspace.gradient;
  if (pass.stem == nullptr)
    return backend.scatter_add_rows(dgathered, kept.rows, gradient, rows, pass.head_width());
  const StemActivations& stem = activations.embeddings.stem;
  const kernels::Index tokens = pass.batch.tokens() * pass.config.stem.stride;
  backend.zero(stem.dtokens.data(),
               static_cast<std::size_t>(tokens * width) * kernels::size_of(stem.dtokens.type()));
  backend.scatter_add_rows(dgathered, kept.rows, stem.dtokens, rows, width);
  spread_backward(pass, model.embeddings.stem, model_gradients.embeddings.stem, stem,
                  activations.last_hidden_state(), gradient);
}

// tanh of a dense layer on the first token, and the other half of BigBirdForPreTraining on top of it.
void pooler_forward(const PassContext& pass, const PooledHeadTensors& tensors, const Activations& kept,
                    kernels::ConstValues hidden) {
  kernels::Backend& backend = pass.backend;
  const kernels::Index sequences = pass.batch.sequences(), width = pass.width();
  gather_first_tokens(pass, kept.sequence, hidden);
  backend.linear_forward(kept.sequence.gathered, tensors.pooler, kept.pooled.linear, sequences);
  backend.tanh_forward(kept.pooled.linear, kept.pooled.pooled, sequences * width);
}

void next_sentence_head_forward(const PassContext& pass, const PooledHeadTensors& tensors,
                                const Activations& kept, kernels::ConstValues hidden) {
  kernels::Backend& backend = pass.backend;
  pooler_forward(pass, tensors, kept, hidden);
  backend.linear_forward(kept.pooled.pooled, tensors.next_sentence, kept.sequence.logits,
                         pass.batch.sequences());
  sequence_loss_forward(pass, kept.sequence, 2);
}

void next_sentence_head_backward(const PassContext& pass, const PooledHeadTensors& tensors,
                                 const PooledHeadTensors& gradients, const Activations& kept) {
  if (!has_sequence_loss(pass)) return;
  kernels::Backend& backend = pass.backend;
  const kernels::Index sequences = pass.batch.sequences(), width = pass.width();
  const kernels::Values dpooled = kept.workspace.wide_of_stream();
  const kernels::Values dlinear = dpooled + sequences * width;

  sequence_loss_backward(pass, kept.sequence, 2, kept.scalars.scale(Loss::sequence));
  const kernels::ConstValues dlogits = kept.sequence.dlogits;
  backend.linear_backward_weight(dlogits, kept.pooled.pooled, tensors.next_sentence, gradients.next_sentence,
                                 sequences);
  backend.linear_backward_input(dlogits, tensors.next_sentence, dpooled, sequences, false);
  backend.tanh_backward(kept.pooled.pooled, dpooled, dlinear, sequences * width);
  backend.linear_backward_weight(dlinear, kept.sequence.gathered, tensors.pooler, gradients.pooler,
                                 sequences);
  const kernels::Values dfirst = pass.head_width() > width ? dlinear + sequences * width : dpooled;
  backend.linear_backward_input(dlinear, tensors.pooler, dfirst, sequences, false);
  backend.scatter_add_rows(dfirst, kept.sequence.rows, kept.workspace.gradient, sequences, pass.head_width());
}

// BigBirdForSequenceClassification: first token (not pooled), dropout, dense, gelu, dropout, dense. Of
// HeadForm::roberta tanh in place of gelu; head.dense_pre is then what tanh gave.
void classification_head_forward(const PassContext& pass, const ClassificationHeadTensors& tensors,
                                 const Activations& kept, kernels::ConstValues hidden) {
  kernels::Backend& backend = pass.backend;
  const kernels::Index sequences = pass.batch.outputs(), width = pass.width();
  const ClassificationActivations& head = kept.classification;
  const kernels::Values first = kept.sequence.gathered;
  gather_first_tokens(pass, kept.sequence, hidden);
  backend.dropout(first, first, sequences * pass.head_width(),
                  pass.classifier_dropout(DropoutSite::classifier_input));
  const kernels::Dropout inner = pass.classifier_dropout(DropoutSite::classifier_inner);
  if (pass.config.head_form == HeadForm::roberta) {
    backend.linear_forward(first, tensors.dense, head.dense, sequences);
    backend.tanh_forward(head.dense, head.dense_pre, sequences * width);
    backend.dropout(head.dense_pre, head.dense, sequences * width, inner);
  } else {
    backend.linear_activation_forward(first, tensors.dense, pass.config.activation, head.dense_pre,
                                      head.dense, sequences);
    backend.dropout(head.dense, head.dense, sequences * width, inner);
  }
  backend.linear_forward(head.dense, tensors.output, kept.sequence.logits, sequences);
  sequence_loss_forward(pass, kept.sequence, pass.config.num_labels);
}

void classification_head_backward(const PassContext& pass, const ClassificationHeadTensors& tensors,
                                  const ClassificationHeadTensors& gradients, const Activations& kept) {
  if (!has_sequence_loss(pass)) return;
  sequence_loss_backward(pass, kept.sequence, pass.config.num_labels, kept.scalars.scale(Loss::sequence));
  classification_logits_backward(pass, tensors, gradients, kept);
}

// BigBirdForTokenClassification: dropout and a dense layer, on the rows that get a class.
void token_class_head_forward(const PassContext& pass, const ClassificationHeadTensors& tensors,
                              const Activations& kept, kernels::ConstValues hidden) {
  kernels::Backend& backend = pass.backend;
  const kernels::Index outputs = pass.batch.outputs();
  const kernels::Values rows = kept.sequence.gathered;
  gather_first_tokens(pass, kept.sequence, hidden);
  backend.dropout(rows, rows, outputs * pass.head_width(),
                  pass.classifier_dropout(DropoutSite::classifier_input));
  backend.linear_forward(rows, tensors.output, kept.sequence.logits, outputs);
  sequence_loss_forward(pass, kept.sequence, pass.config.num_labels);
}

void token_class_head_backward(const PassContext& pass, const ClassificationHeadTensors& tensors,
                               const ClassificationHeadTensors& gradients, const Activations& kept) {
  if (!has_sequence_loss(pass)) return;
  kernels::Backend& backend = pass.backend;
  const kernels::Index outputs = pass.batch.outputs();
  // Rows may be all of the tokens: their gradients have a place of their own.
  const kernels::Values drows = kept.classification.dense;
  sequence_loss_backward(pass, kept.sequence, pass.config.num_labels, kept.scalars.scale(Loss::sequence));
  backend.linear_backward_weight(kept.sequence.dlogits, kept.sequence.gathered, tensors.output,
                                 gradients.output, outputs);
  backend.linear_backward_input(kept.sequence.dlogits, tensors.output, drows, outputs, false);
  backend.dropout(drows, drows, outputs * pass.head_width(),
                  pass.classifier_dropout(DropoutSite::classifier_input));
  spread_first_tokens(pass, kept.sequence, drows, kept.workspace.gradient);
}

}  // namespace

void classification_logits_backward(const PassContext& pass, const ClassificationHeadTensors& tensors,
                                    const ClassificationHeadTensors& gradients, const Activations& kept) {
  kernels::Backend& backend = pass.backend;
  const kernels::Index sequences = pass.batch.outputs(), width = pass.width();
  const ClassificationActivations& head = kept.classification;
  const kernels::Values ddense = kept.workspace.wide_of_stream();
  const kernels::Values dfirst = ddense + sequences * width;

  const kernels::ConstValues dlogits = kept.sequence.dlogits;
  backend.linear_backward_weight(dlogits, head.dense, tensors.output, gradients.output, sequences);
  backend.linear_backward_input(dlogits, tensors.output, ddense, sequences, false);
  backend.dropout(ddense, ddense, sequences * width, pass.classifier_dropout(DropoutSite::classifier_inner));
  if (pass.config.head_form == HeadForm::roberta) {
    backend.tanh_backward(head.dense_pre, ddense, ddense, sequences * width);
  } else {
    backend.activation_backward(head.dense_pre, ddense, ddense, sequences * width, pass.config.activation);
  }
  backend.linear_backward_weight(ddense, kept.sequence.gathered, tensors.dense, gradients.dense, sequences);
  backend.linear_backward_input(ddense, tensors.dense, dfirst, sequences, false);
  backend.dropout(dfirst, dfirst, sequences * pass.head_width(),
                  pass.classifier_dropout(DropoutSite::classifier_input));
  spread_first_tokens(pass, kept.sequence, dfirst, kept.workspace.gradient);
}

void head_stage(const PassContext& pass, const Activations& kept) {
  switch (pass.config.head) {
    case HeadType::encoder:
    case HeadType::classification:
    case HeadType::token_classification:
      sequence_stage(pass, kept.head_rows, kept.sequence);
      break;
    case HeadType::pretraining:
      masked_head_stage(pass, kept);
      sequence_stage(pass, kept.head_rows, kept.sequence);
      break;
    case HeadType::masked_lm:
      masked_head_stage(pass, kept);
      contrast_stage(pass, kept.contrast);
      break;
    case HeadType::causal_lm:
      masked_head_stage(pass, kept);
      break;
    case HeadType::question_answering:
      question_head_stage(pass, kept.question);
      break;
    case HeadType::structured_answers:
      answer_head_stage(pass, kept);
      break;
    case HeadType::generation:
      decoder_stage(pass, kept.decoder);
      break;
    case HeadType::masked_sentences:
      documents_stage(pass, kept);
      decoder_stage(pass, kept.decoder);
      break;
    case HeadType::sentence_labels:
      documents_stage(pass, kept);
      break;
  }
}

void head_forward(const PassContext& pass, const ModelTensors& tensors, const ModelTensors* gradients,
                  const Activations& kept, kernels::ConstValues hidden,
                  const StateListener& on_decoder_state) {
  switch (pass.config.head) {
    case HeadType::encoder:
      if (pass.config.uses_pooler()) pooler_forward(pass, tensors.pooled, kept, hidden);
      break;
    case HeadType::pretraining:
      masked_head_forward(pass, tensors, kept, hidden);
      next_sentence_head_forward(pass, tensors.pooled, kept, hidden);
      break;
    case HeadType::masked_lm:
      masked_head_forward(pass, tensors, kept, hidden);
      contrast_forward(pass, tensors.contrast, kept.contrast, hidden);
      break;
    case HeadType::causal_lm:
      next_token_head_forward(pass, tensors, gradients, kept, hidden);
      break;
    case HeadType::classification:
      classification_head_forward(pass, tensors.classification, kept, hidden);
      break;
    case HeadType::token_classification:
      token_class_head_forward(pass, tensors.classification, kept, hidden);
      break;
    case HeadType::question_answering:
      question_head_forward(pass, tensors.question, kept, hidden);
      break;
    case HeadType::structured_answers:
      answer_head_forward(pass, tensors.answers, kept, hidden);
      break;
    case HeadType::generation:
      decoder_forward(pass, tensors.decoder, gradients == nullptr ? nullptr : &gradients->decoder, kept,
                      hidden, on_decoder_state);
      break;
    case HeadType::masked_sentences:
      documents_forward(pass, tensors, kept, hidden);
      decoder_forward(pass, tensors.decoder, gradients == nullptr ? nullptr : &gradients->decoder, kept,
                      kept.documents.last_state(), on_decoder_state);
      break;
    case HeadType::sentence_labels:
      documents_forward(pass, tensors, kept, hidden);
      sentence_head_forward(pass, tensors, kept);
      break;
  }
}

LabelCounts label_counts(const Batch& batch, const ModelConfig& config) {
  LabelCounts labels;
  if (has_spans(config) && config.head != HeadType::encoder)
    labels[Loss::span] = has_dynamic_spans(config)
                             ? std::accumulate(batch.lengths.begin(), batch.lengths.end(), std::int64_t{0})
                             : 1;
  if (learns_compression(config) && config.head != HeadType::encoder && !batch.places.empty())
    labels[Loss::compression] = batch.sequences();
  if (routed_heads(config) > 0 && config.head != HeadType::encoder)
    labels[Loss::commitment] = std::accumulate(batch.lengths.begin(), batch.lengths.end(), std::int64_t{0});
  switch (config.head) {
    case HeadType::encoder:
      break;
    case HeadType::pretraining:
      count_masked_labels(batch, labels);
      count_sequence_labels(batch, config, labels);
      break;
    case HeadType::masked_lm:
      count_masked_labels(batch, labels);
      count_contrast_labels(batch, config, labels);
      break;
    case HeadType::causal_lm:
      count_masked_labels(batch, labels);
      break;
    case HeadType::classification:
    case HeadType::token_classification:
      count_sequence_labels(batch, config, labels);
      break;
    case HeadType::question_answering:
      count_question_labels(batch, labels);
      break;
    case HeadType::structured_answers:
      count_answer_labels(batch, config, labels);
      break;
    case HeadType::generation:
    case HeadType::masked_sentences:
      count_target_labels(batch, labels);
      break;
    case HeadType::sentence_labels:
      count_sequence_labels(batch, config, labels);
      break;
  }
  return labels;
}

void head_result(const PassContext& pass, const Activations& kept, ForwardResult& result) {
  switch (pass.config.head) {
    case HeadType::encoder:
      break;
    case HeadType::pretraining:
      masked_head_result(pass, kept.masked, result);
      sequence_result(pass, kept.sequence, result);
      break;
    case HeadType::masked_lm:
    case HeadType::causal_lm:
      masked_head_result(pass, kept.masked, result);
      break;
    case HeadType::classification:
    case HeadType::token_classification:
      sequence_result(pass, kept.sequence, result);
      break;
    case HeadType::question_answering:
      question_head_result(pass, kept.question, result);
      break;
    case HeadType::structured_answers:
      answer_head_result(pass, kept, result);
      break;
    case HeadType::generation:
    case HeadType::masked_sentences:
      decoder_result(pass, kept.decoder, result);
      break;
    case HeadType::sentence_labels:
      sequence_result(pass, kept.sequence, result);
      break;
  }
}

void head_backward(const PassContext& pass, const ModelTensors& tensors, const ModelTensors& gradients,
                   const Activations& kept, bool grad_checkpoint) {
  switch (pass.config.head) {
    case HeadType::encoder:
      break;
    case HeadType::pretraining:
      masked_head_backward(pass, tensors, gradients, kept);
      next_sentence_head_backward(pass, tensors.pooled, gradients.pooled, kept);
      break;
    case HeadType::masked_lm:
      masked_head_backward(pass, tensors, gradients, kept);
      contrast_backward(pass, tensors.contrast, gradients.contrast, kept.contrast, kept.workspace);
      break;
    case HeadType::causal_lm:
      next_token_head_backward(pass, tensors, gradients, kept);
      break;
    case HeadType::classification:
      classification_head_backward(pass, tensors.classification, gradients.classification, kept);
      break;
    case HeadType::token_classification:
      token_class_head_backward(pass, tensors.classification, gradients.classification, kept);
      break;
    case HeadType::question_answering:
      question_head_backward(pass, tensors.question, gradients.question, kept);
      break;
    case HeadType::structured_answers:
      answer_head_backward(pass, tensors.answers, gradients.answers, kept);
      break;
    case HeadType::generation:
      decoder_backward(pass, tensors.decoder, gradients.decoder, kept, grad_checkpoint);
      break;
    case HeadType::masked_sentences:
      if (pass.batch.targets.labels.empty()) return;
      zero_document_gradient(pass, kept.documents);
      decoder_backward(pass, tensors.decoder, gradients.decoder, kept, grad_checkpoint);
      documents_backward(pass, tensors, gradients, kept, grad_checkpoint);
      break;
    case HeadType::sentence_labels:
      if (!has_sequence_loss(pass)) return;
      sentence_head_backward(pass, tensors, gradients, kept);
      documents_backward(pass, tensors, gradients, kept, grad_checkpoint);
      break;
  }
}

}  // namespace bigbird
