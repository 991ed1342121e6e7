// A TSV that grows by a row a step (metrics.tsv, valid.tsv) and holds each step once, however often the run
// was stopped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bigbird {

class MetricsLog {
 public:
  // The first column is the step. A new file gets the "##" comments and the header. An existing one is cut
  // first: rows of steps after `last_step`, and a torn last line, go away (last_step 0: every row). Where an
  // earlier version wrote other columns, its own stay in their order, the ones that it lacked follow, and
  // what a row does not have is NA.
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
  // For each column of the file behind the step, where it is among `fields`; none: not written any more.
  std::vector<std::optional<std::size_t>> order_;
};

}  // namespace bigbird
