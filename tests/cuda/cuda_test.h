// What tests of CUDA kernels share. The same tests run on the emulated device (test_cuda) and, where there is
// one, on a real device (test_gpu): they speak to it through runtime.h alone.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/bf16.h"
#include "kernels/cuda/runtime.h"
#include "kernels/philox.h"
#include "kernels/types.h"

namespace bigbird::kernels::cuda::testing {

inline constexpr Activation every_activation[] = {Activation::gelu_tanh, Activation::gelu_erf,
                                                  Activation::relu, Activation::silu};

// Every test begins with a device and a stream, or is skipped loudly.
class CudaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (find_devices(why).empty()) GTEST_SKIP() << "SKIPPED: no CUDA device: " << why;
    use_device(0);
    stream_ = make_stream();
  }
  void TearDown() override {
    if (stream_.handle != nullptr) destroy(stream_);
  }
  Stream stream() const { return stream_; }

 private:
  Stream stream_;
};

// Memory of the device for count elements, which are NaN (of integers: -1) until written. Uploads and
// downloads wait for the stream.
template <class T>
class DeviceBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  DeviceBuffer(Index count, Stream stream)
      : count_(static_cast<std::size_t>(count)), stream_(stream), memory_(allocate_device(bytes())) {
    std::vector<T> poison(count_);
    if (count_ > 0) std::memset(static_cast<void*>(poison.data()), 0xff, bytes());
    upload(poison);
  }
  DeviceBuffer(const std::vector<T>& values, Stream stream)
      : count_(values.size()), stream_(stream), memory_(allocate_device(bytes())) {
    upload(values);
  }
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : count_(other.count_), stream_(other.stream_), memory_(std::exchange(other.memory_, nullptr)) {}
  ~DeviceBuffer() { release_device(memory_); }

  T* data() const { return static_cast<T*>(memory_); }
  Index size() const { return static_cast<Index>(count_); }

  void upload(const std::vector<T>& values) {
    ASSERT_EQ(values.size(), count_);
    upload_first(values);
  }
  // The rest stays as it is.
  void upload_first(const std::vector<T>& values) {
    ASSERT_LE(values.size(), count_);
    const std::size_t size = values.size() * sizeof(T);
    const Pinned pinned(size);
    if (size > 0) std::memcpy(pinned.memory, values.data(), size);
    copy_to_device(memory_, pinned.memory, size, stream_);
    synchronize(stream_);
  }
  std::vector<T> download() const {
    std::vector<T> values(count_);
    const Pinned pinned(bytes());
    copy_to_host(pinned.memory, memory_, bytes(), stream_);
    synchronize(stream_);
    if (count_ > 0) std::memcpy(static_cast<void*>(values.data()), pinned.memory, bytes());
    return values;
  }

 private:
  struct Pinned {
    explicit Pinned(std::size_t bytes) : memory(allocate_pinned(bytes)) {}
    ~Pinned() { release_pinned(memory); }
    Pinned(const Pinned&) = delete;
    void* memory;
  };
  std::size_t bytes() const { return count_ * sizeof(T); }

  std::size_t count_;
  Stream stream_;
  void* memory_;
};

// Normal numbers, the same in every run: element i of (seed) is always the same.
inline std::vector<double> random_normal(Index count, std::uint64_t seed, double deviation = 1.0) {
  std::vector<double> values;
  for (Index i = 0; i < count; ++i) {
    const Philox4x32 bits = philox4x32(seed, static_cast<std::uint64_t>(i), 0x7e57);
    const double radius = std::sqrt(-2.0 * std::log((bits.word[0] + 1.0) / 4294967296.0));
    values.push_back(deviation * radius * std::cos(6.283185307179586 * bits.word[1] / 4294967296.0));
  }
  return values;
}
// 0 .. limit - 1.
inline std::vector<std::int32_t> random_integers(Index count, std::int32_t limit, std::uint64_t seed) {
  std::vector<std::int32_t> values;
  for (Index i = 0; i < count; ++i) {
    const std::uint64_t bits = philox4x32(seed, static_cast<std::uint64_t>(i), 0x1273).word[0];
    values.push_back(static_cast<std::int32_t>(bits * static_cast<std::uint64_t>(limit) >> 32));
  }
  return values;
}

// Rounded to the element type T, and back. What a reference in double should start from: stored<bf16>(x).
template <class T>
std::vector<T> rounded(const std::vector<double>& values) {
  std::vector<T> out;
  for (const double value : values) out.push_back(to_element<T>(static_cast<float>(value)));
  return out;
}
template <class T>
std::vector<double> widened(const std::vector<T>& values) {
  std::vector<double> out;
  for (const T value : values) out.push_back(static_cast<double>(to_float(value)));
  return out;
}
template <class T>
std::vector<double> stored(const std::vector<double>& values) {
  return widened(rounded<T>(values));
}

// || got - expected || / || expected ||; NaN when anything is NaN; infinite for unequal counts.
inline double relative_error(const std::vector<double>& got, const std::vector<double>& expected) {
  if (got.size() != expected.size()) return HUGE_VAL;
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    difference += (got[i] - expected[i]) * (got[i] - expected[i]);
    norm += expected[i] * expected[i];
  }
  return norm > 0 ? std::sqrt(difference / norm) : std::sqrt(difference);
}
template <class T>
double relative_error(const std::vector<T>& got, const std::vector<double>& expected) {
  return relative_error(widened(got), expected);
}
// The largest | got - expected |; NaN when anything is NaN.
inline double largest_error(const std::vector<double>& got, const std::vector<double>& expected) {
  if (got.size() != expected.size()) return HUGE_VAL;
  double largest = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = std::abs(got[i] - expected[i]);
    if (!(error <= largest)) largest = error;
    if (std::isnan(largest)) break;
  }
  return largest;
}
template <class T>
double largest_error(const std::vector<T>& got, const std::vector<double>& expected) {
  return largest_error(widened(got), expected);
}

// What rounding a result to T costs, relative to its size: half a unit in the last place.
template <class T>
inline constexpr double unit_roundoff = std::is_same_v<T, bf16> ? 1.0 / 256 : 1.0 / 16777216;

}  // namespace bigbird::kernels::cuda::testing
