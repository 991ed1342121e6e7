// The allocations of one kind of memory (the device's, or pinned memory of the host), so that every range
// that is handed to the emulation can be held against them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "kernels/cuda/emulation/global_watch.h"

namespace bigbird::kernels::cuda::emulation {

class MemoryRegistry {
 public:
  // watched: accesses of kernels are (global_watch.h).
  explicit MemoryRegistry(bool watched) : watched_(watched) {}
  // Filled with bytes 0xff, which are NaN in every type; 256-byte aligned or on pages of their own. What is
  // before and after them is nobody's: AddressSanitizer's, or of those pages (global_watch.h).
  void* allocate(std::size_t bytes);
  void release(void* memory) noexcept;
  // Allocated and not released.
  std::size_t bytes() const;
  // For messages: "byte 4 of an allocation of 512", "4 bytes before an allocation of 512".
  std::string place(const void* address) const;
  // Whether all of begin..begin + bytes lies in one allocation.
  bool holds(const void* begin, std::size_t bytes) const;
  // Throws EmulationError(what) unless holds().
  void require(const void* begin, std::size_t bytes, const char* what) const;

 private:
  const bool watched_;
  const std::size_t before_ = watched_ ? watched_page : 0;  // bytes of each allocation
  mutable std::mutex mutex_;
  std::map<const std::byte*, std::size_t> sizes_;
  std::size_t bytes_ = 0;
  std::atomic<std::uint64_t> changes_{0};  // of sizes_
};

MemoryRegistry& device_memory();
MemoryRegistry& pinned_memory();

}  // namespace bigbird::kernels::cuda::emulation
