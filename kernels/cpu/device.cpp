// The CPU as a device: how it computes, in words, and its memory, which is ordinary memory.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/cpu_options.h"
#include "kernels/cpu/partition.h"
#include "kernels/parallel.h"

namespace bigbird::kernels {

namespace {

constexpr std::size_t alignment = 64;
constexpr Index bytes_per_task = Index{4} << 20;  // of memory that is copied or cleared

// Large buffers ask for large pages: rows of activations lie kilobytes apart, and with small pages attention
// and the matrix products lose up to a third of their time to address translation.
constexpr std::size_t large_page = std::size_t{2} << 20;

void* aligned_memory(std::size_t bytes) {
  const std::size_t unit = bytes >= 4 * large_page ? large_page : alignment;
  const std::size_t rounded = (bytes + alignment) / alignment * alignment;
  void* memory = std::aligned_alloc(unit, (rounded + unit - 1) / unit * unit);
  if (memory == nullptr) throw std::bad_alloc();
#if defined(__linux__)
  if (unit == large_page)
    madvise(memory, rounded / large_page * large_page, MADV_HUGEPAGE);  // a hint: may fail
#endif
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
      amx_(options.tiles != nullptr ? options.tiles : (options.use_amx ? amx_kernels() : nullptr)),
      precision_(options.precision),
      bf16_(precision_ == Precision::bf16 && amx_ == nullptr && bf16_choice(level_).by_instructions
                ? bf16_kernels()
                : nullptr),
      int8_(options.int8 != nullptr ? *options.int8 : int8_kernels(level_)),
      packed_attention_(amx_ != nullptr    ? &amx_->attention
                        : bf16_ != nullptr ? &bf16_->attention
                                           : nullptr) {}

std::unique_ptr<Backend> make_cpu_backend(const CpuOptions& options) {
  return std::make_unique<CpuBackend>(options);
}

std::unique_ptr<Backend> make_cpu_backend(Precision precision) {
  CpuOptions options;
  options.precision = precision;
  return make_cpu_backend(options);
}

std::string CpuBackend::details() const {
  const int threads = thread_count();
  return arithmetic() + ", " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
}

std::string CpuBackend::arithmetic() const {
  const bool bf16 = precision_ == Precision::bf16;
  std::string products = "own matrix product";
  if (amx_ != nullptr) {
    products = bf16 ? "AMX bf16" : "AMX, fp32 as three bf16";
  } else if (bf16_ != nullptr) {
    products = std::string(bf16_->name) + " (" + bf16_choice(level_).why + ")";
  } else if (bf16) {
    products = "bf16 without its instructions, no faster than fp32 (" + bf16_choice(level_).why + ")";
  }
  return products + ", " + level_.name;
}

void* CpuBackend::allocate(std::size_t bytes) {
  return aligned_memory(bytes);
}
void CpuBackend::release(void* memory) noexcept {
  std::free(memory);
}

// memcpy must not see null pointers, even for nothing.
void CpuBackend::copy(void* to, const void* from, std::size_t bytes) {
  auto* const target = static_cast<std::byte*>(to);
  const auto* const source = static_cast<const std::byte*>(from);
  const bool apart = target + bytes <= source || source + bytes <= target;
  if (!apart || static_cast<Index>(bytes) <= bytes_per_task) {
    if (bytes > 0) std::memmove(to, from, bytes);
    return;
  }
  parallel_pieces(static_cast<Index>(bytes), bytes_per_task, [&](Index first, Index count) {
    std::memcpy(target + first, source + first, static_cast<std::size_t>(count));
  });
}
// The weights of a model arrive here and in zero(), in memory that nothing has touched: its pages are made by
// all threads.
void CpuBackend::upload(void* device, const void* host, std::size_t bytes) {
  copy(device, host, bytes);
}
void CpuBackend::download(void* host, const void* device, std::size_t bytes) {
  copy(host, device, bytes);
}
void CpuBackend::clear(void* device, std::size_t bytes) {
#if defined(__linux__)
  // Whole pages of memory that allocate() took from the system come back as zeros when they are touched.
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  auto* const begin = static_cast<std::byte*>(device);
  const std::size_t before = (page - reinterpret_cast<std::uintptr_t>(begin) % page) % page;
  if (bytes >= 2 * page) {
    const std::size_t inside = (bytes - before) / page * page;
    if (madvise(begin + before, inside, MADV_DONTNEED) == 0) {
      zero(begin, before);
      zero(begin + before + inside, bytes - before - inside);
      return;
    }
  }
#endif
  zero(device, bytes);
}
void CpuBackend::zero(void* device, std::size_t bytes) {
  parallel_pieces(static_cast<Index>(bytes), bytes_per_task, [&](Index first, Index count) {
    std::memset(static_cast<std::byte*>(device) + first, 0, static_cast<std::size_t>(count));
  });
}

}  // namespace bigbird::kernels
