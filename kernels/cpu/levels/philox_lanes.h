// Philox4x32-10 for `lanes` consecutive counters at once: the numbers of kernels/philox.h, one counter per
// lane. (That header's inline functions must not be compiled here; see level.h.)
#pragma once

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "kernels/cpu/levels/simd.h"

namespace bigbird::kernels::BIGBIRD_LEVEL {

typedef uint32_t Words __attribute__((vector_size(BIGBIRD_LANES * 4)));
typedef uint64_t Pairs __attribute__((vector_size(BIGBIRD_LANES * 4)));

struct PhiloxLanes {
  Words word[4];
};

// Kept iff (bits >> 8) * 2^-24 >= probability, in integers: bits >> 8 >= ceil(probability * 2^24), exact
// because the product with a power of two is.
BIGBIRD_INLINE uint32_t keep_threshold(float probability) {
  return static_cast<uint32_t>(__builtin_ceilf(probability * 16777216.0f));
}

// 64-bit products of the low halves of each pair. The compilers miss the one instruction that does it (and
// gcc 12 warns about its unmasked 512-bit form, wrongly).
BIGBIRD_INLINE Pairs multiply_low_halves(Pairs a, uint32_t factor) {
#if defined(__AVX512F__)
  return reinterpret_cast<Pairs>(_mm512_maskz_mul_epu32(0xFF, reinterpret_cast<__m512i>(a),
                                                        _mm512_set1_epi64(static_cast<long long>(factor))));
#elif defined(__AVX2__)
  return reinterpret_cast<Pairs>(
      _mm256_mul_epu32(reinterpret_cast<__m256i>(a), _mm256_set1_epi64x(static_cast<long long>(factor))));
#else
  return (a & 0xFFFFFFFFull) * static_cast<uint64_t>(factor);
#endif
}

BIGBIRD_INLINE void multiply_wide(Words a, uint32_t factor, Words& high, Words& low) {
  Pairs pairs;
  __builtin_memcpy(&pairs, &a, sizeof pairs);
  const Pairs even = multiply_low_halves(pairs, factor);
  const Pairs odd = multiply_low_halves(pairs >> 32, factor);
  const Pairs high_pairs = (even >> 32) | (odd & 0xFFFFFFFF00000000ull);
  const Pairs low_pairs = (even & 0xFFFFFFFFull) | (odd << 32);
  __builtin_memcpy(&high, &high_pairs, sizeof high);
  __builtin_memcpy(&low, &low_pairs, sizeof low);
}

BIGBIRD_INLINE PhiloxLanes philox_rounds(uint64_t key, Words c0, Words c1, uint64_t counter_high) {
  uint32_t k0 = static_cast<uint32_t>(key);
  uint32_t k1 = static_cast<uint32_t>(key >> 32);
  Words c2 = Words{} + static_cast<uint32_t>(counter_high);
  Words c3 = Words{} + static_cast<uint32_t>(counter_high >> 32);
  for (int round = 0; round < 10; ++round) {
    Words high0, low0, high1, low1;
    multiply_wide(c0, 0xD2511F53u, high0, low0);
    multiply_wide(c2, 0xCD9E8D57u, high1, low1);
    c0 = high1 ^ c1 ^ k0;
    c1 = low1;
    c2 = high0 ^ c3 ^ k1;
    c3 = low0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

// Counters first_counter, first_counter + 1, ...
BIGBIRD_INLINE PhiloxLanes philox_lanes(uint64_t key, uint64_t first_counter, uint64_t counter_high) {
  uint32_t low[lanes];
  uint32_t high[lanes];
  for (Index lane = 0; lane < lanes; ++lane) {
    const uint64_t counter = first_counter + static_cast<uint64_t>(lane);
    low[lane] = static_cast<uint32_t>(counter);
    high[lane] = static_cast<uint32_t>(counter >> 32);
  }
  Words c0, c1;
  __builtin_memcpy(&c0, low, sizeof c0);
  __builtin_memcpy(&c1, high, sizeof c1);
  return philox_rounds(key, c0, c1, counter_high);
}

}  // namespace bigbird::kernels::BIGBIRD_LEVEL
