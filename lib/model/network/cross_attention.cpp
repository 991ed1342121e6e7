// See cross_attention.h.
#include "lib/model/network/cross_attention.h"

#include "lib/model/network/residual.h"

namespace bigbird {
namespace {

kernels::QueryKeyValue cross_inputs(const CrossAttentionActivations& kept, kernels::Index width) {
  return {{kept.query, width}, {kept.key_value, 2 * width}, {kept.key_value + width, 2 * width}};
}

}  // namespace

void cross_attention_forward(const CrossAttentionPass& pass, std::int64_t layer,
                             const CrossAttentionTensors& tensors, kernels::ConstValues input,
                             const CrossAttentionActivations& kept) {
  kernels::Backend& backend = pass.decoder.backend;
  const kernels::Index rows = pass.decoder.tokens(), width = pass.decoder.width();
  const bool postnorm = pass.decoder.config.norm_type == NormType::postnorm;
  if (!postnorm) backend.layernorm_forward(input, tensors.norm, kept.norm, kept.norm_state, rows);
  backend.linear_forward(postnorm ? input : kept.norm, tensors.query, kept.query, rows);
  backend.linear_forward(pass.hidden, tensors.key_value, kept.key_value, pass.hidden_rows);
  for (const AttentionRun& run : pass.runs) {
    backend.attention_forward(run.call(), cross_inputs(kept, width), {kept.context, width}, kept.log_sum_exp);
  }
  backend.linear_forward(kept.context, tensors.output, kept.sum, rows);
  residual_forward(pass.decoder, pass.decoder.dropout(DropoutSite::cross_attention_output, layer),
                   tensors.norm, input, {kept.sum, kept.norm, kept.norm_state});
}

void cross_attention_backward(const CrossAttentionPass& pass, std::int64_t layer,
                              const CrossAttentionTensors& tensors, const CrossAttentionTensors& gradients,
                              kernels::ConstValues input, const CrossAttentionActivations& kept,
                              const BackwardWorkspace& work, kernels::Values key_value_gradient,
                              kernels::Values dhidden) {
  kernels::Backend& backend = pass.decoder.backend;
  const kernels::Index rows = pass.decoder.tokens(), width = pass.decoder.width();
  const bool postnorm = pass.decoder.config.norm_type == NormType::postnorm;
  const kernels::Values dcontext = work.wide, dquery = work.wide + rows * width;

  kernels::LinearGradients output = gradients.output;
  const kernels::ConstValues branch =
      residual_backward(pass.decoder, pass.decoder.dropout(DropoutSite::cross_attention_output, layer),
                        tensors.norm, gradients.norm, output, {kept.sum, kept.norm, kept.norm_state}, work);
  backend.linear_backward_weight(branch, kept.context, tensors.output, output, rows);
  backend.linear_backward_input(branch, tensors.output, dcontext, rows, false);
  for (const AttentionRun& run : pass.runs) {
    backend.attention_backward(
        run.call(), cross_inputs(kept, width), {kept.context, width}, kept.log_sum_exp, {dcontext, width},
        {{dquery, width}, {key_value_gradient, 2 * width}, {key_value_gradient + width, 2 * width}});
  }
  backend.linear_backward_weight(key_value_gradient, pass.hidden, tensors.key_value, gradients.key_value,
                                 pass.hidden_rows);
  backend.linear_backward_input(key_value_gradient, tensors.key_value, dhidden, pass.hidden_rows, true);

  backend.linear_backward_weight(dquery, postnorm ? input : kept.norm, tensors.query, gradients.query, rows);
  backend.linear_backward_input(dquery, tensors.query, postnorm ? work.gradient : work.branch, rows,
                                postnorm);
  if (!postnorm) {
    backend.layernorm_backward({work.branch, input, kept.norm_state, work.gradient, rows}, tensors.norm,
                               gradients.norm, true);
  }
}

}  // namespace bigbird
