// Intervals of peaks: what overlaps or touches is one.
#include "lib/genomics/chromatin/peaks.h"

#include <gtest/gtest.h>

namespace bigbird {
namespace {

using PeakIntervals = std::vector<GenomeInterval>;

PeakIntervals merged(PeakIntervals intervals) {
  merge_intervals(intervals);
  return intervals;
}

TEST(MergeIntervals, JoinsWhatOverlapsOrTouchesOnOneContig) {
  EXPECT_EQ(merged({{0, 10, 20}, {0, 20, 30}}), (PeakIntervals{{0, 10, 30}}));
  EXPECT_EQ(merged({{0, 10, 20}, {0, 21, 30}}), (PeakIntervals{{0, 10, 20}, {0, 21, 30}}));
  EXPECT_EQ(merged({{0, 10, 40}, {0, 15, 20}, {0, 40, 41}}), (PeakIntervals{{0, 10, 41}}));
  EXPECT_EQ(merged({{1, 0, 5}, {0, 5, 9}, {1, 5, 6}, {0, 0, 5}}), (PeakIntervals{{0, 0, 9}, {1, 0, 6}}));
  EXPECT_EQ(merged({{0, 10, 20}, {1, 15, 30}}), (PeakIntervals{{0, 10, 20}, {1, 15, 30}}));
  EXPECT_EQ(merged({}), PeakIntervals{});
}

}  // namespace
}  // namespace bigbird
