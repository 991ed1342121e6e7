// The learning rate of every update: linear warm-up, then linear decay to zero, in the two published forms.
#pragma once

#include <cstdint>
#include <string>

namespace bigbird {

enum class ScheduleForm {
  // google-research/bigbird: decay counted from step 0, base * (1 - step / total), so the rate jumps down
  // where warm-up ends (docs/specification.md 4.5).
  google,
  // Hugging Face: decay counted from the end of warm-up, base * (total - step) / (total - warmup).
  huggingface,
};

std::string name_of(ScheduleForm form);
// Error{usage} listing the names.
ScheduleForm parse_schedule_form(const std::string& name);

struct Schedule {
  ScheduleForm form = ScheduleForm::google;
  double base = 1e-4;
  std::uint64_t warmup = 0;
  std::uint64_t total = 0;

  // The rate of the update after `step` updates (0 for the first). During warm-up base * step / warmup, so
  // the very first update moves nothing, in both published programs; 0 from `total` on.
  double rate(std::uint64_t step) const;
};

// min(10,000, 10 % of the steps): the paper's warm-up, where the run is long enough for it
// (docs/specification.md 6.2).
std::uint64_t default_warmup(std::uint64_t steps);

}  // namespace bigbird
