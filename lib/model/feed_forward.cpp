// See feed_forward.h.
#include "lib/model/feed_forward.h"

namespace bigbird {

void feed_forward_forward(const Call& call, std::int64_t layer, const FeedForwardTensors& tensors,
                          const float* input, const FeedForwardActivations& kept) {
  kernels::Backend& backend = call.backend;
  const kernels::Index rows = call.tokens(), width = call.width(), inner = call.config.intermediate_size;
  const bool postnorm = call.config.norm_type == NormType::postnorm;
  const auto normalise = [&](const float* from) {
    backend.layernorm_forward(from, tensors.norm.weight, tensors.norm.bias, call.epsilon(), kept.norm,
                              kept.norm_state.mean, kept.norm_state.rstd, rows, width);
  };

  if (!postnorm) normalise(input);
  backend.linear_gelu_forward(postnorm ? input : kept.norm, tensors.inner.weight, tensors.inner.bias,
                              kept.pre, kept.inner, rows, inner, width, call.config.activation);
  backend.linear_forward(kept.inner, tensors.output.weight, tensors.output.bias, kept.sum, rows, width,
                         inner);
  backend.dropout_add(kept.sum, input, kept.sum, rows * width,
                      call.dropout(DropoutSite::feed_forward_output, layer));
  if (postnorm) normalise(kept.sum);
}

void feed_forward_backward(const Call& call, std::int64_t layer, const FeedForwardTensors& tensors,
                           const FeedForwardTensors& gradients, const float* input,
                           const FeedForwardActivations& kept, const BackwardWorkspace& work) {
  kernels::Backend& backend = call.backend;
  const kernels::Index rows = call.tokens(), width = call.width(), inner = call.config.intermediate_size;
  const bool postnorm = call.config.norm_type == NormType::postnorm;
  const auto norm_backward = [&](const float* gradient, const float* from, bool accumulate) {
    backend.layernorm_backward(gradient, from, tensors.norm.weight, kept.norm_state.mean,
                               kept.norm_state.rstd, work.stream, accumulate, gradients.norm.weight,
                               gradients.norm.bias, rows, width);
  };
  float* dinner = work.wide;

  // From here on work.stream is the gradient of the sum: it goes to the residual as it is, and into the
  // branch.
  if (postnorm) norm_backward(work.stream, kept.sum, false);
  const kernels::Dropout dropout = call.dropout(DropoutSite::feed_forward_output, layer);
  const float* branch = work.stream;
  if (dropout.probability > 0) {
    backend.dropout(work.stream, work.branch, rows * width, dropout);
    branch = work.branch;
  }
  backend.linear_backward_weight(branch, kept.inner, gradients.output.weight, gradients.output.bias, rows,
                                 width, inner);
  backend.linear_backward_input(branch, tensors.output.weight, dinner, rows, width, inner, false);
  backend.gelu_backward(kept.pre, dinner, dinner, rows * inner, call.config.activation);

  backend.linear_backward_weight(dinner, postnorm ? input : kept.norm, gradients.inner.weight,
                                 gradients.inner.bias, rows, inner, width);
  float* into = postnorm ? work.stream : work.branch;
  backend.linear_backward_input(dinner, tensors.inner.weight, into, rows, inner, width, postnorm);
  if (!postnorm) norm_backward(work.branch, input, true);
}

}  // namespace bigbird
