// A piece of device memory with an owner, which releases it.
#pragma once

#include <cstddef>

#include "kernels/backend.h"

namespace bigbird {

class DeviceMemory {
 public:
  DeviceMemory(kernels::Backend& backend, std::size_t bytes)
      : backend_(backend), memory_(static_cast<std::byte*>(backend.allocate(bytes))) {}
  ~DeviceMemory() { backend_.release(memory_); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  std::byte* bytes() const { return memory_; }

 private:
  kernels::Backend& backend_;
  std::byte* memory_;
};

}  // namespace bigbird
