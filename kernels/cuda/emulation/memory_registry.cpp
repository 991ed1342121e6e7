// Heap blocks with a list of what is allocated.
#include "kernels/cuda/emulation/memory_registry.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/emulation/emulation.h"

namespace bigbird::kernels::cuda::emulation {

void* MemoryRegistry::allocate(std::size_t bytes) {
  void* begin = nullptr;
  const std::size_t alignment = watched_ ? watched_page : 256;
  const std::size_t most = watched_ ? watched_size(bytes) : bytes;
  if (posix_memalign(&begin, alignment, most == 0 ? 1 : most) != 0) throw std::bad_alloc();
  std::byte* const memory = static_cast<std::byte*>(begin) + before_;
  if (watched_) watch_allocation(memory, bytes);
  std::memset(memory, 0xff, bytes);
  const std::lock_guard lock(mutex_);
  sizes_[memory] = bytes;
  bytes_ += bytes;
  changes_.fetch_add(1, std::memory_order_release);
  return memory;
}

void MemoryRegistry::release(void* memory) noexcept {
  if (memory == nullptr) return;
  {
    const std::lock_guard lock(mutex_);
    const auto found = sizes_.find(static_cast<const std::byte*>(memory));
    if (found != sizes_.end()) {
      bytes_ -= found->second;
      if (watched_) forget_allocation(memory, found->second);
      sizes_.erase(found);
      changes_.fetch_add(1, std::memory_order_release);
    }
  }
  std::free(static_cast<std::byte*>(memory) - before_);
}

std::size_t MemoryRegistry::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

std::string MemoryRegistry::place(const void* address) const {
  const auto* at = static_cast<const std::byte*>(address);
  const std::lock_guard lock(mutex_);
  auto after = sizes_.upper_bound(at);
  if (after != sizes_.end() && static_cast<std::size_t>(after->first - at) <= before_) {
    return std::to_string(after->first - at) + " bytes before an allocation of " +
           std::to_string(after->second);
  }
  if (after == sizes_.begin()) return "outside of all";
  --after;
  return "byte " + std::to_string(at - after->first) + " of an allocation of " +
         std::to_string(after->second);
}

bool MemoryRegistry::holds(const void* begin, std::size_t bytes) const {
  const auto* first = static_cast<const std::byte*>(begin);
  // Most questions are about the allocation that this thread asked about last.
  thread_local struct {
    const MemoryRegistry* registry = nullptr;
    std::uint64_t changes = 0;
    const std::byte* begin = nullptr;
    std::size_t size = 0;
  } last;
  if (last.registry == this && last.changes == changes_.load(std::memory_order_acquire)) {
    const auto offset = static_cast<std::size_t>(first - last.begin);
    if (first >= last.begin && offset <= last.size && bytes <= last.size - offset) return true;
  }
  const std::lock_guard lock(mutex_);
  auto after = sizes_.upper_bound(first);
  if (after == sizes_.begin()) return false;
  --after;
  const auto offset = static_cast<std::size_t>(first - after->first);
  if (offset > after->second || bytes > after->second - offset) return false;
  last = {this, changes_.load(std::memory_order_relaxed), after->first, after->second};
  return true;
}

void MemoryRegistry::require(const void* begin, std::size_t bytes, const char* what) const {
  if (!holds(begin, bytes)) throw EmulationError(std::string(what) + ", " + std::to_string(bytes) + " bytes");
}

MemoryRegistry& device_memory() {
  static MemoryRegistry memory(watches_global);
  return memory;
}

MemoryRegistry& pinned_memory() {
  static MemoryRegistry memory(false);
  return memory;
}

void check_global(const Lane& lane, const void* address, std::size_t bytes, std::size_t alignment,
                  const char* what, GlobalAccess access) {
  if (reinterpret_cast<std::uintptr_t>(address) % alignment != 0) {
    lane.fail(std::string(what) + " " + std::to_string(bytes) +
              " bytes of global memory at a misaligned address");
  }
  if (!device_memory().holds(address, bytes)) {
    lane.fail(std::string(what) + " " + std::to_string(bytes) +
              " bytes of global memory outside of any allocation");
  }
  watch(address, bytes, access);
}

}  // namespace bigbird::kernels::cuda::emulation
