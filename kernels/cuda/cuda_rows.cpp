// Everything of the CUDA backend that is neither a GEMM nor attention. What an operation needs of
// the backend is added here: its CUDA stream, its workspace, the working copies of the weights. The choice of
// the kernel by types and addresses is made beside the kernels (elementwise.cu, layernorm.cu, embedding.cu,
// losses.cu, top_columns.cu, optimizer.cu, lamb.cu, adafactor.cu).
#include <algorithm>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/launchers.h"

namespace bigbird::kernels::cuda {

void CudaBackend::embedding_forward(const EmbeddingIndices& indices, const EmbeddingTables& tables,
                                    Values y) {
  const auto table = [&](const float* of) { return of == nullptr ? ConstValues() : weights(of, y.type()); };
  const TableValues values{table(tables.word), table(tables.type), table(tables.position)};
  cuda::embedding_forward(indices, values, tables.word_scale, y, tables.width, stream_);
}

void CudaBackend::embedding_backward(ConstValues dy, const EmbeddingIndices& indices,
                                     const EmbeddingTables& tables, const EmbeddingGradients& gradients) {
  const auto add_rows = [&](const std::int32_t* keys, const std::int32_t* order, Index key_count, float scale,
                            float* table) {
    const float* const scales = table == gradients.word ? indices.word_scales : nullptr;
    add_rows_by_key(dy, {keys, indices.tokens, key_count, order, scales}, scale, table, tables.width,
                    workspace(rows_by_key_workspace(indices.tokens, tables.width, key_count)), stream_);
  };
  add_rows(indices.ids, indices.id_order, tables.vocabulary, tables.word_scale, gradients.word);
  if (gradients.type != nullptr)
    add_rows(indices.types, indices.type_order, tables.types, 1.0f, gradients.type);
  if (gradients.position != nullptr)
    add_rows(indices.positions, indices.position_order, tables.positions, 1.0f, gradients.position);
}

void CudaBackend::neighbours_forward(const NeighbourRows& rows, const NeighbourTables& tables, Values y) {
  cuda::neighbours_forward(rows, tables, weights(tables.weight, y.type()), weights(tables.bias, y.type()), y,
                           stream_);
}

void CudaBackend::neighbours_backward(ConstValues dy, const NeighbourRows& rows,
                                      const NeighbourTables& tables, const NeighbourGradients& gradients) {
  for (Index k = 0; k < tables.neighbours; ++k) {
    add_rows_by_key(dy, {rows.rows + k * rows.tokens, rows.tokens, tables.vocabulary}, 1.0f,
                    gradients.weight + k * tables.vocabulary * tables.width, tables.width,
                    workspace(rows_by_key_workspace(rows.tokens, tables.width, tables.vocabulary)), stream_);
  }
  add_column_sums({dy, tables.width}, gradients.bias, rows.tokens, tables.width,
                  workspace(column_sums_workspace(rows.tokens, tables.width)), stream_);
}

void CudaBackend::layernorm_forward(ConstValues x, const Norm& norm, Values y, const NormState& state,
                                    Index rows) {
  cuda::layernorm_forward(x, norm, y, state, rows, stream_);
}

NormScratch CudaBackend::norm_scratch(Index rows, Index width) {
  return {workspace(layernorm_backward_workspace(rows, width, device_.multiprocessors)),
          device_.multiprocessors};
}

void CudaBackend::layernorm_backward(const NormBackward& pass, const Norm& norm,
                                     const NormGradients& gradients, bool accumulate) {
  cuda::layernorm_backward(pass, norm, gradients, accumulate, norm_scratch(pass.rows, norm.width), stream_);
}

void CudaBackend::dropout_add_layernorm_forward(const ResidualSum& join, const Norm& norm, Values y,
                                                const NormState& state, Index rows) {
  cuda::dropout_add_layernorm_forward(join, norm, y, state, rows, device_.multiprocessors, stream_);
}

void CudaBackend::layernorm_backward_dropout(const NormBackward& pass, const Norm& norm,
                                             const NormGradients& gradients, const Dropout& dropout,
                                             Values branch) {
  cuda::layernorm_backward_dropout(pass, norm, gradients, dropout, branch,
                                   norm_scratch(pass.rows, norm.width), stream_);
}

void CudaBackend::activation_forward(ConstValues pre, Values y, Index count, Activation activation) {
  cuda::activation_forward(pre, y, count, activation, stream_);
}

void CudaBackend::activation_backward(ConstValues pre, ConstValues dy, Values dx, Index count,
                                      Activation activation) {
  cuda::activation_backward(pre, dy, dx, count, activation, stream_);
}

void CudaBackend::gated_activation_forward(ConstValues pre, Values y, Index rows, Index width,
                                           Activation activation) {
  cuda::gated_activation_forward(pre, y, rows, width, activation, stream_);
}

void CudaBackend::gated_activation_backward(ConstValues pre, ConstValues dy, Values dpre, Index rows,
                                            Index width, Activation activation) {
  cuda::gated_activation_backward(pre, dy, dpre, rows, width, activation, stream_);
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

void CudaBackend::add(ConstValues x, Values y, Index count) {
  cuda::add(x, y, count, stream_);
}

void CudaBackend::subtract(ConstValues x, Values y, Index count) {
  cuda::subtract(x, y, count, stream_);
}

void CudaBackend::rotate(Rows x, const Rotary& rotary, Index rows, bool back) {
  cuda::rotate(x, rotary, rows, back, stream_);
}

void CudaBackend::gather_rows(ConstValues x, const std::int32_t* rows, Values y, Index count, Index width) {
  cuda::gather_rows(x, rows, y, count, width, stream_);
}

void CudaBackend::max_rows_forward(ConstValues x, const RowSpans& spans, Values y, Index width) {
  cuda::max_rows_forward(x, spans, y, width, stream_);
}

void CudaBackend::mean_rows_forward(ConstValues x, const RowSpans& spans, Values y, Index width) {
  cuda::mean_rows_forward(x, spans, y, width, stream_);
}

void CudaBackend::mean_rows_backward(ConstValues dy, const RowSpans& spans, Values dx, Index width) {
  cuda::mean_rows_backward(dy, spans, dx, width, stream_);
}

void CudaBackend::scatter_add_rows(ConstValues dy, const std::int32_t* rows, Values dx, Index count,
                                   Index width) {
  cuda::scatter_add_rows(dy, rows, dx, count, width, stream_);
}

void CudaBackend::add_rows(ConstRows x, Rows y, Index rows, Index width) {
  cuda::add_rows(x, y, rows, width, stream_);
}

void CudaBackend::cross_entropy(const ConstMatrix& logits, const ClassLabels& labels, float* losses,
                                std::int32_t* predictions, const LossGradient& gradient) {
  cuda::cross_entropy(logits, labels, losses, predictions, gradient, stream_);
}

void CudaBackend::binary_cross_entropy(const ConstMatrix& logits, const float* targets, float positive_weight,
                                       float* losses, const LossGradient& gradient) {
  cuda::binary_cross_entropy(logits, targets, positive_weight, losses, gradient, stream_);
}

void CudaBackend::squared_error(const ConstMatrix& x, const float* targets, float* losses,
                                const LossGradient& gradient) {
  cuda::squared_error(x, targets, losses, gradient, stream_);
}

void CudaBackend::token_losses(const float* logits, const TokenGroups& groups, bool softmax, float* losses,
                               const LossGradient& gradient) {
  cuda::token_losses(logits, groups, softmax, losses, gradient, stream_);
}

void CudaBackend::top_log_softmax(const ConstMatrix& logits, const TopColumns& top) {
  cuda::top_log_softmax(logits, top, stream_);
}

void CudaBackend::zero_ranges(float* values, std::span<const FloatRange> ranges) {
  cuda::zero_ranges(values, ranges, stream_);
}

void CudaBackend::sums_of_squares(const float* x, Index count, Index part, double* sums) {
  if (count == 0) return;
  const std::size_t bytes = static_cast<std::size_t>((count + part - 1) / part) * sizeof(double);
  auto* const there = static_cast<std::byte*>(workspace(bytes + sums_of_squares_workspace(count, part)));
  cuda::sums_of_squares(x, count, part, reinterpret_cast<double*>(there), there + bytes, stream_);
  download(sums, there, bytes);
}

bf16* CudaBackend::working_copy(const float* parameters) const {
  const WorkingWeights::Binding* binding = working_weights_.find(parameters);
  return binding == nullptr ? nullptr : binding->copy + (parameters - binding->parameters);
}

void CudaBackend::adamw(const AdamWArrays& arrays, std::span<const ParameterRun> runs,
                        const AdamWStep& step) {
  if (runs.empty()) return;
  const auto same = [](const ParameterRun& a, const ParameterRun& b) {
    return a.offset == b.offset && a.count == b.count && a.decay == b.decay;
  };
  if (!std::equal(runs.begin(), runs.end(), runs_.begin(), runs_.end(), same)) {
    runs_.assign(runs.begin(), runs.end());
    const std::size_t bytes = runs_.size() * sizeof(ParameterRun);
    if (bytes > device_runs_.bytes()) device_runs_ = DevicePiece(bytes);
    upload(device_runs_.data(), runs_.data(), bytes);
  }
  const auto* const device_runs = static_cast<const ParameterRun*>(device_runs_.data());
  cuda::adamw(arrays, working_copy(arrays.parameters), {device_runs, runs.size()},
              runs.back().offset + runs.back().count, step, stream_);
}

std::size_t CudaBackend::lamb_scratch_bytes(std::span<const LambPiece> pieces) const {
  return LambPlaces(pieces).scratch_bytes();
}

void CudaBackend::lamb_moments(const LambArrays& arrays, std::span<const LambPiece> pieces,
                               const LambStep& step, LambSquares* squares) {
  if (pieces.empty()) return;
  const LambPlaces places(pieces);
  upload(arrays.scratch, places.places().data(), places.place_bytes());
  const LambSquares* const there = cuda::lamb_moments(arrays, places, step, stream_);
  download(squares, there, pieces.size() * sizeof(LambSquares));
}

void CudaBackend::lamb_move(const LambArrays& arrays, std::span<const LambPiece> pieces, const LambStep& step,
                            const float* rates) {
  if (pieces.empty()) return;
  LambPlaces places(pieces);
  places.set_rates(rates);
  upload(arrays.scratch, places.places().data(), places.place_bytes());
  cuda::lamb_move(arrays, working_copy(arrays.parameters), places, step, stream_);
}

std::size_t CudaBackend::adafactor_scratch_bytes(std::span<const AdafactorTensor> tensors) const {
  return AdafactorPlaces(tensors).scratch_bytes();
}

void CudaBackend::adafactor(const AdafactorArrays& arrays, std::span<const AdafactorTensor> tensors,
                            const AdafactorStep& step) {
  if (tensors.empty()) return;
  const AdafactorPlaces places(tensors);
  upload(arrays.scratch, places.places().data(), places.place_bytes());
  cuda::adafactor(arrays, working_copy(arrays.parameters), places, step, stream_);
}

void CudaBackend::move_towards(float* average, const float* values, Index count, float share) {
  cuda::move_towards(average, values, count, share, stream_);
}

}  // namespace bigbird::kernels::cuda
