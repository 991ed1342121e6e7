// Counter-based random numbers; see rng.h.
#include "lib/core/rng.h"

#include <bit>
#include <cmath>

#include "kernels/philox.h"
#include "lib/core/error.h"

namespace bigbird {
namespace {

// Philox has a 64-bit key (the seed) and a 128-bit counter: the high half names the stream, the low half the
// position. A stream is a purpose and an index mixed by one Philox call, which keeps all 64 bits of the index
// in play.
std::uint64_t stream_of(std::uint64_t seed, Purpose purpose, std::uint64_t index) {
  const auto mixed =
      kernels::philox4x32(seed, index, 0x9000000000000000ull + static_cast<std::uint32_t>(purpose));
  return (static_cast<std::uint64_t>(mixed.word[0]) << 32) | mixed.word[1];
}

}  // namespace

CounterRng::CounterRng(std::uint64_t seed, Purpose purpose, std::uint64_t index)
    : seed_(seed), stream_(stream_of(seed, purpose, index)) {}

std::uint32_t CounterRng::next_u32() {
  if (used_ == 4) {
    const auto block = kernels::philox4x32(seed_, position_++, stream_);
    for (int i = 0; i < 4; ++i) buffer_[i] = block.word[i];
    used_ = 0;
  }
  return buffer_[used_++];
}

std::uint64_t CounterRng::next_u64() {
  const std::uint64_t high = next_u32();
  return (high << 32) | next_u32();
}

std::uint64_t CounterRng::below(std::uint64_t bound) {
  if (bound == 0) throw_runtime("random draw from an empty range");
  if (bound == 1) return 0;
  const std::uint64_t mask = ~0ull >> std::countl_zero(bound - 1);
  const bool narrow = mask <= 0xffffffffull;
  for (;;) {
    const std::uint64_t value = (narrow ? next_u32() : next_u64()) & mask;
    if (value < bound) return value;
  }
}

std::int64_t CounterRng::between(std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low) + 1));
}

double CounterRng::uniform() {
  return static_cast<double>(next_u64() >> 11) * 0x1.0p-53;
}

double CounterRng::normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(6.283185307179586 * uniform());
}

RandomPermutation::RandomPermutation(std::uint64_t seed, Purpose purpose, std::uint64_t index,
                                     std::uint64_t size)
    : key_(CounterRng(seed, purpose, index).next_u64()), size_(size), half_bits_(1) {
  if (size == 0) throw_runtime("random permutation of an empty range");
  const int bits = size == 1 ? 1 : static_cast<int>(std::bit_width(size - 1));
  half_bits_ = (bits + 1) / 2;
}

std::uint64_t RandomPermutation::operator()(std::uint64_t position) const {
  const std::uint64_t half_mask = (1ull << half_bits_) - 1;
  std::uint64_t value = position;
  do {  // cycle walking: the Feistel domain is at most four times the size, so few rounds are expected
    std::uint64_t left = value >> half_bits_;
    std::uint64_t right = value & half_mask;
    for (std::uint64_t round = 0; round < 4; ++round) {
      const auto mixed = kernels::philox4x32(key_, right, round);
      const std::uint64_t next = (left ^ mixed.word[0]) & half_mask;
      left = right;
      right = next;
    }
    value = (left << half_bits_) | right;
  } while (value >= size_);
  return value;
}

}  // namespace bigbird
