// A backend that hands everything to another one and, while a profile is taken, marks the device's queue
// before and after each operation.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.h"

// In it the types of operations.inc are found.
namespace bigbird::kernels::bench {

struct Profile {
  struct Operation {
    std::size_t count = 0;
    double milliseconds = 0;
  };
  std::map<std::string, Operation> operations;  // "layernorm_forward", "linear_forward 4096 x 768 x 768"
  // Milliseconds behind an operation and before the next, when the device waited for the program.
  double between = 0;

  double milliseconds() const;  // of all operations
};

class TimedBackend : public Backend {
 public:
  // Keeps the backend, which outlives it.
  explicit TimedBackend(Backend& backend) : backend_(backend), marks_(backend.make_time_marks()) {}

  // From now on operations are timed, and replay() records and plays nothing.
  void begin_profile() { profiling_ = true; }
  Profile end_profile();

  std::string name() const override { return backend_.name(); }
  std::string details() const override { return backend_.details(); }
  std::string arithmetic() const override { return backend_.arithmetic(); }
  Precision precision() const override { return backend_.precision(); }
  std::string product_table() const override { return backend_.product_table(); }
  std::string device_identity() const override { return backend_.device_identity(); }
  void* stream() const override { return backend_.stream(); }
  ElementType element_type() const override { return backend_.element_type(); }
  ElementType stream_type() const override { return backend_.stream_type(); }
  bool wants_whole_blocks() const override { return backend_.wants_whole_blocks(); }
  bool asynchronous() const override { return backend_.asynchronous(); }
  void enter_thread() override { backend_.enter_thread(); }
  std::unique_ptr<TimeMarks> make_time_marks() override { return backend_.make_time_marks(); }
  bool in_host_memory() const override { return backend_.in_host_memory(); }
  Index row_stride(Index columns) const override { return backend_.row_stride(columns); }
  std::size_t free_memory() const override { return backend_.free_memory(); }
  DriverMemory driver_memory() const override { return backend_.driver_memory(); }
  void reserve(std::size_t bytes) override { backend_.reserve(bytes); }
  std::size_t scratch_bytes(const AttentionLimits& limits) const override {
    return backend_.scratch_bytes(limits);
  }
  Index reserve_scratch(const AttentionLimits& limits) override { return backend_.reserve_scratch(limits); }
  void release_slots(Index first, Index count) noexcept override { backend_.release_slots(first, count); }
  void* allocate(std::size_t bytes) override { return backend_.allocate(bytes); }
  void release(void* memory) noexcept override { backend_.release(memory); }
  void upload(void* device, const void* host, std::size_t bytes) override;
  void gather_uploads() override { backend_.gather_uploads(); }
  void bring_uploads() override;
  void forget_uploads() noexcept override { backend_.forget_uploads(); }
  void download(void* host, const void* device, std::size_t bytes) override;
  void copy(void* to, const void* from, std::size_t bytes) override;
  void zero(void* device, std::size_t bytes) override;
  void clear(void* device, std::size_t bytes) override;
  void synchronize() override { backend_.synchronize(); }
  void replay(std::uint64_t key, const std::function<void()>& work) override;
  std::size_t weight_copy_bytes(Index count) const override { return backend_.weight_copy_bytes(count); }
  void bind_weights(const float* parameters, Index count, void* copy) override {
    backend_.bind_weights(parameters, count, copy);
  }
  void unbind_weights(const float* parameters) noexcept override { backend_.unbind_weights(parameters); }
  void refresh_weights(const float* parameters) override;
  std::size_t packed_weight_bytes(const Linear& layer, WeightForm form) const override {
    return backend_.packed_weight_bytes(layer, form);
  }
  std::string packed_weight_layout(WeightForm form) const override {
    return backend_.packed_weight_layout(form);
  }
  void pack_weight(const Linear& layer, WeightForm form, void* to) const override {
    backend_.pack_weight(layer, form, to);
  }
  void bind_packed_weight(const Linear& layer, WeightForm form, const void* packed) override {
    backend_.bind_packed_weight(layer, form, packed);
  }
  void unbind_packed_weight(const float* weight) noexcept override { backend_.unbind_packed_weight(weight); }
  std::size_t lamb_scratch_bytes(std::span<const LambPiece> pieces) const override {
    return backend_.lamb_scratch_bytes(pieces);
  }
  std::size_t adafactor_scratch_bytes(std::span<const AdafactorTensor> tensors) const override {
    return backend_.adafactor_scratch_bytes(tensors);
  }

#define BIGBIRD_OPERATION(...) __VA_ARGS__ override;
#include "kernels/operations.inc"

 private:
  template <class Work>
  void timed(std::string name, const Work& work);

  Backend& backend_;
  std::unique_ptr<TimeMarks> marks_;
  bool profiling_ = false;
  std::vector<std::string> names_;  // of the operations between marks 2i and 2i + 1
};

}  // namespace bigbird::kernels::bench
