// The CUDA backend as a class: what holds the device's memory and work, and which kernels make an operation.
// Plain C++.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/cuda/attention/attention.h"
#include "kernels/cuda/cuda_options.h"
#include "kernels/cuda/device_memory.h"
#include "kernels/cuda/gemm.h"
#include "kernels/cuda/launchers.h"
#include "kernels/cuda/linear_products.h"
#include "kernels/cuda/recordings.h"
#include "kernels/cuda/runtime.h"
#include "kernels/types.h"

namespace bigbird::kernels::cuda {

// Which bf16 copy stands for which fp32 parameters: several models may be bound at once.

class WorkingWeights {
 public:
  struct Binding {
    const float* parameters = nullptr;
    Index count = 0;
    bf16* copy = nullptr;
  };

  void bind(const float* parameters, Index count, bf16* copy) {
    bindings_[parameters] = {parameters, count, copy};
  }
  void unbind(const float* parameters) noexcept { bindings_.erase(parameters); }
  // The binding that holds this parameter, or null.
  const Binding* find(const float* parameter) const {
    const auto behind = bindings_.upper_bound(parameter);
    if (behind == bindings_.begin()) return nullptr;
    const Binding& binding = std::prev(behind)->second;
    return parameter - binding.parameters < binding.count ? &binding : nullptr;
  }
  // Where the copy of this parameter is. Throws std::logic_error when it is not bound.
  const bf16* copy_of(const float* parameter) const {
    const Binding* binding = find(parameter);
    if (binding == nullptr) throw std::logic_error("a parameter whose working copy is not bound");
    return binding->copy + (parameter - binding->parameters);
  }

 private:
  std::map<const float*, Binding> bindings_;  // by first parameter
};

// Of attention by features, and within clusters, which have no kernels here.
inline constexpr const char* feature_refusal =
    "attention performer is not computed on CUDA devices, only on the CPU";
inline constexpr const char* cluster_refusal =
    "attention reformer is not computed on CUDA devices, only on the CPU";
inline constexpr const char* routing_refusal =
    "attention routing is not computed on CUDA devices, only on the CPU";
inline constexpr const char* document_refusal =
    "HIBERT's encoder of documents is not computed on CUDA devices, only on the CPU";

// Of one thread: the one that made it.
class CudaBackend : public Backend {
 public:
  explicit CudaBackend(const CudaOptions& options);
  ~CudaBackend() override;
  CudaBackend(const CudaBackend&) = delete;
  CudaBackend& operator=(const CudaBackend&) = delete;

  // cuda_backend.cpp: the device
  std::string name() const override;
  std::string details() const override;
  std::string arithmetic() const override;
  std::string product_table() const override { return product_table_; }
  Precision precision() const override { return options_.precision; }
  std::string device_identity() const override { return device_.identity; }
  void* stream() const override { return stream_.handle; }
  ElementType element_type() const override {
    return options_.precision == Precision::bf16 ? ElementType::bf16 : ElementType::fp32;
  }
  Index row_stride(Index columns) const override { return padded_columns(columns); }
  bool wants_row_order() const override { return true; }
  bool asynchronous() const override { return true; }
  std::unique_ptr<TimeMarks> make_time_marks() override;
  void enter_thread() override;
  std::size_t free_memory() const override;
  DriverMemory driver_memory() const override;
  void reserve(std::size_t bytes) override;
  std::size_t scratch_bytes(const AttentionLimits& limits) const override;
  Index reserve_scratch(const AttentionLimits& limits) override;
  void release_slots(Index first, Index count) noexcept override;
  void* allocate(std::size_t bytes) override;
  void release(void* memory) noexcept override;
  void upload(void* device, const void* host, std::size_t bytes) override;
  void gather_uploads() override;
  void bring_uploads() override;
  void forget_uploads() noexcept override;
  void download(void* host, const void* device, std::size_t bytes) override;
  void copy(void* to, const void* from, std::size_t bytes) override;
  void zero(void* device, std::size_t bytes) override;
  void synchronize() override;
  void replay(std::uint64_t key, const std::function<void()>& work) override;
  std::size_t weight_copy_bytes(Index count) const override;
  void bind_weights(const float* parameters, Index count, void* copy) override;
  void unbind_weights(const float* parameters) noexcept override;
  void refresh_weights(const float* parameters) override;
  std::size_t lamb_scratch_bytes(std::span<const LambPiece> pieces) const override;
  std::size_t adafactor_scratch_bytes(std::span<const AdafactorTensor> tensors) const override;

  // cuda_linear.cpp, cuda_attention.cpp, cuda_rows.cpp (all others)
#define BIGBIRD_OPERATION(...) __VA_ARGS__ override;
#include "kernels/operations.inc"

  // For tests: how often a recording took the place of the work.
  std::size_t replays() const {
    return recordings_.replays();
  }

 private:
  // Destroyed after everything that works on it.
  struct OwnedStream {
    explicit OwnedStream(int device);
    ~OwnedStream();
    OwnedStream(const OwnedStream&) = delete;
    Stream stream;
  };
  struct Slot {
    DevicePiece memory;
    PreparedSize most;
    PreparedBatch prepared;
    bool filled = false;
    bool owned = false;
  };

  // Scratch of the operation at hand, which the next one overwrites: at least that many bytes. Grows where
  // reserve_scratch() was not told enough, outside of recordings only.
  void* workspace(std::size_t bytes);
  NormScratch norm_scratch(Index rows, Index width);
  void reserve_slot(Index slot, const PreparedSize& size);
  Index own_slots(Index count, const PreparedSize& size);
  // The weights at w as products with values of that type read them.
  ConstValues weights(const float* w, ElementType type) const;
  // The copy that goes with these parameters; null: none.
  bf16* working_copy(const float* parameters) const;
  void run(Gemm gemm);
  // run(), when the epilogue can be had for these sizes and addresses.
  bool run_fused(Gemm gemm);
  // With so many bytes behind its workspace.
  AttentionCall attention_call(const AttentionBatch& batch, bool training, std::size_t behind = 0);
  // As CudaOptions::attention says, once the device is there.
  bool choose_warpgroups();

  CudaOptions options_;
  OwnedStream stream_owner_;
  Stream stream_;
  DeviceInfo device_;
  std::size_t kernel_bytes_;  // of the device's memory, as this backend loaded them
  std::unique_ptr<GemmLibrary> gemm_;
  std::string product_table_;  // the digest of what gemm_ was given
  DeviceMemory memory_;
  Transfers transfers_;
  DevicePiece workspace_;
  // Sums for gradients of biases, from products that take them along: as many as the table has such rows for.
  Index most_bias_sums_ = 0;
  DevicePiece bias_sums_;
  std::map<std::uint64_t, std::size_t>
      refused_calls_;  // of work that replay() was given, where there are any
  Recordings recordings_;
  WorkingWeights working_weights_;
  AttentionSchedules schedules_;
  std::vector<Slot> slots_;
  bool warpgroups_ = false;  // AttentionCall
  // Between gather_uploads() and bring_uploads(): slots whose batches are still on the host.
  bool gathering_ = false;
  std::vector<Index> unlisted_;
  // Of adamw(): the table that is on the device.
  std::vector<ParameterRun> runs_;
  DevicePiece device_runs_;
};

}  // namespace bigbird::kernels::cuda
