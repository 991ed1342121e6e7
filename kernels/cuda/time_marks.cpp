// See time_marks.h.
#include "kernels/cuda/time_marks.h"

namespace bigbird::kernels::cuda {

StreamTimeMarks::~StreamTimeMarks() {
  for (const Event event : events_) destroy(event);
}

void StreamTimeMarks::add() {
  if (marks_ == events_.size()) events_.push_back(make_event());
  record(events_[marks_++], stream_);
}

std::vector<double> StreamTimeMarks::take_milliseconds() {
  std::vector<double> times;
  if (marks_ > 0) synchronize(events_[marks_ - 1]);
  for (std::size_t i = 1; i < marks_; ++i)
    times.push_back(static_cast<double>(milliseconds_between(events_[i - 1], events_[i])));
  marks_ = 0;
  return times;
}

}  // namespace bigbird::kernels::cuda
