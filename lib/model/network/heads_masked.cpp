// Masked-token prediction; see heads.h.
#include "lib/model/network/head_rows.h"
#include "lib/model/network/heads.h"
#include "lib/model/network/sequence_loss.h"

namespace bigbird {
void masked_head_stage(const PassContext& pass, const Activations& activations) {
  const MaskedActivations& kept = activations.masked;
  const std::vector<std::int32_t> rows = head_row_numbers(pass, activations.head_rows).masked;
  pass.backend.upload(kept.rows, rows.data(), rows.size() * sizeof(std::int32_t));
  if (pass.batch.masked_labels.empty()) return;
  std::vector<std::int32_t> labels = pass.batch.masked_labels;
  labels.resize(rows.size(), ignored_label);
  pass.backend.upload(kept.labels, labels.data(), labels.size() * sizeof(std::int32_t));
}

void masked_head_forward(const PassContext& pass, const MaskedHeadTensors& tensors,
                         const MaskedActivations& kept, kernels::ConstValues hidden) {
  kernels::Backend& backend = pass.backend;
  const kernels::Index rows = pass.masked_rows;
  if (rows == 0) return;
  backend.gather_rows(hidden, kept.rows, kept.gathered, rows, pass.width());
  backend.linear_activation_forward(kept.gathered, tensors.transform, pass.config.activation,
                                    kept.transform_pre, kept.transform, rows);
  backend.layernorm_forward(kept.transform, tensors.norm, kept.norm, kept.norm_state, rows);
  const kernels::Linear decoder = backend.in_wide_rows(tensors.decoder);
  backend.linear_forward(kept.norm, decoder, kept.logits, rows);
  if (pass.batch.masked_labels.empty()) return;
  backend.cross_entropy({kept.logits, rows, pass.config.vocab_size, decoder.out_stride}, {kept.labels},
                        kept.losses, kept.predictions, {});
}

void count_masked_labels(const Batch& batch, LabelCounts& labels) {
  labels[Loss::mlm] = known_labels(batch.masked_labels);
}

void masked_head_result(const PassContext& pass, const MaskedActivations& kept, ForwardResult& result) {
  if (pass.batch.masked_labels.empty()) return;
  result.mlm_losses =
      add_losses(pass.backend, kept.losses, kept.predictions, pass.batch.masked_labels, result[Loss::mlm]);
}

void masked_head_backward(const PassContext& pass, const MaskedHeadTensors& tensors,
                          const MaskedHeadTensors& gradients, const Activations& activations) {
  if (pass.batch.masked_labels.empty()) return;
  kernels::Backend& backend = pass.backend;
  const MaskedActivations& kept = activations.masked;
  const kernels::Index rows = pass.masked_rows, width = pass.width();
  // There are never more masked rows than tokens, so both fit into the [T, >= 4C] scratch.
  const kernels::Values dtransform = activations.workspace.wide_of_stream();
  const kernels::Values dgathered = dtransform + rows * width;

  const kernels::Values dlogits = kept.logits;
  const kernels::Linear decoder = backend.in_wide_rows(tensors.decoder);
  backend.cross_entropy({kept.logits, rows, pass.config.vocab_size, decoder.out_stride}, {kept.labels},
                        kept.losses, nullptr, {dlogits, activations.scalars.scale(Loss::mlm)});
  backend.linear_backward_weight(dlogits, kept.norm, decoder, gradients.decoder, rows);
  backend.linear_backward_input(dlogits, decoder, dtransform, rows, false);
  backend.layernorm_backward({dtransform, kept.transform, kept.norm_state, dtransform, rows}, tensors.norm,
                             gradients.norm, false);
  backend.activation_backward(kept.transform_pre, dtransform, dtransform, rows * width,
                              pass.config.activation);
  backend.linear_backward_weight(dtransform, kept.gathered, tensors.transform, gradients.transform, rows);
  backend.linear_backward_input(dtransform, tensors.transform, dgathered, rows, false);
  backend.scatter_add_rows(dgathered, kept.rows, activations.workspace.gradient, rows, width);
}

}  // namespace bigbird
