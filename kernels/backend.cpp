// What every backend can do with the operations it has: see backend.h.
#include "kernels/backend.h"

#include <vector>

namespace bigbird::kernels {

void Backend::download_values(float* host, ConstValues from, Index count) {
  const std::size_t size = static_cast<std::size_t>(count);
  if (from.type() == ElementType::fp32) return download(host, from.data(), size * sizeof(float));
  std::vector<bf16> narrow(size);
  download(narrow.data(), from.data(), size * sizeof(bf16));
  for (std::size_t i = 0; i < size; ++i) host[i] = to_float(narrow[i]);
}

void Backend::linear_backward_input_gelu(ConstValues dy, const float* w, ConstValues pre, Values dx, Index m,
                                         Index n, Index k, Activation activation) {
  linear_backward_input(dy, w, dx, m, n, k, false);
  gelu_backward(pre, dx, dx, m * k, activation);
}

void Backend::dropout_add_layernorm_forward(ConstValues x, ConstValues residual, const Dropout& dropout,
                                            Values sum, const float* gamma, const float* beta, float epsilon,
                                            Values y, float* mean, float* rstd, Index rows, Index width) {
  dropout_add(x, residual, sum, rows * width, dropout);
  layernorm_forward(sum, gamma, beta, epsilon, y, mean, rstd, rows, width);
}

void Backend::layernorm_backward_dropout(ConstValues dy, ConstValues sum, const float* gamma,
                                         const float* mean, const float* rstd, Values dx, Values branch,
                                         const Dropout& dropout, float* dgamma, float* dbeta, Index rows,
                                         Index width) {
  layernorm_backward(dy, sum, gamma, mean, rstd, dx, false, dgamma, dbeta, rows, width);
  this->dropout(dx, branch, rows * width, dropout);
}

}  // namespace bigbird::kernels
