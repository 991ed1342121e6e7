// Spans that answer a question, as in Hugging Face's BigBirdForQuestionAnswering, or of HeadForm::roberta as
// in LongformerForQuestionAnswering and RobertaForQuestionAnswering; see heads.h.
#include <algorithm>
#include <array>
#include <cstddef>

#include "lib/model/network/head_losses.h"
#include "lib/model/network/heads.h"

namespace bigbird {
namespace {

// Taken off the logits of the question.
constexpr float question_penalty = 1e6f;

std::vector<float> penalties(const PassContext& pass) {
  const Batch& batch = pass.batch;
  std::vector<float> values(batch.ids.size(), 0.0f);
  if (pass.config.has_plain_question_head()) return values;
  for (std::size_t s = 0; s < batch.lengths.size(); ++s) {
    const std::int64_t first = batch.token_offsets[s];
    const std::int64_t length =
        question_length(batch.ids.data() + first, batch.given_length(s), pass.config.sep_token_id);
    std::fill(values.begin() + first + 1, values.begin() + first + length, -question_penalty);
  }
  return values;
}

// One side of the answer: its logits and their gradients and, from `at` on, the labels and losses of its B
// positions.
struct SpanSide {
  const float* logits;      // [T]
  kernels::Values dlogits;  // [T]
  const float* scale;       // of the loss, on the device
  const std::vector<std::int32_t>& positions;
  std::size_t at;
};

std::array<SpanSide, 2> sides(const PassContext& pass, const QuestionActivations& kept,
                              const Scalars& scalars) {
  const Batch& batch = pass.batch;
  return {SpanSide{kept.start, kept.dstart, scalars.scale(Loss::start), batch.start_positions, 0},
          SpanSide{kept.end, kept.dend, scalars.scale(Loss::end), batch.end_positions, batch.lengths.size()}};
}

// Cross entropy over the competing tokens of every sequence, and its gradient when it is wanted.
void cross_entropies(const PassContext& pass, const QuestionActivations& kept, const SpanSide& side,
                     bool gradient) {
  const Batch& batch = pass.batch;
  for (std::size_t s = 0; s < batch.lengths.size(); ++s) {
    const std::int64_t first = batch.token_offsets[s], competing = batch.given_length(s);
    const kernels::Values dlogits = gradient ? side.dlogits + first : nullptr;
    pass.backend.cross_entropy({side.logits + first, 1, competing}, {kept.labels + side.at + s},
                               kept.losses + side.at + s, nullptr, {dlogits, side.scale});
    if (!gradient) continue;
    const std::int64_t rest = batch.token_offsets[s + 1] - first - competing;
    pass.backend.zero((dlogits + competing).data(),
                      static_cast<std::size_t>(rest) * kernels::size_of(dlogits.type()));
  }
}

bool has_answers(const Batch& batch) {
  return !batch.start_positions.empty() || !batch.token_targets.empty();
}

// The losses of both sides against what the batch gives, and their gradients when they are wanted.
void losses_of_sides(const PassContext& pass, const Activations& kept, bool gradient) {
  if (!has_answers(pass.batch)) return;
  const QuestionActivations& head = kept.question;
  std::size_t score = 0;
  for (const SpanSide& side : sides(pass, head, kept.scalars)) {
    if (pass.batch.token_targets.empty()) {
      cross_entropies(pass, head, side, gradient);
    } else {
      kernels::LossGradient wanted;
      if (gradient) wanted = {side.dlogits, side.scale};
      token_loss(pass, pass.batch.token_targets[score], head.targets[score], true, side.logits, wanted);
    }
    ++score;
  }
}

// What the last product reads: [T, C] of the block, or of a plain head the hidden states themselves.
kernels::ConstValues scored_rows(const PassContext& pass, const QuestionActivations& head,
                                 kernels::ConstValues hidden) {
  if (pass.config.has_plain_question_head()) return hidden;
  return head.block.norm;
}

void question_block_forward(const PassContext& pass, const QuestionHeadTensors& tensors,
                            const QuestionActivations& head, kernels::ConstValues hidden) {
  kernels::Backend& backend = pass.backend;
  const kernels::Index rows = pass.batch.tokens();
  const FeedForwardActivations& block = head.block;
  backend.dropout(hidden, head.input, rows * pass.head_width(), pass.dropout(DropoutSite::question_input, 0));
  backend.linear_activation_forward(head.input, tensors.block.inner, pass.config.activation, block.pre,
                                    block.inner, rows);
  backend.linear_forward(block.inner, tensors.block.output, block.sum, rows);
  const kernels::Dropout dropout = pass.dropout(DropoutSite::question_output, 0);
  backend.dropout_add_layernorm_forward({block.sum, hidden, block.sum, dropout}, tensors.block.norm,
                                        block.norm, block.norm_state, rows);
}

// From kept.workspace.branch, the gradient of the block's output.
void question_block_backward(const PassContext& pass, const FeedForwardTensors& tensors,
                             const FeedForwardTensors& gradients, const Activations& kept) {
  kernels::Backend& backend = pass.backend;
  const kernels::Index rows = pass.batch.tokens(), width = pass.head_width();
  const QuestionActivations& head = kept.question;
  const FeedForwardActivations& block = head.block;
  const kernels::Values gradient = kept.workspace.gradient, branch = kept.workspace.branch,
                        dinner = kept.workspace.wide;
  // From the sum the gradient goes to the residual as it is, and into the block.
  backend.layernorm_backward({branch, block.sum, block.norm_state, branch, rows}, tensors.norm,
                             gradients.norm, false);
  backend.add(branch, gradient, rows * width);
  backend.dropout(branch, branch, rows * width, pass.dropout(DropoutSite::question_output, 0));
  backend.linear_backward_weight(branch, block.inner, tensors.output, gradients.output, rows);
  backend.linear_backward_input_activation(branch, tensors.output, pass.config.activation, block.pre, dinner,
                                           rows);
  backend.linear_backward_weight(dinner, head.input, tensors.inner, gradients.inner, rows);
  backend.linear_backward_input(dinner, tensors.inner, branch, rows, false);
  backend.dropout(branch, branch, rows * width, pass.dropout(DropoutSite::question_input, 0));
  backend.add(branch, gradient, rows * width);
}

}  // namespace

std::int64_t question_length(const std::int32_t* ids, std::int64_t length, std::int64_t sep_token_id) {
  const std::int32_t* separator = std::find(ids, ids + length, static_cast<std::int32_t>(sep_token_id));
  return separator == ids + length ? 1 : separator - ids + 1;
}

void question_head_stage(const PassContext& pass, const QuestionActivations& kept) {
  const Batch& batch = pass.batch;
  const std::vector<float> penalty = penalties(pass);
  pass.backend.upload(kept.penalty, penalty.data(), penalty.size() * sizeof(float));
  std::vector<std::int32_t> labels = batch.start_positions;
  labels.insert(labels.end(), batch.end_positions.begin(), batch.end_positions.end());
  pass.backend.upload(kept.labels, labels.data(), labels.size() * sizeof(std::int32_t));
  for (std::size_t side = 0; side < batch.token_targets.size(); ++side) {
    token_targets_stage(pass, batch.token_targets[side], kept.targets[side]);
  }
}

void question_head_forward(const PassContext& pass, const QuestionHeadTensors& tensors,
                           const Activations& kept, kernels::ConstValues hidden) {
  kernels::Backend& backend = pass.backend;
  const kernels::Index rows = pass.batch.tokens();
  const QuestionActivations& head = kept.question;
  if (!pass.config.has_plain_question_head()) question_block_forward(pass, tensors, head, hidden);
  const kernels::ConstValues scored = scored_rows(pass, head, hidden);

  // The two rows of the last product go apart, so that each side's logits lie together for the softmax.
  backend.linear_forward(scored, output_of(tensors.output, 0), head.start, rows);
  backend.linear_forward(scored, output_of(tensors.output, 1), head.end, rows);
  backend.add(head.penalty, head.start, rows);
  backend.add(head.penalty, head.end, rows);

  losses_of_sides(pass, kept, false);
}

void count_question_labels(const Batch& batch, LabelCounts& labels) {
  labels[Loss::start] = known_labels(batch.start_positions);
  labels[Loss::end] = known_labels(batch.end_positions);
  if (batch.token_targets.empty()) return;
  labels[Loss::start] = batch.token_targets[0].answered_groups();
  labels[Loss::end] = batch.token_targets[1].answered_groups();
}

void question_head_result(const PassContext& pass, const QuestionActivations& kept, ForwardResult& result) {
  const Batch& batch = pass.batch;
  if (!batch.token_targets.empty()) {
    const TokenTargets &starts = batch.token_targets[0], &ends = batch.token_targets[1];
    result[Loss::start].sum = sum_token_losses(pass, starts, kept.targets[0]);
    result[Loss::end].sum = sum_token_losses(pass, ends, kept.targets[1]);
  }
  if (batch.start_positions.empty()) return;
  add_losses(pass.backend, kept.losses, nullptr, batch.start_positions, result[Loss::start]);
  add_losses(pass.backend, kept.losses + batch.sequences(), nullptr, batch.end_positions, result[Loss::end]);
}

void question_head_backward(const PassContext& pass, const QuestionHeadTensors& tensors,
                            const QuestionHeadTensors& gradients, const Activations& kept) {
  if (!has_answers(pass.batch)) return;
  kernels::Backend& backend = pass.backend;
  const kernels::Index rows = pass.batch.tokens();
  const QuestionActivations& head = kept.question;
  const bool plain = pass.config.has_plain_question_head();
  const kernels::ConstValues scored = scored_rows(pass, head, kept.last_hidden_state());
  // A plain head's gradient is the hidden state's own, to which it is added.
  const kernels::Values dscored = plain ? kept.workspace.gradient : kept.workspace.branch;

  losses_of_sides(pass, kept, true);
  const LinearTensors start = output_of(tensors.output, 0), end = output_of(tensors.output, 1);
  backend.linear_backward_weight(head.dstart, scored, start, output_of(gradients.output, 0), rows);
  backend.linear_backward_weight(head.dend, scored, end, output_of(gradients.output, 1), rows);
  backend.linear_backward_input(head.dstart, start, dscored, rows, plain);
  backend.linear_backward_input(head.dend, end, dscored, rows, true);
  if (!plain) question_block_backward(pass, tensors.block, gradients.block, kept);
}

}  // namespace bigbird
