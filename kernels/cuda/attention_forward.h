// Launches of the forward kernels of attention, one translation unit for each head size; attention.h is the
// door.
#pragma once

#include <cstdint>

#include "kernels/cuda/attention_schedule.h"
#include "kernels/cuda/runtime.h"
#include "kernels/types.h"

namespace bigbird::kernels::cuda {

struct AttentionForwardArguments {
  AttentionView view{};
  Index pieces = 0;
  Index cuts = 0;
  ConstRows q, k, v;
  Rows out;
  float* log_sum_exp = nullptr;  // [H, T], may be null
  Index tokens = 0;              // T
  Index keys = 0;                // rows of keys
  bool causal = false;           // AttentionBatch
  float scale = 1.0f;
  bool exact = true;  // floats: three products instead of one in tf32
  float* partial_rows = nullptr;
  float* partial_statistics = nullptr;
  float drop_probability = 0.0f;
  const std::uint64_t* dropout_seed = nullptr;
  std::uint64_t dropout_site = 0;
};

template <int head_size>
void launch_attention_forward(const AttentionForwardArguments& arguments, int tile_rows, Stream stream);
extern template void launch_attention_forward<32>(const AttentionForwardArguments&, int, Stream);
extern template void launch_attention_forward<64>(const AttentionForwardArguments&, int, Stream);
extern template void launch_attention_forward<128>(const AttentionForwardArguments&, int, Stream);

}  // namespace bigbird::kernels::cuda
