// The CPU as a device: its description, and memory, which is ordinary memory.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "kernels/cpu/onednn.h"
#include "kernels/cpu/operations.h"
#include "kernels/parallel.h"

namespace bigbird::kernels {

namespace {

constexpr std::size_t alignment = 64;

void* aligned_memory(std::size_t bytes) {
  void* memory = std::aligned_alloc(alignment, (bytes + alignment) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

ScratchBuffer::~ScratchBuffer() {
  std::free(data_);
}

float* ScratchBuffer::reserve(Index floats) {
  if (floats > capacity_) {
    std::free(data_);
    data_ = nullptr;
    capacity_ = 0;
    data_ = static_cast<float*>(aligned_memory(static_cast<std::size_t>(floats) * sizeof(float)));
    capacity_ = floats;
  }
  return data_;
}

CpuBackend::CpuBackend(const CpuOptions& options)
    : level_(options.level != nullptr ? *options.level : chosen_level()),
      use_onednn_(options.use_onednn && has_onednn()) {}

std::unique_ptr<Backend> make_cpu_backend(const CpuOptions& options) {
  return std::make_unique<CpuBackend>(options);
}

std::unique_ptr<Backend> make_cpu_backend() {
  return make_cpu_backend(CpuOptions{});
}

std::string CpuBackend::description() const {
  const int threads = thread_count();
  return "cpu: " + (use_onednn_ ? "oneDNN " + onednn_version() : std::string("own matrix product")) + ", " +
         level_.name + ", " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
}

std::size_t CpuBackend::scratch_bytes(Index, Index block_size, Index head_size) const {
  const Index floats = std::max(level_.attention_forward_scratch(block_size, head_size),
                                level_.attention_backward_scratch(block_size, head_size));
  return static_cast<std::size_t>(thread_count()) * static_cast<std::size_t>(floats) * sizeof(float);
}

void* CpuBackend::allocate(std::size_t bytes) {
  return aligned_memory(bytes);
}
void CpuBackend::release(void* memory) noexcept {
  std::free(memory);
}

// memcpy must not see null pointers, even for nothing.
void CpuBackend::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memmove(to, from, bytes);
}
void CpuBackend::upload(void* device, const void* host, std::size_t bytes) {
  copy(device, host, bytes);
}
void CpuBackend::download(void* host, const void* device, std::size_t bytes) {
  copy(host, device, bytes);
}
void CpuBackend::zero(void* device, std::size_t bytes) {
  if (bytes > 0) std::memset(device, 0, bytes);
}

}  // namespace bigbird::kernels
