// How well a score puts what is near a TSS first, whatever its scale: the model's of a scan, and those of
// what stands beside it. Positions are ranked for themselves, and so are the calls that their local maxima
// make at any threshold. Either strand counts. Coordinates are 0-based half-open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "lib/genomics/promoter/scan_calls.h"

namespace bigbird {

// NaN, no value: recalls without TSS; the numbers at a recall of 0.5 where all calls together reach less;
// those of F1 where no call is right.
struct CallRanking {
  std::int64_t calls = 0;  // at any threshold
  double recall = 0;       // of all of them
  // At the highest threshold with a recall of at least 0.5.
  double precision_at_recall_50 = 0;
  double threshold_at_recall_50 = 0;
  std::int64_t calls_at_recall_50 = 0;
  // At the threshold of the highest F1, the higher one of equals.
  double best_f1 = 0;
  double precision_at_best_f1 = 0;
  double recall_at_best_f1 = 0;
  double threshold_at_best_f1 = 0;
};

// Whether a base is of no evaluation: TSS and calls there are not counted, but do agree with others. Empty:
// none is.
using LeftOutBase = std::function<bool(std::size_t contig, std::int64_t base)>;

// Of evaluate_calls(), on either strand, at every score that a call has. `tss`: distinct, ascending.
CallRanking rank_calls(std::span<const PromoterCall> calls, std::span<const KnownTss> tss,
                       std::int64_t within, const LeftOutBase& left_out = {});

struct ScanRanking {
  std::string by;                // "model", "gc", "kmers"
  std::string promoters_have;    // of gc: "less" or "more" of G and C
  std::int64_t positions = 0;    // that were scored
  std::int64_t near = 0;         // of them within the distance of a TSS
  double average_precision = 0;  // of positions; NaN where none is near
  double auroc = 0;              // NaN unless both kinds are there
  CallRanking calls;
};

// Takes the positions of a scan in their order. Memory: 4 bytes for each of them, and 48 for each local
// maximum; while it closes 8 bytes more for each position.
class PositionRanking {
 public:
  // Positions that are left out are not ranked, but do keep calls near them away.
  PositionRanking(std::string by, std::int64_t merge_distance, std::int64_t step, LeftOutBase left_out = {});
  PositionRanking(const PositionRanking&) = delete;  // the finder calls this very object
  PositionRanking& operator=(const PositionRanking&) = delete;
  void add(const PromoterCall& scored, bool near);
  ScanRanking close(std::span<const KnownTss> tss, std::int64_t within);

 private:
  std::string by_;
  LeftOutBase left_out_;
  std::vector<PromoterCall> calls_;
  CallFinder finder_;
  std::vector<float> near_, far_;
};

}  // namespace bigbird
