// Linear layers of the CUDA backend: GEMMs with what follows them, fused where the library can.
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/launchers.h"
#include "kernels/cuda/linear_products.h"

namespace bigbird::kernels::cuda {

void CudaBackend::run(Gemm gemm) {
  gemm.tf32 = options_.precision == Precision::tf32;
  gemm_->run(gemm, stream_);
}

bool CudaBackend::run_fused(Gemm gemm) {
  gemm.tf32 = options_.precision == Precision::tf32;
  const bool possible =
      may_have_epilogue(gemm) && gemm_->form(gemm) != GemmLibrary::Form::split && gemm_->can_run(gemm);
  if (possible) run(gemm);
  return possible;
}

void CudaBackend::linear_forward(ConstValues x, const Linear& layer, Values y, Index rows) {
  Gemm gemm = forward_product(x, layer, weights(layer.weight, x.type()), y, rows);
  if (layer.bias == nullptr) return run(gemm);
  gemm.epilogue = Epilogue::bias;
  gemm.bias = weights(layer.bias, y.type());
  if (run_fused(gemm)) return;
  gemm.epilogue = Epilogue::none;
  run(gemm);
  add_bias(gemm.bias, y, rows, layer.row_stride(), stream_);
}

void CudaBackend::linear_activation_forward(ConstValues x, const Linear& layer, Activation activation,
                                            Values pre, Values y, Index rows) {
  if (layer.bias != nullptr && is_epilogue(activation, y.type())) {
    Gemm gemm = forward_product(x, layer, weights(layer.weight, x.type()), y, rows);
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
  Gemm gemm = input_product(dy, layer, weights(layer.weight, dy.type()), dx, rows);
  gemm.accumulate = accumulate;
  run(gemm);
}

void CudaBackend::linear_backward_input_activation(ConstValues dy, const Linear& layer, Activation activation,
                                                   ConstValues pre, Values dx, Index rows) {
  if (is_epilogue(activation, dx.type())) {
    Gemm gemm = input_product(dy, layer, weights(layer.weight, dy.type()), dx, rows);
    gemm.epilogue = Epilogue::dgelu;
    gemm.aux = Values(const_cast<void*>(pre.data()), pre.type());  // this epilogue only reads it
    if (run_fused(gemm)) return;
  }
  linear_backward_input(dy, layer, dx, rows, false);
  activation_backward(pre, dx, dx, rows * layer.in, activation);
}

void CudaBackend::linear_backward_weight(ConstValues dy, ConstValues x, const Linear& layer,
                                         const LinearGradients& gradients, Index rows) {
  Gemm gemm = weight_product(dy, x, layer, gradients.weight, rows, gradients.fresh);
  if (gradients.bias != nullptr && layer.row_stride() <= most_bias_sums_) {
    gemm.tf32 = options_.precision == Precision::tf32;
    const Values sums(bias_sums_.data(), ElementType::fp32);
    Gemm with_bias = with_bias_gradient(gemm, sums);
    if (may_have_epilogue(with_bias) && gemm_->form(with_bias) == GemmLibrary::Form::fused &&
        gemm_->can_run(with_bias)) {
      run(with_bias);
      return cuda::add(sums, gradients.bias, layer.out, stream_);
    }
  }
  run(gemm);
  if (gradients.bias == nullptr) return;
  add_column_sums({dy, layer.row_stride()}, gradients.bias, rows, layer.out,
                  workspace(column_sums_workspace(rows, layer.out)), stream_);
}

}  // namespace bigbird::kernels::cuda
