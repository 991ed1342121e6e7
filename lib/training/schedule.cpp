// Learning-rate schedules; see schedule.h.
#include "lib/training/schedule.h"

#include <algorithm>
#include <array>
#include <utility>

#include "lib/core/names.h"

namespace bigbird {
namespace {
constexpr std::array<std::pair<ScheduleForm, const char*>, 2> form_names{
    {{ScheduleForm::google, "google"}, {ScheduleForm::huggingface, "huggingface"}}};
}  // namespace

std::string name_of(ScheduleForm form) {
  return find_name(form_names, form);
}

ScheduleForm parse_schedule_form(const std::string& name) {
  return parse_name(form_names, name, message("choice of `schedule`"));
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
