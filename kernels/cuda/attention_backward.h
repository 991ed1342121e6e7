// Launches of the backward kernels of attention, one translation unit for each head size; attention.h is the
// door.
#pragma once

#include <cstdint>

#include "kernels/cuda/attention_schedule.h"
#include "kernels/cuda/runtime.h"
#include "kernels/types.h"

namespace bigbird::kernels::cuda {

struct AttentionBackwardArguments {
  AttentionView view{};
  Index query_pieces = 0, query_cuts = 0;
  Index key_pieces = 0, key_cuts = 0;
  ConstRows q, k, v, out, dout;
  const float* log_sum_exp = nullptr;  // [H, T]
  Rows dq, dk, dv;
  Index tokens = 0;     // T
  Index keys = 0;       // rows of keys
  bool causal = false;  // AttentionBatch
  Index heads = 0;
  float scale = 1.0f;
  bool exact = true;          // floats: three products instead of one in tf32
  bool deterministic = true;  // attention_backward()
  // The workspace.
  float* output_products = nullptr;
  float* partial_rows = nullptr;
  float* partial_keys = nullptr;
  float* query_gradients = nullptr;  // when not deterministic
  float drop_probability = 0.0f;
  const std::uint64_t* dropout_seed = nullptr;
  std::uint64_t dropout_site = 0;
};

template <int head_size>
void launch_attention_backward(const AttentionBackwardArguments& arguments, int tile_rows, Stream stream);
extern template void launch_attention_backward<32>(const AttentionBackwardArguments&, int, Stream);
extern template void launch_attention_backward<64>(const AttentionBackwardArguments&, int, Stream);
extern template void launch_attention_backward<128>(const AttentionBackwardArguments&, int, Stream);

}  // namespace bigbird::kernels::cuda
