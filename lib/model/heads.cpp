// Which head a call goes through; see heads.h.
#include "lib/model/heads.h"

#include "lib/core/error.h"

namespace bigbird {

void head_forward(const Call& call, const ModelTensors& tensors, const Activations& kept, const float* hidden,
                  ForwardResult& result) {
  switch (call.config.head) {
    case HeadType::encoder:
      pooler_forward(call, tensors.pooled, kept, hidden);
      break;
    case HeadType::pretraining:
      masked_head_forward(call, tensors.masked, kept.masked, hidden, result);
      next_sentence_head_forward(call, tensors.pooled, kept, hidden, result);
      break;
    case HeadType::masked_lm:
      masked_head_forward(call, tensors.masked, kept.masked, hidden, result);
      break;
    case HeadType::classification:
      classification_head_forward(call, tensors.classification, kept, hidden, result);
      break;
    case HeadType::question_answering:
      question_head_forward(call, tensors.question, kept, hidden, result);
      break;
  }
}

void head_backward(const Call& call, const ModelTensors& tensors, const ModelTensors& gradients,
                   const Activations& kept) {
  switch (call.config.head) {
    case HeadType::encoder:
      throw_runtime("an encoder without a head has no loss to derive");
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
