// Everything of the CUDA backend that is neither a matrix product nor attention: which kernel an operation
// starts.
#include <algorithm>

#include "kernels/cuda/cuda_operations.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/embedding.h"
#include "kernels/cuda/layernorm.h"
#include "kernels/cuda/losses.h"
#include "kernels/cuda/optimizer.h"

namespace bigbird::kernels::cuda {

void CudaBackend::embedding_forward(const std::int32_t* ids, const std::int32_t* types,
                                    const std::int32_t* positions, const float* word, const float* type,
                                    const float* position, float word_scale, Values y, Index tokens,
                                    Index width) {
  const ConstValues position_table = position == nullptr ? ConstValues() : weights(position, y.type());
  cuda::embedding_forward(ids, types, positions, weights(word, y.type()), weights(type, y.type()),
                          position_table, word_scale, y, tokens, width, stream_);
}

void CudaBackend::embedding_backward(ConstValues dy, const std::int32_t* ids, const std::int32_t* types,
                                     const std::int32_t* positions, float word_scale, float* dword,
                                     float* dtype, float* dposition, Index tokens, Index width,
                                     Index vocabulary, Index type_count, Index position_count) {
  const auto add_rows = [&](const std::int32_t* keys, float scale, float* table, Index key_count) {
    add_rows_by_key(dy, keys, scale, table, tokens, width, key_count,
                    workspace(rows_by_key_workspace(tokens, width, key_count)), stream_);
  };
  add_rows(ids, word_scale, dword, vocabulary);
  add_rows(types, 1.0f, dtype, type_count);
  if (dposition != nullptr) add_rows(positions, 1.0f, dposition, position_count);
}

void CudaBackend::layernorm_forward(ConstValues x, const float* gamma, const float* beta, float epsilon,
                                    Values y, float* mean, float* rstd, Index rows, Index width) {
  cuda::layernorm_forward(x, gamma, beta, epsilon, y, mean, rstd, rows, width, stream_);
}

void CudaBackend::layernorm_backward(ConstValues dy, ConstValues x, const float* gamma, const float* mean,
                                     const float* rstd, Values dx, bool accumulate, float* dgamma,
                                     float* dbeta, Index rows, Index width) {
  cuda::layernorm_backward(dy, x, gamma, mean, rstd, dx, accumulate, dgamma, dbeta, rows, width,
                           workspace(layernorm_backward_workspace(rows, width)), stream_);
}

void CudaBackend::gelu_backward(ConstValues pre, ConstValues dy, Values dx, Index count,
                                Activation activation) {
  cuda::gelu_backward(pre, dy, dx, count, activation, stream_);
}

void CudaBackend::tanh_forward(ConstValues x, Values y, Index count) {
  cuda::tanh_forward(x, y, count, stream_);
}

void CudaBackend::tanh_backward(ConstValues y, ConstValues dy, Values dx, Index count) {
  cuda::tanh_backward(y, dy, dx, count, stream_);
}

void CudaBackend::dropout(ConstValues x, Values y, Index count, const Dropout& dropout) {
  cuda::dropout(x, y, count, dropout, stream_);
}

void CudaBackend::dropout_add(ConstValues x, ConstValues residual, Values y, Index count,
                              const Dropout& dropout) {
  cuda::dropout_add(x, residual, y, count, dropout, stream_);
}

void CudaBackend::dropout_add_layernorm_forward(ConstValues x, ConstValues residual, const Dropout& dropout,
                                                Values sum, const float* gamma, const float* beta,
                                                float epsilon, Values y, float* mean, float* rstd, Index rows,
                                                Index width) {
  cuda::dropout_add_layernorm_forward(x, residual, dropout, sum, gamma, beta, epsilon, y, mean, rstd, rows,
                                      width, stream_);
}

void CudaBackend::layernorm_backward_dropout(ConstValues dy, ConstValues sum, const float* gamma,
                                             const float* mean, const float* rstd, Values dx, Values branch,
                                             const Dropout& dropout, float* dgamma, float* dbeta, Index rows,
                                             Index width) {
  cuda::layernorm_backward_dropout(dy, sum, gamma, mean, rstd, dx, branch, dropout, dgamma, dbeta, rows,
                                   width, workspace(layernorm_backward_workspace(rows, width)), stream_);
}

void CudaBackend::add(ConstValues x, Values y, Index count) {
  cuda::add(x, y, count, stream_);
}

void CudaBackend::rotary_turn(Rows x, const std::int32_t* positions, const float* turns, Index rows,
                              Index heads, Index head_size, Index half, bool back) {
  cuda::rotary_turn(x, positions, turns, rows, heads, head_size, half, back, stream_);
}

void CudaBackend::gather_rows(ConstValues x, const std::int32_t* rows, Values y, Index count, Index width) {
  cuda::gather_rows(x, rows, y, count, width, stream_);
}

void CudaBackend::scatter_add_rows(ConstValues dy, const std::int32_t* rows, Values dx, Index count,
                                   Index width) {
  cuda::scatter_add_rows(dy, rows, dx, count, width, stream_);
}

void CudaBackend::cross_entropy(ConstValues logits, const std::int32_t* labels, float* losses,
                                std::int32_t* predictions, Values dlogits, const float* scale, Index rows,
                                Index classes) {
  cuda::cross_entropy(logits, labels, losses, predictions, dlogits, scale, rows, classes, stream_);
}

void CudaBackend::binary_cross_entropy(ConstValues logits, const float* targets, float positive_weight,
                                       float* losses, Values dlogits, const float* scale, Index rows,
                                       Index classes) {
  cuda::binary_cross_entropy(logits, targets, positive_weight, losses, dlogits, scale, rows, classes,
                             stream_);
}

void CudaBackend::squared_error(ConstValues x, const float* targets, float* losses, Values dx,
                                const float* scale, Index rows, Index columns) {
  cuda::squared_error(x, targets, losses, dx, scale, rows, columns, stream_);
}

double CudaBackend::sum_of_squares(const float* x, Index count) {
  cuda::sum_of_squares(x, count, static_cast<double*>(cell_.data()),
                       workspace(sum_of_squares_workspace(count)), stream_);
  double sum = 0.0;
  download(&sum, cell_.data(), sizeof sum);
  return sum;
}

void CudaBackend::adamw(float* p, const float* g, float* m, float* v, const ParameterRun* runs,
                        Index run_count, const AdamWStep& step) {
  if (run_count == 0) return;
  const auto same = [](const ParameterRun& a, const ParameterRun& b) {
    return a.offset == b.offset && a.count == b.count && a.decay == b.decay;
  };
  if (!std::equal(runs, runs + run_count, runs_.begin(), runs_.end(), same)) {
    runs_.assign(runs, runs + run_count);
    const std::size_t bytes = runs_.size() * sizeof(ParameterRun);
    if (bytes > device_runs_.bytes()) device_runs_ = DevicePiece(bytes);
    upload(device_runs_.data(), runs_.data(), bytes);
  }
  const WorkingWeights::Binding* binding = working_weights_.find(p);
  bf16* copy = binding == nullptr ? nullptr : binding->copy + (p - binding->parameters);
  const ParameterRun& last = runs[run_count - 1];
  cuda::adamw(p, g, m, v, copy, static_cast<const ParameterRun*>(device_runs_.data()), run_count,
              last.offset + last.count, step, stream_);
}

}  // namespace bigbird::kernels::cuda
