// Learning-rate schedules; see schedule.h.
#include "lib/training/schedule.h"

#include <algorithm>

#include "lib/core/error.h"

namespace bigbird {

std::string name_of(ScheduleForm form) {
  return form == ScheduleForm::google ? "google" : "huggingface";
}

ScheduleForm parse_schedule_form(const std::string& name) {
  if (name == "google") return ScheduleForm::google;
  if (name == "huggingface") return ScheduleForm::huggingface;
  throw_usage("unknown schedule '" + name + "'", "one of: google, huggingface");
}

double Schedule::rate(std::uint64_t step) const {
  if (step >= total) return 0.0;
  if (step < warmup) return base * static_cast<double>(step) / static_cast<double>(warmup);
  if (form == ScheduleForm::google)
    return base * (1.0 - static_cast<double>(step) / static_cast<double>(total));
  return base * static_cast<double>(total - step) / static_cast<double>(total - warmup);
}

std::uint64_t default_warmup(std::uint64_t steps) {
  return std::min<std::uint64_t>(10000, steps / 10);
}

}  // namespace bigbird
