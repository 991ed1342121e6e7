// The output heads on the last hidden state: masked-token prediction (on the masked rows only, decoder tied
// to the word table), next-sentence prediction from the pooled first token, and classification
// (specification 2.1 and 3).
#pragma once

#include "lib/model/call.h"
#include "lib/model/memory.h"
#include "lib/model/model.h"
#include "lib/model/tensors.h"

namespace bigbird {

// hidden [T, C] is the last hidden state. Losses are computed for the labels the batch carries.
void pretraining_head_forward(const Call& call, const PretrainingHeadTensors& tensors,
                              const Activations& kept, const float* hidden, ForwardResult& result);
void classification_head_forward(const Call& call, const ClassificationHeadTensors& tensors,
                                 const Activations& kept, const float* hidden, ForwardResult& result);

// Add to kept.workspace.stream, the gradient of the last hidden state, and to the parameter gradients. The
// logits are turned into their gradients in place.
void pretraining_head_backward(const Call& call, const PretrainingHeadTensors& tensors,
                               const PretrainingHeadTensors& gradients, const Activations& kept,
                               const LossScale& scale);
void classification_head_backward(const Call& call, const ClassificationHeadTensors& tensors,
                                  const ClassificationHeadTensors& gradients, const Activations& kept,
                                  const LossScale& scale);

}  // namespace bigbird
