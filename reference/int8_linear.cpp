// See int8_linear.h.
#include "reference/int8_linear.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace bigbird::reference {
namespace {

enum class Kind { weights, activations };

// The largest |value|; infinity when one is not finite.
double largest(const float* values, std::size_t count) {
  double most = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    if (!std::isfinite(values[i])) return std::numeric_limits<double>::infinity();
    most = std::max(most, std::abs(static_cast<double>(values[i])));
  }
  return most;
}

// The least number of 17 significant bits that is not below `value`.
double rounded_up_to_17_bits(double value) {
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);
  return std::ldexp(std::ceil(std::ldexp(mantissa, 17)), exponent - 17);
}

Int8Rows quantized(const std::vector<float>& values, std::size_t rows, std::size_t columns, Kind kind) {
  if (values.size() != rows * columns) throw std::invalid_argument("a matrix of the wrong size");
  Int8Rows result{rows, columns, std::vector<int>(values.size(), 0), std::vector<float>(rows, 0.0f)};
  for (std::size_t row = 0; row < rows; ++row) {
    const float* const from = values.data() + row * columns;
    const double most = largest(from, columns);
    if (std::isinf(most)) {
      result.scales[row] = std::numeric_limits<float>::quiet_NaN();
      continue;
    }
    if (most < std::ldexp(1.0, -100)) continue;
    const auto divided = static_cast<float>(most / 127.0);
    result.scales[row] = kind == Kind::weights
                             ? static_cast<float>(rounded_up_to_17_bits(static_cast<double>(divided)))
                             : divided;
    for (std::size_t i = 0; i < columns; ++i) {
      double value = 0.0;
      if (kind == Kind::weights) {
        const auto quotient =
            static_cast<float>(static_cast<double>(from[i]) / static_cast<double>(result.scales[row]));
        value = static_cast<double>(quotient);
      } else {
        const auto factor = static_cast<float>(127.0 / most);
        value = static_cast<double>(
            static_cast<float>(static_cast<double>(from[i]) * static_cast<double>(factor)));
      }
      result.integers[row * columns + i] = static_cast<int>(std::clamp(std::nearbyint(value), -127.0, 127.0));
    }
  }
  return result;
}

}  // namespace

Int8Rows int8_weights(const std::vector<float>& weight, std::size_t rows, std::size_t columns) {
  return quantized(weight, rows, columns, Kind::weights);
}

Int8Rows int8_activations(const std::vector<float>& x, std::size_t rows, std::size_t columns) {
  return quantized(x, rows, columns, Kind::activations);
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
