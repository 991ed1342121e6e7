// See head_losses.h.
#include "lib/model/network/head_losses.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "lib/model/network/head_rows.h"

namespace bigbird {
namespace {

ProblemType problem_of(const ModelConfig& config) {
  return config.head == HeadType::classification ? config.problem_type : ProblemType::single_label;
}

// kept.losses, and the gradient of the logits when it is asked for.
void target_losses(const PassContext& pass, const SequenceActivations& kept,
                   const kernels::ConstMatrix& logits, const kernels::LossGradient& gradient) {
  if (problem_of(pass.config) == ProblemType::multi_label) {
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
  std::vector<std::int32_t> rows = head_row_numbers(pass, head_rows).first, counts;
  if (pass.config.reads_spans()) {
    rows.clear();
    for (const OutputSpan& span : batch.output_spans) {
      rows.push_back(span.first);
      counts.push_back(span.length);
    }
    pass.backend.upload(kept.row_counts, counts.data(), counts.size() * sizeof(std::int32_t));
  }
  pass.backend.upload(kept.rows, rows.data(), rows.size() * sizeof(std::int32_t));
  if (kept.labels == nullptr || !has_sequence_loss(pass)) return;
  if (problem_of(pass.config) == ProblemType::single_label) {
    const std::vector<std::int32_t>& labels = batch.sequence_labels;
    pass.backend.upload(kept.labels, labels.data(), labels.size() * sizeof(std::int32_t));
  } else {
    const std::vector<float>& targets = batch.sequence_targets;
    pass.backend.upload(kept.targets, targets.data(), targets.size() * sizeof(float));
  }
}

void gather_first_tokens(const PassContext& pass, const SequenceActivations& kept,
                         kernels::ConstValues hidden) {
  if (pass.config.reads_spans()) {
    pass.backend.mean_rows_forward(hidden, {kept.rows, kept.row_counts, pass.batch.outputs()}, kept.gathered,
                                   pass.head_width());
  } else {
    pass.backend.gather_rows(hidden, kept.rows, kept.gathered, pass.batch.sequences(), pass.head_width());
  }
}

void spread_first_tokens(const PassContext& pass, const SequenceActivations& kept,
                         kernels::ConstValues dgathered, kernels::Values gradient) {
  if (pass.config.reads_spans()) {
    pass.backend.mean_rows_backward(dgathered, {kept.rows, kept.row_counts, pass.batch.outputs()}, gradient,
                                    pass.head_width());
  } else {
    pass.backend.scatter_add_rows(dgathered, kept.rows, gradient, pass.batch.sequences(), pass.head_width());
  }
}

bool has_sequence_loss(const PassContext& pass) {
  return problem_of(pass.config) == ProblemType::single_label ? !pass.batch.sequence_labels.empty()
                                                              : !pass.batch.sequence_targets.empty();
}

void sequence_loss_forward(const PassContext& pass, const SequenceActivations& kept, kernels::Index classes) {
  if (!has_sequence_loss(pass)) return;
  const kernels::ConstMatrix logits{kept.logits, pass.batch.outputs(), classes};
  if (problem_of(pass.config) == ProblemType::single_label) {
    pass.backend.cross_entropy(logits, {kept.labels}, kept.losses, kept.predictions, {});
  } else {
    target_losses(pass, kept, logits, {});
  }
}

void count_sequence_labels(const Batch& batch, const ModelConfig& config, LabelCounts& labels) {
  labels[Loss::sequence] = problem_of(config) == ProblemType::single_label
                               ? known_labels(batch.sequence_labels)
                               : static_cast<std::int64_t>(batch.sequence_targets.size());
}

void sequence_result(const PassContext& pass, const SequenceActivations& kept, ForwardResult& result) {
  if (!has_sequence_loss(pass)) return;
  const Batch& batch = pass.batch;
  LossTerm& term = result[Loss::sequence];
  if (problem_of(pass.config) == ProblemType::single_label) {
    add_losses(pass.backend, kept.losses, kept.predictions, batch.sequence_labels, term);
    return;
  }
  std::vector<float> losses(static_cast<std::size_t>(batch.outputs()));
  pass.backend.download_values(losses.data(), kept.losses, batch.outputs());
  term.sum = std::accumulate(losses.begin(), losses.end(), 0.0);
}

void sequence_loss_backward(const PassContext& pass, const SequenceActivations& kept, kernels::Index classes,
                            const float* scale) {
  const kernels::ConstMatrix logits{kept.logits, pass.batch.outputs(), classes};
  const kernels::LossGradient gradient{kept.dlogits, scale};
  if (problem_of(pass.config) == ProblemType::single_label) {
    pass.backend.cross_entropy(logits, {kept.labels}, kept.losses, nullptr, gradient);
  } else {
    target_losses(pass, kept, logits, gradient);
  }
}

std::int64_t known_labels(const std::vector<std::int32_t>& labels) {
  return std::count_if(labels.begin(), labels.end(),
                       [](std::int32_t label) { return label != ignored_label; });
}

std::vector<float> add_losses(kernels::Backend& backend, const float* losses, const std::int32_t* predictions,
                              const std::vector<std::int32_t>& labels, LossTerm& term) {
  std::vector<float> each(labels.size());
  std::vector<std::int32_t> predicted(labels.size(), ignored_label);
  backend.download_values(each.data(), losses, static_cast<kernels::Index>(labels.size()));
  if (predictions != nullptr) {
    backend.download(predicted.data(), predictions, labels.size() * sizeof(std::int32_t));
  }
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] == ignored_label) continue;
    term.sum += static_cast<double>(each[i]);
    if (predicted[i] == labels[i]) ++term.correct;
  }
  return each;
}

void token_targets_stage(const PassContext& pass, const TokenTargets& targets,
                         const TokenTargetActivations& kept) {
  const auto upload = [&](std::int32_t* to, const std::vector<std::int32_t>& from) {
    pass.backend.upload(to, from.data(), from.size() * sizeof(std::int32_t));
  };
  upload(kept.rows, targets.rows);
  upload(kept.right, {targets.right.begin(), targets.right.end()});
  upload(kept.offsets, targets.group_offsets);
  std::vector<std::int32_t> parts(static_cast<std::size_t>(targets.groups()));
  for (std::size_t group = 0; group < parts.size(); ++group) parts[group] = targets.parts_of(group);
  upload(kept.parts, parts);
}

void token_loss(const PassContext& pass, const TokenTargets& targets, const TokenTargetActivations& kept,
                bool softmax, const float* logits, const kernels::LossGradient& gradient) {
  const kernels::Values dlogits = gradient.data;
  if (dlogits.data() != nullptr) {
    pass.backend.zero(dlogits.data(),
                      static_cast<std::size_t>(pass.tokens()) * kernels::size_of(dlogits.type()));
  }
  const kernels::TokenGroups groups{kept.rows, kept.right, kept.offsets, kept.parts, targets.groups()};
  pass.backend.token_losses(logits, groups, softmax, kept.losses, gradient);
}

double sum_token_losses(const PassContext& pass, const TokenTargets& targets,
                        const TokenTargetActivations& kept) {
  std::vector<float> losses(static_cast<std::size_t>(targets.groups()));
  pass.backend.download_values(losses.data(), kept.losses, targets.groups());
  return std::accumulate(losses.begin(), losses.end(), 0.0);
}

}  // namespace bigbird
