// What a scan writes: tracks, calls and the summary, from scores that come in the order of the genome, chunk
// by chunk: of the run that makes them, of one that goes on, or of all shards of one (merge_promoter_scan).
// Coordinates are 0-based half-open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "lib/genomics/promoter/scan_calls.h"
#include "lib/genomics/promoter/scan_ranking.h"
#include "lib/io/files/file.h"
#include "lib/io/genome/contig_names.h"
#include "lib/io/genome/interval_set.h"
#include "lib/io/genome/region.h"
#include "lib/io/genome/track.h"

namespace bigbird {

struct ScannedWindows {
  std::int64_t windows = 0;        // scored
  std::int64_t beyond_contig = 0;  // left out because they pass their contig's end
  std::int64_t n_rich = 0;         // or hold too many N
  std::int64_t cut = 0;            // with more tokens than the model takes, cut at their right end
  void add(const ScannedWindows& other);
};

struct PromoterScanSummary : ScannedWindows {
  std::int64_t positions = 0;   // of the grid
  std::int64_t scored = 0;      // with a score on at least one strand
  std::int64_t scored_now = 0;  // of the windows: by this call, not by a run before it
  std::int64_t calls = 0;
  std::optional<CallEvaluation> any_strand;  // with known TSS
  CallEvaluation same_strand;
  std::vector<CallsAtThreshold> by_threshold;  // on either strand
  std::vector<ScanRanking> rankings;           // with known TSS: the model's, then what stands beside it
  std::int64_t tss_excluded = 0;               // TSS and calls in excluded regions, not evaluated
  std::int64_t calls_excluded = 0;
  std::int64_t tss_outside = 0;              // TSS outside the regions, not evaluated
  std::int64_t tss_unscored = 0;             // evaluated, but no position within the distance has a score
  std::vector<std::string> provenance = {};  // lines of what the tracks come from; none where it is left out
};

// A position with a score on at least one strand; NaN on one without.
struct ScannedPosition {
  std::uint64_t contig = 0;
  std::int64_t position = 0;
  std::int64_t end = 0;  // of the stretch that it stands for
  double plus = 0;
  double minus = 0;
};

// With the higher score, and its strand; + when they are equal.
PromoterCall call_of(const ScannedPosition& scored);

// What promoter_baselines.h says of a position's windows; NaN on a strand that the model did not score, and
// where no 6-mers were fitted.
struct ScannedBaselines {
  double gc_plus = 0;
  double gc_minus = 0;
  double kmers_plus = 0;
  double kmers_minus = 0;
};

struct ScannedChunk : ScannedWindows {
  std::vector<ScannedPosition> positions;
  std::vector<ScannedBaselines> baselines;  // one for each position, with known TSS; else none
};
template <typename Bytes>
void pass(Bytes& bytes, ScannedChunk& chunk) {
  bytes(chunk.positions, chunk.baselines, chunk.windows, chunk.beyond_contig, chunk.n_rich, chunk.cut);
}

// What the files depend on besides the scores.
struct ScanFacts {
  std::vector<Contig> contigs;  // of the genome
  std::int64_t positions = 0;   // of the whole grid
  std::int64_t step = 0;
  std::int64_t left = 0;  // of the window
  std::int64_t right = 0;
  std::string strands;  // that are scored
  double max_n = 0;
  bool per_strand = false;  // a track for each strand too
  double threshold = 0;
  std::int64_t merge_distance = 0;
  bool has_tss = false;
  std::vector<KnownTss> tss;  // in the regions, ascending
  std::int64_t tss_outside = 0;
  std::int64_t within = 0;
  std::vector<Region> excluded;       // ascending; TSS and calls in them are not evaluated
  bool has_kmers = false;             // 6-mers were fitted
  std::string promoters_have;         // of G and C, in the windows that they were fitted to: "less" or "more"
  std::vector<std::string> comments;  // without "##"
  std::string provenance;             // JSON object; empty: none is written
};
std::string scan_facts_text(const ScanFacts& facts);  // JSON, for merge_promoter_scan()

struct ScanPaths {
  std::string output = "-";  // bedGraph, or bigWig by its suffix
  std::string calls;         // BED; empty: none is written
  std::string summary;       // JSON; empty: none is written
};

class ScanFiles {
 public:
  ScanFiles(const ScanPaths& paths, const ScanFacts& facts);

  void write(const ScannedChunk& chunk);
  // Puts the files in their places. Error{bad_input} where no window was scored.
  PromoterScanSummary close();
  std::vector<std::string> paths() const;

 private:
  void write(const ScannedPosition& scored, const ScannedBaselines* baselines);
  void rank();
  void write_calls();
  void write_summary() const;

  ScanPaths paths_;
  ScanFacts facts_;
  CallFinder finder_;
  std::vector<std::unique_ptr<TrackWriter>> tracks_;  // both strands; then +, -
  std::unique_ptr<OutputStream> calls_out_;
  std::vector<PromoterCall> calls_;
  std::vector<bool> near_score_;       // of facts_.tss
  std::vector<IntervalSet> excluded_;  // by contig; empty where nothing is left out
  // With known TSS: by the model, by more and by less of G and C, by 6-mers; none for what is not there.
  std::unique_ptr<PositionRanking> by_model_, by_more_gc_, by_less_gc_, by_kmers_;
  PromoterScanSummary summary_;
};

// "scores.plus.bedgraph.gz" for "scores.bedgraph.gz".
std::string strand_track_path(const std::string& path, const std::string& strand);

// The kind of a scan's shards (chunked_numbers.h), and the files of one run from all of them.
inline constexpr const char* promoter_scan_kind = "promoter scan";
PromoterScanSummary merge_promoter_scan(const std::vector<std::string>& shards, const ScanPaths& paths);

}  // namespace bigbird
