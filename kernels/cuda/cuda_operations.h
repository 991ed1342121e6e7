// The CUDA backend as a class: what holds the device's memory and work, and which kernels make an operation.
// Plain C++.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/cuda/attention.h"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/device_memory.h"
#include "kernels/cuda/gemm.h"
#include "kernels/cuda/recordings.h"
#include "kernels/cuda/runtime.h"
#include "kernels/cuda/transfers.h"
#include "kernels/cuda/working_weights.h"

namespace bigbird::kernels::cuda {

// Of one thread: the one that made it.
class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(const CudaOptions& options);
  ~CudaBackend() override;
  CudaBackend(const CudaBackend&) = delete;
  CudaBackend& operator=(const CudaBackend&) = delete;

  // cuda_backend.cpp: the device
  std::string description() const override;
  Precision precision() const override { return options_.precision; }
  ElementType element_type() const override {
    return options_.precision == Precision::bf16 ? ElementType::bf16 : ElementType::fp32;
  }
  bool asynchronous() const override { return true; }
  std::size_t free_memory() const override;
  void reserve(std::size_t bytes) override;
  std::size_t scratch_bytes(const AttentionLimits& limits) const override;
  Index reserve_scratch(const AttentionLimits& limits) override;
  void release_places(Index first, Index count) noexcept override;
  void* allocate(std::size_t bytes) override;
  void release(void* memory) noexcept override;
  void upload(void* device, const void* host, std::size_t bytes) override;
  void download(void* host, const void* device, std::size_t bytes) override;
  void copy(void* to, const void* from, std::size_t bytes) override;
  void zero(void* device, std::size_t bytes) override;
  void synchronize() override;
  void repeat(std::uint64_t key, const std::function<void()>& work) override;
  std::size_t weight_copy_bytes(Index count) const override;
  void bind_weights(const float* parameters, Index count, void* copy) override;
  void unbind_weights(const float* parameters) noexcept override;
  void refresh_weights(const float* parameters) override;

  // cuda_linear.cpp
  void linear_forward(ConstValues x, const float* w, const float* bias, Values y, Index m, Index n,
                      Index k) override;
  void linear_gelu_forward(ConstValues x, const float* w, const float* bias, Values pre, Values y, Index m,
                           Index n, Index k, Activation activation) override;
  void linear_backward_input(ConstValues dy, const float* w, Values dx, Index m, Index n, Index k,
                             bool accumulate) override;
  void linear_backward_input_gelu(ConstValues dy, const float* w, ConstValues pre, Values dx, Index m,
                                  Index n, Index k, Activation activation) override;
  void linear_backward_weight(ConstValues dy, ConstValues x, float* dw, float* dbias, Index m, Index n,
                              Index k) override;

  // cuda_rows.cpp
  void embedding_forward(const std::int32_t* ids, const std::int32_t* types, const std::int32_t* positions,
                         const float* word, const float* type, const float* position, float word_scale,
                         Values y, Index tokens, Index width) override;
  void embedding_backward(ConstValues dy, const std::int32_t* ids, const std::int32_t* types,
                          const std::int32_t* positions, float word_scale, float* dword, float* dtype,
                          float* dposition, Index tokens, Index width, Index vocabulary, Index type_count,
                          Index position_count) override;
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
  void dropout_add_layernorm_forward(ConstValues x, ConstValues residual, const Dropout& dropout, Values sum,
                                     const float* gamma, const float* beta, float epsilon, Values y,
                                     float* mean, float* rstd, Index rows, Index width) override;
  void layernorm_backward_dropout(ConstValues dy, ConstValues sum, const float* gamma, const float* mean,
                                  const float* rstd, Values dx, Values branch, const Dropout& dropout,
                                  float* dgamma, float* dbeta, Index rows, Index width) override;
  void add(ConstValues x, Values y, Index count) override;
  void rotary_turn(Rows x, const std::int32_t* positions, const float* turns, Index rows, Index heads,
                   Index head_size, Index half, bool back) override;
  void gather_rows(ConstValues x, const std::int32_t* rows, Values y, Index count, Index width) override;
  void scatter_add_rows(ConstValues dy, const std::int32_t* rows, Values dx, Index count,
                        Index width) override;
  void cross_entropy(ConstValues logits, const std::int32_t* labels, float* losses, std::int32_t* predictions,
                     Values dlogits, const float* scale, Index rows, Index classes) override;
  void binary_cross_entropy(ConstValues logits, const float* targets, float positive_weight, float* losses,
                            Values dlogits, const float* scale, Index rows, Index classes) override;
  void squared_error(ConstValues x, const float* targets, float* losses, Values dx, const float* scale,
                     Index rows, Index columns) override;
  double sum_of_squares(const float* x, Index count) override;
  void adamw(float* p, const float* g, float* m, float* v, const ParameterRun* runs, Index run_count,
             const AdamWStep& step) override;

  // cuda_attention.cpp
  void prepare_attention(const AttentionBatch& batch) override;
  void attention_forward(const AttentionBatch& batch, ConstRows q, ConstRows k, ConstRows v, Rows out,
                         float* log_sum_exp) override;
  void attention_backward(const AttentionBatch& batch, ConstRows q, ConstRows k, ConstRows v, ConstRows out,
                          const float* log_sum_exp, ConstRows dout, Rows dq, Rows dk, Rows dv) override;

  // For tests: how often a recording took the place of the work.
  std::size_t replays() const { return recordings_.replays(); }

 private:
  // Destroyed after everything that works on it.
  struct OwnedStream {
    explicit OwnedStream(int device);
    ~OwnedStream();
    OwnedStream(const OwnedStream&) = delete;
    Stream stream;
  };
  struct Place {
    DevicePiece memory;
    Index most_sequences = 0;
    AttentionPlace place;
    bool filled = false;
    bool owned = false;
  };

  // Scratch of the operation at hand, which the next one overwrites: at least that many bytes. Grows where
  // reserve_scratch() was not told enough, outside of recordings only.
  void* workspace(std::size_t bytes);
  void reserve_place(Index place, Index sequences);
  Index own_places(Index count, Index sequences);
  // The weights at w as products with values of that type read them.
  ConstValues weights(const float* w, ElementType type) const;
  Gemm product(Index m, Index n, Index k) const;
  void run(const Gemm& gemm);
  // run(), when the epilogue can be had for these sizes and addresses.
  bool run_fused(const Gemm& gemm);
  AttentionCall attention_call(const AttentionBatch& batch, bool training);

  CudaOptions options_;
  OwnedStream stream_owner_;
  Stream stream_;
  std::string device_name_;
  std::unique_ptr<GemmLibrary> gemm_;
  DeviceMemory memory_;
  Transfers transfers_;
  DevicePiece workspace_;
  DevicePiece cell_;  // one result on its way to the host
  Recordings recordings_;
  WorkingWeights working_weights_;
  AttentionSchedules schedules_;
  std::vector<Place> places_;
  // Of adamw(): the table that is on the device.
  std::vector<ParameterRun> runs_;
  DevicePiece device_runs_;
};

}  // namespace bigbird::kernels::cuda
