// Numbers of a backend's memory for the program to read: where they lie when that is its own memory, else a
// copy.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "kernels/backend.h"

namespace bigbird {

// Valid as long as nothing is written to the values.
class HostValues {
 public:
  HostValues(kernels::Backend& backend, const float* values, kernels::Index count)
      : copy_(backend.in_host_memory() ? 0 : static_cast<std::size_t>(count)),
        values_(backend.in_host_memory() ? values : copy_.data(), static_cast<std::size_t>(count)) {
    if (!copy_.empty()) backend.download_values(copy_.data(), values, count);
  }
  explicit HostValues(std::vector<float> copy) : copy_(std::move(copy)), values_(copy_) {}
  HostValues(HostValues&&) = default;
  HostValues& operator=(HostValues&&) = default;
  HostValues(const HostValues&) = delete;
  HostValues& operator=(const HostValues&) = delete;

  std::span<const float> values() const { return values_; }

 private:
  std::vector<float> copy_;  // moving it leaves its numbers where they are
  std::span<const float> values_;
};

// Rows of `stride` values, of which the first `columns` are wanted.
inline std::vector<float> without_padding(std::vector<float> rows, std::int64_t columns,
                                          std::int64_t stride) {
  if (stride == columns) return rows;
  const std::int64_t count = static_cast<std::int64_t>(rows.size()) / stride;
  for (std::int64_t row = 1; row < count; ++row)
    std::copy_n(rows.begin() + row * stride, columns, rows.begin() + row * columns);
  rows.resize(static_cast<std::size_t>(count * columns));
  return rows;
}

}  // namespace bigbird
