// What a run tells step by step: a TSV, and event files for TensorBoard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bigbird {

// A TSV that grows by a row a step (metrics.tsv, valid.tsv) and holds each step once, however often the run
// was stopped.
class MetricsLog {
 public:
  // The first column is the step. A new file gets the "##" comments and the line of names. An existing one is
  // cut first: rows of steps after `last_step`, and a torn last line, go away (last_step 0: every row). Where
  // an earlier version wrote other columns, its own stay in their order, the ones that it lacked follow, and
  // what a row does not have is NA. Error{runtime} naming the file when it cannot be written.
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

// Event files as TensorBoard reads them: a scalar a metric and step. The same numbers as metrics.tsv and
// valid.tsv, which remain the record of a run; these are for looking on.
// Source: TensorFlow, core/lib/io/record_writer.cc and core/util/event.proto.

// What an event file holds.
struct EventSummary {
  std::uint64_t events = 0;  // with numbers
  std::uint64_t last_step = 0;
  std::vector<std::string> tags;  // "train/loss", in the order of their names
};
// Error{bad_input} naming the file and the byte: a record that is cut short or whose checksum is wrong.
EventSummary read_event_file(const std::string& path);

class EventLog {
 public:
  // A new file in `folder`, which is made. What earlier files have of steps after `last_step` is no longer
  // shown. Error{runtime} naming the file when it cannot be written.
  EventLog(const std::string& folder, std::uint64_t last_step);
  ~EventLog();
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  // `fields` of `columns` as metrics have them, the step not among them; what is no number ("NA") is left
  // out. Tags are "train/loss" with the group "train".
  void row(const std::string& group, std::uint64_t step, const std::vector<std::string>& columns,
           const std::vector<std::string>& fields);
  const std::string& path() const { return path_; }

 private:
  void write(const std::string& event);

  std::string path_;
  int descriptor_ = -1;
};

}  // namespace bigbird
