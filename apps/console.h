// What a running verb shows on stderr: messages of the library, progress (rate and time left), and one
// closing line. stdout is never touched here: it carries data.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

namespace bigbird::kernels {
struct RefusedProducts;
}

namespace bigbird::apps {

// One process runs one verb: what set_throughput() and the like tell is kept for main, which prints
// closing_line() after the verb's object is gone.
class VerbConsole {
 public:
  bool quiet() const { return quiet_; }
  // For the closing line: amount/second in the verb's own unit.
  void set_throughput(double amount, const std::string& unit);
  // And the CPU time of each of the `made` that this process made, whatever an earlier one had done before
  // it.
  void set_cost_of(double made, const std::string& one);
  // For verbs whose output a shell reads at every start (completion, man).
  void omit_closing_line();

 protected:
  VerbConsole() = default;
  ~VerbConsole();
  void add_console_options(CLI::App& app);  // -q/--quiet, -v/--verbose, --log
  // `refused`: what the backends of the verb were refused; its numbers are read with the closing line.
  void start(const std::string& verb, std::shared_ptr<const kernels::RefusedProducts> refused);
  // The console of a rank other than 0: it says nothing, or what it says under its number.
  void become_rank(const std::string& verb, int rank, bool speaks);

 private:
  bool quiet_ = false;
  int verbose_ = 0;
  std::string log_file_;
  bool started_ = false;
};

// Version, wall and CPU time, peak memory and throughput of the verb that ran; empty where it was quiet, or
// printed its help only.
std::string closing_line();

// One line that a terminal may show: control characters, which names of files and bytes of hostile ones may
// hold, become '?', and a very long line ends in "...".
std::string shown_line(const std::string& text);

// "1h02m", "3m20s", "12s".
std::string duration_text(double seconds);
// "12.3 Mbp", "850 steps": three significant digits, K/M/G beyond 10,000.
std::string amount_text(double amount, const std::string& unit);

}  // namespace bigbird::apps
