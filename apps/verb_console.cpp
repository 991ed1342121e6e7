// Messages and the closing line of a verb; see verb_console.h.
#include "apps/verb_console.h"

#include <fmt/format.h>

#include <utility>

#include "apps/console.h"
#include "kernels/devices.h"
#include "lib/core/process_cost.h"

namespace bigbird::apps {
namespace {

struct Closing {
  std::string verb;  // empty: none ran, or it was quiet
  bool omitted = false;
  double amount = 0;
  std::string unit;
  double made = 0;
  std::string one;
  std::shared_ptr<const kernels::RefusedProducts> refused;
};

Closing& closing() {
  static Closing of_process;
  return of_process;
}

// "1.23 CPU ms": three digits, whatever the size.
std::string cpu_time_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3g} CPU s", seconds);
  return seconds >= 1e-3 ? fmt::format("{:.3g} CPU ms", 1e3 * seconds)
                         : fmt::format("{:.3g} CPU us", 1e6 * seconds);
}

}  // namespace

void VerbConsole::add_console_options(CLI::App& app) {
  app.add_flag("-q,--quiet", quiet_, "Warnings and errors only on stderr")->group("General");
  app.add_flag("-v,--verbose", verbose_, "More messages on stderr")->group("General");
  app.add_option("--log", log_file_, "Append the messages to this file, with times")
      ->group("General")
      ->type_name("FILE");
}

void VerbConsole::start(const std::string& verb, std::shared_ptr<const kernels::RefusedProducts> refused) {
  if (!quiet_) closing().verb = verb;
  closing().refused = std::move(refused);
  start_console({verb, log_file_, quiet_, verbose_ > 0});
}

VerbConsole::~VerbConsole() {
  stop_console();
}

void VerbConsole::become_rank(const std::string& verb, int rank, bool speaks) {
  omit_closing_line();
  stop_console();
  if (!speaks) return;
  const std::string number = std::to_string(rank);
  start_console({verb + " rank " + number, log_file_.empty() ? "" : log_file_ + ".rank-" + number, quiet_,
                 verbose_ > 0});
}

void VerbConsole::set_throughput(double amount, const std::string& unit) {
  closing().amount = amount;
  closing().unit = unit;
}

void VerbConsole::set_cost_of(double made, const std::string& one) {
  closing().made = made;
  closing().one = one;
}

void VerbConsole::omit_closing_line() {
  closing().omitted = true;
}

std::string closing_line() {
  const Closing& told = closing();
  if (told.verb.empty() || told.omitted) return {};
  const ProcessCost cost = process_cost();
  const double wall = cost.wall_seconds;
  const double peak = static_cast<double>(cost.peak_memory) / (1024.0 * 1024.0);
  std::string line = fmt::format("[{}] bigbird {}: {:.2f} s wall, {:.2f} s CPU, {:.0f} MB peak memory",
                                 told.verb, BIGBIRD_VERSION, wall, cost.cpu_seconds, peak);
  if (!told.unit.empty() && wall > 0) line += ", " + amount_text(told.amount / wall, told.unit) + "/s";
  if (told.made > 0) line += ", " + cpu_time_text(cost.cpu_seconds / told.made) + "/" + told.one;
  if (told.refused->shapes > 0) {
    line +=
        fmt::format(", cuBLASLt refused {} products of {} shapes", told.refused->calls, told.refused->shapes);
  }
  return line;
}

}  // namespace bigbird::apps
