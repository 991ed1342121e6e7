// bf16: the upper half of an fp32, rounded to nearest even. Storage only: arithmetic is done in fp32.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/philox.h"  // BIGBIRD_HOST_DEVICE

namespace bigbird::kernels {

// An aggregate without a constructor, so that arrays of it may lie in shared memory and in unions.
struct bf16 {
  std::uint16_t bits;
};

BIGBIRD_HOST_DEVICE inline std::uint32_t bits_of(float value) {
  std::uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

BIGBIRD_HOST_DEVICE inline float float_of_bits(std::uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

BIGBIRD_HOST_DEVICE inline float to_float(bf16 value) {
  return float_of_bits(static_cast<std::uint32_t>(value.bits) << 16);
}
BIGBIRD_HOST_DEVICE inline float to_float(float value) {
  return value;
}

// To nearest, ties to even. Infinities stay; a NaN becomes the quiet NaN 0x7fff, as cvt.rn.bf16 makes it.
BIGBIRD_HOST_DEVICE inline bf16 to_bf16(float value) {
  const std::uint32_t bits = bits_of(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {0x7fff};
  return {static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

// Two neighbours in one word, the first in its lower half.
BIGBIRD_HOST_DEVICE inline std::uint32_t pack_bf16(float first, float second) {
  return static_cast<std::uint32_t>(to_bf16(first).bits) | static_cast<std::uint32_t>(to_bf16(second).bits)
                                                               << 16;
}

// to<T>(x): x rounded to the storage type T.
template <class T>
BIGBIRD_HOST_DEVICE inline T to_element(float value);
template <>
BIGBIRD_HOST_DEVICE inline float to_element<float>(float value) {
  return value;
}
template <>
BIGBIRD_HOST_DEVICE inline bf16 to_element<bf16>(float value) {
  return to_bf16(value);
}

}  // namespace bigbird::kernels
