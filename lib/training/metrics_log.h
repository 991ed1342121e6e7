// A TSV that grows by a row a step (metrics.tsv, valid.tsv) and holds each step once, however often the run
// was stopped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bigbird {

class MetricsLog {
 public:
  // The first column is the step. A new file gets the "##" comments and the header. An existing one is cut
  // first: rows of steps after `last_step`, and a torn last line, go away (last_step 0: every row).
  // Error{runtime} naming the file when it cannot be written.
  MetricsLog(std::string path, const std::vector<std::string>& columns,
             const std::vector<std::string>& comments, std::uint64_t last_step);
  ~MetricsLog();
  MetricsLog(const MetricsLog&) = delete;
  MetricsLog& operator=(const MetricsLog&) = delete;

  // Appends one row in one write, so that readers see whole lines. fields are the columns after the step.
  void row(std::uint64_t step, const std::vector<std::string>& fields);

 private:
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace bigbird
