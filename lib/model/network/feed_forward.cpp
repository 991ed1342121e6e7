// See feed_forward.h.
#include "lib/model/network/feed_forward.h"

#include "lib/model/network/residual.h"

namespace bigbird {

void feed_forward_forward(const Call& call, std::int64_t layer, const FeedForwardTensors& tensors,
                          kernels::ConstValues input, const FeedForwardActivations& kept) {
  kernels::Backend& backend = call.backend;
  const kernels::Index rows = call.tokens(), width = call.width(), inner = call.config.intermediate_size;
  const bool postnorm = call.config.norm_type == NormType::postnorm;
  if (!postnorm) {
    backend.layernorm_forward(input, tensors.norm.weight, tensors.norm.bias, call.epsilon(), kept.norm,
                              kept.norm_state.mean, kept.norm_state.rstd, rows, width);
  }
  backend.linear_gelu_forward(postnorm ? input : kept.norm, tensors.inner.weight, tensors.inner.bias,
                              kept.pre, kept.inner, rows, inner, width, call.config.activation);
  backend.linear_forward(kept.inner, tensors.output.weight, tensors.output.bias, kept.sum, rows, width,
                         inner);
  const kernels::Dropout dropout = call.dropout(DropoutSite::feed_forward_output, layer);
  if (postnorm) {
    backend.dropout_add_layernorm_forward(kept.sum, input, dropout, kept.sum, tensors.norm.weight,
                                          tensors.norm.bias, call.epsilon(), kept.norm, kept.norm_state.mean,
                                          kept.norm_state.rstd, rows, width);
  } else {
    backend.dropout_add(kept.sum, input, kept.sum, rows * width, dropout);
  }
}

void feed_forward_backward(const Call& call, std::int64_t layer, const FeedForwardTensors& tensors,
                           const FeedForwardTensors& gradients, kernels::ConstValues input,
                           const FeedForwardActivations& kept, const BackwardWorkspace& work) {
  kernels::Backend& backend = call.backend;
  const kernels::Index rows = call.tokens(), width = call.width(), inner = call.config.intermediate_size;
  const bool postnorm = call.config.norm_type == NormType::postnorm;
  const kernels::Values dinner = work.wide;

  const kernels::ConstValues branch =
      residual_backward(call, call.dropout(DropoutSite::feed_forward_output, layer), tensors.norm,
                        gradients.norm, kept.sum, kept.norm_state, work);
  backend.linear_backward_weight(branch, kept.inner, gradients.output.weight, gradients.output.bias, rows,
                                 width, inner);
  backend.linear_backward_input_gelu(branch, tensors.output.weight, kept.pre, dinner, rows, width, inner,
                                     call.config.activation);

  backend.linear_backward_weight(dinner, postnorm ? input : kept.norm, gradients.inner.weight,
                                 gradients.inner.bias, rows, inner, width);
  backend.linear_backward_input(dinner, tensors.inner.weight, postnorm ? work.stream : work.branch, rows,
                                inner, width, postnorm);
  if (!postnorm) {
    backend.layernorm_backward(work.branch, input, tensors.norm.weight, kept.norm_state.mean,
                               kept.norm_state.rstd, work.stream, true, gradients.norm.weight,
                               gradients.norm.bias, rows, width);
  }
}

}  // namespace bigbird
