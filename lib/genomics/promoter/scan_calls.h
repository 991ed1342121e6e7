// How the scores of a scan become called promoters, and how well these agree with known transcription start
// sites. Coordinates are 0-based half-open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "lib/io/genome/interval_set.h"

namespace bigbird {

struct PromoterCall {
  std::size_t contig = 0;
  std::int64_t tss = 0;  // the position of the highest score
  std::int64_t end = 0;  // of the stretch that this position stands for, its step of the grid
  char strand = '+';     // of the higher score
  double score = 0;
  bool operator==(const PromoterCall&) const = default;
};

// Calls are local maxima on the grid: at least `threshold`, above the positions before and not below those
// behind (of a plateau its first position; a neighbour that was not scored is no neighbour). Of maxima within
// merge_distance of each other the strongest stays, of equal ones the first: strongest first, whatever their
// strands. Memory holds only the maxima of one crowd.
class CallFinder {
 public:
  // `found` is called for every call, in order of place.
  CallFinder(double threshold, std::int64_t merge_distance, std::int64_t step,
             std::function<void(const PromoterCall&)> found);
  // Every scored position, ascending within its contig, contigs one after the other.
  void add(const PromoterCall& scored);
  void finish();

 private:
  void close_plateau();
  void close_crowd();

  double threshold_;
  std::int64_t merge_distance_;
  std::int64_t step_;
  std::function<void(const PromoterCall&)> found_;
  std::optional<PromoterCall> plateau_;  // the first position of a stretch of equal scores
  bool rising_ = false;                  // whether it is higher than what came before it
  std::int64_t last_ = 0;                // the last position of the stretch
  std::vector<PromoterCall> crowd_;
};

struct KnownTss {
  std::size_t contig = 0;
  std::int64_t tss = 0;
  char strand = '+';
  bool operator==(const KnownTss&) const = default;
  bool operator<(const KnownTss& other) const {
    return std::tie(contig, tss, strand) < std::tie(other.contig, other.tss, other.strand);
  }
};

struct CallEvaluation {
  std::int64_t tss = 0;    // distinct places and strands
  std::int64_t found = 0;  // of them with a call within the distance
  std::int64_t calls = 0;
  std::int64_t confirmed = 0;  // of them with a TSS within the distance
  // NaN where the denominator is 0.
  double recall() const;
  double precision() const;
};

// Whether one of the intervals, by contig, holds the base. None of a contig: no.
bool is_excluded_base(std::span<const IntervalSet> excluded, std::size_t contig, std::int64_t base);

// A call and a TSS agree when they lie on one contig, at most `within` bp apart and, if asked, on one strand.
// Those whose base is in `excluded` (by contig; may be empty) are not counted, but do agree with others.
CallEvaluation evaluate_calls(std::span<const PromoterCall> calls, std::span<const KnownTss> tss,
                              std::int64_t within, bool same_strand,
                              std::span<const IntervalSet> excluded = {});

struct CallsAtThreshold {
  double threshold = 0;
  CallEvaluation evaluation;
};

// What calls found at `threshold` come to at it and at higher ones: 0.05, 0.1, ... 0.95, 0.98, 0.99, 0.995
// and 0.999. A higher threshold would have found exactly those calls that reach it, because what keeps a call
// away is a stronger one.
std::vector<CallsAtThreshold> evaluate_thresholds(std::span<const PromoterCall> calls,
                                                  std::span<const KnownTss> tss, double threshold,
                                                  std::int64_t within, bool same_strand,
                                                  std::span<const IntervalSet> excluded = {});

}  // namespace bigbird
