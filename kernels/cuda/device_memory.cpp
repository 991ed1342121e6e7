// The arena is first fit over an ordered list of gaps: allocations are few and large.
#include "kernels/cuda/device_memory.h"

#include <iterator>
#include <stdexcept>
#include <utility>

#include "kernels/cuda/runtime.h"
#include "kernels/errors.h"

namespace bigbird::kernels::cuda {

namespace {

constexpr std::size_t alignment = 256;

std::size_t rounded(std::size_t bytes) {
  return bytes == 0 ? alignment : (bytes + alignment - 1) / alignment * alignment;
}

void* take(std::size_t bytes) {
  try {
    return allocate_device(bytes);
  } catch (const OutOfDeviceMemory& error) {
    throw OutOfMemory(error.what(), error.asked, error.free);
  }
}

}  // namespace

DeviceMemory::~DeviceMemory() {
  for (const auto& [memory, bytes] : taken_) {
    if (bytes == 0) release_device(memory);
  }
  if (arena_ != nullptr) release_device(arena_);
}

void DeviceMemory::reserve(std::size_t bytes) {
  if (arena_ != nullptr || !taken_.empty()) throw std::logic_error("device memory: reserved too late");
  arena_ = take(rounded(bytes));
  arena_bytes_ = rounded(bytes);
  free_ = {{0, arena_bytes_}};
}

void* DeviceMemory::allocate(std::size_t bytes) {
  const std::size_t size = rounded(bytes);
  for (auto gap = free_.begin(); gap != free_.end(); ++gap) {
    if (gap->second < size) continue;
    const auto [offset, room] = *gap;
    free_.erase(gap);
    if (room > size) free_.emplace(offset + size, room - size);
    void* memory = static_cast<std::byte*>(arena_) + offset;
    taken_.emplace(memory, size);
    return memory;
  }
  void* memory = take(size);
  taken_.emplace(memory, 0);
  return memory;
}

void DeviceMemory::release(void* memory) noexcept {
  const auto found = taken_.find(memory);
  if (found == taken_.end()) return;
  std::size_t size = found->second;
  taken_.erase(found);
  if (size == 0) return release_device(memory);
  auto offset = static_cast<std::size_t>(static_cast<std::byte*>(memory) - static_cast<std::byte*>(arena_));
  const auto behind = free_.lower_bound(offset);
  if (behind != free_.begin()) {
    const auto before = std::prev(behind);
    if (before->first + before->second == offset) {
      offset = before->first;
      size += before->second;
      free_.erase(before);
    }
  }
  if (behind != free_.end() && offset + size == behind->first) {
    size += behind->second;
    free_.erase(behind);
  }
  free_.emplace(offset, size);
}

DevicePiece::DevicePiece(std::size_t bytes) : data_(take(rounded(bytes))), bytes_(bytes) {}
DevicePiece::~DevicePiece() {
  if (data_ != nullptr) release_device(data_);
}
DevicePiece::DevicePiece(DevicePiece&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
DevicePiece& DevicePiece::operator=(DevicePiece&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace bigbird::kernels::cuda
