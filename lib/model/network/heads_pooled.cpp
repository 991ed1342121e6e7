// The pooled first token and next-sentence prediction; see heads.h.
#include "lib/model/network/heads.h"
#include "lib/model/network/sequence_loss.h"

namespace bigbird {

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
  const kernels::Values dfirst = dpooled;
  backend.linear_backward_input(dlinear, tensors.pooler, dfirst, sequences, false);
  backend.scatter_add_rows(dfirst, kept.sequence.rows, kept.workspace.gradient, sequences, width);
}

}  // namespace bigbird
