// See attention.h.
#include "lib/model/network/attention.h"

#include <cstddef>

#include "lib/model/network/head_rows.h"
#include "lib/model/network/residual.h"
#include "lib/model/network/rotary.h"

namespace bigbird {
namespace {

// The rows of one run in a matrix of `stride` columns, from column `column` on.
kernels::Rows part(kernels::Values matrix, kernels::Index first_row, kernels::Index stride,
                   kernels::Index column) {
  return {matrix + first_row * stride + column, stride};
}

// Query, key and value of one run lie side by side.
kernels::QueryKeyValueGradients parts(kernels::Values qkv, kernels::Index first_row, kernels::Index width) {
  return {part(qkv, first_row, 3 * width, 0), part(qkv, first_row, 3 * width, width),
          part(qkv, first_row, 3 * width, 2 * width)};
}
kernels::QueryKeyValue inputs(kernels::Values qkv, kernels::Index first_row, kernels::Index width) {
  const auto [q, k, v] = parts(qkv, first_row, width);
  return {q, k, v};
}

}  // namespace

void attention_layer_forward(const PassContext& pass, std::int64_t layer, const AttentionTensors& tensors,
                             kernels::ConstValues input, const AttentionActivations& kept,
                             const HeadRowActivations& head_rows) {
  kernels::Backend& backend = pass.backend;
  const kernels::Index rows = pass.tokens(), width = pass.width();
  const bool postnorm = pass.config.norm_type == NormType::postnorm;
  if (!postnorm) backend.layernorm_forward(input, tensors.norm, kept.norm, kept.norm_state, rows);
  backend.linear_forward(postnorm ? input : kept.norm, tensors.qkv, kept.qkv, rows);
  rotate_queries_and_keys(pass, kept.rotations, kept.qkv, false);
  for (const AttentionRun& run : pass.runs[static_cast<std::size_t>(layer)]) {
    const kernels::Index first = run.first_row();
    float* const log_sum_exp =
        kept.log_sum_exp == nullptr ? nullptr : kept.log_sum_exp + pass.config.num_attention_heads * first;
    kernels::AttentionBatch call = run.call();
    // The head reads first tokens alone, and nothing is kept for a way back.
    if (head_rows.tokens != nullptr && log_sum_exp == nullptr && pass.masked_rows == 0)
      call.wanted_blocks = 1;
    backend.attention_forward(call, inputs(kept.qkv, first, width), part(kept.context, first, width, 0),
                              log_sum_exp);
  }
  const PassContext behind = at_head_rows(pass, head_rows);
  kernels::ConstValues context = kept.context;
  if (head_rows.tokens != nullptr) {
    gather_head_rows(pass, head_rows, context, head_rows.context);
    gather_head_rows(pass, head_rows, input, head_rows.input);
    context = head_rows.context;
    input = head_rows.input;
  }
  backend.linear_forward(context, tensors.output, kept.sum, behind.rows());
  residual_forward(behind, behind.dropout(DropoutSite::attention_output, layer), tensors.norm, input,
                   {kept.sum, kept.norm, kept.norm_state});
}

void attention_layer_backward(const PassContext& pass, std::int64_t layer, const AttentionTensors& tensors,
                              const AttentionTensors& gradients, kernels::ConstValues input,
                              const AttentionActivations& kept, const HeadRowActivations& head_rows,
                              const BackwardWorkspace& work) {
  kernels::Backend& backend = pass.backend;
  const kernels::Index rows = pass.tokens(), width = pass.width();
  const bool postnorm = pass.config.norm_type == NormType::postnorm;
  const kernels::Values dcontext = work.wide, dqkv = work.wide + rows * width;

  const PassContext behind = at_head_rows(pass, head_rows);
  kernels::LinearGradients output = gradients.output;
  const kernels::ConstValues branch =
      residual_backward(behind, behind.dropout(DropoutSite::attention_output, layer), tensors.norm,
                        gradients.norm, output, {kept.sum, kept.norm, kept.norm_state}, work);
  const bool all = head_rows.tokens == nullptr;
  backend.linear_backward_weight(branch, all ? kept.context : head_rows.context, tensors.output, output,
                                 behind.rows());
  if (all) {
    backend.linear_backward_input(branch, tensors.output, dcontext, rows, false);
  } else {
    // Made where the gradients of query, key and value come to lie: there is room for three times as many
    // rows, of which those of the stream may be twice as wide.
    const kernels::Values gradient(dqkv.data(), work.gradient.type());
    const kernels::Values some((gradient + behind.rows() * width).data(), dqkv.type());
    backend.linear_backward_input(branch, tensors.output, some, behind.rows(), false);
    backend.copy(gradient.data(), work.gradient.data(),
                 static_cast<std::size_t>(behind.rows() * width) * kernels::size_of(gradient.type()));
    spread_head_rows(pass, head_rows, some, dcontext);
    spread_head_rows(pass, head_rows, gradient, work.gradient);
  }

  for (const AttentionRun& run : pass.runs[static_cast<std::size_t>(layer)]) {
    const kernels::Index first = run.first_row();
    backend.attention_backward(run.call(), inputs(kept.qkv, first, width),
                               part(kept.context, first, width, 0),
                               kept.log_sum_exp + pass.config.num_attention_heads * first,
                               part(dcontext, first, width, 0), parts(dqkv, first, width));
  }

  rotate_queries_and_keys(pass, kept.rotations, dqkv, true);
  backend.linear_backward_weight(dqkv, postnorm ? input : kept.norm, tensors.qkv, gradients.qkv, rows);
  backend.linear_backward_input(dqkv, tensors.qkv, postnorm ? work.gradient : work.branch, rows, postnorm);
  if (!postnorm) {
    backend.layernorm_backward({work.branch, input, kept.norm_state, work.gradient, rows}, tensors.norm,
                               gradients.norm, true);
  }
}

}  // namespace bigbird
