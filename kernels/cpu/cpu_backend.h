// The CPU backend: how each operation (kernels/operations.inc) is cut into tasks for the threads. The cut
// depends on the shapes alone and every task writes its own part of the result, so no result depends on the
// number of threads.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "kernels/backend.h"
#include "kernels/cpu/amx.h"
#include "kernels/cpu/bf16.h"
#include "kernels/cpu/cpu_options.h"
#include "kernels/cpu/int8.h"
#include "kernels/cpu/level.h"

namespace bigbird::kernels {

// 64-byte aligned floats that grow and are kept; contents do not survive growth.
class ScratchBuffer {
 public:
  ScratchBuffer() = default;
  ~ScratchBuffer();
  ScratchBuffer(const ScratchBuffer&) = delete;
  ScratchBuffer& operator=(const ScratchBuffer&) = delete;
  float* reserve(Index floats);

 private:
  float* data_ = nullptr;
  Index capacity_ = 0;
};

// Of operations that know no other type.
inline const float* floats(ConstValues values) {
  return values.as<float>();
}
inline float* floats(Values values) {
  return values.as<float>();
}

// A weight that was packed, in memory of the caller.
struct PackedWeight {
  WeightForm form = WeightForm::bf16;
  Index in = 0;
  Index out = 0;
  const std::byte* data = nullptr;
};

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(const CpuOptions& options);

  // device.cpp
  std::string name() const override { return "cpu"; }
  std::string details() const override;
  std::string arithmetic() const override;
  Precision precision() const override { return precision_; }
  ElementType element_type() const override {
    const bool on_tiles = amx_ != nullptr && precision_ == Precision::bf16;
    return bf16_ != nullptr || on_tiles ? ElementType::bf16 : ElementType::fp32;
  }
  ElementType stream_type() const override { return ElementType::fp32; }
  bool wants_whole_blocks() const override { return false; }
  bool in_host_memory() const override { return true; }
  void* allocate(std::size_t bytes) override;
  void release(void* memory) noexcept override;
  void upload(void* device, const void* host, std::size_t bytes) override;
  void download(void* host, const void* device, std::size_t bytes) override;
  void copy(void* to, const void* from, std::size_t bytes) override;
  void zero(void* device, std::size_t bytes) override;
  void clear(void* device, std::size_t bytes) override;
  void synchronize() override {}

  // packed_weights.cpp
  std::size_t packed_weight_bytes(const Linear& layer, WeightForm form) const override;
  std::string packed_weight_layout(WeightForm form) const override;
  void pack_weight(const Linear& layer, WeightForm form, void* to) const override;
  void bind_packed_weight(const Linear& layer, WeightForm form, const void* packed) override;
  void unbind_packed_weight(const float* weight) noexcept override;

  // attention.cpp
  std::size_t scratch_bytes(const AttentionLimits& limits) const override;

  // optimizer.cpp
  std::size_t adafactor_scratch_bytes(std::span<const AdafactorTensor> tensors) const override;

  // linear.cpp with linear_bf16.cpp, rows.cpp, attention.cpp, row_attention.cpp, feature_attention.cpp,
  // cluster_attention.cpp, routed_attention.cpp, losses.cpp, optimizer.cpp
#define BIGBIRD_OPERATION(...) __VA_ARGS__ override;
#include "kernels/operations.inc"

 private:
  // Whether operands of the layer's products are rounded to bf16.
  bool rounds(const Linear& layer) const {
    return precision_ == Precision::bf16 && !layer.exact;
  }
  // bias[j] += the sum of dy[:, j], dy [rows, out].
  void add_bias_gradient(ConstValues dy, Index rows, Index out, float* bias) const;
  // The product cut into tiles of c, with after(first row, rows, first column, columns) run on each finished
  // tile.
  template <typename After>
  void multiply_shared(const Product& product, const After& after);
  template <typename After>
  void multiply_packed_b(const Product& product, float* packed_b, float* packed_a, Index a_floats,
                         const After& after);
  // On AMX; tiles and `after` as in multiply_layer().
  struct TileProduct;
  template <typename After>
  void multiply_on_tiles(const TileProduct& product, const After& after);
  // A linear layer without its bias, by the way that its weight and the precision ask for. Tiles of the
  // result are fp32, in y where that is: after(tile, stride, first row, rows, first column, columns).
  template <typename After>
  void multiply_layer(ConstValues x, const Linear& layer, Values y, Index rows, const After& after);
  // y[rows, out] of x[rows, in], or added to an fp32 y, with the instructions for bf16 pairs: pack(first
  // column, columns, to) packs b where `packed` is null. Tiles and `after` as above.
  template <typename Pack, typename After>
  void multiply_bf16(ConstValues x, Index in, Index out, const std::byte* packed, const Pack& pack, Values y,
                     Index rows, bool accumulate, const After& after);
  // dx = dy weight by the way that the precision asks for; tiles as in multiply_layer().
  template <typename After>
  void multiply_back(ConstValues dy, const Linear& layer, Values dx, Index rows, bool accumulate,
                     const After& after);
  // linear_bf16.cpp: weight[out, in] += dy^T x with these instructions.
  void add_weight_gradient_bf16(ConstValues dy, ConstValues x, Index out, Index in, Index rows,
                                float* weight);
  // In int8, rows of x quantized as they come.
  template <typename After>
  void multiply_int8(ConstValues x, const Linear& layer, const std::byte* packed, Values y, Index rows,
                     const After& after);
  // What is packed of layer.weight; null: nothing.
  const PackedWeight* find_packed(const Linear& layer) const;

  template <typename From, typename To>
  void add_each_row(Index count, Index width, bool narrow, const From& from, const To& to);
  bool attention_is_packed(Index block_size) const;
  Index packed_scratch(Index block_size, Index head_size, Index parts) const;
  void attention_forward_packed(const AttentionBatch& batch, const QueryKeyValue& inputs, Rows out,
                                float* log_sum_exp);
  void attention_backward_bf16(const AttentionBatch& batch, const QueryKeyValue& inputs, ConstRows out,
                               const float* log_sum_exp, ConstRows dout,
                               const QueryKeyValueGradients& gradients);

  const Level& level_;
  const AmxKernels* const amx_;  // null: not to be used
  const Precision precision_;
  const Bf16Kernels* const bf16_;  // null: not to be used
  const Int8Kernels& int8_;
  const PackedAttention* const packed_attention_;  // null: that of the level
  ScratchBuffer scratch_;
  std::map<const float*, PackedWeight> packed_weights_;
};

}  // namespace bigbird::kernels
