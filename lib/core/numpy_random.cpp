// numpy's legacy bounded draw and permutation; see numpy_random.h.
#include "lib/core/numpy_random.h"

#include <bit>
#include <cstddef>
#include <utility>

namespace bigbird {

std::uint32_t NumpyLegacyRandom::next_u32() {
  ++draws_;
  return static_cast<std::uint32_t>(engine_());
}

std::uint32_t NumpyLegacyRandom::interval(std::uint32_t maximum) {
  if (maximum == 0) return 0;
  const std::uint32_t mask = ~0u >> std::countl_zero(maximum);
  for (;;) {
    const std::uint32_t value = next_u32() & mask;
    if (value <= maximum) return value;
  }
}

void NumpyLegacyRandom::permute(std::vector<std::int32_t>& values) {
  for (std::size_t i = values.size(); i > 1; --i) {
    std::swap(values[i - 1], values[interval(static_cast<std::uint32_t>(i - 1))]);
  }
}

}  // namespace bigbird
