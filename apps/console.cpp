// Log and progress sinks over spdlog; see console.h.
#include "apps/console.h"

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <mutex>
#include <utility>

#include "kernels/devices.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/core/process_memory.h"
#include "lib/core/progress.h"

namespace bigbird::apps {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

// At most what fits beside the cursor; the whole text where the terminal does not say how wide it is.
std::string cut_to_terminal(const std::string& text) {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 8) return text;
  const std::size_t room = size.ws_col - 1U;
  return text.size() <= room ? text : text_for_message(text, room - 3);
}

struct ConsoleOptions {
  std::string verb;      // prefix of every line: "[tokenize] ..."
  std::string log_file;  // also append messages here, with time and level; empty for none
  bool quiet = false;    // warnings only, no progress
  bool verbose = false;  // debug messages too
};

// One verb's stderr. Messages and progress come from any thread, so every entry takes the mutex.
class Console {
 public:
  explicit Console(const ConsoleOptions& options)
      : prefix_("[" + options.verb + "] "), is_terminal_(isatty(STDERR_FILENO) == 1), quiet_(options.quiet) {
    const auto level = options.quiet     ? spdlog::level::warn
                       : options.verbose ? spdlog::level::debug
                                         : spdlog::level::info;
    auto screen = std::make_shared<spdlog::sinks::stderr_sink_st>();
    screen->set_pattern("%v");
    screen->set_level(level);
    logger_ = std::make_shared<spdlog::logger>("bigbird", screen);
    logger_->set_level(spdlog::level::debug);
    if (options.log_file.empty()) return;
    try {
      auto file = std::make_shared<spdlog::sinks::basic_file_sink_st>(options.log_file);
      file->set_pattern("%Y-%m-%d %H:%M:%S.%e %l %v");
      file->set_level(options.verbose ? spdlog::level::debug : spdlog::level::info);
      logger_->sinks().push_back(file);
      logger_->flush_on(spdlog::level::debug);
    } catch (const spdlog::spdlog_ex&) {
      throw_runtime(options.log_file + ": the log file cannot be written",
                    "check that its folder exists and is writable");
    }
  }

  void message(LogLevel level, const std::string& text) {
    const std::lock_guard<std::mutex> lock(mutex_);
    erase_line();
    switch (level) {
      case LogLevel::debug:
        logger_->debug(prefix_ + text);
        break;
      case LogLevel::info:
        logger_->info(prefix_ + text);
        break;
      case LogLevel::warning:
        logger_->warn(prefix_ + "warning: " + text);
        break;
    }
  }

  void progress(const ProgressEvent& event) {
    if (quiet_) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    const Clock::time_point now = Clock::now();
    if (event.task != task_ || event.done < first_done_) {
      task_ = event.task;
      first_done_ = event.done;
      started_ = now;
      shown_ = now;
    }
    if (event.finished) {
      erase_line();
      task_.clear();
      return;
    }
    // A terminal is redrawn ten times a second once the task has taken a second; a log gets one line a
    // minute.
    if (is_terminal_) {
      if (seconds_between(started_, now) < 1 || seconds_between(shown_, now) < 0.1) return;
      // A line that wraps could not be redrawn: the cursor would return to its second half.
      std::fprintf(stderr, "\r%s\033[K", cut_to_terminal(prefix_ + line(event, now)).c_str());
      std::fflush(stderr);
      drawn_ = true;
    } else {
      if (seconds_between(shown_, now) < 60) return;
      logger_->info(prefix_ + line(event, now));
    }
    shown_ = now;
  }

  void erase_line() {
    if (!drawn_) return;
    std::fputs("\r\033[K", stderr);
    std::fflush(stderr);
    drawn_ = false;
  }

 private:
  std::string line(const ProgressEvent& event, Clock::time_point now) const {
    const double elapsed = seconds_between(started_, now);
    const double rate = elapsed > 0 ? static_cast<double>(event.done - first_done_) / elapsed : 0;
    std::string text = event.task + " " + amount_text(static_cast<double>(event.done), event.unit);
    if (event.total > 0) {
      text += fmt::format(" of {} ({:.0f}%)", amount_text(static_cast<double>(event.total), event.unit),
                          100.0 * static_cast<double>(event.done) / static_cast<double>(event.total));
    }
    if (rate > 0) text += ", " + amount_text(rate, event.unit) + "/s";
    if (rate > 0 && event.total > event.done) {
      text += ", " + duration_text(static_cast<double>(event.total - event.done) / rate) + " left";
    }
    if (!event.note.empty()) text += ", " + event.note;
    return text;
  }

  std::mutex mutex_;
  std::shared_ptr<spdlog::logger> logger_;
  std::string prefix_;
  std::string task_;
  std::uint64_t first_done_ = 0;
  Clock::time_point started_;
  Clock::time_point shown_;
  bool is_terminal_;
  bool quiet_;
  bool drawn_ = false;
};

std::shared_ptr<Console>& running_console() {
  static std::shared_ptr<Console> console;
  return console;
}

// Installs the sinks of lib/core/log.h and lib/core/progress.h. Throws Error when the log file cannot be
// written.
void start_console(const ConsoleOptions& options) {
  const auto console = std::make_shared<Console>(options);
  running_console() = console;
  set_log_sink(
      [console](LogLevel level, const std::string& text) { console->message(level, shown_line(text)); });
  set_progress_sink([console](const ProgressEvent& event) { console->progress(event); });
}

// Removes the sinks and clears a progress line that is still drawn.
void stop_console() {
  set_log_sink(nullptr);
  set_progress_sink(nullptr);
  if (running_console()) running_console()->erase_line();
  running_console().reset();
}

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
  app.add_flag("-q,--quiet", quiet_, "Print only warnings and errors on stderr")->group("General");
  app.add_flag("-v,--verbose", verbose_, "Print more messages on stderr")->group("General");
  app.add_option("--log", log_file_, "File that the messages are appended to, with times")
      ->group("General")
      ->type_name("FILE");
}

void VerbConsole::start(const std::string& verb, std::shared_ptr<const kernels::RefusedProducts> refused) {
  if (!quiet_) closing().verb = verb;
  closing().refused = std::move(refused);
  start_console({verb, log_file_, quiet_, verbose_ > 0});
  started_ = true;
}

VerbConsole::~VerbConsole() {
  if (started_) stop_console();
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
  std::string line = fmt::format("[{}] bigbird {}: {:.2f} s wall, {:.2f} s CPU, {:.0f} MiB peak memory",
                                 told.verb, BIGBIRD_VERSION, wall, cost.cpu_seconds, peak);
  if (!told.unit.empty() && wall > 0) line += ", " + amount_text(told.amount / wall, told.unit) + "/s";
  if (told.made > 0) line += ", " + cpu_time_text(cost.cpu_seconds / told.made) + "/" + told.one;
  if (told.refused->shapes > 0) {
    line +=
        fmt::format(", cuBLASLt refused {} products of {} shapes", told.refused->calls, told.refused->shapes);
  }
  return line;
}

std::string shown_line(const std::string& text) {
  constexpr std::size_t most_code_points = 2000;
  return text_for_message(text, most_code_points);
}

std::string duration_text(double seconds) {
  const long long whole = std::llround(seconds);
  if (whole >= 3600) return fmt::format("{}h{:02}m", whole / 3600, whole % 3600 / 60);
  if (whole >= 60) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  return fmt::format("{}s", whole);
}

std::string amount_text(double amount, const std::string& unit) {
  const char* scale = "";
  for (const char* next : {"K", "M", "G"}) {
    if (amount < (*scale == '\0' ? 10000 : 1000)) break;
    amount /= 1000;
    scale = next;
  }
  const bool whole = *scale == '\0' && amount >= 100;
  return whole ? fmt::format("{:.0f} {}", amount, unit) : fmt::format("{:.3g} {}{}", amount, scale, unit);
}

}  // namespace bigbird::apps
