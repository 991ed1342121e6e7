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
  void* memory = nullptr;
  if (posix_memalign(&memory, 256, bytes == 0 ? 1 : bytes) != 0) throw std::bad_alloc();
  std::memset(memory, 0xff, bytes);
  const std::lock_guard lock(mutex_);
  sizes_[static_cast<const std::byte*>(memory)] = bytes;
  bytes_ += bytes;
  return memory;
}

void MemoryRegistry::release(void* memory) noexcept {
  {
    const std::lock_guard lock(mutex_);
    const auto found = sizes_.find(static_cast<const std::byte*>(memory));
    if (found != sizes_.end()) {
      bytes_ -= found->second;
      sizes_.erase(found);
    }
  }
  std::free(memory);
}

std::size_t MemoryRegistry::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

bool MemoryRegistry::holds(const void* begin, std::size_t bytes) const {
  const auto* first = static_cast<const std::byte*>(begin);
  const std::lock_guard lock(mutex_);
  auto after = sizes_.upper_bound(first);
  if (after == sizes_.begin()) return false;
  --after;
  const auto offset = static_cast<std::size_t>(first - after->first);
  return offset <= after->second && bytes <= after->second - offset;
}

void MemoryRegistry::require(const void* begin, std::size_t bytes, const char* what) const {
  if (!holds(begin, bytes)) throw EmulationError(std::string(what) + ", " + std::to_string(bytes) + " bytes");
}

MemoryRegistry& device_memory() {
  static MemoryRegistry memory;
  return memory;
}

MemoryRegistry& pinned_memory() {
  static MemoryRegistry memory;
  return memory;
}

void check_global(const Lane& lane, const void* address, std::size_t bytes, std::size_t alignment,
                  const char* what) {
  if (reinterpret_cast<std::uintptr_t>(address) % alignment != 0) {
    lane.fail(std::string(what) + " " + std::to_string(bytes) +
              " bytes of global memory at a misaligned address");
  }
  if (!device_memory().holds(address, bytes)) {
    lane.fail(std::string(what) + " " + std::to_string(bytes) +
              " bytes of global memory outside of any allocation");
  }
}

}  // namespace bigbird::kernels::cuda::emulation
