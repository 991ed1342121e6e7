// The allocations of one kind of memory (the device's, or pinned memory of the host), so that every range
// that is handed to the emulation can be held against them.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

namespace bigbird::kernels::cuda::emulation {

class MemoryRegistry {
 public:
  // Filled with bytes 0xff, which are NaN in every type; 256-byte aligned, and ending where it ends, for
  // AddressSanitizer.
  void* allocate(std::size_t bytes);
  void release(void* memory) noexcept;
  // Allocated and not released.
  std::size_t bytes() const;
  // Whether all of begin..begin + bytes lies in one allocation.
  bool holds(const void* begin, std::size_t bytes) const;
  // Throws EmulationError(what) unless holds().
  void require(const void* begin, std::size_t bytes, const char* what) const;

 private:
  mutable std::mutex mutex_;
  std::map<const std::byte*, std::size_t> sizes_;
  std::size_t bytes_ = 0;
};

MemoryRegistry& device_memory();
MemoryRegistry& pinned_memory();

}  // namespace bigbird::kernels::cuda::emulation
