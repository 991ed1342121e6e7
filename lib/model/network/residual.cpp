// See residual.h.
#include "lib/model/network/residual.h"

namespace bigbird {

void residual_forward(const Call& call, const kernels::Dropout& dropout, const NormTensors& tensors,
                      kernels::ConstValues input, const ResidualActivations& kept) {
  const kernels::Index rows = call.tokens();
  if (call.config.norm_type == NormType::postnorm) {
    call.backend.dropout_add_layernorm_forward({kept.sum, input, kept.sum, dropout}, tensors, kept.norm,
                                               kept.norm_state, rows);
  } else {
    call.backend.dropout_add(kept.sum, input, kept.sum, rows * call.width(), dropout);
  }
}

kernels::ConstValues residual_backward(const Call& call, const kernels::Dropout& dropout,
                                       const NormTensors& tensors, const NormTensors& gradients,
                                       const ResidualActivations& kept, const BackwardWorkspace& work) {
  kernels::Backend& backend = call.backend;
  const kernels::Index rows = call.tokens();
  const kernels::NormBackward pass{work.stream, kept.sum, kept.norm_state, work.stream, rows};
  const bool drops = dropout.probability > 0;
  if (call.config.norm_type == NormType::postnorm && drops) {
    backend.layernorm_backward_dropout(pass, tensors, gradients, dropout, work.branch);
  } else if (call.config.norm_type == NormType::postnorm) {
    backend.layernorm_backward(pass, tensors, gradients, false);
  } else if (drops) {
    backend.dropout(work.stream, work.branch, rows * call.width(), dropout);
  }
  return drops ? work.branch : work.stream;
}

}  // namespace bigbird
