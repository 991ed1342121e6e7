// See feed_forward.h.
#include "lib/model/network/feed_forward.h"

#include "lib/model/network/residual.h"

namespace bigbird {

void feed_forward_forward(const PassContext& pass, std::int64_t layer, const FeedForwardTensors& tensors,
                          kernels::ConstValues input, const FeedForwardActivations& kept) {
  kernels::Backend& backend = pass.backend;
  const kernels::Index rows = pass.rows();
  const bool postnorm = pass.config.norm_type == NormType::postnorm;
  if (!postnorm) backend.layernorm_forward(input, tensors.norm, kept.norm, kept.norm_state, rows);
  backend.linear_activation_forward(postnorm ? input : kept.norm, tensors.inner, pass.config.activation,
                                    kept.pre, kept.inner, rows);
  backend.linear_forward(kept.inner, tensors.output, kept.sum, rows);
  residual_forward(pass, pass.dropout(DropoutSite::feed_forward_output, layer), tensors.norm, input,
                   {kept.sum, kept.norm, kept.norm_state});
}

void feed_forward_backward(const PassContext& pass, std::int64_t layer, const FeedForwardTensors& tensors,
                           const FeedForwardTensors& gradients, kernels::ConstValues input,
                           const FeedForwardActivations& kept, const BackwardWorkspace& work) {
  kernels::Backend& backend = pass.backend;
  const kernels::Index rows = pass.rows();
  const bool postnorm = pass.config.norm_type == NormType::postnorm;
  // What the activation made is made again, in the place that its gradient takes afterwards.
  const kernels::Values inner = work.wide, dinner = work.wide;

  kernels::LinearGradients output = gradients.output;
  const kernels::ConstValues branch =
      residual_backward(pass, pass.dropout(DropoutSite::feed_forward_output, layer), tensors.norm,
                        gradients.norm, output, {kept.sum, kept.norm, kept.norm_state}, work);
  backend.activation_forward(kept.pre, inner, rows * tensors.inner.out, pass.config.activation);
  backend.linear_backward_weight(branch, inner, tensors.output, output, rows);
  backend.linear_backward_input_activation(branch, tensors.output, pass.config.activation, kept.pre, dinner,
                                           rows);

  backend.linear_backward_weight(dinner, postnorm ? input : kept.norm, tensors.inner, gradients.inner, rows);
  backend.linear_backward_input(dinner, tensors.inner, postnorm ? work.gradient : work.branch, rows,
                                postnorm);
  if (!postnorm) {
    backend.layernorm_backward({work.branch, input, kept.norm_state, work.gradient, rows}, tensors.norm,
                               gradients.norm, true);
  }
}

}  // namespace bigbird
