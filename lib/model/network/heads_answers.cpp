// Answers in parts: scores of every token, and the type at the first one; see heads.h.
#include <algorithm>
#include <cstddef>

#include "lib/model/network/head_losses.h"
#include "lib/model/network/heads.h"

namespace bigbird {
namespace {

bool has_types(const PassContext& pass) {
  return pass.config.num_labels > 0;
}

Loss loss_of(const TokenScore& score) {
  return score.softmax ? Loss::choice : Loss::mark;
}

// The losses of all scores, and their gradients where they are wanted.
void token_losses(const PassContext& pass, const Activations& kept, bool gradient) {
  for (std::size_t score = 0; score < pass.batch.token_targets.size(); ++score) {
    const TokenScoreActivations& head = kept.answers[score];
    const bool softmax = pass.config.token_scores[score].softmax;
    kernels::LossGradient wanted;
    if (gradient) wanted = {head.dlogits, kept.scalars.scale(loss_of(pass.config.token_scores[score]))};
    token_loss(pass, pass.batch.token_targets[score], head.targets, softmax, head.logits, wanted);
  }
}

void type_backward(const PassContext& pass, const LinearTensors& layer, const LinearTensors& gradients,
                   const Activations& kept) {
  if (!has_types(pass) || !has_sequence_loss(pass)) return;
  kernels::Backend& backend = pass.backend;
  const kernels::Index sequences = pass.batch.sequences();
  const SequenceActivations& first = kept.sequence;
  const kernels::Values dfirst = kept.workspace.wide_of_stream();
  sequence_loss_backward(pass, first, pass.config.num_labels, kept.scalars.scale(Loss::sequence));
  backend.linear_backward_weight(first.dlogits, first.gathered, layer, gradients, sequences);
  backend.linear_backward_input(first.dlogits, layer, dfirst, sequences, false);
  backend.scatter_add_rows(dfirst, first.rows, kept.workspace.gradient, sequences, pass.head_width());
}

}  // namespace

void answer_head_stage(const PassContext& pass, const Activations& kept) {
  for (std::size_t score = 0; score < pass.batch.token_targets.size(); ++score) {
    token_targets_stage(pass, pass.batch.token_targets[score], kept.answers[score].targets);
  }
  if (has_types(pass)) sequence_stage(pass, kept.head_rows, kept.sequence);
}

void answer_head_forward(const PassContext& pass, const AnswerHeadTensors& tensors, const Activations& kept,
                         kernels::ConstValues hidden) {
  // A product for each score, so that its logits lie together for the softmax.
  kernels::Index score = 0;
  for (const TokenScoreActivations& head : kept.answers) {
    pass.backend.linear_forward(hidden, output_of(tensors.token, score++), head.logits, pass.tokens());
  }
  token_losses(pass, kept, false);
  if (!has_types(pass)) return;
  gather_first_tokens(pass, kept.sequence, hidden);
  pass.backend.linear_forward(kept.sequence.gathered, tensors.type, kept.sequence.logits,
                              pass.batch.sequences());
  sequence_loss_forward(pass, kept.sequence, pass.config.num_labels);
}

void count_answer_labels(const Batch& batch, const ModelConfig& config, LabelCounts& labels) {
  for (std::size_t score = 0; score < batch.token_targets.size(); ++score) {
    const TokenTargets& targets = batch.token_targets[score];
    if (config.token_scores[score].softmax) {
      labels[Loss::choice] += targets.answered_groups();
    } else {
      labels[Loss::mark] = targets.groups();  // the same for each
    }
  }
  if (config.num_labels > 0) count_sequence_labels(batch, config, labels);
}

void answer_head_result(const PassContext& pass, const Activations& kept, ForwardResult& result) {
  for (std::size_t score = 0; score < pass.batch.token_targets.size(); ++score) {
    const TokenTargets& targets = pass.batch.token_targets[score];
    result[loss_of(pass.config.token_scores[score])].sum +=
        sum_token_losses(pass, targets, kept.answers[score].targets);
  }
  if (has_types(pass)) sequence_result(pass, kept.sequence, result);
  const LossScale weights = answer_weights(pass.config);
  for (std::size_t loss = 0; loss < result.all.size(); ++loss)
    result.all[loss].sum *= static_cast<double>(weights.all[loss]);
}

LossScale answer_weights(const ModelConfig& config) {
  LossScale weights;
  weights.all.fill(1.0f);
  if (config.attention != AttentionPattern::etc || config.head != HeadType::structured_answers)
    return weights;
  const auto marks =
      static_cast<float>(std::count_if(config.token_scores.begin(), config.token_scores.end(),
                                       [](const TokenScore& score) { return !score.softmax; }));
  // What is minimised is the mean over all choices and types, and for each sigmoid that of its groups.
  const float choices =
      static_cast<float>(config.token_scores.size()) - marks + (config.num_labels > 0 ? 1.0f : 0.0f);
  if (marks == 0 || choices == 0) return weights;
  weights[Loss::choice] = weights[Loss::sequence] = choices / (choices + marks);
  weights[Loss::mark] = 1.0f / (choices + marks);
  return weights;
}

void answer_head_backward(const PassContext& pass, const AnswerHeadTensors& tensors,
                          const AnswerHeadTensors& gradients, const Activations& kept) {
  kernels::Backend& backend = pass.backend;
  const kernels::Index rows = pass.tokens();
  const kernels::ConstValues hidden = kept.last_hidden_state();
  token_losses(pass, kept, true);
  for (std::size_t score = 0; score < pass.batch.token_targets.size(); ++score) {
    const auto output = static_cast<kernels::Index>(score);
    const kernels::ConstValues dlogits = kept.answers[score].dlogits;
    const LinearTensors layer = output_of(tensors.token, output);
    backend.linear_backward_weight(dlogits, hidden, layer, output_of(gradients.token, output), rows);
    backend.linear_backward_input(dlogits, layer, kept.workspace.gradient, rows, true);
  }
  type_backward(pass, tensors.type, gradients.type, kept);
}

}  // namespace bigbird
