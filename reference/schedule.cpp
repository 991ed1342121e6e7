// Warm-up and decay by their formulas; see schedule.h.
#include "reference/schedule.h"

namespace bigbird::reference {

double learning_rate(ScheduleVariant variant, double base, std::int64_t step, std::int64_t warmup,
                     std::int64_t total) {
  const double steps = static_cast<double>(step);
  const double last = static_cast<double>(total);
  const double first = static_cast<double>(warmup);
  if (step < warmup) return base * steps / first;
  if (step >= total) return 0.0;
  return variant == ScheduleVariant::google ? base * (1.0 - steps / last)
                                            : base * (last - steps) / (last - first);
}

}  // namespace bigbird::reference
