// Sequence classification as in Hugging Face's BigBirdForSequenceClassification; see heads.h.
#include "lib/model/network/heads.h"
#include "lib/model/network/sequence_loss.h"

namespace bigbird {

void classification_head_forward(const PassContext& pass, const ClassificationHeadTensors& tensors,
                                 const Activations& kept, kernels::ConstValues hidden) {
  kernels::Backend& backend = pass.backend;
  const kernels::Index sequences = pass.batch.sequences(), width = pass.width();
  const ClassificationActivations& head = kept.classification;
  const kernels::Values first = kept.sequence.gathered;
  gather_first_tokens(pass, kept.sequence, hidden);
  backend.dropout(first, first, sequences * width, pass.classifier_dropout(DropoutSite::classifier_input));
  backend.linear_activation_forward(first, tensors.dense, pass.config.activation, head.dense_pre, head.dense,
                                    sequences);
  backend.dropout(head.dense, head.dense, sequences * width,
                  pass.classifier_dropout(DropoutSite::classifier_inner));
  backend.linear_forward(head.dense, tensors.output, kept.sequence.logits, sequences);
  sequence_loss_forward(pass, kept.sequence, pass.config.num_labels);
}

void classification_head_backward(const PassContext& pass, const ClassificationHeadTensors& tensors,
                                  const ClassificationHeadTensors& gradients, const Activations& kept) {
  if (!has_sequence_loss(pass)) return;
  sequence_loss_backward(pass, kept.sequence, pass.config.num_labels, kept.scalars.scale(Loss::sequence));
  classification_logits_backward(pass, tensors, gradients, kept);
}

void classification_logits_backward(const PassContext& pass, const ClassificationHeadTensors& tensors,
                                    const ClassificationHeadTensors& gradients, const Activations& kept) {
  kernels::Backend& backend = pass.backend;
  const kernels::Index sequences = pass.batch.sequences(), width = pass.width();
  const ClassificationActivations& head = kept.classification;
  const kernels::Values ddense = kept.workspace.wide_of_stream();
  const kernels::Values dfirst = ddense + sequences * width;

  const kernels::ConstValues dlogits = kept.sequence.dlogits;
  backend.linear_backward_weight(dlogits, head.dense, tensors.output, gradients.output, sequences);
  backend.linear_backward_input(dlogits, tensors.output, ddense, sequences, false);
  backend.dropout(ddense, ddense, sequences * width, pass.classifier_dropout(DropoutSite::classifier_inner));
  backend.activation_backward(head.dense_pre, ddense, ddense, sequences * width, pass.config.activation);
  backend.linear_backward_weight(ddense, kept.sequence.gathered, tensors.dense, gradients.dense, sequences);
  backend.linear_backward_input(ddense, tensors.dense, dfirst, sequences, false);
  backend.dropout(dfirst, dfirst, sequences * width, pass.classifier_dropout(DropoutSite::classifier_input));
  backend.scatter_add_rows(dfirst, kept.sequence.rows, kept.workspace.gradient, sequences, width);
}

}  // namespace bigbird
