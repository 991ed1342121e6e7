// See residual.h.
#include "lib/model/network/residual.h"

#include <utility>

namespace bigbird {

void residual_forward(const PassContext& pass, const kernels::Dropout& dropout, const NormTensors& tensors,
                      kernels::ConstValues input, const ResidualActivations& kept) {
  const kernels::Index rows = pass.rows();
  if (pass.config.norm_type == NormType::postnorm) {
    pass.backend.dropout_add_layernorm_forward({kept.sum, input, kept.sum, dropout}, tensors, kept.norm,
                                               kept.norm_state, rows);
  } else {
    pass.backend.dropout_add(kept.sum, input, kept.sum, rows * pass.width(), dropout);
  }
}

kernels::ConstValues residual_backward(const PassContext& pass, const kernels::Dropout& dropout,
                                       const NormTensors& tensors, const NormTensors& gradients,
                                       kernels::LinearGradients& output, const ResidualActivations& kept,
                                       const BackwardWorkspace& work) {
  kernels::Backend& backend = pass.backend;
  const kernels::Index rows = pass.rows();
  const kernels::NormBackward norm{work.gradient, kept.sum, kept.norm_state, work.gradient, rows};
  const bool drops = dropout.probability > 0;
  if (pass.config.norm_type == NormType::postnorm) {
    kernels::NormGradients sums = gradients;
    sums.linear_bias = std::exchange(output.bias, nullptr);
    if (drops) {
      backend.layernorm_backward_dropout(norm, tensors, sums, dropout, work.branch);
    } else {
      backend.layernorm_backward(norm, tensors, sums, false);
    }
  } else if (drops) {
    backend.dropout(work.gradient, work.branch, rows * pass.width(), dropout);
  }
  return drops ? work.branch : work.gradient;
}

}  // namespace bigbird
