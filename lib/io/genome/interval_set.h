// Bases of one contig as sorted, disjoint intervals, with how many of them lie in any range.
#pragma once

#include <cstdint>
#include <vector>

namespace bigbird {

// A set of bases of one chromosome, kept as sorted, disjoint half-open intervals.
class IntervalSet {
 public:
  struct Interval {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };

  IntervalSet() = default;
  // Any order, overlaps and empty intervals allowed.
  explicit IntervalSet(std::vector<Interval> intervals);

  bool empty() const { return intervals_.empty(); }
  const std::vector<Interval>& intervals() const { return intervals_; }
  std::int64_t bases() const {
    return intervals_.empty() ? 0 : before_.back() + intervals_.back().end - intervals_.back().begin;
  }
  // How many bases of the set lie in [begin, end). Logarithmic time.
  std::int64_t overlap(std::int64_t begin, std::int64_t end) const;

 private:
  std::int64_t below(std::int64_t position) const;  // bases of the set before `position`

  std::vector<Interval> intervals_;
  std::vector<std::int64_t> before_;  // bases in the intervals before each one
};

}  // namespace bigbird
