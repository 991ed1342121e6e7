// Tests of kernels that take either element type, at any address.
#pragma once

#include <algorithm>
#include <vector>

#include "tests/cuda/cuda_test.h"

namespace bigbird::kernels::cuda::testing {

template <class T>
class TypedCudaTest : public CudaTest {};
using ElementTypes = ::testing::Types<float, bf16>;

// Elements in device memory with others around them that nobody may touch. They begin `offset` elements
// behind a 256-byte boundary, so that an odd offset asks for the path of single elements.
template <class T>
class Guarded {
 public:
  Guarded(const std::vector<T>& values, Index offset, Stream stream)
      : Guarded(static_cast<Index>(values.size()), offset, stream) {
    std::vector<T> all = buffer_.download();
    std::copy(values.begin(), values.end(), all.begin() + first_);
    buffer_.upload(all);
  }
  // NaN until written.
  Guarded(Index count, Index offset, Stream stream)
      : first_(guard + offset), count_(count), buffer_(first_ + count + guard, stream) {}

  T* data() const { return buffer_.data() + first_; }
  // The elements; fails the test when one beside them was written.
  std::vector<T> take() const {
    const std::vector<T> all = buffer_.download();
    const std::vector<unsigned char> untouched(sizeof(T), 0xff);
    for (Index i = 0; i < static_cast<Index>(all.size()); ++i) {
      if (i >= first_ && i < first_ + count_) continue;
      const void* const bytes = &all[static_cast<std::size_t>(i)];
      EXPECT_EQ(std::memcmp(bytes, untouched.data(), sizeof(T)), 0)
          << "element " << i - first_ << " of " << count_ << " was written";
    }
    return std::vector<T>(all.begin() + first_, all.begin() + first_ + count_);
  }

 private:
  static constexpr Index guard = 64;
  Index first_;
  Index count_;
  DeviceBuffer<T> buffer_;
};

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

// What an operation may lose on its way: a few roundings of fp32, and that of storing the result.
template <class T>
inline constexpr double tolerance = std::is_same_v<T, bf16> ? unit_roundoff<bf16> : 2e-6;

inline std::vector<float> floats(const std::vector<double>& values) {
  return rounded<float>(values);
}

}  // namespace bigbird::kernels::cuda::testing
