// Launches of the kernels of attention, and what each is given. attention.h is the door, attention.cpp the
// only caller. The backward kernels are the longest work of nvcc: their instantiations are spread over
// backward_*.cu, so that two cores compile them.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "kernels/cuda/attention/pairs.h"
#include "kernels/cuda/runtime.h"
#include "kernels/types.h"

namespace bigbird::kernels::cuda {

struct AttentionArguments {
  AttentionView view{};
  ConstRows q, k, v;
  Index tokens = 0;     // T
  Index keys = 0;       // rows of keys
  bool causal = false;  // AttentionBatch
  float scale = 1.0f;
  bool exact = true;  // floats: three products instead of one in tf32
  float* partial_rows = nullptr;
  float drop_probability = 0.0f;
  const std::uint64_t* dropout_seed = nullptr;
  std::uint64_t dropout_site = 0;
  PairView pairs;  // where they have a rule or a term
};

struct AttentionForwardArguments : AttentionArguments {
  Index pieces = 0;
  Index cuts = 0;
  Rows out;
  float* log_sum_exp = nullptr;           // [H, T], may be null
  std::int32_t wanted_tiles = INT32_MAX;  // of each sequence, from the first on; others may be left out
  float* partial_statistics = nullptr;
};

struct AttentionBackwardArguments : AttentionArguments {
  Index query_pieces = 0, query_cuts = 0;
  Index key_pieces = 0, key_cuts = 0;
  ConstRows out, dout;
  const float* log_sum_exp = nullptr;  // [H, T]
  Rows dq, dk, dv;
  Index heads = 0;
  RelativeGradients relative;
  float* label_sums = nullptr;  // the workspace's
  bool deterministic = true;    // attention_backward()
  // The workspace.
  float* output_products = nullptr;
  float* partial_keys = nullptr;
  float* query_gradients = nullptr;  // when not deterministic
};

// The work of each block of a prepared batch (work.cu): view.query_work and, where key_pieces is not 0,
// view.key_work.
void list_attention_work(const AttentionView& view, Index query_pieces, Index key_pieces, int tile_rows,
                         bool causal, Stream stream);

// paired: the forms with AttentionBatch's rule and term, in files of their own (*_pairs*.cu).
template <int head_size, bool paired>
void launch_attention_forward(const AttentionForwardArguments& arguments, int tile_rows, Stream stream);
// Element: the type of the matrices, float or bf16
template <class Element, int head_size, bool paired>
void launch_attention_backward(const AttentionBackwardArguments& arguments, int tile_rows, Stream stream);

// The same by the products of warpgroups (wgmma): where warpgroups_serve() and the machine code is for
// sm_90a. The same sums in the same order.
void launch_warpgroup_forward(const AttentionForwardArguments& arguments, Stream stream);
void launch_warpgroup_backward(const AttentionBackwardArguments& arguments, Stream stream);

// Of a relative term (labels.cu): makes the terms of the queries; of what scores got, adds to the gradients
// of the labels.
void launch_label_terms(const AttentionArguments& arguments, Index head_size, Stream stream);
void launch_label_gradients(const AttentionBackwardArguments& arguments, Index head_size, Stream stream);

// Of PairRule::self_last (lone_queries.cu), queries whose only key is their own: forward, behind the other
// kernels, they get its value; back, the sum of dout * out of theirs becomes lone_product.
void launch_lone_queries(const AttentionForwardArguments& arguments, Index head_size, int tile_rows,
                         Stream stream);
void mark_lone_queries(const AttentionBackwardArguments& arguments, int tile_rows, Stream stream);

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
