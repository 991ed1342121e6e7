// See machine_table.h. Numbers come from the tables of docs/speed.md: tokens over seconds, and 2 m n k over
// the milliseconds of a product.
#include "lib/bench/machine_table.h"

#include <fmt/format.h>

namespace bigbird {
namespace {

constexpr const char* what_ratios_are_worth =
    "the same virtual machine differs by 1.4 within a day, and more beside other work: such ratios tell how "
    "large a machine is, not which program is faster";

}  // namespace

const std::vector<KnownRate>& known_rates() {
  static const char* const tiles = "2 virtual cores, Sapphire Rapids 2.6 GHz, AMX";
  static const char* const no_tiles = "2 virtual cores, Sapphire Rapids, AMX switched off";
  static const char* const zen5 = "2 virtual cores, Zen 5, whole process with loading";
  static const std::vector<KnownRate> rates = {
      {"product", "4096 x 2304 x 768", "fp32", 775, "GFLOP/s", tiles},
      {"product", "4096 x 2304 x 768", "fp32", 439, "GFLOP/s", no_tiles},
      {"product", "4096 x 2304 x 768", "bf16", 2416, "GFLOP/s", tiles},
      {"forward", "12 x 768, 4096 tokens", "fp32", 2498, "tokens/s", tiles},
      {"forward", "12 x 768, 4096 tokens", "fp32", 1862, "tokens/s", no_tiles},
      {"forward", "12 x 768, 4096 tokens", "fp32", 845, "tokens/s", zen5},
      {"forward", "12 x 768, 4096 tokens", "bf16", 6113, "tokens/s", tiles},
      {"forward", "12 x 768, 4096 tokens", "bf16", 1575, "tokens/s", no_tiles},
      {"forward", "12 x 768, 4096 tokens", "bf16", 1128, "tokens/s", zen5},
      {"training step", "12 x 768, 4096 tokens", "fp32", 648, "tokens/s", tiles},
  };
  return rates;
}

std::vector<std::string> beside_known_machines(const MachineRates& rates, const std::string& precision) {
  std::vector<std::string> lines;
  for (const KnownRate& known : known_rates()) {
    if (known.precision != precision) continue;
    for (const MachineRate& own : rates.rates) {
      if (own.what != known.what || own.shape != known.shape || own.unit != known.unit) continue;
      lines.push_back(fmt::format("  {:<14} {:<22} {:>8.0f} here, {:>6.0f} {} ({:.2f}x)  {}", known.what,
                                  known.shape, own.rate.median, known.value, known.unit,
                                  own.rate.median / known.value, known.machine));
    }
  }
  if (lines.empty()) return {"docs/speed.md has no machine measured in " + precision + " to compare with"};
  lines.insert(lines.begin(), "beside the machines of docs/speed.md, in " + precision + ":");
  lines.emplace_back(what_ratios_are_worth);
  return lines;
}

}  // namespace bigbird
