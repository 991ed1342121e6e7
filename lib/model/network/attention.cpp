// See attention.h.
#include "lib/model/network/attention.h"

#include <cstddef>

#include "lib/model/network/residual.h"
#include "lib/model/network/rotary.h"

namespace bigbird {
namespace {

// The rows of one run in a matrix of `stride` columns, from column `column` on.
kernels::ConstRows read(kernels::ConstValues matrix, kernels::Index first_row, kernels::Index stride,
                        kernels::Index column) {
  return {matrix + first_row * stride + column, stride};
}
kernels::Rows write(kernels::Values matrix, kernels::Index first_row, kernels::Index stride,
                    kernels::Index column) {
  return {matrix + first_row * stride + column, stride};
}

}  // namespace

void attention_layer_forward(const Call& call, std::int64_t layer, const AttentionTensors& tensors,
                             kernels::ConstValues input, const AttentionActivations& kept) {
  kernels::Backend& backend = call.backend;
  const kernels::Index rows = call.tokens(), width = call.width();
  const bool postnorm = call.config.norm_type == NormType::postnorm;
  if (!postnorm) {
    backend.layernorm_forward(input, tensors.norm.weight, tensors.norm.bias, call.epsilon(), kept.norm,
                              kept.norm_state.mean, kept.norm_state.rstd, rows, width);
  }
  backend.linear_forward(postnorm ? input : kept.norm, tensors.qkv.weight, tensors.qkv.bias, kept.qkv, rows,
                         3 * width, width);
  rotary_turn(call, kept.turns, kept.qkv, false);
  for (const AttentionRun& run : call.runs[static_cast<std::size_t>(layer)]) {
    const kernels::Index first = run.first_row();
    float* log_sum_exp =
        kept.log_sum_exp == nullptr ? nullptr : kept.log_sum_exp + call.config.num_attention_heads * first;
    backend.attention_forward(
        run.call(), read(kept.qkv, first, 3 * width, 0), read(kept.qkv, first, 3 * width, width),
        read(kept.qkv, first, 3 * width, 2 * width), write(kept.context, first, width, 0), log_sum_exp);
  }
  backend.linear_forward(kept.context, tensors.output.weight, tensors.output.bias, kept.sum, rows, width,
                         width);
  const kernels::Dropout dropout = call.dropout(DropoutSite::attention_output, layer);
  if (postnorm) {
    backend.dropout_add_layernorm_forward(kept.sum, input, dropout, kept.sum, tensors.norm.weight,
                                          tensors.norm.bias, call.epsilon(), kept.norm, kept.norm_state.mean,
                                          kept.norm_state.rstd, rows, width);
  } else {
    backend.dropout_add(kept.sum, input, kept.sum, rows * width, dropout);
  }
}

void attention_layer_backward(const Call& call, std::int64_t layer, const AttentionTensors& tensors,
                              const AttentionTensors& gradients, kernels::ConstValues input,
                              const AttentionActivations& kept, const BackwardWorkspace& work) {
  kernels::Backend& backend = call.backend;
  const kernels::Index rows = call.tokens(), width = call.width();
  const bool postnorm = call.config.norm_type == NormType::postnorm;
  const kernels::Values dcontext = work.wide, dqkv = work.wide + rows * width;

  const kernels::ConstValues branch =
      residual_backward(call, call.dropout(DropoutSite::attention_output, layer), tensors.norm,
                        gradients.norm, kept.sum, kept.norm_state, work);
  backend.linear_backward_weight(branch, kept.context, gradients.output.weight, gradients.output.bias, rows,
                                 width, width);
  backend.linear_backward_input(branch, tensors.output.weight, dcontext, rows, width, width, false);

  for (const AttentionRun& run : call.runs[static_cast<std::size_t>(layer)]) {
    const kernels::Index first = run.first_row();
    backend.attention_backward(
        run.call(), read(kept.qkv, first, 3 * width, 0), read(kept.qkv, first, 3 * width, width),
        read(kept.qkv, first, 3 * width, 2 * width), read(kept.context, first, width, 0),
        kept.log_sum_exp + call.config.num_attention_heads * first, read(dcontext, first, width, 0),
        write(dqkv, first, 3 * width, 0), write(dqkv, first, 3 * width, width),
        write(dqkv, first, 3 * width, 2 * width));
  }

  rotary_turn(call, kept.turns, dqkv, true);
  backend.linear_backward_weight(dqkv, postnorm ? input : kept.norm, gradients.qkv.weight, gradients.qkv.bias,
                                 rows, 3 * width, width);
  backend.linear_backward_input(dqkv, tensors.qkv.weight, postnorm ? work.stream : work.branch, rows,
                                3 * width, width, postnorm);
  if (!postnorm) {
    backend.layernorm_backward(work.branch, input, tensors.norm.weight, kept.norm_state.mean,
                               kept.norm_state.rstd, work.stream, true, gradients.norm.weight,
                               gradients.norm.bias, rows, width);
  }
}

}  // namespace bigbird
