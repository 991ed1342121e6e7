// See job_limits.h.
#include "apps/job_limits.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <csignal>
#include <ctime>
#include <optional>
#include <vector>

#include "apps/console.h"
#include "lib/core/error.h"

namespace bigbird::apps {
namespace {

constexpr std::int64_t most_seconds = 365LL * 24 * 3600;

std::atomic<bool> is_up{false};

extern "C" void on_alarm(int) {
  is_up.store(true);
  raise(SIGTERM);
}

std::int64_t seconds_left(std::int64_t end) {
  return end - static_cast<std::int64_t>(std::time(nullptr));
}

}  // namespace

std::int64_t parse_duration(const std::string& text, const std::string& option) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [behind, error] = std::from_chars(text.data(), end, number);
  const std::string unit(behind, end);
  const std::int64_t scale = unit.empty() || unit == "s" ? 1
                             : unit == "m"               ? 60
                             : unit == "h"               ? 3600
                             : unit == "d"               ? 24 * 3600
                                                         : 0;
  if (error != std::errc() || number < 0 || scale == 0 || number > most_seconds / scale) {
    throw_usage(fmt::format("{} {}: no duration", option, text), "90s, 2m, 1h");
  }
  return number * scale;
}

std::optional<std::int64_t> parse_time_limit(const std::string& text, const std::string& option) {
  if (text == "UNLIMITED" || text == "INFINITE") return std::nullopt;
  const auto refuse = [&] {
    throw_usage(fmt::format("{} {}: no time limit of sbatch", option, text),
                "4:00:00, 90 (minutes), 1-12 (days-hours)");
  };
  const std::size_t dash = text.find('-');
  std::vector<std::int64_t> numbers;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find_first_of("-:", at), text.size());
    std::int64_t number = 0;
    const auto [behind, error] = std::from_chars(text.data() + at, text.data() + end, number);
    constexpr std::int64_t most = 100'000'000;
    if (error != std::errc() || behind != text.data() + end || number < 0 || number > most) refuse();
    numbers.push_back(number);
    at = end + 1;
  }
  const bool days = dash != std::string::npos;
  if (numbers.size() > (days ? 4u : 3u) ||
      (days && (numbers.size() < 2 || text.find_first_of("-:") != dash)) ||
      text.find('-', days ? dash + 1 : 0) != std::string::npos) {
    refuse();
  }
  // Days, hours, minutes, seconds: the first number is days behind which stands a dash, hours of three, else
  // minutes.
  const std::size_t first = days ? 0 : numbers.size() == 3 ? 1 : 2;
  constexpr std::array<std::int64_t, 4> units{24 * 3600, 3600, 60, 1};
  std::int64_t seconds = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) seconds += numbers[i] * units[first + i];
  return seconds;
}

std::string grant_text(const SlurmGrant& grant) {
  std::vector<std::string> parts;
  if (grant.threads)
    parts.push_back(fmt::format("{} thread{}", *grant.threads, *grant.threads == 1 ? "" : "s"));
  if (grant.memory)
    parts.push_back(fmt::format("{:.1f} GB of memory", static_cast<double>(*grant.memory) / 1e9));
  if (grant.end) {
    parts.push_back(duration_text(static_cast<double>(std::max<std::int64_t>(0, seconds_left(*grant.end)))) +
                    " left");
  }
  return fmt::format("Slurm job {}{}{}", grant.job, parts.empty() ? "" : ": ", fmt::join(parts, ", "));
}

void stop_before_end(const std::string& before) {
  const std::int64_t margin = parse_duration(before, "--stop-before");
  const std::optional<SlurmGrant> grant = slurm_grant();
  if (!grant || !grant->end) {
    throw_usage(
        fmt::format("--stop-before {}: the end of the job is not known", before),
        "it is read from SLURM_JOB_END_TIME (seconds since 1970) in a Slurm job; elsewhere: timeout -s TERM");
  }
  const std::int64_t left = seconds_left(*grant->end);
  if (left <= margin) {
    throw_runtime(fmt::format("--stop-before {}: Slurm job {} ends in {}", before, grant->job,
                              duration_text(static_cast<double>(std::max<std::int64_t>(0, left)))),
                  "give the job more time");
  }
  struct sigaction action {};
  action.sa_handler = on_alarm;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  sigaction(SIGALRM, &action, nullptr);
  alarm(static_cast<unsigned>(std::min(left - margin, most_seconds)));
}

bool time_is_up() {
  return is_up.load();
}

}  // namespace bigbird::apps
