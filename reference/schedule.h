// Linear warm-up, then linear decay to zero, in the two published forms.
#pragma once

#include <cstdint>

namespace bigbird::reference {

enum class ScheduleVariant {
  // Decay counted from step 0, base * (1 - step / total): the rate jumps down at the end of warm-up.
  google,
  // Decay counted from the end of warm-up: base * (total - step) / (total - warmup).
  hugging_face,
};

// The learning rate of the update after `step` updates (step 0 is the first). During warm-up (step < warmup)
// it is base * step / warmup in both; at and beyond `total` it is 0.
double learning_rate(ScheduleVariant variant, double base, std::int64_t step, std::int64_t warmup,
                     std::int64_t total);

}  // namespace bigbird::reference
