// Philox4x32-10 (Salmon et al. 2011): counter-based random numbers, the same on every device and for any
// order of use. Plain inline code so that host and device compile the same lines.
#pragma once

#include <cmath>
#include <cstdint>

#if defined(__CUDACC__)
#define BIGBIRD_HOST_DEVICE __host__ __device__
#else
#define BIGBIRD_HOST_DEVICE
#endif

namespace bigbird::kernels {

struct Philox4x32 {
  std::uint32_t word[4];
};

BIGBIRD_HOST_DEVICE inline Philox4x32 philox4x32(std::uint64_t key, std::uint64_t counter_low,
                                                 std::uint64_t counter_high) {
  std::uint32_t k0 = static_cast<std::uint32_t>(key);
  std::uint32_t k1 = static_cast<std::uint32_t>(key >> 32);
  std::uint32_t c0 = static_cast<std::uint32_t>(counter_low);
  std::uint32_t c1 = static_cast<std::uint32_t>(counter_low >> 32);
  std::uint32_t c2 = static_cast<std::uint32_t>(counter_high);
  std::uint32_t c3 = static_cast<std::uint32_t>(counter_high >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = static_cast<std::uint64_t>(0xD2511F53u) * c0;
    const std::uint64_t p1 = static_cast<std::uint64_t>(0xCD9E8D57u) * c2;
    const std::uint32_t n0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ k0;
    const std::uint32_t n2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<std::uint32_t>(p1);
    c3 = static_cast<std::uint32_t>(p0);
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

// [0, 1) from the top 24 bits: exactly representable in fp32, so every device rounds alike.
BIGBIRD_HOST_DEVICE inline float uniform_from_bits(std::uint32_t bits) {
  return static_cast<float>(bits >> 8) * (1.0f / 16777216.0f);
}

// Whether element `index` of the dropout site `site` (see DropoutSite in backend.h) is kept, for drop
// probability p. Four elements share one Philox call; kernels that visit four neighbours may compute it once.
BIGBIRD_HOST_DEVICE inline bool dropout_keep(std::uint64_t seed, std::uint64_t site, std::uint64_t index,
                                             float drop_probability) {
  const Philox4x32 block = philox4x32(seed, index >> 2, site);
  return uniform_from_bits(block.word[index & 3]) >= drop_probability;
}

// The least word that is kept, for drop probability p < 1: uniform_from_bits(word) >= p exactly where word >=
// first_kept_word(p), because both sides of the former are multiples of 2^-24 or lie between two of them.
inline std::uint32_t first_kept_word(float drop_probability) {
  return static_cast<std::uint32_t>(std::ceil(static_cast<double>(drop_probability) * 16777216.0)) << 8;
}

}  // namespace bigbird::kernels
