// See residual.h.
#include "lib/model/network/residual.h"

namespace bigbird {

kernels::ConstValues residual_backward(const Call& call, const kernels::Dropout& dropout,
                                       const NormTensors& tensors, const NormTensors& gradients,
                                       kernels::ConstValues sum, const NormState& norm_state,
                                       const BackwardWorkspace& work) {
  kernels::Backend& backend = call.backend;
  const kernels::Index rows = call.tokens(), width = call.width();
  const bool drops = dropout.probability > 0;
  if (call.config.norm_type == NormType::postnorm && drops) {
    backend.layernorm_backward_dropout(work.stream, sum, tensors.weight, norm_state.mean, norm_state.rstd,
                                       work.stream, work.branch, dropout, gradients.weight, gradients.bias,
                                       rows, width);
  } else if (call.config.norm_type == NormType::postnorm) {
    backend.layernorm_backward(work.stream, sum, tensors.weight, norm_state.mean, norm_state.rstd,
                               work.stream, false, gradients.weight, gradients.bias, rows, width);
  } else if (drops) {
    backend.dropout(work.stream, work.branch, rows * width, dropout);
  }
  return drops ? work.branch : work.stream;
}

}  // namespace bigbird
