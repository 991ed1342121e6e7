// Sums as integers: an addend over the value of the last of 24 bits, cut, is one of at most 25 bits, and nine
// of them fit in 32.
#include "kernels/cuda/emulation/tensor_core.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "kernels/cuda/emulation/emulation.h"

namespace bigbird::kernels::cuda::emulation {
namespace {

constexpr std::size_t columns = 8;
constexpr int kept_bits = 24;

// 2^e of a positive normal double of exponent e.
double power_of_two_below(double x) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & 0x7ff0000000000000u);
}

std::int32_t cut(std::int32_t sum) {
  const auto size = static_cast<std::uint32_t>(std::abs(sum));
  const int more = static_cast<int>(std::bit_width(size)) - kept_bits;
  if (more <= 0) return sum;
  const auto kept = static_cast<std::int32_t>(size >> more << more);
  return sum < 0 ? -kept : kept;
}

}  // namespace

template <class Number>
void add_truncated(float* c, const Number* a, const Number* b, std::size_t stride, std::size_t count) {
  double addends[columns + 1][columns];
  double largest[columns];
  double sizes[columns];  // of all addends: finite when each is
  float plain[columns] = {};
  for (std::size_t j = 0; j < columns; ++j) {
    addends[0][j] = static_cast<double>(c[j]);
    sizes[j] = largest[j] = std::fabs(addends[0][j]);
  }
  for (std::size_t k = 0; k < count; ++k) {
    const auto factor = static_cast<double>(a[k]);
    for (std::size_t j = 0; j < columns; ++j) {
      const double product = factor * static_cast<double>(b[k * stride + j]);
      addends[k + 1][j] = product;
      const double size = std::fabs(product);
      largest[j] = size > largest[j] ? size : largest[j];
      sizes[j] += size;
    }
  }
  bool finite = true;
  for (std::size_t j = 0; j < columns; ++j) finite &= sizes[j] < HUGE_VAL;
  if (!finite) {  // infinities and NaN come through as in any sum; the other columns do not notice
    for (std::size_t j = 0; j < columns; ++j) {
      if (sizes[j] < HUGE_VAL) continue;
      double sum = 0.0;
      for (std::size_t k = 0; k <= count; ++k) sum += std::exchange(addends[k][j], 0.0);
      plain[j] = static_cast<float>(sum);
      largest[j] = 0.0;
    }
  }
  double unit[columns];
  double units[columns];  // in 1
  std::int32_t sums[columns] = {};
  for (std::size_t j = 0; j < columns; ++j) {
    // Products of the smallest numbers of fp32 lie far above the smallest of double.
    const double power = largest[j] > 0.0 ? power_of_two_below(largest[j]) : 1.0;
    unit[j] = power * 0x1p-23;
    units[j] = 0x1p23 / power;
  }
  for (std::size_t k = 0; k <= count; ++k) {
    for (std::size_t j = 0; j < columns; ++j) sums[j] += static_cast<std::int32_t>(addends[k][j] * units[j]);
  }
  for (std::size_t j = 0; j < columns; ++j) {
    c[j] = sizes[j] < HUGE_VAL ? static_cast<float>(static_cast<double>(cut(sums[j])) * unit[j]) : plain[j];
  }
}

template <std::size_t group, std::size_t K>
void add_products(float (&c)[16][8], const float (&a)[16][K], const float (&b)[K][8]) {
  if (options().truncated_sums) {
    for (std::size_t row = 0; row < 16; ++row) {
      for (std::size_t k = 0; k < K; k += group) add_truncated(c[row], a[row] + k, b[k], 8, group);
    }
    return;
  }
  for (std::size_t row = 0; row < 16; ++row) {
    for (std::size_t k = 0; k < K; ++k) {
      for (std::size_t column = 0; column < 8; ++column) c[row][column] += a[row][k] * b[k][column];
    }
  }
}

template void add_products<bf16_group, 16>(float (&)[16][8], const float (&)[16][16], const float (&)[16][8]);
template void add_products<tf32_group, 8>(float (&)[16][8], const float (&)[16][8], const float (&)[8][8]);
template void add_truncated<float>(float*, const float*, const float*, std::size_t, std::size_t);
template void add_truncated<double>(float*, const double*, const double*, std::size_t, std::size_t);

}  // namespace bigbird::kernels::cuda::emulation
