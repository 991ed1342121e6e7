// What a scan writes: tracks, calls and the summary, from scores that come in the order of the genome, chunk
// by chunk: of the run that makes them, of one that goes on, or of all shards of one (merge_promoter_scan).
// How scores become called promoters, and how well these agree with known transcription start sites.
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

#include "lib/io/files/file.h"
#include "lib/io/genome/contig_names.h"
#include "lib/io/genome/track.h"

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

// A call and a TSS agree when they lie on one contig, at most `within` bp apart and, if asked, on one strand.
CallEvaluation evaluate_calls(std::span<const PromoterCall> calls, std::span<const KnownTss> tss,
                              std::int64_t within, bool same_strand);

struct CallsAtThreshold {
  double threshold = 0;
  CallEvaluation evaluation;
};

// What calls found at `threshold` come to at it and at higher ones: 0.05, 0.1, ... 0.95, 0.98, 0.99, 0.995
// and 0.999. A higher threshold would have found exactly those calls that reach it, because what keeps a call
// away is a stronger one.
std::vector<CallsAtThreshold> evaluate_thresholds(std::span<const PromoterCall> calls,
                                                  std::span<const KnownTss> tss, double threshold,
                                                  std::int64_t within, bool same_strand);

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
  std::int64_t tss_outside = 0;                // TSS outside the regions, not evaluated
  std::int64_t tss_unscored = 0;               // evaluated, but no position within the distance has a score
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

struct ScannedChunk : ScannedWindows {
  std::vector<ScannedPosition> positions;
};
template <typename Bytes>
void pass(Bytes& bytes, ScannedChunk& chunk) {
  bytes(chunk.positions, chunk.windows, chunk.beyond_contig, chunk.n_rich, chunk.cut);
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
  void write(const ScannedPosition& scored);
  void write_calls();
  void write_summary() const;

  ScanPaths paths_;
  ScanFacts facts_;
  CallFinder finder_;
  std::vector<std::unique_ptr<TrackWriter>> tracks_;  // both strands; then +, -
  std::unique_ptr<OutputStream> calls_out_;
  std::vector<PromoterCall> calls_;
  std::vector<bool> near_score_;  // of facts_.tss
  PromoterScanSummary summary_;
};

// "scores.plus.bedgraph.gz" for "scores.bedgraph.gz".
std::string strand_track_path(const std::string& path, const std::string& strand);

// The kind of a scan's shards (chunked_numbers.h), and the files of one run from all of them.
inline constexpr const char* promoter_scan_kind = "promoter scan";
PromoterScanSummary merge_promoter_scan(const std::vector<std::string>& shards, const ScanPaths& paths);

}  // namespace bigbird
