// Sequence classification as in Hugging Face's BigBirdForSequenceClassification; see heads.h.
#include "lib/model/network/heads.h"
#include "lib/model/network/sequence_loss.h"

namespace bigbird {

void classification_head_forward(const Call& call, const ClassificationHeadTensors& tensors,
                                 const Activations& kept, kernels::ConstValues hidden) {
  kernels::Backend& backend = call.backend;
  const kernels::Index sequences = call.batch.sequences(), width = call.width();
  const ClassificationActivations& head = kept.classification;
  const kernels::Values first = kept.sequence.gathered;
  gather_first_tokens(call, kept.sequence, hidden);
  backend.dropout(first, first, sequences * width, call.classifier_dropout(DropoutSite::classifier_input));
  backend.linear_gelu_forward(first, tensors.dense, call.config.activation, head.dense_pre, head.dense,
                              sequences);
  backend.dropout(head.dense, head.dense, sequences * width,
                  call.classifier_dropout(DropoutSite::classifier_inner));
  backend.linear_forward(head.dense, tensors.output, kept.sequence.logits, sequences);
  sequence_loss_forward(call, kept.sequence, call.config.num_labels);
}

void classification_head_backward(const Call& call, const ClassificationHeadTensors& tensors,
                                  const ClassificationHeadTensors& gradients, const Activations& kept) {
  if (!has_sequence_loss(call)) return;
  sequence_loss_backward(call, kept.sequence, call.config.num_labels, kept.cells.sequence_scale);
  classification_logits_backward(call, tensors, gradients, kept);
}

void classification_logits_backward(const Call& call, const ClassificationHeadTensors& tensors,
                                    const ClassificationHeadTensors& gradients, const Activations& kept) {
  kernels::Backend& backend = call.backend;
  const kernels::Index sequences = call.batch.sequences(), width = call.width();
  const ClassificationActivations& head = kept.classification;
  const kernels::Values ddense = kept.workspace.wide;
  const kernels::Values dfirst = ddense + sequences * width;

  const kernels::ConstValues dlogits = kept.sequence.dlogits;
  backend.linear_backward_weight(dlogits, head.dense, tensors.output, gradients.output, sequences);
  backend.linear_backward_input(dlogits, tensors.output, ddense, sequences, false);
  backend.dropout(ddense, ddense, sequences * width, call.classifier_dropout(DropoutSite::classifier_inner));
  backend.gelu_backward(head.dense_pre, ddense, ddense, sequences * width, call.config.activation);
  backend.linear_backward_weight(ddense, kept.sequence.gathered, tensors.dense, gradients.dense, sequences);
  backend.linear_backward_input(ddense, tensors.dense, dfirst, sequences, false);
  backend.dropout(dfirst, dfirst, sequences * width, call.classifier_dropout(DropoutSite::classifier_input));
  backend.scatter_add_rows(dfirst, kept.sequence.rows, kept.workspace.stream, sequences, width);
}

}  // namespace bigbird
