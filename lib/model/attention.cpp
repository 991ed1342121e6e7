// See attention.h.
#include "lib/model/attention.h"

#include <cmath>
#include <vector>

#include "lib/model/rotary.h"

namespace bigbird {
namespace {

// A run of neighbouring sequences that one kernel call serves, with offsets counted from its own first row.
struct Run {
  kernels::Index first_row = 0;
  std::vector<kernels::Index> offsets{0};
  std::vector<kernels::Index> lengths;
  std::vector<kernels::Index> query_lengths;
  std::vector<const kernels::BlockPlanView*> plans;
  bool full = false;
};

// Dropout of attention probabilities exists in full attention only, and a short sequence takes full attention
// beside long ones that do not: in training a batch is cut where that changes. Without it the whole batch is
// one run.
std::vector<Run> runs_of(const Call& call, std::int64_t layer) {
  const bool dropout = call.training && call.config.attention_probs_dropout_prob > 0;
  std::vector<Run> runs;
  for (std::int64_t s = 0; s < call.batch.sequences(); ++s) {
    const std::size_t at = static_cast<std::size_t>(s);
    const kernels::Index begin = call.batch.token_offsets[at], end = call.batch.token_offsets[at + 1];
    const std::int64_t blocks = (end - begin) / call.config.block_size;
    const bool full_attention = call.plans.full_attention(blocks);
    const bool full = dropout && full_attention;
    if (runs.empty() || runs.back().full != full) {
      runs.emplace_back();
      runs.back().first_row = begin;
      runs.back().full = full;
    }
    Run& run = runs.back();
    run.offsets.push_back(end - run.first_row);
    run.lengths.push_back(call.batch.lengths[at]);
    run.query_lengths.push_back(full_attention ? call.batch.given_length(at) : call.batch.lengths[at]);
    run.plans.push_back(&call.plans.plan(layer, blocks).view());
  }
  return runs;
}

kernels::AttentionBatch kernel_batch(const Call& call, std::int64_t layer, const std::vector<Run>& runs,
                                     std::size_t index) {
  const Run& run = runs[index];
  kernels::AttentionBatch batch;
  batch.sequences = static_cast<kernels::Index>(run.lengths.size());
  batch.heads = call.config.num_attention_heads;
  batch.head_size = call.config.head_size();
  batch.block_size = call.config.block_size;
  batch.token_offsets = run.offsets.data();
  batch.lengths = run.lengths.data();
  batch.query_lengths = run.query_lengths.data();
  batch.plans = run.plans.data();
  batch.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(batch.head_size)));
  if (run.full) {
    batch.drop_probability = static_cast<float>(call.config.attention_probs_dropout_prob);
    batch.dropout_seed = call.dropout_seed;
    batch.dropout_stream =
        Call::stream(DropoutSite::attention_probabilities, layer, static_cast<std::int64_t>(index));
  }
  return batch;
}

// The rows of one run in a matrix of `stride` columns, from column `column` on.
kernels::ConstRows read(const float* matrix, kernels::Index first_row, kernels::Index stride,
                        kernels::Index column) {
  return {matrix + first_row * stride + column, stride};
}
kernels::Rows write(float* matrix, kernels::Index first_row, kernels::Index stride, kernels::Index column) {
  return {matrix + first_row * stride + column, stride};
}

}  // namespace

void attention_layer_forward(const Call& call, std::int64_t layer, const AttentionTensors& tensors,
                             const float* input, const AttentionActivations& kept) {
  kernels::Backend& backend = call.backend;
  const kernels::Index rows = call.tokens(), width = call.width();
  const bool postnorm = call.config.norm_type == NormType::postnorm;
  const auto normalise = [&](const float* from) {
    backend.layernorm_forward(from, tensors.norm.weight, tensors.norm.bias, call.epsilon(), kept.norm,
                              kept.norm_state.mean, kept.norm_state.rstd, rows, width);
  };

  if (!postnorm) normalise(input);
  backend.linear_forward(postnorm ? input : kept.norm, tensors.qkv.weight, tensors.qkv.bias, kept.qkv, rows,
                         3 * width, width);
  rotary_turn(call, kept.turns, kept.qkv, false);
  const std::vector<Run> runs = runs_of(call, layer);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const kernels::Index first = runs[i].first_row;
    float* log_sum_exp =
        kept.log_sum_exp == nullptr ? nullptr : kept.log_sum_exp + call.config.num_attention_heads * first;
    backend.attention_forward(kernel_batch(call, layer, runs, i), read(kept.qkv, first, 3 * width, 0),
                              read(kept.qkv, first, 3 * width, width),
                              read(kept.qkv, first, 3 * width, 2 * width),
                              write(kept.context, first, width, 0), log_sum_exp);
  }
  backend.linear_forward(kept.context, tensors.output.weight, tensors.output.bias, kept.sum, rows, width,
                         width);
  backend.dropout_add(kept.sum, input, kept.sum, rows * width,
                      call.dropout(DropoutSite::attention_output, layer));
  if (postnorm) normalise(kept.sum);
}

void attention_layer_backward(const Call& call, std::int64_t layer, const AttentionTensors& tensors,
                              const AttentionTensors& gradients, const float* input,
                              const AttentionActivations& kept, const BackwardWorkspace& work) {
  kernels::Backend& backend = call.backend;
  const kernels::Index rows = call.tokens(), width = call.width();
  const bool postnorm = call.config.norm_type == NormType::postnorm;
  const auto norm_backward = [&](const float* gradient, const float* from, bool accumulate) {
    backend.layernorm_backward(gradient, from, tensors.norm.weight, kept.norm_state.mean,
                               kept.norm_state.rstd, work.stream, accumulate, gradients.norm.weight,
                               gradients.norm.bias, rows, width);
  };
  float* dcontext = work.wide;
  float* dqkv = work.wide + rows * width;

  // From here on work.stream is the gradient of the sum: it goes to the residual as it is, and into the
  // branch.
  if (postnorm) norm_backward(work.stream, kept.sum, false);
  const kernels::Dropout dropout = call.dropout(DropoutSite::attention_output, layer);
  const float* branch = work.stream;
  if (dropout.probability > 0) {
    backend.dropout(work.stream, work.branch, rows * width, dropout);
    branch = work.branch;
  }
  backend.linear_backward_weight(branch, kept.context, gradients.output.weight, gradients.output.bias, rows,
                                 width, width);
  backend.linear_backward_input(branch, tensors.output.weight, dcontext, rows, width, width, false);

  const std::vector<Run> runs = runs_of(call, layer);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const kernels::Index first = runs[i].first_row;
    backend.attention_backward(
        kernel_batch(call, layer, runs, i), read(kept.qkv, first, 3 * width, 0),
        read(kept.qkv, first, 3 * width, width), read(kept.qkv, first, 3 * width, 2 * width),
        read(kept.context, first, width, 0), kept.log_sum_exp + call.config.num_attention_heads * first,
        read(dcontext, first, width, 0), write(dqkv, first, 3 * width, 0),
        write(dqkv, first, 3 * width, width), write(dqkv, first, 3 * width, 2 * width));
  }

  rotary_turn(call, kept.turns, dqkv, true);
  backend.linear_backward_weight(dqkv, postnorm ? input : kept.norm, gradients.qkv.weight, gradients.qkv.bias,
                                 rows, 3 * width, width);
  float* into = postnorm ? work.stream : work.branch;
  backend.linear_backward_input(dqkv, tensors.qkv.weight, into, rows, 3 * width, width, postnorm);
  if (!postnorm) norm_backward(work.branch, input, true);
}

}  // namespace bigbird
