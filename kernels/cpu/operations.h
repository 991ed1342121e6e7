// The CPU backend: how each operation of kernels/backend.h is cut into tasks for the threads. The cut depends
// on the shapes alone and every task writes its own part of the result, so no result depends on the number of
// threads.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "kernels/backend.h"
#include "kernels/cpu/amx.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/level.h"
#include "kernels/cpu/onednn_bf16.h"

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
  std::string description() const override;
  Precision precision() const override { return precision_; }
  void* allocate(std::size_t bytes) override;
  void release(void* memory) noexcept override;
  void upload(void* device, const void* host, std::size_t bytes) override;
  void download(void* host, const void* device, std::size_t bytes) override;
  void copy(void* to, const void* from, std::size_t bytes) override;
  void zero(void* device, std::size_t bytes) override;
  void synchronize() override {}

  // linear.cpp
  void linear_forward(ConstValues x, const float* w, const float* bias, Values y, Index m, Index n,
                      Index k) override;
  void linear_gelu_forward(ConstValues x, const float* w, const float* bias, Values pre, Values y, Index m,
                           Index n, Index k, Activation activation) override;
  void linear_backward_input(ConstValues dy, const float* w, Values dx, Index m, Index n, Index k,
                             bool accumulate) override;
  void linear_backward_weight(ConstValues dy, ConstValues x, float* dw, float* dbias, Index m, Index n,
                              Index k) override;

  // embedding.cpp
  void embedding_forward(const std::int32_t* ids, const std::int32_t* types, const std::int32_t* positions,
                         const float* word, const float* type, const float* position, float word_scale,
                         Values y, Index tokens, Index width) override;
  void embedding_backward(ConstValues dy, const std::int32_t* ids, const std::int32_t* types,
                          const std::int32_t* positions, float word_scale, float* dword, float* dtype,
                          float* dposition, Index tokens, Index width, Index vocabulary, Index type_count,
                          Index position_count) override;
  void gather_rows(ConstValues x, const std::int32_t* rows, Values y, Index count, Index width) override;
  void scatter_add_rows(ConstValues dy, const std::int32_t* rows, Values dx, Index count,
                        Index width) override;

  // rows.cpp
  void layernorm_forward(ConstValues x, const float* gamma, const float* beta, float epsilon, Values y,
                         float* mean, float* rstd, Index rows, Index width) override;
  void layernorm_backward(ConstValues dy, ConstValues x, const float* gamma, const float* mean,
                          const float* rstd, Values dx, bool accumulate, float* dgamma, float* dbeta,
                          Index rows, Index width) override;
  void gelu_backward(ConstValues pre, ConstValues dy, Values dx, Index count, Activation activation) override;
  void tanh_forward(ConstValues x, Values y, Index count) override;
  void tanh_backward(ConstValues y, ConstValues dy, Values dx, Index count) override;
  void dropout(ConstValues x, Values y, Index count, const Dropout& dropout) override;
  void dropout_add(ConstValues x, ConstValues residual, Values y, Index count,
                   const Dropout& dropout) override;
  void add(ConstValues x, Values y, Index count) override;
  void rotary_turn(Rows x, const std::int32_t* positions, const float* turns, Index rows, Index heads,
                   Index head_size, Index half, bool back) override;

  // attention.cpp
  std::size_t scratch_bytes(const AttentionLimits& limits) const override;
  void attention_forward(const AttentionBatch& batch, ConstRows q, ConstRows k, ConstRows v, Rows out,
                         float* log_sum_exp) override;
  void attention_backward(const AttentionBatch& batch, ConstRows q, ConstRows k, ConstRows v, ConstRows out,
                          const float* log_sum_exp, ConstRows dout, Rows dq, Rows dk, Rows dv) override;

  // losses.cpp
  void cross_entropy(ConstValues logits, const std::int32_t* labels, float* losses, std::int32_t* predictions,
                     Values dlogits, const float* scale, Index rows, Index classes) override;
  void binary_cross_entropy(ConstValues logits, const float* targets, float positive_weight, float* losses,
                            Values dlogits, const float* scale, Index rows, Index classes) override;
  void squared_error(ConstValues x, const float* targets, float* losses, Values dx, const float* scale,
                     Index rows, Index columns) override;

  // optimizer.cpp
  double sum_of_squares(const float* x, Index count) override;
  void adamw(float* p, const float* g, float* m, float* v, const ParameterRun* runs, Index run_count,
             const AdamWStep& step) override;

 private:
  // One product on the calling thread, and the scratch that it and its parts of at most n columns need.
  void multiply(const Product& product, float* scratch) const;
  Index multiply_scratch(const Product& product, Index n) const;
  bool by_onednn(const Product& product) const;
  // The product cut into tiles of c, with after(first row, rows, first column, columns) run on each finished
  // tile.
  template <typename After>
  void multiply_tiles(const Product& product, const After& after);
  // The same in bf16 by oneDNN; a plain left matrix, c overwritten.
  template <typename After>
  void multiply_onednn_bf16(const Product& product, const After& after);
  // The same on the tile unit.
  template <typename After>
  void multiply_packed(const Product& product, const After& after);

  void require_fp32() const;
  bool attention_by_amx(Index block_size) const;
  void attention_forward_packed(const AttentionBatch& batch, ConstRows q, ConstRows k, ConstRows v, Rows out,
                                float* log_sum_exp);

  const Level& level_;
  const bool use_onednn_;
  const AmxKernels* const amx_;  // null: not to be used
  const Precision precision_;
  const bool onednn_bf16_;
  std::map<std::pair<Index, Index>, OnednnBf16Product> bf16_products_;  // by (n, k)
  ScratchBuffer scratch_;
};

}  // namespace bigbird::kernels
