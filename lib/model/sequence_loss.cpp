// See sequence_loss.h.
#include "lib/model/sequence_loss.h"

namespace bigbird {

void gather_first_tokens(const Call& call, const SequenceActivations& kept, const float* hidden) {
  const std::vector<std::int32_t> rows(call.batch.token_offsets.begin(), call.batch.token_offsets.end() - 1);
  call.backend.upload(kept.rows, rows.data(), rows.size() * sizeof(std::int32_t));
  call.backend.gather_rows(hidden, kept.rows, kept.gathered, call.batch.sequences(), call.width());
}

void sequence_loss_forward(const Call& call, const SequenceActivations& kept, kernels::Index classes,
                           ForwardResult& result) {
  const std::vector<std::int32_t>& labels = call.batch.sequence_labels;
  if (labels.empty()) return;
  call.backend.upload(kept.labels, labels.data(), labels.size() * sizeof(std::int32_t));
  call.backend.cross_entropy(kept.logits, kept.labels, kept.losses, kept.predictions, nullptr, 0.0f,
                             call.batch.sequences(), classes);
  const LossSum sum = sum_losses(call.backend, kept.losses, kept.predictions, labels);
  result.sequence_loss_sum = sum.loss;
  result.sequence_count = sum.count;
  result.sequence_correct = sum.correct;
}

void sequence_loss_backward(const Call& call, const SequenceActivations& kept, kernels::Index classes,
                            float scale) {
  call.backend.cross_entropy(kept.logits, kept.labels, kept.losses, nullptr, kept.logits, scale,
                             call.batch.sequences(), classes);
}

LossSum sum_losses(kernels::Backend& backend, const float* losses, const std::int32_t* predictions,
                   const std::vector<std::int32_t>& labels) {
  LossSum sum;
  sum.losses.resize(labels.size());
  std::vector<std::int32_t> predicted(labels.size());
  backend.download(sum.losses.data(), losses, labels.size() * sizeof(float));
  backend.download(predicted.data(), predictions, labels.size() * sizeof(std::int32_t));
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] == ignored_label) continue;
    sum.loss += static_cast<double>(sum.losses[i]);
    ++sum.count;
    if (predicted[i] == labels[i]) ++sum.correct;
  }
  return sum;
}

}  // namespace bigbird
