// Which head a call goes through; see heads.h.
#include "lib/model/network/heads.h"

#include "lib/model/network/sequence_loss.h"

namespace bigbird {

void head_stage(const Call& call, const Activations& kept) {
  switch (call.config.head) {
    case HeadType::encoder:
    case HeadType::classification:
      sequence_stage(call, kept.sequence);
      break;
    case HeadType::pretraining:
      masked_head_stage(call, kept.masked);
      sequence_stage(call, kept.sequence);
      break;
    case HeadType::masked_lm:
      masked_head_stage(call, kept.masked);
      break;
    case HeadType::question_answering:
      question_head_stage(call, kept.question);
      break;
  }
}

void head_forward(const Call& call, const ModelTensors& tensors, const Activations& kept,
                  kernels::ConstValues hidden) {
  switch (call.config.head) {
    case HeadType::encoder:
      pooler_forward(call, tensors.pooled, kept, hidden);
      break;
    case HeadType::pretraining:
      masked_head_forward(call, tensors.masked, kept.masked, hidden);
      next_sentence_head_forward(call, tensors.pooled, kept, hidden);
      break;
    case HeadType::masked_lm:
      masked_head_forward(call, tensors.masked, kept.masked, hidden);
      break;
    case HeadType::classification:
      classification_head_forward(call, tensors.classification, kept, hidden);
      break;
    case HeadType::question_answering:
      question_head_forward(call, tensors.question, kept, hidden);
      break;
  }
}

void head_result(const Call& call, const Activations& kept, ForwardResult& result) {
  switch (call.config.head) {
    case HeadType::encoder:
      break;
    case HeadType::pretraining:
      masked_head_result(call, kept.masked, result);
      sequence_result(call, kept.sequence, 2, result);
      break;
    case HeadType::masked_lm:
      masked_head_result(call, kept.masked, result);
      break;
    case HeadType::classification:
      sequence_result(call, kept.sequence, call.config.num_labels, result);
      break;
    case HeadType::question_answering:
      question_head_result(call, kept.question, result);
      break;
  }
}

void head_backward(const Call& call, const ModelTensors& tensors, const ModelTensors& gradients,
                   const Activations& kept) {
  switch (call.config.head) {
    case HeadType::encoder:
      break;
    case HeadType::pretraining:
      masked_head_backward(call, tensors.masked, gradients.masked, kept);
      next_sentence_head_backward(call, tensors.pooled, gradients.pooled, kept);
      break;
    case HeadType::masked_lm:
      masked_head_backward(call, tensors.masked, gradients.masked, kept);
      break;
    case HeadType::classification:
      classification_head_backward(call, tensors.classification, gradients.classification, kept);
      break;
    case HeadType::question_answering:
      question_head_backward(call, tensors.question, gradients.question, kept);
      break;
  }
}

}  // namespace bigbird
