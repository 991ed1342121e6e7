// Dropout with the masks of philox.h (dropout_keep), many counters at a time.
#include "kernels/cpu/levels/philox_lanes.h"

namespace bigbird::kernels::BIGBIRD_LEVEL {

void dropout(const float* x, const float* residual, float* y, Index count, uint64_t first, float probability,
             uint64_t seed, uint64_t site) {
  if (probability <= 0.0f) {
    if (residual == nullptr) {
      if (y != x) __builtin_memcpy(y, x, static_cast<uint64_t>(count) * sizeof(float));
    } else {
      for (Index i = 0; i < count; ++i) y[i] = residual[i] + x[i];
    }
    return;
  }
  const float scale = 1.0f / (1.0f - probability);
  const uint32_t threshold = keep_threshold(probability);
  constexpr Index step = 4 * lanes;  // elements of one call
  float factor[step];
  for (Index i = 0; i < count; i += step) {
    const PhiloxLanes bits = philox_lanes(seed, (first + static_cast<uint64_t>(i)) >> 2, site);
    for (Index lane = 0; lane < lanes; ++lane) {
      BIGBIRD_UNROLL
      for (int word = 0; word < 4; ++word) {
        factor[4 * lane + word] = (bits.word[word][lane] >> 8) >= threshold ? scale : 0.0f;
      }
    }
    const Index here = count - i < step ? count - i : step;
    if (residual == nullptr) {
      for (Index j = 0; j < here; ++j) y[i + j] = x[i + j] * factor[j];
    } else {
      for (Index j = 0; j < here; ++j) y[i + j] = residual[i + j] + x[i + j] * factor[j];
    }
  }
}

}  // namespace bigbird::kernels::BIGBIRD_LEVEL
