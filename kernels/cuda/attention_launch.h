// What the host's sides of attention's forward and backward pass have in common: the arguments that follow
// from the call, and the choice of the kernels by head size.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "kernels/cuda/attention.h"

namespace bigbird::kernels::cuda {

inline float* workspace_part(const AttentionCall& call, std::size_t offset) {
  return reinterpret_cast<float*>(static_cast<std::byte*>(call.workspace_memory) + offset);
}

// Fills what the arguments of both passes name alike.
template <class Arguments>
Arguments common_arguments(const AttentionCall& call, const QueryKeyValue& inputs) {
  const AttentionBatch& batch = call.batch;
  Arguments arguments;
  arguments.view = call.prepared.view();
  arguments.q = inputs.q;
  arguments.k = inputs.k;
  arguments.v = inputs.v;
  arguments.tokens = batch.token_offsets[batch.sequences];
  arguments.keys = batch.key_offsets != nullptr ? batch.key_offsets[batch.sequences] : arguments.tokens;
  arguments.causal = batch.causal;
  arguments.scale = batch.scale;
  arguments.exact = call.products == FloatProducts::fp32;
  arguments.partial_rows = workspace_part(call, call.workspace.partial_rows);
  arguments.drop_probability = batch.drop_probability;
  arguments.dropout_seed = batch.dropout_seed;
  arguments.dropout_site = batch.dropout_site;
  return arguments;
}

// launch(head size as an integral constant), of the head sizes that the kernels have
template <class Launch>
void for_head_size(Index head_size, Launch launch) {
  switch (head_size) {
    case 32:
      return launch(std::integral_constant<int, 32>());
    case 64:
      return launch(std::integral_constant<int, 64>());
    case 128:
      return launch(std::integral_constant<int, 128>());
    default:
      throw std::logic_error("attention kernels for heads of " + std::to_string(head_size) + " columns");
  }
}

}  // namespace bigbird::kernels::cuda
