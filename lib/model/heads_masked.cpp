// Masked-token prediction; see heads.h.
#include "lib/model/heads.h"
#include "lib/model/sequence_loss.h"

namespace bigbird {

void masked_head_forward(const Call& call, const MaskedHeadTensors& tensors, const MaskedActivations& kept,
                         const float* hidden, ForwardResult& result) {
  kernels::Backend& backend = call.backend;
  const Batch& batch = call.batch;
  const kernels::Index rows = static_cast<kernels::Index>(batch.masked_rows.size());
  const kernels::Index width = call.width(), vocabulary = call.config.vocab_size;
  if (rows == 0) return;
  backend.upload(kept.rows, batch.masked_rows.data(), batch.masked_rows.size() * sizeof(std::int32_t));
  backend.gather_rows(hidden, kept.rows, kept.gathered, rows, width);
  backend.linear_gelu_forward(kept.gathered, tensors.transform.weight, tensors.transform.bias,
                              kept.transform_pre, kept.transform, rows, width, width, call.config.activation);
  backend.layernorm_forward(kept.transform, tensors.norm.weight, tensors.norm.bias, call.epsilon(), kept.norm,
                            kept.norm_state.mean, kept.norm_state.rstd, rows, width);
  backend.linear_forward(kept.norm, tensors.decoder.weight, tensors.decoder.bias, kept.logits, rows,
                         vocabulary, width);
  if (batch.masked_labels.empty()) return;
  backend.upload(kept.labels, batch.masked_labels.data(), batch.masked_labels.size() * sizeof(std::int32_t));
  backend.cross_entropy(kept.logits, kept.labels, kept.losses, kept.predictions, nullptr, nullptr, rows,
                        vocabulary);
  LossSum sum = sum_losses(backend, kept.losses, kept.predictions, batch.masked_labels);
  result.mlm_loss_sum = sum.loss;
  result.mlm_count = sum.count;
  result.mlm_correct = sum.correct;
  result.mlm_losses = std::move(sum.losses);
}

void masked_head_backward(const Call& call, const MaskedHeadTensors& tensors,
                          const MaskedHeadTensors& gradients, const Activations& activations) {
  if (call.batch.masked_labels.empty()) return;
  kernels::Backend& backend = call.backend;
  const MaskedActivations& kept = activations.masked;
  const kernels::Index rows = static_cast<kernels::Index>(call.batch.masked_rows.size());
  const kernels::Index width = call.width(), vocabulary = call.config.vocab_size;
  // There are never more masked rows than tokens, so both fit into the [T, >= 4C] scratch.
  float* dtransform = activations.workspace.wide;
  float* dgathered = dtransform + rows * width;

  float* dlogits = kept.logits;
  backend.cross_entropy(kept.logits, kept.labels, kept.losses, nullptr, dlogits, activations.cells.mlm_scale,
                        rows, vocabulary);
  backend.linear_backward_weight(dlogits, kept.norm, gradients.decoder.weight, gradients.decoder.bias, rows,
                                 vocabulary, width);
  backend.linear_backward_input(dlogits, tensors.decoder.weight, dtransform, rows, vocabulary, width, false);
  backend.layernorm_backward(dtransform, kept.transform, tensors.norm.weight, kept.norm_state.mean,
                             kept.norm_state.rstd, dtransform, false, gradients.norm.weight,
                             gradients.norm.bias, rows, width);
  backend.gelu_backward(kept.transform_pre, dtransform, dtransform, rows * width, call.config.activation);
  backend.linear_backward_weight(dtransform, kept.gathered, gradients.transform.weight,
                                 gradients.transform.bias, rows, width, width);
  backend.linear_backward_input(dtransform, tensors.transform.weight, dgathered, rows, width, width, false);
  backend.scatter_add_rows(dgathered, kept.rows, activations.workspace.stream, rows, width);
}

}  // namespace bigbird
