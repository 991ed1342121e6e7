// kernels/cuda/attention holds attention on a device: kernels of the forward pass and the backward pass, for
// heads of 32, 64 and 128 columns, what a block does first and last (schedule), and rows of padding.
//
// Block-sparse attention on the device (Dao et al. 2022 and 2023, over block lists): plans as lists of tiles
// (schedule.h), kernels (forward.cuh, backward.cuh, rows.cu, over tiles.cuh) with their launches (launch.h),
// rules for pairs and terms for their labels (pairs.h), two groups of keys as one (merge.cu), and sizes that
// have no kernel (padding.h). On Hopper warpgroups can take the place of warps (*_warpgroup.cu). The backend
// calls this header and padding.h. Plain C++.
//
// Semantics are those of Backend::attention_forward and attention_backward. Where keys are of other rows, T
// counts those of queries, and limits cover both. log_sum_exp is natural, [H, T] in fp32; rows that see
// nothing (padding, or no key that meets them) have +infinity, so that exp(score - log_sum_exp) is zero.
// Results of a sequence do not depend on what else is in the batch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/backend.h"
#include "kernels/cuda/attention/schedule.h"
#include "kernels/cuda/runtime.h"
#include "kernels/types.h"

namespace bigbird::kernels::cuda {

// Why attention of this shape cannot run on the device, in one line; empty when it can.
// paired: with a rule for pairs or a relative term, of so many labels, or query_starts.
std::string attention_refusal(Index head_size, Index block_size, bool paired = false, Index labels = 0);
inline bool is_paired(const AttentionBatch& batch) {
  return batch.rule != nullptr || batch.relative != nullptr || batch.query_starts != nullptr;
}

// Where things lie in the workspace that forward and backward share. Offsets and sizes are in bytes.
struct AttentionWorkspace {
  AttentionWorkspace(const AttentionLimits& limits, bool deterministic);

  Index query_slots = 0;  // of the whole batch, all heads
  Index key_slots = 0;    // 0 without training

  // All fp32; the last three in training only.
  std::size_t partial_rows = 0;        // [query_slots][tile_rows][D]: unnormalised output, or gradient of q
  std::size_t partial_statistics = 0;  // [query_slots][2][tile_rows]: maximum (of the raw scores), then sum
  std::size_t output_products = 0;     // [H][T]: sum of dout * out of each row
  std::size_t partial_keys = 0;        // [key_slots][2][tile_rows][D]: gradients of k, then v
  std::size_t query_gradients = 0;     // [T][C]; without a fixed order of sums only
  // Where scores have a relative term, of R labels; the last three in training only (pairs.h).
  std::size_t terms = 0;           // [H][T][R]
  std::size_t received = 0;        // [H][T][R]
  std::size_t partial_labels = 0;  // [query_slots][wide_labels][tile_rows]
  std::size_t label_sums = 0;      // [chunks of rows][H][R][D + 1]
  std::size_t bytes = 0;
};
inline std::size_t attention_workspace_bytes(const AttentionLimits& limits, bool deterministic) {
  return AttentionWorkspace(limits, deterministic).bytes;
}

// A schedule with its copy on the device.
class DeviceSchedule {
 public:
  DeviceSchedule(const BlockPlanView& plan, Index block_size, Stream stream);
  ~DeviceSchedule();
  DeviceSchedule(const DeviceSchedule&) = delete;
  DeviceSchedule& operator=(const DeviceSchedule&) = delete;

  const AttentionSchedule& host() const { return host_; }
  const DeviceLists& by_query() const { return by_query_; }
  const DeviceLists& by_key() const { return by_key_; }

 private:
  AttentionSchedule host_;
  DeviceLists by_query_{}, by_key_{};
  void* memory_ = nullptr;
};

// The schedules of all plans met so far. They stay, as the plans themselves do in their cache.
class AttentionSchedules {
 public:
  const DeviceSchedule& schedule(const BlockPlanView& plan, Index block_size, Stream stream);

 private:
  std::map<std::pair<std::uint64_t, Index>, std::unique_ptr<DeviceSchedule>> schedules_;
};

// How much a prepared batch may hold.
struct PreparedSize {
  Index sequences = 0;
  Index query_pieces = 0;
  Index key_pieces = 0;  // 0 without training
  // Of every batch within these limits.
  static PreparedSize of(const AttentionLimits& limits);
  bool covers(const PreparedSize& other) const {
    return sequences >= other.sequences && query_pieces >= other.query_pieces &&
           key_pieces >= other.key_pieces;
  }
  bool serves_training() const { return sequences == 0 || key_pieces > 0; }
  PreparedSize with(const PreparedSize& other) const {
    return {std::max(sequences, other.sequences), std::max(query_pieces, other.query_pieces),
            std::max(key_pieces, other.key_pieces)};
  }
  std::size_t bytes() const;
};

// A batch as the kernels find it, at one address in device memory, so that recorded launches can run again
// with other lengths: what a launch is given depends on the plans of the sequences alone.
class PreparedBatch {
 public:
  PreparedBatch() = default;
  // device: most.bytes() bytes, 256-byte aligned; not owned.
  PreparedBatch(void* device, const PreparedSize& most);

  // Describes the batch. The image has to be brought to device() next, and list_work() to be called.
  void fill(const AttentionBatch& batch, AttentionSchedules& schedules, Stream stream);
  // Makes the work of each block there (work.cu).
  void list_work(Stream stream) const;
  void* device() const { return device_; }
  const std::vector<std::byte>& image() const { return image_; }

  const AttentionView& view() const { return view_; }
  // Blocks of the grids.
  Index query_pieces() const { return query_pieces_; }
  Index query_cuts() const { return query_cuts_; }
  Index key_pieces() const { return key_pieces_; }
  Index key_cuts() const { return key_cuts_; }
  // Slots in use.
  Index query_slots() const { return query_slots_; }
  Index key_slots() const { return key_slots_; }

 private:
  void* device_ = nullptr;
  PreparedSize most_;
  AttentionView view_{};
  std::vector<std::byte> image_;
  int tile_rows_ = 0;
  bool causal_ = false;
  Index query_pieces_ = 0, query_cuts_ = 0, key_pieces_ = 0, key_cuts_ = 0;
  Index query_slots_ = 0, key_slots_ = 0;
};

// How products are taken: of bf16 values always in bf16; of floats in tf32, or exactly to fp32 from three of
// them.
enum class FloatProducts { tf32, fp32 };

// Whether the kernels of warpgroups (wgmma, of devices of compute capability 9.0) have a form for it: heads
// of 64 columns, blocks of a multiple of 64 tokens, bf16, every pair meets, no dropout of probabilities; not
// a decoder's own attention.
bool warpgroups_serve(const AttentionBatch& batch, ElementType type);
// Whether the current device runs them, and this program holds their machine code; otherwise why not.
std::string warpgroup_refusal(const DeviceInfo& device);
// Runs a small batch, forward and back, by the kernels of warps and of warpgroups: the largest difference of
// a number over the largest number of its matrix; infinite where one is NaN.
double warpgroup_difference(Stream stream);

// Everything a call needs beside its matrices.
struct AttentionCall {
  const AttentionBatch&
      batch;  // sizes, scale and dropout are read; lists and lengths are in the prepared batch
  const PreparedBatch& prepared;  // filled and uploaded for this batch
  FloatProducts products = FloatProducts::fp32;
  AttentionWorkspace workspace;  // of limits that cover the batch
  void* workspace_memory = nullptr;
  Stream stream;
  Index label_columns = 0;  // of a head in the relative term, where others are padded; 0: all
  bool warpgroups = false;  // by their kernels, where they serve; of a backward pass with a fixed order only
};

void attention_forward(const AttentionCall& call, const QueryKeyValue& inputs, Rows out, float* log_sum_exp);
// deterministic: the gradient of q in a pass of its own; otherwise it is added up atomically beside those of
// k and v, which costs less work but has no fixed order. A decoder's attention (causal, or over keys of other
// rows) is deterministic always, and so is one with a rule or a term.
void attention_backward(const AttentionCall& call, const QueryKeyValue& inputs, ConstRows out,
                        const float* log_sum_exp, ConstRows dout, const QueryKeyValueGradients& gradients,
                        bool deterministic);

// Attention of single queries over rows that lists name. A block for each query and head, of at most 128
// columns. Rows of all matrices begin at multiples of 16 bytes where heads have 32, 64 or 128 columns.
void attend_rows(const RowAttention& batch, const QueryKeyValue& inputs, Rows out, float* log_sum_exp,
                 Stream stream);
void attend_rows_backward(const RowAttention& batch, const RowsByKey& by_key, const QueryKeyValue& inputs,
                          ConstRows out, const float* log_sum_exp, ConstRows dout,
                          const RowAttentionGradients& gradients, Stream stream);

// Backend::merge_attention.
void merge_attention(const AttentionPart& first, const AttentionPart& second, Rows out, float* log_sum_exp,
                     Index rows, Index heads, Index head_size, Stream stream);

}  // namespace bigbird::kernels::cuda
