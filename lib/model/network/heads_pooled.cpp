// The pooled first token and next-sentence prediction; see heads.h.
#include "lib/model/network/heads.h"
#include "lib/model/network/sequence_loss.h"

namespace bigbird {

void pooler_forward(const Call& call, const PooledHeadTensors& tensors, const Activations& kept,
                    kernels::ConstValues hidden) {
  kernels::Backend& backend = call.backend;
  const kernels::Index sequences = call.batch.sequences(), width = call.width();
  gather_first_tokens(call, kept.sequence, hidden);
  backend.linear_forward(kept.sequence.gathered, tensors.pooler.weight, tensors.pooler.bias,
                         kept.pooled.linear, sequences, width, width);
  backend.tanh_forward(kept.pooled.linear, kept.pooled.pooled, sequences * width);
}

void next_sentence_head_forward(const Call& call, const PooledHeadTensors& tensors, const Activations& kept,
                                kernels::ConstValues hidden) {
  kernels::Backend& backend = call.backend;
  const kernels::Index sequences = call.batch.sequences(), width = call.width();
  pooler_forward(call, tensors, kept, hidden);
  backend.linear_forward(kept.pooled.pooled, tensors.next_sentence.weight, tensors.next_sentence.bias,
                         kept.sequence.logits, sequences, 2, width);
  sequence_loss_forward(call, kept.sequence, 2);
}

void next_sentence_head_backward(const Call& call, const PooledHeadTensors& tensors,
                                 const PooledHeadTensors& gradients, const Activations& kept) {
  if (!has_sequence_loss(call)) return;
  kernels::Backend& backend = call.backend;
  const kernels::Index sequences = call.batch.sequences(), width = call.width();
  const kernels::Values dpooled = kept.workspace.wide;
  const kernels::Values dlinear = dpooled + sequences * width;

  sequence_loss_backward(call, kept.sequence, 2, kept.cells.sequence_scale);
  const kernels::ConstValues dlogits = kept.sequence.dlogits;
  backend.linear_backward_weight(dlogits, kept.pooled.pooled, gradients.next_sentence.weight,
                                 gradients.next_sentence.bias, sequences, 2, width);
  backend.linear_backward_input(dlogits, tensors.next_sentence.weight, dpooled, sequences, 2, width, false);
  backend.tanh_backward(kept.pooled.pooled, dpooled, dlinear, sequences * width);
  backend.linear_backward_weight(dlinear, kept.sequence.gathered, gradients.pooler.weight,
                                 gradients.pooler.bias, sequences, width, width);
  const kernels::Values dfirst = dpooled;
  backend.linear_backward_input(dlinear, tensors.pooler.weight, dfirst, sequences, width, width, false);
  backend.scatter_add_rows(dfirst, kept.sequence.rows, kept.workspace.stream, sequences, width);
}

}  // namespace bigbird
