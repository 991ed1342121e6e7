// Linear layers of the CUDA backend: matrix products with what follows them, fused where the library can.
#include <cstdint>

#include "kernels/cuda/columns.h"
#include "kernels/cuda/cuda_operations.h"
#include "kernels/cuda/elementwise.h"

namespace bigbird::kernels::cuda {

namespace {

bool aligned(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0;  // true for null
}

}  // namespace

Gemm CudaBackend::product(Index m, Index n, Index k) const {
  Gemm gemm;
  gemm.m = m;
  gemm.n = n;
  gemm.k = k;
  gemm.tf32 = options_.precision == Precision::tf32;
  return gemm;
}

void CudaBackend::run(const Gemm& gemm) {
  gemm_->run(gemm, stream_);
}

bool CudaBackend::run_fused(const Gemm& gemm) {
  // What cuBLASLt asks of bias and aux.
  const bool possible = gemm.m > 0 && gemm.n > 0 && gemm.k > 0 && gemm.n % 8 == 0 &&
                        aligned(gemm.bias.data()) && aligned(gemm.aux.data()) &&
                        aligned(gemm.d.data.data()) && gemm_->can_run(gemm);
  if (possible) run(gemm);
  return possible;
}

void CudaBackend::linear_forward(ConstValues x, const float* w, const float* bias, Values y, Index m, Index n,
                                 Index k) {
  Gemm gemm = product(m, n, k);
  gemm.a = {x, k};
  gemm.b = {weights(w, x.type()), k};
  gemm.transpose_b = true;
  gemm.d = {y, n};
  if (bias == nullptr) return run(gemm);
  gemm.epilogue = Epilogue::bias;
  gemm.bias = weights(bias, y.type());
  if (run_fused(gemm)) return;
  gemm.epilogue = Epilogue::none;
  run(gemm);
  add_bias(gemm.bias, y, m, n, stream_);
}

void CudaBackend::linear_gelu_forward(ConstValues x, const float* w, const float* bias, Values pre, Values y,
                                      Index m, Index n, Index k, Activation activation) {
  // The epilogue has the tanh form only, and not to the last digits of fp32.
  if (bias != nullptr && activation == Activation::gelu_tanh && y.type() == ElementType::bf16) {
    Gemm gemm = product(m, n, k);
    gemm.a = {x, k};
    gemm.b = {weights(w, x.type()), k};
    gemm.transpose_b = true;
    gemm.d = {y, n};
    gemm.epilogue = Epilogue::gelu_bias;
    gemm.bias = weights(bias, y.type());
    gemm.aux = pre;
    if (run_fused(gemm)) return;
  }
  const Values inner = pre == nullptr ? y : pre;
  linear_forward(x, w, bias, inner, m, n, k);
  gelu_forward(inner, y, m * n, activation, stream_);
}

void CudaBackend::linear_backward_input(ConstValues dy, const float* w, Values dx, Index m, Index n, Index k,
                                        bool accumulate) {
  Gemm gemm = product(m, k, n);
  gemm.a = {dy, n};
  gemm.b = {weights(w, dy.type()), k};
  gemm.d = {dx, k};
  gemm.accumulate = accumulate;
  run(gemm);
}

void CudaBackend::linear_backward_input_gelu(ConstValues dy, const float* w, ConstValues pre, Values dx,
                                             Index m, Index n, Index k, Activation activation) {
  if (activation == Activation::gelu_tanh && dx.type() == ElementType::bf16) {
    Gemm gemm = product(m, k, n);
    gemm.a = {dy, n};
    gemm.b = {weights(w, dy.type()), k};
    gemm.d = {dx, k};
    gemm.epilogue = Epilogue::dgelu;
    gemm.aux = Values(const_cast<void*>(pre.data()), pre.type());  // this epilogue only reads it
    if (run_fused(gemm)) return;
  }
  Backend::linear_backward_input_gelu(dy, w, pre, dx, m, n, k, activation);
}

void CudaBackend::linear_backward_weight(ConstValues dy, ConstValues x, float* dw, float* dbias, Index m,
                                         Index n, Index k) {
  Gemm gemm = product(n, k, m);
  gemm.a = {dy, n};
  gemm.transpose_a = true;
  gemm.b = {x, k};
  gemm.d = {dw, k};
  gemm.accumulate = true;
  run(gemm);
  if (dbias != nullptr)
    add_column_sums({dy, n}, dbias, m, n, workspace(column_sums_workspace(m, n)), stream_);
}

}  // namespace bigbird::kernels::cuda
