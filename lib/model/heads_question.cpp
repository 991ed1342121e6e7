// Spans that answer a question, as in Hugging Face's BigBirdForQuestionAnswering; see heads.h.
#include <algorithm>

#include "lib/model/heads.h"
#include "lib/model/sequence_loss.h"

namespace bigbird {
namespace {

// Taken off the logits of the question.
constexpr float question_penalty = 1e6f;

std::vector<float> penalties(const Call& call) {
  const Batch& batch = call.batch;
  std::vector<float> values(batch.ids.size(), 0.0f);
  for (std::size_t s = 0; s < batch.lengths.size(); ++s) {
    const std::int64_t first = batch.token_offsets[s];
    const std::int64_t length =
        question_length(batch.ids.data() + first, batch.given_length(s), call.config.sep_token_id);
    std::fill(values.begin() + first + 1, values.begin() + first + length, -question_penalty);
  }
  return values;
}

// One side of the answer: its logits and, from `at` on, the labels and losses of its B positions.
struct Side {
  float* logits;  // [T]
  const std::vector<std::int32_t>& positions;
  std::size_t at;
};

struct Sides {
  Side start, end;
};

Sides sides(const Call& call, const QuestionActivations& kept) {
  return {{kept.start, call.batch.start_positions, 0},
          {kept.end, call.batch.end_positions, call.batch.lengths.size()}};
}

// Cross entropy over the competing tokens of every sequence; the logits become their gradients when a scale
// is given (on the device).
void cross_entropies(const Call& call, const QuestionActivations& kept, const Side& side,
                     const float* scale) {
  const Batch& batch = call.batch;
  for (std::size_t s = 0; s < batch.lengths.size(); ++s) {
    float* logits = side.logits + batch.token_offsets[s];
    const std::int64_t competing = batch.given_length(s);
    call.backend.cross_entropy(logits, kept.labels + side.at + s, kept.losses + side.at + s, nullptr,
                               scale == nullptr ? nullptr : logits, scale, 1, competing);
    if (scale == nullptr) continue;
    const std::int64_t rest = batch.token_offsets[s + 1] - batch.token_offsets[s] - competing;
    call.backend.zero(logits + competing, static_cast<std::size_t>(rest) * sizeof(float));
  }
}

LossSum side_loss(const Call& call, const QuestionActivations& kept, const Side& side) {
  call.backend.upload(kept.labels + side.at, side.positions.data(),
                      side.positions.size() * sizeof(std::int32_t));
  cross_entropies(call, kept, side, nullptr);
  return sum_losses(call.backend, kept.losses + side.at, nullptr, side.positions);
}

}  // namespace

std::int64_t question_length(const std::int32_t* ids, std::int64_t length, std::int64_t sep_token_id) {
  const std::int32_t* separator = std::find(ids, ids + length, static_cast<std::int32_t>(sep_token_id));
  return separator == ids + length ? 1 : separator - ids + 1;
}

void question_head_forward(const Call& call, const QuestionHeadTensors& tensors, const Activations& kept,
                           const float* hidden, ForwardResult& result) {
  kernels::Backend& backend = call.backend;
  const kernels::Index rows = call.tokens(), width = call.width(), inner = call.config.intermediate_size;
  const QuestionActivations& head = kept.question;
  const FeedForwardActivations& block = head.block;
  backend.dropout(hidden, head.input, rows * width, call.dropout(DropoutSite::question_input, 0));
  backend.linear_gelu_forward(head.input, tensors.block.inner.weight, tensors.block.inner.bias, block.pre,
                              block.inner, rows, inner, width, call.config.activation);
  backend.linear_forward(block.inner, tensors.block.output.weight, tensors.block.output.bias, block.sum, rows,
                         width, inner);
  backend.dropout_add(block.sum, hidden, block.sum, rows * width,
                      call.dropout(DropoutSite::question_output, 0));
  backend.layernorm_forward(block.sum, tensors.block.norm.weight, tensors.block.norm.bias, call.epsilon(),
                            block.norm, block.norm_state.mean, block.norm_state.rstd, rows, width);

  const std::vector<float> penalty = penalties(call);
  backend.upload(head.penalty, penalty.data(), penalty.size() * sizeof(float));
  // The two rows of the last product go apart, so that each side's logits lie together for the softmax.
  backend.linear_forward(block.norm, tensors.output.weight, tensors.output.bias, head.start, rows, 1, width);
  backend.linear_forward(block.norm, tensors.output.weight + width, tensors.output.bias + 1, head.end, rows,
                         1, width);
  backend.add(head.penalty, head.start, rows);
  backend.add(head.penalty, head.end, rows);

  if (call.batch.start_positions.empty()) return;
  const auto [start_side, end_side] = sides(call, head);
  const LossSum start = side_loss(call, head, start_side), end = side_loss(call, head, end_side);
  result.start_loss_sum = start.loss;
  result.start_count = start.count;
  result.end_loss_sum = end.loss;
  result.end_count = end.count;
}

void question_head_backward(const Call& call, const QuestionHeadTensors& tensors,
                            const QuestionHeadTensors& gradients, const Activations& kept) {
  if (call.batch.start_positions.empty()) return;
  kernels::Backend& backend = call.backend;
  const kernels::Index rows = call.tokens(), width = call.width(), inner = call.config.intermediate_size;
  const QuestionActivations& head = kept.question;
  const FeedForwardActivations& block = head.block;
  float* stream = kept.workspace.stream;
  float* branch = kept.workspace.branch;
  float* dinner = kept.workspace.wide;

  const auto [start_side, end_side] = sides(call, head);
  cross_entropies(call, head, start_side, kept.cells.start_scale);
  cross_entropies(call, head, end_side, kept.cells.end_scale);
  const LinearTensors &output = tensors.output, &doutput = gradients.output;
  backend.linear_backward_weight(head.start, block.norm, doutput.weight, doutput.bias, rows, 1, width);
  backend.linear_backward_weight(head.end, block.norm, doutput.weight + width, doutput.bias + 1, rows, 1,
                                 width);
  backend.linear_backward_input(head.start, output.weight, branch, rows, 1, width, false);
  backend.linear_backward_input(head.end, output.weight + width, branch, rows, 1, width, true);

  // From the sum the gradient goes to the residual as it is, and into the block.
  backend.layernorm_backward(branch, block.sum, tensors.block.norm.weight, block.norm_state.mean,
                             block.norm_state.rstd, branch, false, gradients.block.norm.weight,
                             gradients.block.norm.bias, rows, width);
  backend.add(branch, stream, rows * width);
  backend.dropout(branch, branch, rows * width, call.dropout(DropoutSite::question_output, 0));
  backend.linear_backward_weight(branch, block.inner, gradients.block.output.weight,
                                 gradients.block.output.bias, rows, width, inner);
  backend.linear_backward_input(branch, tensors.block.output.weight, dinner, rows, width, inner, false);
  backend.gelu_backward(block.pre, dinner, dinner, rows * inner, call.config.activation);
  backend.linear_backward_weight(dinner, head.input, gradients.block.inner.weight, gradients.block.inner.bias,
                                 rows, inner, width);
  backend.linear_backward_input(dinner, tensors.block.inner.weight, branch, rows, inner, width, false);
  backend.dropout(branch, branch, rows * width, call.dropout(DropoutSite::question_input, 0));
  backend.add(branch, stream, rows * width);
}

}  // namespace bigbird
