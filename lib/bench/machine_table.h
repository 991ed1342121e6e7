// The rates that docs/speed.md tells of machines on which they were measured, and a machine's own beside
// them.
#pragma once

#include <string>
#include <vector>

#include "lib/bench/machine_rates.h"

namespace bigbird {

// A row of the table of docs/speed.md (section "This machine"), which a test holds equal to these.
struct KnownRate {
  std::string what;  // as MachineRate has it
  std::string shape;
  std::string precision;  // "fp32", "bf16"
  double value = 0;
  std::string unit;
  std::string machine;
};
const std::vector<KnownRate>& known_rates();

// Lines for the log: for every known rate of this precision whose measurement was made here, both values and
// their ratio; and what such ratios are worth. One line that says so where there is nothing to compare.
std::vector<std::string> beside_known_machines(const MachineRates& rates, const std::string& precision);

}  // namespace bigbird
