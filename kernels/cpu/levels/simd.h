// Vectors of floats as wide as the level's registers, in the vector extension that gcc and clang share, and
// exp2. BIGBIRD_LEVEL (namespace), BIGBIRD_LEVEL_NAME and BIGBIRD_LANES come from CMake.
#pragma once

#include <stdint.h>
#if defined(__AVX512DQ__)
#include <immintrin.h>
#endif

#include "kernels/cpu/level.h"

#define BIGBIRD_INLINE static inline __attribute__((always_inline))
#define BIGBIRD_INLINE_MEMBER inline __attribute__((always_inline))
#if defined(__clang__)
#define BIGBIRD_UNROLL _Pragma("clang loop unroll(full)")
#else
#define BIGBIRD_UNROLL _Pragma("GCC unroll 32")
#endif

namespace bigbird::kernels::BIGBIRD_LEVEL {

constexpr Index lanes = BIGBIRD_LANES;
typedef float Floats __attribute__((vector_size(BIGBIRD_LANES * 4)));
typedef int32_t Ints __attribute__((vector_size(BIGBIRD_LANES * 4)));
typedef uint16_t Halves __attribute__((vector_size(BIGBIRD_LANES * 2)));

BIGBIRD_INLINE Floats load(const float* from) {
  Floats value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}
BIGBIRD_INLINE void store(float* to, Floats value) {
  __builtin_memcpy(to, &value, sizeof value);
}
BIGBIRD_INLINE Floats splat(float value) {
  return value - Floats{};
}
BIGBIRD_INLINE Floats as_floats(Ints bits) {
  Floats value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
BIGBIRD_INLINE Ints as_ints(Floats value) {
  Ints bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}
BIGBIRD_INLINE Floats larger(Floats a, Floats b) {
  return a > b ? a : b;
}

BIGBIRD_INLINE float sum_of_lanes(Floats value) {
  float total = 0.0f;
  for (Index lane = 0; lane < lanes; ++lane) total += value[lane];
  return total;
}
BIGBIRD_INLINE float largest_of_lanes(Floats value) {
  float largest = value[0];
  for (Index lane = 1; lane < lanes; ++lane) largest = value[lane] > largest ? value[lane] : largest;
  return largest;
}

BIGBIRD_INLINE Index smaller(Index a, Index b) {
  return a < b ? a : b;
}
BIGBIRD_INLINE Index round_up_to_lanes(Index count) {
  return (count + lanes - 1) / lanes * lanes;
}

// The first `count` < lanes floats; the other lanes are zero.
BIGBIRD_INLINE Floats load_part(const float* from, Index count) {
  float part[lanes] = {};
  for (Index i = 0; i < count; ++i) part[i] = from[i];
  return load(part);
}
BIGBIRD_INLINE void store_part(float* to, Floats value, Index count) {
  float part[lanes];
  store(part, value);
  for (Index i = 0; i < smaller(count, lanes); ++i) to[i] = part[i];
}

// Halves, all of them or the first `count`.
BIGBIRD_INLINE Halves load_halves(const bf16* from) {
  Halves value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}
BIGBIRD_INLINE Halves load_halves(const bf16* from, Index count) {
  uint16_t part[lanes] = {};
  for (Index i = 0; i < count; ++i) part[i] = from[i].bits;
  Halves value;
  __builtin_memcpy(&value, part, sizeof value);
  return value;
}
BIGBIRD_INLINE void store_halves(bf16* to, Halves value) {
  __builtin_memcpy(to, &value, sizeof value);
}
BIGBIRD_INLINE void store_halves(bf16* to, Halves value, Index count) {
  for (Index i = 0; i < count; ++i) to[i].bits = value[i];
}

BIGBIRD_INLINE Floats widened(Floats values) {
  return values;
}
BIGBIRD_INLINE Floats widened(Halves values) {
  return as_floats(__builtin_convertvector(values, Ints) << 16);
}

// Runs body(offset, Whole or Part) over count elements, so that loops name their work once.
struct Whole {
  BIGBIRD_INLINE_MEMBER Floats get(const float* from) const { return load(from); }
  BIGBIRD_INLINE_MEMBER void put(float* to, Floats value) const { store(to, value); }
  BIGBIRD_INLINE_MEMBER Halves get(const bf16* from) const { return load_halves(from); }
  BIGBIRD_INLINE_MEMBER void put(bf16* to, Halves value) const { store_halves(to, value); }
};
struct Part {
  Index count;
  BIGBIRD_INLINE_MEMBER Floats get(const float* from) const { return load_part(from, count); }
  BIGBIRD_INLINE_MEMBER void put(float* to, Floats value) const { store_part(to, value, count); }
  BIGBIRD_INLINE_MEMBER Halves get(const bf16* from) const { return load_halves(from, count); }
  BIGBIRD_INLINE_MEMBER void put(bf16* to, Halves value) const { store_halves(to, value, count); }
};
template <typename Body>
BIGBIRD_INLINE void for_each_vector(Index count, const Body& body) {
  Index i = 0;
  for (; i + lanes <= count; i += lanes) body(i, Whole{});
  if (i < count) body(i, Part{count - i});
}

constexpr float log2_e = 1.44269504088896341f;
constexpr float ln_2 = 0.693147180559945309f;

// power(f) * 2^(x - f), f what x has beyond the nearest integer, in [-1/2, 1/2]; 0 below -126, or -126.5
// where there are no instructions for it, and infinity where floats end; NaN stays.
template <typename Power>
BIGBIRD_INLINE Floats exp2_of(Floats x, const Power& power) {
#if defined(__AVX512DQ__)
  const __m512 value = reinterpret_cast<__m512>(x);
  const __mmask16 normal = _mm512_cmp_ps_mask(value, _mm512_set1_ps(-126.0f), _CMP_NLT_UQ);
  const Floats fraction = reinterpret_cast<Floats>(_mm512_reduce_ps(value, 0));  // of infinity: 0
  const Floats whole = x - fraction;
  return reinterpret_cast<Floats>(_mm512_maskz_scalef_ps(normal, reinterpret_cast<__m512>(power(fraction)),
                                                         reinterpret_cast<__m512>(whole)));
#else
  const Floats low = splat(-127.0f);
  const Floats high = splat(128.0f);
  x = x < low ? low : x;
  x = x > high ? high : x;
  // Adding 1.5 * 2^23 rounds to the nearest integer, which then stands in the low bits.
  const Floats shifted = x + splat(12582912.0f);
  const Floats fraction = x - (shifted - splat(12582912.0f));
  const Ints exponent = (as_ints(shifted) - 0x4B400000 + 127) << 23;
  return power(fraction) * as_floats(exponent);
#endif
}

// 2^x to a relative error of about 1e-7.
BIGBIRD_INLINE Floats exp2(Floats x) {
  return exp2_of(x, [](Floats fraction) {
    // Interpolates 2^f at the Chebyshev nodes of [-1/2, 1/2]: within 3e-9.
    Floats p = splat(1.546144470e-04f);
    p = p * fraction + splat(1.340042818e-03f);
    p = p * fraction + splat(9.618056679e-03f);
    p = p * fraction + splat(5.550327227e-02f);
    p = p * fraction + splat(2.402265092e-01f);
    p = p * fraction + splat(6.931472067e-01f);
    return p * fraction + splat(1.0f);
  });
}

// 2^x for what is rounded to bf16 next, to within 2^-8 of it: to a relative error of 3e-6.
BIGBIRD_INLINE Floats rough_exp2(Floats x) {
  return exp2_of(x, [](Floats fraction) {
    Floats p = splat(9.570087306e-03f);
    p = p * fraction + splat(5.591785908e-02f);
    p = p * fraction + splat(2.402474582e-01f);
    p = p * fraction + splat(6.931217909e-01f);
    return p * fraction + splat(0.9999992847f);
  });
}

// 1 / x likewise: to 2^-14; 0 of infinity.
BIGBIRD_INLINE Floats rough_inverse(Floats x) {
#if defined(__AVX512DQ__)
  return reinterpret_cast<Floats>(_mm512_maskz_rcp14_ps(0xFFFF, reinterpret_cast<__m512>(x)));
#else
  return splat(1.0f) / x;
#endif
}

// e^x to a relative error of about 1e-7; 0 below -87.7, infinity above 88.4; NaN stays. Unlike exp2(x *
// log2_e) it keeps its precision for large |x|, because ln(2) is subtracted in two parts (Cody and Waite).
BIGBIRD_INLINE Floats exp(Floats x) {
  const Floats low = splat(-88.0f);
  const Floats high = splat(89.0f);
  x = x < low ? low : x;
  x = x > high ? high : x;
  const Floats shifted = x * splat(log2_e) + splat(12582912.0f);
  const Floats whole = shifted - splat(12582912.0f);
  Floats r = x - whole * splat(0.693359375f);
  r = r - whole * splat(-2.12194440e-4f);
  Floats p = splat(1.9875691500e-4f);  // Cephes expf
  p = p * r + splat(1.3981999507e-3f);
  p = p * r + splat(8.3334519073e-3f);
  p = p * r + splat(4.1665795894e-2f);
  p = p * r + splat(1.6666665459e-1f);
  p = p * r + splat(5.0000001201e-1f);
  p = p * r * r + r + splat(1.0f);
  const Ints exponent = (as_ints(shifted) - 0x4B400000 + 127) << 23;
  return p * as_floats(exponent);
}

}  // namespace bigbird::kernels::BIGBIRD_LEVEL
