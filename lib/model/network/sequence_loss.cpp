// See sequence_loss.h.
#include "lib/model/network/sequence_loss.h"

#include <numeric>

#include "lib/model/network/head_rows.h"

namespace bigbird {
namespace {

ProblemType problem_of(const PassContext& pass) {
  return pass.config.head == HeadType::classification ? pass.config.problem_type : ProblemType::single_label;
}

// kept.losses, and the gradient of the logits when it is asked for.
void target_losses(const PassContext& pass, const SequenceActivations& kept,
                   const kernels::ConstMatrix& logits, const kernels::LossGradient& gradient) {
  if (problem_of(pass) == ProblemType::multi_label) {
    const float positive_weight = static_cast<float>(pass.config.positive_weight);
    pass.backend.binary_cross_entropy(logits, kept.targets, positive_weight, kept.losses, gradient);
  } else {
    pass.backend.squared_error(logits, kept.targets, kept.losses, gradient);
  }
}

}  // namespace

void sequence_stage(const PassContext& pass, const HeadRowActivations& head_rows,
                    const SequenceActivations& kept) {
  const Batch& batch = pass.batch;
  const std::vector<std::int32_t> rows = head_row_numbers(pass, head_rows).first;
  pass.backend.upload(kept.rows, rows.data(), rows.size() * sizeof(std::int32_t));
  if (kept.labels == nullptr || !has_sequence_loss(pass)) return;
  if (problem_of(pass) == ProblemType::single_label) {
    const std::vector<std::int32_t>& labels = batch.sequence_labels;
    pass.backend.upload(kept.labels, labels.data(), labels.size() * sizeof(std::int32_t));
  } else {
    const std::vector<float>& targets = batch.sequence_targets;
    pass.backend.upload(kept.targets, targets.data(), targets.size() * sizeof(float));
  }
}

void gather_first_tokens(const PassContext& pass, const SequenceActivations& kept,
                         kernels::ConstValues hidden) {
  pass.backend.gather_rows(hidden, kept.rows, kept.gathered, pass.batch.sequences(), pass.width());
}

bool has_sequence_loss(const PassContext& pass) {
  return problem_of(pass) == ProblemType::single_label ? !pass.batch.sequence_labels.empty()
                                                       : !pass.batch.sequence_targets.empty();
}

void sequence_loss_forward(const PassContext& pass, const SequenceActivations& kept, kernels::Index classes) {
  if (!has_sequence_loss(pass)) return;
  const kernels::ConstMatrix logits{kept.logits, pass.batch.sequences(), classes};
  if (problem_of(pass) == ProblemType::single_label) {
    pass.backend.cross_entropy(logits, {kept.labels}, kept.losses, kept.predictions, {});
  } else {
    target_losses(pass, kept, logits, {});
  }
}

void sequence_result(const PassContext& pass, const SequenceActivations& kept, kernels::Index classes,
                     ForwardResult& result) {
  if (!has_sequence_loss(pass)) return;
  const Batch& batch = pass.batch;
  if (problem_of(pass) == ProblemType::single_label) {
    const LossSum sum = sum_losses(pass.backend, kept.losses, kept.predictions, batch.sequence_labels);
    result.sequence_loss_sum = sum.loss;
    result.sequence_count = sum.count;
    result.sequence_correct = sum.correct;
    return;
  }
  std::vector<float> losses(batch.lengths.size());
  pass.backend.download_values(losses.data(), kept.losses, batch.sequences());
  result.sequence_loss_sum = std::accumulate(losses.begin(), losses.end(), 0.0);
  result.sequence_count = batch.sequences() * classes;
}

void sequence_loss_backward(const PassContext& pass, const SequenceActivations& kept, kernels::Index classes,
                            const float* scale) {
  const kernels::ConstMatrix logits{kept.logits, pass.batch.sequences(), classes};
  const kernels::LossGradient gradient{kept.dlogits, scale};
  if (problem_of(pass) == ProblemType::single_label) {
    pass.backend.cross_entropy(logits, {kept.labels}, kept.losses, nullptr, gradient);
  } else {
    target_losses(pass, kept, logits, gradient);
  }
}

LossSum sum_losses(kernels::Backend& backend, const float* losses, const std::int32_t* predictions,
                   const std::vector<std::int32_t>& labels) {
  LossSum sum;
  sum.losses.resize(labels.size());
  std::vector<std::int32_t> predicted(labels.size(), ignored_label);
  backend.download_values(sum.losses.data(), losses, static_cast<kernels::Index>(labels.size()));
  if (predictions != nullptr) {
    backend.download(predicted.data(), predictions, labels.size() * sizeof(std::int32_t));
  }
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] == ignored_label) continue;
    sum.loss += static_cast<double>(sum.losses[i]);
    ++sum.count;
    if (predicted[i] == labels[i]) ++sum.correct;
  }
  return sum;
}

}  // namespace bigbird
