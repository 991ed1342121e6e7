// Slices of planned memory and the rows that they count towards; see memory.h.
#include <algorithm>
#include <utility>

#include "lib/model/network/memory.h"

namespace bigbird {

std::string MemoryRow::number_types() const {
  if (fp32_bytes == 0 || bf16_bytes == 0) return fp32_bytes > 0 ? "fp32" : (bf16_bytes > 0 ? "bf16" : "");
  return fp32_bytes > bf16_bytes ? "fp32, bf16" : "bf16, fp32";
}

MemoryRow fp32_row(std::string what, std::size_t bytes) {
  return {std::move(what), bytes, bytes, 0};
}

void* Arena::bytes(const std::string& what, std::size_t count) {
  const std::size_t padded = (count + alignment - 1) / alignment * alignment;
  const auto row = std::find_if(rows_.begin(), rows_.end(),
                                [&](const MemoryRow& candidate) { return candidate.what == what; });
  if (row == rows_.end()) {
    rows_.push_back({what, padded});
  } else {
    row->bytes += padded;
  }
  void* memory = base_ == nullptr ? nullptr : base_ + used_;
  used_ += padded;
  return memory;
}

void* Arena::bytes(const std::string& what, std::size_t count, kernels::ElementType type) {
  const std::size_t before = used_;
  void* const memory = bytes(what, count);
  const auto row = std::find_if(rows_.begin(), rows_.end(),
                                [&](const MemoryRow& candidate) { return candidate.what == what; });
  (type == kernels::ElementType::bf16 ? row->bf16_bytes : row->fp32_bytes) += used_ - before;
  return memory;
}

kernels::Values Arena::values(const std::string& what, std::int64_t count, kernels::ElementType type) {
  return {bytes(what, static_cast<std::size_t>(count) * kernels::size_of(type), type), type};
}

float* Arena::floats(const std::string& what, std::int64_t count) {
  return static_cast<float*>(
      bytes(what, static_cast<std::size_t>(count) * sizeof(float), kernels::ElementType::fp32));
}

std::int32_t* Arena::integers(const std::string& what, std::int64_t count) {
  return static_cast<std::int32_t*>(bytes(what, static_cast<std::size_t>(count) * sizeof(std::int32_t)));
}

std::uint64_t* Arena::keys(const std::string& what, std::int64_t count) {
  return static_cast<std::uint64_t*>(bytes(what, static_cast<std::size_t>(count) * sizeof(std::uint64_t)));
}

std::size_t model_bytes(const kernels::Backend& backend, const ModelConfig& config, const BatchLimits& limits,
                        const ModelOptions& options) {
  Arena arena(nullptr, backend);
  plan_model(arena, config, limits, options, backend);
  return arena.used();
}

}  // namespace bigbird
