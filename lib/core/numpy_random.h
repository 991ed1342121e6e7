// NumPy's legacy RandomState, as far as the published random attention plans need it
// (docs/specification.md 1.7).
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace bigbird {

// Seeding with an integer below 2^32 is std::mt19937's own; the bounded draw and the shuffle are NumPy's.
class NumpyLegacyRandom {
 public:
  explicit NumpyLegacyRandom(std::uint32_t seed) : engine_(seed) {}

  std::uint32_t next_u32();
  // Uniform in 0..maximum, both included: masked rejection; maximum 0 draws nothing.
  std::uint32_t interval(std::uint32_t maximum);
  // Shuffled in place, from the end down.
  void permute(std::vector<std::int32_t>& values);
  // 32-bit draws so far.
  std::uint64_t draws() const { return draws_; }

 private:
  std::mt19937 engine_;
  std::uint64_t draws_ = 0;
};

}  // namespace bigbird
