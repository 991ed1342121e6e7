// Device memory as the backend hands it out: slices of one arena when it was reserved, else pieces of their
// own. Plain C++.
#pragma once

#include <cstddef>
#include <map>

namespace bigbird::kernels::cuda {

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

}  // namespace bigbird::kernels::cuda
