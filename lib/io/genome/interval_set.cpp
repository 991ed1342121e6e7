// Intervals that are merged, and sums before each; see interval_set.h.
#include "lib/io/genome/interval_set.h"

#include <algorithm>

namespace bigbird {

IntervalSet::IntervalSet(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end(), [](const Interval& a, const Interval& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  for (const Interval& interval : intervals) {
    if (interval.begin >= interval.end) continue;
    if (!intervals_.empty() && interval.begin <= intervals_.back().end) {
      intervals_.back().end = std::max(intervals_.back().end, interval.end);
    } else {
      intervals_.push_back(interval);
    }
  }
  std::int64_t sum = 0;
  before_.reserve(intervals_.size());
  for (const Interval& interval : intervals_) {
    before_.push_back(sum);
    sum += interval.end - interval.begin;
  }
}

std::int64_t IntervalSet::below(std::int64_t position) const {
  const auto next =
      std::upper_bound(intervals_.begin(), intervals_.end(), position,
                       [](std::int64_t value, const Interval& interval) { return value < interval.begin; });
  if (next == intervals_.begin()) return 0;
  const auto index = static_cast<std::size_t>(next - intervals_.begin()) - 1;
  return before_[index] + std::min(position, intervals_[index].end) - intervals_[index].begin;
}

std::int64_t IntervalSet::overlap(std::int64_t begin, std::int64_t end) const {
  return begin < end ? below(end) - below(begin) : 0;
}

}  // namespace bigbird
