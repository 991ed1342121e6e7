// See int8_linear.h.
#include "reference/int8_linear.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace bigbird::reference {
namespace {

// Whether all values are finite.
bool all_finite(const float* values, std::size_t count) {
  return std::all_of(values, values + count, [](float value) { return std::isfinite(value); });
}

double largest(const float* values, std::size_t count) {
  double most = 0.0;
  for (std::size_t i = 0; i < count; ++i) most = std::max(most, std::abs(static_cast<double>(values[i])));
  return most;
}

// The least number of 17 significant bits that is not below `value`.
double rounded_up_to_17_bits(double value) {
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);
  return std::ldexp(std::ceil(std::ldexp(mantissa, 17)), exponent - 17);
}

double to_fp32(double value) {
  return static_cast<double>(static_cast<float>(value));
}

// The scale of a row, and its integers.
float quantized_weights(const float* from, std::size_t count, int* to) {
  const double scale = rounded_up_to_17_bits(to_fp32(largest(from, count) / 127.0));
  for (std::size_t i = 0; i < count; ++i)
    to[i] = static_cast<int>(
        std::clamp(std::nearbyint(to_fp32(static_cast<double>(from[i]) / scale)), -127.0, 127.0));
  return static_cast<float>(scale);
}

float quantized_activations(const float* from, std::size_t count, int* to) {
  double least = 0.0, most = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    least = std::min(least, static_cast<double>(from[i]));
    most = std::max(most, static_cast<double>(from[i]));
  }
  const double scale = to_fp32(to_fp32(most / 255.0) - to_fp32(least / 255.0)), steps = to_fp32(1.0 / scale);
  const double zero = std::nearbyint(to_fp32(-least * steps));
  for (std::size_t i = 0; i < count; ++i) {
    const double value = std::nearbyint(to_fp32(static_cast<double>(from[i]) * steps));
    to[i] = static_cast<int>(std::clamp(value + zero, 0.0, 255.0) - zero);
  }
  return static_cast<float>(scale);
}

template <typename Quantize>
Int8Rows quantized(const std::vector<float>& values, std::size_t rows, std::size_t columns,
                   const Quantize& quantize) {
  if (values.size() != rows * columns) throw std::invalid_argument("a matrix of the wrong size");
  Int8Rows result{rows, columns, std::vector<int>(values.size(), 0), std::vector<float>(rows, 0.0f)};
  for (std::size_t row = 0; row < rows; ++row) {
    const float* const from = values.data() + row * columns;
    if (!all_finite(from, columns)) {
      result.scales[row] = std::numeric_limits<float>::quiet_NaN();
    } else if (largest(from, columns) >= std::ldexp(1.0, -100)) {
      result.scales[row] = quantize(from, columns, result.integers.data() + row * columns);
    }
  }
  return result;
}

}  // namespace

Int8Rows int8_weights(const std::vector<float>& weight, std::size_t rows, std::size_t columns) {
  return quantized(weight, rows, columns, quantized_weights);
}

Int8Rows int8_activations(const std::vector<float>& x, std::size_t rows, std::size_t columns) {
  return quantized(x, rows, columns, quantized_activations);
}

Matrix dequantized(const Int8Rows& rows) {
  Matrix result(rows.rows, rows.columns);
  for (std::size_t i = 0; i < rows.rows; ++i) {
    for (std::size_t j = 0; j < rows.columns; ++j) {
      result(i, j) = static_cast<double>(rows.scales[i]) * rows.integers[i * rows.columns + j];
    }
  }
  return result;
}

Matrix int8_linear_forward(const Int8Rows& x, const Int8Rows& weight, const Vector& bias) {
  if (x.columns != weight.columns) throw std::invalid_argument("a product of matrices that do not fit");
  Matrix y(x.rows, weight.rows);
  for (std::size_t i = 0; i < x.rows; ++i) {
    for (std::size_t j = 0; j < weight.rows; ++j) {
      std::int64_t sum = 0;
      for (std::size_t p = 0; p < x.columns; ++p) {
        sum += std::int64_t{x.integers[i * x.columns + p]} * weight.integers[j * weight.columns + p];
      }
      y(i, j) =
          static_cast<double>(x.scales[i]) * static_cast<double>(weight.scales[j]) * static_cast<double>(sum);
      if (!bias.empty()) y(i, j) += bias[j];
    }
  }
  return y;
}

}  // namespace bigbird::reference
