// Device memory as the backend hands it out, and copies between it and the program's memory. Plain C++.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "kernels/cuda/runtime.h"

namespace bigbird::kernels::cuda {

// Slices of one arena when it was reserved, else pieces of their own.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // Takes the arena. Once, before the first allocate(); std::logic_error otherwise.
  void reserve(std::size_t bytes);
  // 256-byte aligned; in the arena where it has room. Throws OutOfMemory (kernels/errors.h).
  void* allocate(std::size_t bytes);
  // Memory of the arena may be given out again at once: work on it is ordered by the CUDA stream.
  void release(void* memory) noexcept;

 private:
  void* arena_ = nullptr;
  std::size_t arena_bytes_ = 0;
  std::map<std::size_t, std::size_t> free_;  // gaps of the arena: offset and bytes, never touching each other
  std::map<void*, std::size_t> taken_;       // bytes in the arena; 0: a piece of its own
};

// A piece of device memory with an owner. Throws OutOfMemory.
class DevicePiece {
 public:
  DevicePiece() = default;
  explicit DevicePiece(std::size_t bytes);
  ~DevicePiece();
  DevicePiece(DevicePiece&& other) noexcept;
  DevicePiece& operator=(DevicePiece&& other) noexcept;

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// Of uploads that travelled together: where one lies behind the first byte, 16-byte aligned, and where it
// goes.
struct UploadedPiece {
  void* to = nullptr;
  std::size_t offset = 0;
  std::size_t bytes = 0;
};
// uploads.cu: takes pieces[0 .. count) to their places; all is on the device.
void place_uploads(const void* arrived, const UploadedPiece* pieces, std::size_t count, std::size_t largest,
                   Stream stream);

// Copies that do not stop the work: uploads go through a ring of pinned slots, large ones on a stream of
// their own into a ring of slots on the device, from where the work's stream takes them when it gets there.
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
  // From now on uploads wait, side by side in neighbouring slots, until bring(), or until no slot is left:
  // then one copy takes them to the device, and one kernel to their places. forget() gives them up.
  void gather();
  void bring();
  void forget() noexcept;
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
  // So many bytes of the pinned half behind what waits, once its slots are free. The caller knows that there
  // is room.
  std::byte* place(std::size_t bytes);
  void send_gathered();

  Stream work_;
  Stream copies_;
  std::byte* pinned_ = nullptr;
  DevicePiece staged_;
  std::vector<Slot> slots_;
  std::size_t next_ = 0;
  // What waits: from slot next_ on.
  bool gathering_ = false;
  std::size_t gathered_bytes_ = 0;
  std::vector<UploadedPiece> gathered_;

  // Two slots of their own for downloads, filled in turn.
  std::byte* arriving_[2] = {nullptr, nullptr};
  Event arrived_[2] = {};
};

}  // namespace bigbird::kernels::cuda
