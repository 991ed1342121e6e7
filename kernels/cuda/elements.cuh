// What the kernels of rows and elements share: storage types as floats, several elements in one access,
// dropout factors, and the choice of an instance by types and alignment.
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/backend.h"
#include "kernels/cuda/device.cuh"
#include "kernels/philox.h"

namespace bigbird::kernels::cuda {

// --- on the device

// Elements of 16 bytes.
template <class T>
inline constexpr int vector_elements = 16 / static_cast<int>(sizeof(T));

template <int N, class T>
BIGBIRD_DEVICE void to_floats(const Pack<T, N>& pack, float (&values)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) values[i] = to_float(pack[i]);
}

// N elements, in accesses of at most 16 bytes; `from` and `to` are aligned to them.
template <int N, class T>
BIGBIRD_DEVICE void load_floats(const T* from, float (&values)[N]) {
  constexpr int step = N < vector_elements<T> ? N : vector_elements<T>;
#pragma unroll
  for (int first = 0; first < N; first += step) {
    const Pack<T, step> pack = load<step>(from + first);
#pragma unroll
    for (int i = 0; i < step; ++i) values[first + i] = to_float(pack[i]);
  }
}
template <int N>
BIGBIRD_DEVICE void store_floats(float* to, const float (&values)[N]) {
  constexpr int step = N < vector_elements<float> ? N : vector_elements<float>;
#pragma unroll
  for (int first = 0; first < N; first += step) {
    Pack<float, step> pack;
#pragma unroll
    for (int i = 0; i < step; ++i) pack[i] = values[first + i];
    store(to + first, pack);
  }
}
template <int N>
BIGBIRD_DEVICE Pack<bf16, N> pack_floats(const float (&values)[N]) {
  static_assert(N <= vector_elements<bf16>);
  Pack<bf16, N> pack;
  if constexpr (N == 1) {
    pack[0] = to_bf16(values[0]);
  } else {
#pragma unroll
    for (int i = 0; i < N; i += 2) {
      const std::uint32_t pair = pack_bf16_fast(values[i], values[i + 1]);
      memcpy(&pack.value[i], &pair, sizeof pair);
    }
  }
  return pack;
}
template <int N>
BIGBIRD_DEVICE void store_floats(bf16* to, const float (&values)[N]) {
  store(to, pack_floats(values));
}

// The value that storing as T leaves.
template <class T>
BIGBIRD_DEVICE float rounded(float value) {
  if constexpr (std::is_same_v<T, bf16>) {
    return float_of_bits(pack_bf16_fast(value, 0.0f) << 16);
  } else {
    return value;
  }
}

// philox4x32() of several counters with one upper half at once: what a round makes of the key is made once.
template <int count>
BIGBIRD_DEVICE void philox_blocks(std::uint64_t key, const std::uint64_t (&counters_low)[count],
                                  std::uint64_t counter_high, Philox4x32 (&blocks)[count]) {
  std::uint32_t k0 = static_cast<std::uint32_t>(key);
  std::uint32_t k1 = static_cast<std::uint32_t>(key >> 32);
#pragma unroll
  for (int i = 0; i < count; ++i) {
    blocks[i] = {{static_cast<std::uint32_t>(counters_low[i]),
                  static_cast<std::uint32_t>(counters_low[i] >> 32), static_cast<std::uint32_t>(counter_high),
                  static_cast<std::uint32_t>(counter_high >> 32)}};
  }
#pragma unroll
  for (int round = 0; round < 10; ++round) {
#pragma unroll
    for (int i = 0; i < count; ++i) {
      std::uint32_t(&c)[4] = blocks[i].word;
      const std::uint64_t p0 = static_cast<std::uint64_t>(0xD2511F53u) * c[0];
      const std::uint64_t p1 = static_cast<std::uint64_t>(0xCD9E8D57u) * c[2];
      const std::uint32_t n0 = static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k0;
      const std::uint32_t n2 = static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k1;
      c[1] = static_cast<std::uint32_t>(p1);
      c[3] = static_cast<std::uint32_t>(p0);
      c[0] = n0;
      c[2] = n2;
    }
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
}

// Dropout as a kernel sees it: factors of N neighbouring elements, 0 or 1 / (1 - p). Without dropout they
// are 1.
struct DropoutFactors {
  const std::uint64_t* seed = nullptr;
  std::uint64_t site = 0;
  std::uint32_t first_kept = 0;  // first_kept_word(); 0: no dropout
  float scale = 1.0f;
  const std::int32_t* rows = nullptr;
  Index width = 0;

  DropoutFactors() = default;
  explicit DropoutFactors(const Dropout& dropout)
      : seed(dropout.seed),
        site(dropout.site),
        first_kept(first_kept_word(dropout.probability)),
        scale(1.0f / (1.0f - dropout.probability)),
        rows(dropout.rows),
        width(dropout.width) {}

  // index is a multiple of N.
  template <int N>
  BIGBIRD_DEVICE void get(Index index, float (&factors)[N]) const {
    if (first_kept == 0) {
#pragma unroll
      for (int i = 0; i < N; ++i) factors[i] = 1.0f;
      return;
    }
    const std::uint64_t key = *seed;
    if constexpr (N % 4 == 0) {
#pragma unroll
      for (int first = 0; first < N; first += 4) {
        const Philox4x32 bits = philox4x32(key, place(index + first) >> 2, site);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          factors[first + i] = bits.word[i] >= first_kept ? scale : 0.0f;
        }
      }
    } else {
#pragma unroll
      for (int i = 0; i < N; ++i) {
        const std::uint64_t at = place(index + i);
        factors[i] = word_of(philox4x32(key, at >> 2, site), at & 3) >= first_kept ? scale : 0.0f;
      }
    }
  }
  // The same in parts, for a kernel that knows the row of its elements and draws before it has them: the
  // seed, read once, the row that the masks of a row are drawn for, and a bit for each of N neighbours from
  // each of these columns of it on, the first of them the lowest. Without dropout all are set, and the scale
  // is 1.
  BIGBIRD_DEVICE std::uint64_t key() const {
    return first_kept == 0 ? 0 : *seed;
  }
  BIGBIRD_DEVICE int drawn_as(int row) const {
    return rows == nullptr ? row : rows[row];
  }
  template <int N, int pieces>
  BIGBIRD_DEVICE unsigned kept(std::uint64_t key, int row, Index row_width,
                               const int (&columns)[pieces]) const {
    static_assert(N % 4 == 0 && pieces * N <= 32);
    if (first_kept == 0) return ~0u;
    constexpr int calls = pieces * N / 4;
    std::uint64_t counters[calls];
#pragma unroll
    for (int i = 0; i < calls; ++i) {
      counters[i] = static_cast<std::uint64_t>(Index{row} * row_width + columns[i * 4 / N] + i * 4 % N) >> 2;
    }
    Philox4x32 blocks[calls];
    philox_blocks(key, counters, site, blocks);
    unsigned bits = 0;
#pragma unroll
    for (int i = 0; i < pieces * N; ++i) bits |= (blocks[i / 4].word[i % 4] >= first_kept ? 1u : 0u) << i;
    return bits;
  }
  BIGBIRD_DEVICE float factor(unsigned kept, int i) const {
    return (kept >> i & 1u) != 0 ? scale : 0.0f;
  }

 private:
  // Chosen, not indexed: what is indexed by a number that the compiler does not know lies in memory.
  BIGBIRD_DEVICE static std::uint32_t word_of(const Philox4x32& block, std::uint64_t i) {
    const std::uint32_t low = (i & 1) != 0 ? block.word[1] : block.word[0];
    const std::uint32_t high = (i & 1) != 0 ? block.word[3] : block.word[2];
    return (i & 2) != 0 ? high : low;
  }
  // The number that the mask of an element is drawn for. A row, whose width is a multiple of 4, may end
  // within the elements of a thread.
  BIGBIRD_DEVICE std::uint64_t place(Index index) const {
    if (rows == nullptr) return static_cast<std::uint64_t>(index);
    const Index row = index / width;
    return static_cast<std::uint64_t>(rows[row] * width + (index - row * width));
  }
};

// A residual and what dropout leaves, with one rounding wherever it is made: alone or before LayerNorm.
BIGBIRD_DEVICE float add_dropped(float residual, float value, float factor) {
  return fmaf(value, factor, residual);
}

// --- on the host: body(T{}) or body(T{}, U{}) for the element types, body(integral_constant<int, N>) for how
// many elements travel at once.

template <class Body>
void with_type(ElementType type, const Body& body) {
  if (type == ElementType::bf16) return body(bf16{});
  body(float{});
}

template <class Body>
void with_types(ElementType first, ElementType second, const Body& body) {
  with_type(first, [&](auto t) { with_type(second, [&](auto u) { body(t, u); }); });
}

template <class... Pointers>
bool aligned_to_vectors(Pointers... pointers) {
  return ((reinterpret_cast<std::uintptr_t>(pointers) % 16 == 0) && ...);
}

// 16 bytes of the widest of the types where the caller's condition allows it, single elements otherwise.
template <class T, class U = T, class Body>
void with_access(bool vectors, const Body& body) {
  constexpr int elements = std::min(vector_elements<T>, vector_elements<U>);
  if (vectors) return body(std::integral_constant<int, elements>{});
  body(std::integral_constant<int, 1>{});
}

// The sum over the threads of a block, in a fixed order.
// In thread 0 alone; all threads of the block call it. Shared memory: a double for each warp, from byte `at`
// on, which nobody uses before the next barrier.
template <int threads>
BIGBIRD_DEVICE double block_sum(Thread& thread, double value, int at = 0) {
  constexpr int warps = threads / 32;
  value = warp_sum(thread, value);
  const auto sums = thread.shared<double>(at, warps);
  if (thread.lane() == 0) sums[thread.warp()] = value;
  thread.barrier();
  double total = 0.0;
  if (thread.index() == 0) {
    for (int warp = 0; warp < warps; ++warp) total += sums[warp];
  }
  return total;
}

}  // namespace bigbird::kernels::cuda
