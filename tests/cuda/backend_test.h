// The CUDA backend beside the CPU's: the same operation on the same numbers, each in its own memory and
// types.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/cuda/cuda_backend.h"
#include "tests/cuda/cuda_test.h"

namespace bigbird::kernels::cuda::testing {

using Floats = std::vector<float>;

// One backend and the buffers of one operation on it.
class Side {
 public:
  explicit Side(Backend& backend) : backend_(backend) {}
  ~Side() {
    for (const float* parameters : bound_) backend_.unbind_weights(parameters);
    for (void* memory : owned_) backend_.release(memory);
  }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  Backend& backend() { return backend_; }

  // Activations in the element type, or in fp32 when wide.
  Values values(const Floats& host, bool wide = false) {
    if (wide || backend_.element_type() == ElementType::fp32) return floats(host);
    std::vector<bf16> narrow;
    for (const float value : host) narrow.push_back(to_bf16(value));
    return static_cast<bf16*>(bring(narrow.data(), narrow.size() * sizeof(bf16)));
  }
  Values unset(Index count, bool wide = false) {
    return values(Floats(static_cast<std::size_t>(count), std::nanf("")), wide);
  }
  float* floats(const Floats& host) {
    return static_cast<float*>(bring(host.data(), host.size() * sizeof(float)));
  }
  std::int32_t* integers(const std::vector<std::int32_t>& host) {
    return static_cast<std::int32_t*>(bring(host.data(), host.size() * sizeof(std::int32_t)));
  }
  std::uint8_t* flags(const std::vector<std::uint8_t>& host) {
    return static_cast<std::uint8_t*>(bring(host.data(), host.size()));
  }
  std::uint64_t* key(std::uint64_t value) { return static_cast<std::uint64_t*>(bring(&value, sizeof value)); }
  // Parameters with their working copy.
  float* parameters(const Floats& host) {
    float* made = floats(host);
    const auto count = static_cast<Index>(host.size());
    if (const std::size_t bytes = backend_.weight_copy_bytes(count); bytes > 0) {
      backend_.bind_weights(made, count, take(bytes));
      bound_.push_back(made);
      backend_.refresh_weights(made);
    }
    return made;
  }

  Floats read(ConstValues from, Index count) {
    Floats host(static_cast<std::size_t>(count));
    backend_.download_values(host.data(), from, count);
    return host;
  }

 private:
  void* take(std::size_t bytes) {
    owned_.push_back(backend_.allocate(bytes));
    return owned_.back();
  }
  void* bring(const void* host, std::size_t bytes) {
    void* memory = take(bytes);
    backend_.upload(memory, host, bytes);
    return memory;
  }

  Backend& backend_;
  std::vector<void*> owned_;
  std::vector<const float*> bound_;
};

// Numbers that every element type holds exactly.
inline Floats exact_numbers(Index count, std::uint64_t seed, double deviation = 1.0) {
  Floats values;
  for (const double value : stored<bf16>(random_normal(count, seed, deviation)))
    values.push_back(static_cast<float>(value));
  return values;
}

inline std::string precision_name(Precision precision) {
  return precision == Precision::fp32 ? "fp32" : precision == Precision::tf32 ? "tf32" : "bf16";
}

class BackendTest : public ::testing::TestWithParam<Precision> {
 protected:
  void SetUp() override {
    std::string why;
    if (find_devices(why).empty()) GTEST_SKIP() << "SKIPPED: no CUDA device: " << why;
    CudaOptions options;
    options.precision = GetParam();
    device_ = std::make_unique<CudaBackend>(options);
    processor_ = make_cpu_backend();
  }
  bool narrow() const { return GetParam() == Precision::bf16; }
  // What the types leave of a result, relative to its norm.
  double tolerance() const {
    return GetParam() == Precision::fp32 ? 1e-5 : GetParam() == Precision::tf32 ? 2e-3 : 1e-2;
  }

  using Operation = std::function<std::vector<Floats>(Side&)>;
  std::vector<Floats> on_device(const Operation& operation) {
    Side side(*device_);
    return operation(side);
  }
  std::vector<Floats> on_processor(const Operation& operation) {
    Side side(*processor_);
    return operation(side);
  }
  // The outputs of the operation are the same on both.
  void agree(const Operation& operation, double factor = 1.0) {
    const std::vector<Floats> expected = on_processor(operation);
    const std::vector<Floats> got = on_device(operation);
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      const std::vector<double> wide(expected[i].begin(), expected[i].end());
      EXPECT_LT(relative_error(got[i], wide), factor * tolerance()) << "output " << i;
    }
  }

  std::unique_ptr<CudaBackend> device_;
  std::unique_ptr<Backend> processor_;
};

#define BIGBIRD_BACKEND_TESTS(suite)                                                           \
  INSTANTIATE_TEST_SUITE_P(                                                                    \
      Precisions, suite, ::testing::Values(Precision::fp32, Precision::tf32, Precision::bf16), \
      [](const ::testing::TestParamInfo<Precision>& made) { return precision_name(made.param); })

}  // namespace bigbird::kernels::cuda::testing
