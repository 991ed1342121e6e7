// See stem.h.
#include "lib/model/network/stem.h"

#include <algorithm>
#include <cstddef>

namespace bigbird {
namespace {

std::int64_t in_rows(std::int64_t tokens, std::int64_t stride) {
  return (tokens + stride - 1) / stride;
}

kernels::NeighbourTables tables_of(const StemTensors& tensors) {
  return {tensors.convolution, tensors.bias, tensors.kernel, tensors.vocabulary, tensors.channels};
}

// Of a batch: single tokens, and elements of what the convolution gives.
kernels::Index single_tokens(const PassContext& pass, const StemTensors& tensors) {
  return pass.batch.tokens() * tensors.stride;
}

kernels::NeighbourRows neighbours(const PassContext& pass, const StemTensors& tensors,
                                  const StemActivations& kept) {
  return {kept.rows, single_tokens(pass, tensors)};
}

}  // namespace

BatchLimits trunk_limits(const ModelConfig& config, const BatchLimits& limits) {
  if (!config.has_stem()) return limits;
  BatchLimits rows = limits;
  rows.tokens = in_rows(limits.tokens, config.stem.stride);
  rows.longest = in_rows(limits.longest, config.stem.stride);
  return rows;
}

Batch trunk_batch(const ModelConfig& config, const Batch& batch) {
  if (!config.has_stem()) return batch;
  const std::int64_t stride = config.stem.stride;
  Batch rows = batch;
  for (std::int64_t& offset : rows.token_offsets) offset /= stride;
  for (auto* const lengths : {&rows.lengths, &rows.given_lengths}) {
    for (std::int64_t& length : *lengths) length = in_rows(length, stride);
  }
  for (std::int32_t& row : rows.sequence_rows) row /= static_cast<std::int32_t>(stride);
  const auto tokens = static_cast<std::size_t>(rows.tokens());
  rows.ids.assign(tokens, static_cast<std::int32_t>(config.pad_token_id));
  rows.types.assign(tokens, 0);
  return rows;
}

void stem_pass(const ModelConfig& config, const Batch& batch, StemPass& to) {
  const std::int64_t tokens = batch.tokens(), kernel = config.stem.kernel, reach = kernel / 2;
  to.rows.assign(static_cast<std::size_t>(kernel * tokens), -1);
  for (std::size_t s = 0; s < batch.lengths.size(); ++s) {
    const std::int64_t first = batch.token_offsets[s], last = first + batch.lengths[s];
    for (std::int64_t k = 0; k < kernel; ++k) {
      // Row t of table k is of token t + k - reach. Padding has rows, which nothing reads.
      const std::int64_t shift = k - reach;
      const std::int64_t begin = std::max(first, first - shift);
      const std::int64_t end = std::min(batch.token_offsets[s + 1], last - shift);
      if (begin < end) {
        std::copy(batch.ids.begin() + begin + shift, batch.ids.begin() + end + shift,
                  to.rows.begin() + k * tokens + begin);
      }
    }
  }
}

void stem_stage(const PassContext& pass, const StemActivations& kept) {
  pass.backend.upload(kept.rows, pass.stem->rows.data(), pass.stem->rows.size() * sizeof(std::int32_t));
}

void stem_forward(const PassContext& pass, const StemTensors& tensors, const StemActivations& kept,
                  kernels::Values sum) {
  pass.backend.neighbours_forward(neighbours(pass, tensors, kept), tables_of(tensors), kept.pre);
  pass.backend.activation_forward(kept.pre, kept.activated, single_tokens(pass, tensors) * tensors.channels,
                                  pass.config.activation);
  pass.backend.linear_forward(kept.activated, tensors.dense, sum, pass.batch.tokens());
}

void stem_backward(const PassContext& pass, const StemTensors& tensors, const StemTensors& gradients,
                   const StemActivations& kept, kernels::ConstValues gradient) {
  kernels::Backend& backend = pass.backend;
  const kernels::Index rows = pass.batch.tokens();
  const kernels::Values dpre = kept.gradient;
  backend.linear_backward_weight(gradient, kept.activated, tensors.dense, gradients.dense, rows);
  backend.linear_backward_input_activation(gradient, tensors.dense, pass.config.activation, kept.pre, dpre,
                                           rows);
  backend.neighbours_backward(dpre, neighbours(pass, tensors, kept), tables_of(tensors),
                              {gradients.convolution, gradients.bias});
}

void spread_forward(const PassContext& pass, const StemTensors& tensors, const StemActivations& kept,
                    kernels::ConstValues hidden) {
  pass.backend.linear_activation_forward(hidden, tensors.spread, pass.config.activation, kept.tokens_pre,
                                         kept.tokens, pass.batch.tokens());
}

void spread_backward(const PassContext& pass, const StemTensors& tensors, const StemTensors& gradients,
                     const StemActivations& kept, kernels::ConstValues hidden, kernels::Values gradient) {
  kernels::Backend& backend = pass.backend;
  const kernels::Index rows = pass.batch.tokens();
  const kernels::Values dpre = kept.dtokens;
  backend.activation_backward(kept.tokens_pre, dpre, dpre, rows * tensors.spread.out, pass.config.activation);
  backend.linear_backward_weight(dpre, hidden, tensors.spread, gradients.spread, rows);
  backend.linear_backward_input(dpre, tensors.spread, gradient, rows, true);
}

std::vector<float> repeated_rows(const ModelConfig& config, const std::vector<float>& rows) {
  if (!config.has_stem()) return rows;
  const auto width = config.hidden_size, stride = config.stem.stride;
  std::vector<float> tokens;
  tokens.reserve(rows.size() * static_cast<std::size_t>(stride));
  for (auto row = rows.begin(); row != rows.end(); row += width) {
    for (std::int64_t k = 0; k < stride; ++k) tokens.insert(tokens.end(), row, row + width);
  }
  return tokens;
}

}  // namespace bigbird
