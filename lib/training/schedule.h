// The learning rate of every update: linear warm-up, then linear decay to zero, in the two published forms.
#pragma once

#include <cstdint>
#include <string>

namespace bigbird {

enum class ScheduleForm {
  // google-research/bigbird (optimization.py): decay counted from step 0, base * (1 - step / total). Where
  // warm-up ends the rate therefore jumps, from base to base * (1 - warmup / total) (docs/specification.md
  // 4.5).
  google,
  // transformers (get_linear_schedule_with_warmup): decay counted from the end of warm-up, base * (total -
  // step) / (total - warmup).
  huggingface,
};

std::string name_of(ScheduleForm form);
// Error{usage} listing the names.
ScheduleForm parse_schedule_form(const std::string& name);

struct Schedule {
  ScheduleForm form = ScheduleForm::google;
  double base = 0.0;         // the highest rate
  std::uint64_t warmup = 0;  // updates
  std::uint64_t total = 0;   // updates

  // The rate of the update after `step` updates (0 for the first). During warm-up it is base * step / warmup,
  // so the very first update moves nothing, as in both published programs. From `total` on it is 0.
  double rate(std::uint64_t step) const;
};

// min(10,000, 10 % of the steps): the paper's warm-up (appendix E.1; docs/specification.md 6.2), where the
// run is long enough for it.
std::uint64_t default_warmup(std::uint64_t steps);

}  // namespace bigbird
