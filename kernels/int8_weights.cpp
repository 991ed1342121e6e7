// See int8_weights.h.
#include "kernels/int8_weights.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace bigbird::kernels {
namespace {

// Up to the next number of 17 significant bits.
float rounded_up_to_17_bits(float value) {
  return float_of_bits((bits_of(value) + 0x7Fu) & ~0x7Fu);
}

}  // namespace

float quantize_int8_weights(const float* from, Index count, std::int8_t* to) {
  float largest = 0.0f;
  bool finite = true;
  for (Index i = 0; i < count; ++i) {
    finite = finite && std::isfinite(from[i]);
    largest = std::max(largest, std::abs(from[i]));
  }
  if (!finite || largest < 0x1p-100f) {
    std::fill_n(to, count, std::int8_t{0});
    return finite ? 0.0f : std::numeric_limits<float>::quiet_NaN();
  }
  const float scale = rounded_up_to_17_bits(largest / 127.0f);
  for (Index i = 0; i < count; ++i)
    to[i] = static_cast<std::int8_t>(std::clamp(std::nearbyint(from[i] / scale), -127.0f, 127.0f));
  return scale;
}

void round_to_int8(float* weights, Index count) {
  std::vector<std::int8_t> integers(static_cast<std::size_t>(count));
  const float scale = quantize_int8_weights(weights, count, integers.data());
  for (Index i = 0; i < count; ++i)
    weights[i] = scale * static_cast<float>(integers[static_cast<std::size_t>(i)]);
}

}  // namespace bigbird::kernels
