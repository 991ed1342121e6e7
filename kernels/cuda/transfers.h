// Copies between the program's memory and the device that do not stop the work: uploads go through a ring of
// pinned slots, large ones on a stream of their own into a ring of slots on the device, from where the work's
// stream takes them when it gets there. Plain C++.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/cuda/device_memory.h"
#include "kernels/cuda/runtime.h"

namespace bigbird::kernels::cuda {

class Transfers {
 public:
  static constexpr std::size_t slot_bytes = std::size_t{256} << 10;
  static constexpr std::size_t slot_count = 64;
  // What it holds on the device.
  static constexpr std::size_t device_bytes = slot_bytes * slot_count;
  // Up to here a copy costs less than handing it from stream to stream.
  static constexpr std::size_t small_bytes = std::size_t{32} << 10;

  explicit Transfers(Stream work);
  ~Transfers();
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  // In order with the work given to the stream; host may be changed after the call.
  void upload(void* device, const void* host, std::size_t bytes);
  // Waits for the work and the bytes.
  void download(void* host, const void* device, std::size_t bytes);

 private:
  struct Slot {
    std::byte* pinned = nullptr;
    std::byte* staged = nullptr;  // on the device
    Event sent{};                 // the pinned half has been read
    Event taken{};                // the half on the device has been read
    bool pinned_in_use = false;   // sent was recorded
    bool staged_in_use = false;   // taken was recorded
  };
  void upload_part(void* device, const void* host, std::size_t bytes);

  Stream work_;
  Stream copies_;
  std::byte* pinned_ = nullptr;
  DevicePiece staged_;
  std::vector<Slot> slots_;
  std::size_t next_ = 0;

  // Two slots of their own for downloads, filled in turn.
  std::byte* arriving_[2] = {nullptr, nullptr};
  Event arrived_[2] = {};
};

}  // namespace bigbird::kernels::cuda
