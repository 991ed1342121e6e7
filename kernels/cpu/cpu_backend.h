// The CPU backend: how each operation (kernels/operations.inc) is cut into tasks for the threads. The cut
// depends on the shapes alone and every task writes its own part of the result, so no result depends on the
// number of threads.
#pragma once

#include <string>
#include <utility>

#include "kernels/backend.h"
#include "kernels/cpu/amx.h"
#include "kernels/cpu/bf16.h"
#include "kernels/cpu/cpu_options.h"
#include "kernels/cpu/level.h"
#include "kernels/cpu/packed_attention.h"

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

// The only element type of this backend.
inline const float* floats(ConstValues values) {
  return values.as<float>();
}
inline float* floats(Values values) {
  return values.as<float>();
}

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(const CpuOptions& options);

  // device.cpp
  std::string name() const override { return "cpu"; }
  std::string details() const override;
  std::string arithmetic() const override;
  Precision precision() const override { return precision_; }
  bool wants_whole_blocks() const override { return false; }
  bool in_host_memory() const override { return true; }
  void* allocate(std::size_t bytes) override;
  void release(void* memory) noexcept override;
  void upload(void* device, const void* host, std::size_t bytes) override;
  void download(void* host, const void* device, std::size_t bytes) override;
  void copy(void* to, const void* from, std::size_t bytes) override;
  void zero(void* device, std::size_t bytes) override;
  void synchronize() override {}

  // attention.cpp
  std::size_t scratch_bytes(const AttentionLimits& limits) const override;

  // adafactor.cpp
  std::size_t adafactor_scratch_bytes(std::span<const AdafactorTensor> tensors) const override;

  // linear.cpp, embedding.cpp (with rows picked out), rows.cpp, attention.cpp, losses.cpp, top_columns.cpp,
  // optimizer.cpp, adafactor.cpp
#define BIGBIRD_OPERATION(...) __VA_ARGS__ override;
#include "kernels/operations.inc"

 private:
  bool by_onednn(const Product& product) const;
  // bias[j] += the sum of dy[:, j], dy [rows, out].
  void add_bias_gradient(ConstValues dy, Index rows, Index out, float* bias) const;
  // The product cut into tiles of c, with after(first row, rows, first column, columns) run on each finished
  // tile.
  template <typename After>
  void multiply_tiles(const Product& product, const After& after);
  template <typename After>
  void multiply_onednn(const Product& product, const After& after);
  template <typename After>
  void multiply_shared(const Product& product, const After& after);
  template <typename After>
  void multiply_packed_b(const Product& product, float* packed_b, float* packed_a, Index a_floats,
                         const After& after);
  // The same with AVX-512's bf16 instructions, of a linear layer's forward pass.
  template <typename After>
  void multiply_bf16(const Product& product, const After& after);
  // The same on AMX.
  template <typename After>
  void multiply_packed(const Product& product, const After& after);

  void require_fp32() const;
  bool attention_is_packed(Index block_size) const;
  Index packed_scratch(Index block_size, Index head_size, Index parts) const;
  void attention_forward_packed(const AttentionBatch& batch, const QueryKeyValue& inputs, Rows out,
                                float* log_sum_exp);

  const Level& level_;
  const bool use_onednn_;
  const AmxKernels* const amx_;  // null: not to be used
  const Precision precision_;
  const Bf16Kernels* const bf16_;                  // null: not to be used
  const PackedAttention* const packed_attention_;  // null: that of the level
  ScratchBuffer scratch_;
};

}  // namespace bigbird::kernels
