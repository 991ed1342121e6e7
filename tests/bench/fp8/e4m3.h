// Numbers of eight bits, four of them an exponent and three a mantissa (e4m3 of "FP8 formats for deep
// learning", Micikevicius et al. 2022), as products of a device round their operands to them.
#pragma once

#include <algorithm>
#include <cmath>

namespace bigbird::bench {

inline constexpr float largest_e4m3 = 448.0f;

// The nearest one, of two the even; beyond the largest the largest. NaN stays.
inline float to_e4m3(float value) {
  const float size = std::abs(value);
  if (!(size < largest_e4m3)) return std::isnan(value) ? value : std::copysign(largest_e4m3, value);
  int exponent = 0;
  std::frexp(size, &exponent);  // size in [2^(exponent - 1), 2^exponent)
  const float step = std::ldexp(1.0f, std::max(exponent - 1, -6) - 3);
  return std::copysign(std::nearbyint(size / step) * step, value);
}

// A row by its own scale, which brings its largest number to the largest of e4m3.
inline void round_row_to_e4m3(const float* from, float* to, long count) {
  float most = 0.0f;
  for (long i = 0; i < count; ++i) most = std::max(most, std::abs(from[i]));
  const float scale = most > 0.0f ? most / largest_e4m3 : 1.0f;
  for (long i = 0; i < count; ++i) to[i] = to_e4m3(from[i] / scale) * scale;
}

}  // namespace bigbird::bench
