// What the kernel tests share: every backend configuration, buffers with sentinels, runs with 1, 2 and 3
// threads that must agree to the last bit, and the error measure: largest absolute difference over largest
// absolute reference value.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/cpu/amx.h"
#include "kernels/cpu/bf16.h"
#include "kernels/cpu/cpu_options.h"
#include "kernels/cpu/int8.h"
#include "kernels/parallel.h"
#include "reference/tensor.h"

namespace bigbird::kernels {

using Floats = std::vector<float>;

#if defined(BIGBIRD_HAVE_EMULATED_TILES)
namespace emulated_tiles {
extern const AmxKernels kernels;
extern const Int8Kernels int8_kernels;
}  // namespace emulated_tiles
#endif

// The kernels of AMX with tiles in memory, for processors that have all but the tiles.
inline const AmxKernels* emulated_amx_kernels() {
#if defined(BIGBIRD_HAVE_EMULATED_TILES)
  if (bf16_kernels() != nullptr && vnni_int8_kernels() != nullptr) return &emulated_tiles::kernels;
#endif
  return nullptr;
}
inline const Int8Kernels* emulated_amx_int8_kernels() {
#if defined(BIGBIRD_HAVE_EMULATED_TILES)
  if (emulated_amx_kernels() != nullptr) return &emulated_tiles::int8_kernels;
#endif
  return nullptr;
}

struct Configuration {
  const Level* level;
  bool use_amx = false;
  bool emulated = false;  // AMX with tiles in memory

  CpuOptions options(Precision precision) const {
    CpuOptions options{level, use_amx, precision};
    if (emulated) options.tiles = emulated_amx_kernels();
    if (emulated) options.int8 = emulated_amx_int8_kernels();
    return options;
  }
  std::string name() const {
    return std::string(level->name) + (use_amx ? "_amx" : "") + (emulated ? "_emulated_amx" : "");
  }
};

inline std::ostream& operator<<(std::ostream& out, const Configuration& configuration) {
  return out << configuration.name();
}

inline std::vector<Configuration> all_configurations() {
  std::vector<Configuration> all;
  for (const Level* level : available_levels()) {
    all.push_back({level});
#if defined(BIGBIRD_THREAD_SANITIZER)
    break;  // what threads share is the same on every level
#endif
  }
  if (amx_kernels() != nullptr) all.push_back({available_levels().front(), true});
  if (emulated_amx_kernels() != nullptr) all.push_back({available_levels().front(), false, true});
  return all;
}

inline std::string configuration_name(const ::testing::TestParamInfo<Configuration>& info) {
  std::string name = info.param.name();
  for (char& c : name) {
    if (c == '-') c = '_';
  }
  return name;
}

// Floats between two rows of sentinels, at an address that is not aligned to vectors.
class Guarded {
 public:
  explicit Guarded(std::size_t count, float fill = std::nanf("")) : values_(count + 2 * guard, sentinel) {
    std::fill(data(), data() + count, fill);
  }
  explicit Guarded(const Floats& start) : Guarded(start.size()) {
    std::copy(start.begin(), start.end(), data());
  }
  float* data() { return values_.data() + guard; }
  // The floats; fails the test when a sentinel has changed.
  Floats take() const {
    for (std::size_t i = 0; i < guard; ++i) {
      EXPECT_EQ(values_[i], sentinel) << "written " << guard - i << " floats before the buffer";
      EXPECT_EQ(values_[values_.size() - 1 - i], sentinel)
          << "written " << guard - i << " floats behind the buffer";
    }
    return Floats(values_.begin() + guard, values_.end() - guard);
  }

 private:
  static constexpr std::ptrdiff_t guard = 33;
  static constexpr float sentinel = 12345.678f;
  Floats values_;
};

// Small whole multiples of 2^-12 in (-scale, scale): exact in float and in double.
inline Floats random_floats(std::size_t count, std::uint32_t seed, float scale = 1.0f) {
  std::mt19937 generator(seed);
  Floats values(count);
  for (float& value : values) {
    value = (static_cast<float>(generator() % 8191u) - 4095.0f) / 4096.0f * scale;
  }
  return values;
}

// In the bf16 form that a backend keeps activations in, and back.
inline std::vector<bf16> as_bf16(const Floats& values) {
  std::vector<bf16> result;
  result.reserve(values.size());
  for (const float value : values) result.push_back(to_bf16(value));
  return result;
}
inline Floats as_floats(const std::vector<bf16>& values) {
  Floats result;
  result.reserve(values.size());
  for (const bf16 value : values) result.push_back(to_float(value));
  return result;
}

inline reference::Vector doubles(const Floats& values) {
  return reference::Vector(values.begin(), values.end());
}
inline reference::Matrix matrix(const Floats& values, Index rows, Index columns) {
  return reference::Matrix(static_cast<std::size_t>(rows), static_cast<std::size_t>(columns),
                           doubles(values));
}

// max |actual - expected| / max |expected|; infinite when any value is not a number.
inline double relative_error(const Floats& actual, const reference::Vector& expected) {
  EXPECT_EQ(actual.size(), expected.size());
  double difference = 0.0;
  double largest = 0.0;
  for (std::size_t i = 0; i < actual.size() && i < expected.size(); ++i) {
    if (std::isnan(actual[i])) return INFINITY;
    difference = std::max(difference, std::abs(static_cast<double>(actual[i]) - expected[i]));
    largest = std::max(largest, std::abs(expected[i]));
  }
  return largest == 0.0 ? (difference == 0.0 ? 0.0 : INFINITY) : difference / largest;
}

constexpr double forward_tolerance = 1e-5;
constexpr double gradient_tolerance = 1e-4;

class KernelTest : public ::testing::TestWithParam<Configuration> {
 protected:
  void TearDown() override { set_thread_count(0); }

  // Runs the operation with 1, 2 and 3 threads; its outputs must not differ in one bit. Returns them.
  std::vector<Floats> run(const std::function<std::vector<Floats>(Backend&)>& operation) {
    std::vector<Floats> first;
    for (const int threads : {1, 2, 3}) {
      set_thread_count(threads);
      const auto backend = make_cpu_backend(GetParam().options(precision_));
      std::vector<Floats> outputs = operation(*backend);
      if (threads == 1) {
        first = std::move(outputs);
        continue;
      }
      EXPECT_EQ(first.size(), outputs.size());
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        EXPECT_EQ(first[i].size(), outputs[i].size());
        if (outputs[i].empty()) continue;
        EXPECT_EQ(std::memcmp(first[i].data(), outputs[i].data(), outputs[i].size() * sizeof(float)), 0)
            << "output " << i << " differs between 1 and " << threads << " threads";
      }
    }
    return first;
  }

  Precision precision_ = Precision::fp32;
};

#define BIGBIRD_KERNEL_TESTS(suite)                                                                      \
  INSTANTIATE_TEST_SUITE_P(Levels, suite, ::testing::ValuesIn(::bigbird::kernels::all_configurations()), \
                           ::bigbird::kernels::configuration_name)

}  // namespace bigbird::kernels
