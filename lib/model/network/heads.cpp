// Which head a pass goes through; see heads.h.
#include "lib/model/network/heads.h"

#include "lib/model/network/decoder.h"
#include "lib/model/network/sequence_loss.h"

namespace bigbird {

void head_stage(const PassContext& pass, const Activations& kept) {
  switch (pass.config.head) {
    case HeadType::encoder:
    case HeadType::classification:
      sequence_stage(pass, kept.head_rows, kept.sequence);
      break;
    case HeadType::pretraining:
      masked_head_stage(pass, kept);
      sequence_stage(pass, kept.head_rows, kept.sequence);
      break;
    case HeadType::masked_lm:
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
  }
}

void head_forward(const PassContext& pass, const ModelTensors& tensors, const ModelTensors* gradients,
                  const Activations& kept, kernels::ConstValues hidden,
                  const StateListener& on_decoder_state) {
  switch (pass.config.head) {
    case HeadType::encoder:
      pooler_forward(pass, tensors.pooled, kept, hidden);
      break;
    case HeadType::pretraining:
      masked_head_forward(pass, tensors.masked, kept.masked, hidden);
      next_sentence_head_forward(pass, tensors.pooled, kept, hidden);
      break;
    case HeadType::masked_lm:
      masked_head_forward(pass, tensors.masked, kept.masked, hidden);
      break;
    case HeadType::classification:
      classification_head_forward(pass, tensors.classification, kept, hidden);
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
  }
}

LabelCounts label_counts(const Batch& batch, const ModelConfig& config) {
  LabelCounts labels;
  switch (config.head) {
    case HeadType::encoder:
      break;
    case HeadType::pretraining:
      count_masked_labels(batch, labels);
      count_sequence_labels(batch, config, labels);
      break;
    case HeadType::masked_lm:
      count_masked_labels(batch, labels);
      break;
    case HeadType::classification:
      count_sequence_labels(batch, config, labels);
      break;
    case HeadType::question_answering:
      count_question_labels(batch, labels);
      break;
    case HeadType::structured_answers:
      count_answer_labels(batch, config, labels);
      break;
    case HeadType::generation:
      count_target_labels(batch, labels);
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
      masked_head_result(pass, kept.masked, result);
      break;
    case HeadType::classification:
      sequence_result(pass, kept.sequence, result);
      break;
    case HeadType::question_answering:
      question_head_result(pass, kept.question, result);
      break;
    case HeadType::structured_answers:
      answer_head_result(pass, kept, result);
      break;
    case HeadType::generation:
      decoder_result(pass, kept.decoder, result);
      break;
  }
}

void head_backward(const PassContext& pass, const ModelTensors& tensors, const ModelTensors& gradients,
                   const Activations& kept, bool grad_checkpoint) {
  switch (pass.config.head) {
    case HeadType::encoder:
      break;
    case HeadType::pretraining:
      masked_head_backward(pass, tensors.masked, gradients.masked, kept);
      next_sentence_head_backward(pass, tensors.pooled, gradients.pooled, kept);
      break;
    case HeadType::masked_lm:
      masked_head_backward(pass, tensors.masked, gradients.masked, kept);
      break;
    case HeadType::classification:
      classification_head_backward(pass, tensors.classification, gradients.classification, kept);
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
  }
}

}  // namespace bigbird
