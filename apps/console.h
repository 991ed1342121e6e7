// What a running verb shows on stderr: messages of the library, and progress (rate and time left).
// stdout is never touched here: it carries data.
#pragma once

#include <string>

namespace bigbird::apps {

struct ConsoleOptions {
  std::string verb;      // prefix of every line: "[tokenize] ..."
  std::string log_file;  // also append messages here, with time and level; empty for none
  bool quiet = false;    // warnings only, no progress
  bool verbose = false;  // debug messages too
};

// Installs the sinks of lib/core/log.h and lib/core/progress.h. Throws Error when the log file cannot be
// written.
void start_console(const ConsoleOptions& options);
// Removes the sinks and clears a progress line that is still drawn.
void stop_console();

// One line that a terminal may show: control characters, which names of files and bytes of hostile ones may
// hold, become '?', and a very long line ends in "...".
std::string shown_line(const std::string& text);

// "1h02m", "3m20s", "12s".
std::string duration_text(double seconds);
// "12.3 Mbp", "850 steps": three significant digits, K/M/G beyond 10,000.
std::string amount_text(double amount, const std::string& unit);

}  // namespace bigbird::apps
