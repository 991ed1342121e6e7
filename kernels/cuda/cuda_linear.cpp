// Linear layers of the CUDA backend: GEMMs with what follows them, fused where the library can.
#include <cstdint>

#include "kernels/cuda/columns.h"
#include "kernels/cuda/cuda_backend.h"
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

Gemm CudaBackend::forward_product(ConstValues x, const Linear& layer, Values y, Index rows) const {
  Gemm gemm = product(rows, layer.out, layer.in);
  gemm.a = {x, layer.in};
  gemm.b = {weights(layer.weight, x.type()), layer.in};
  gemm.transpose_b = true;
  gemm.d = {y, layer.out};
  return gemm;
}

Gemm CudaBackend::input_product(ConstValues dy, const Linear& layer, Values dx, Index rows) const {
  Gemm gemm = product(rows, layer.in, layer.out);
  gemm.a = {dy, layer.out};
  gemm.b = {weights(layer.weight, dy.type()), layer.in};
  gemm.d = {dx, layer.in};
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

void CudaBackend::linear_forward(ConstValues x, const Linear& layer, Values y, Index rows) {
  Gemm gemm = forward_product(x, layer, y, rows);
  if (layer.bias == nullptr) return run(gemm);
  gemm.epilogue = Epilogue::bias;
  gemm.bias = weights(layer.bias, y.type());
  if (run_fused(gemm)) return;
  gemm.epilogue = Epilogue::none;
  run(gemm);
  add_bias(gemm.bias, y, rows, layer.out, stream_);
}

void CudaBackend::linear_activation_forward(ConstValues x, const Linear& layer, Activation activation,
                                            Values pre, Values y, Index rows) {
  // The epilogue has the tanh form only, and not to the last digits of fp32.
  if (layer.bias != nullptr && activation == Activation::gelu_tanh && y.type() == ElementType::bf16) {
    Gemm gemm = forward_product(x, layer, y, rows);
    gemm.epilogue = Epilogue::gelu_bias;
    gemm.bias = weights(layer.bias, y.type());
    gemm.aux = pre;
    if (run_fused(gemm)) return;
  }
  const Values inner = pre == nullptr ? y : pre;
  linear_forward(x, layer, inner, rows);
  activation_forward(inner, y, rows * layer.out, activation);
}

void CudaBackend::linear_backward_input(ConstValues dy, const Linear& layer, Values dx, Index rows,
                                        bool accumulate) {
  Gemm gemm = input_product(dy, layer, dx, rows);
  gemm.accumulate = accumulate;
  run(gemm);
}

void CudaBackend::linear_backward_input_activation(ConstValues dy, const Linear& layer, Activation activation,
                                                   ConstValues pre, Values dx, Index rows) {
  if (activation == Activation::gelu_tanh && dx.type() == ElementType::bf16) {
    Gemm gemm = input_product(dy, layer, dx, rows);
    gemm.epilogue = Epilogue::dgelu;
    gemm.aux = Values(const_cast<void*>(pre.data()), pre.type());  // this epilogue only reads it
    if (run_fused(gemm)) return;
  }
  linear_backward_input(dy, layer, dx, rows, false);
  activation_backward(pre, dx, dx, rows * layer.in, activation);
}

void CudaBackend::linear_backward_weight(ConstValues dy, ConstValues x, const Linear& layer,
                                         const LinearGradients& gradients, Index rows) {
  Gemm gemm = product(layer.out, layer.in, rows);
  gemm.a = {dy, layer.out};
  gemm.transpose_a = true;
  gemm.b = {x, layer.in};
  gemm.d = {gradients.weight, layer.in};
  gemm.accumulate = true;
  run(gemm);
  if (gradients.bias == nullptr) return;
  add_column_sums({dy, layer.out}, gradients.bias, rows, layer.out,
                  workspace(column_sums_workspace(rows, layer.out)), stream_);
}

}  // namespace bigbird::kernels::cuda
