// `bigbird promoter scan`: the score of a promoter model at every step of a genome, on both strands, as a
// track, and the promoters it calls. Coordinates are 0-based half-open.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/calibration/calibration.h"
#include "lib/genomics/promoter/scan_files.h"
#include "lib/inference/model_task.h"
#include "lib/inference/sequence_runner.h"
#include "lib/io/files/provenance.h"
#include "lib/io/genome/most_n.h"
#include "lib/io/genome/region.h"
#include "lib/parts/parts.h"

namespace bigbird {

struct PromoterScanOptions {
  std::vector<std::string> models;  // of promoter finetune; several: their mean
  std::string fasta;
  std::string region;   // a list as users type it, 1-based; empty: see regions
  std::string regions;  // BED; empty: the whole genome
  std::int64_t step = 100;
  std::int64_t left = -1;  // of the window, where the model does not tell; negative: not given
  std::int64_t right = -1;
  Strands strands = Strands::both;  // that are scored, each by itself
  // Of the score of each window, from the models' folders (calibrated_scores.h).
  CalibrationMethod calibrated = CalibrationMethod::none;
  double max_n = most_n_of_scored_window;  // windows with a larger fraction of N are not scored
  BatchSize batch;                         // run at once

  std::string output = "-";  // bedGraph, or bigWig by its suffix
  bool per_strand = false;   // a track for each strand too: "NAME.plus.SUFFIX", "NAME.minus.SUFFIX"
  std::string calls;         // BED of the calls; empty: none is written
  double threshold = 0.5;
  std::int64_t merge_distance = 500;
  std::string tss;  // known TSS to evaluate the calls with; empty: none
  std::int64_t within = 500;
  std::vector<std::string> exclude;  // as ExcludedRegions: TSS and calls in a region are not evaluated
  std::string baseline_from;         // with tss: what fit_promoter_baselines() takes; empty: G and C alone
  std::string summary;               // JSON; empty: none is written
  bool with_provenance = true;
  bool provenance_in_tables = false;  // as "##" lines on top of tables too
  Provenance provenance;              // the models' digests are added
  ChunkedWork work;  // a chunk has so many positions; calls and summary are no outputs of a shard
};

// Positions p are the multiples of step in each region. The window of p is that of a promoter with its TSS at
// p: [p - left, p + right) on the + strand, and the reverse complement of [p - right + 1, p + left + 1) on
// the -. Windows beyond their contig or with too many N are left out and counted, never scored. The track
// holds for [p, p + step), cut at the end of the region, the higher score of the strands that were scored. A
// call is a line of BED8: the stretch of its position, name call1, call2 ... by place, the score times 1000,
// the strand of the higher score (+ when they are equal), thick the base of the TSS. Regions are taken in
// order of place, overlapping ones as one. Memory does not grow with the genome but for the calls; with `tss`
// for the rankings too (scan_ranking.h), of the model, of the fraction of G and C (twice where nothing was
// fitted) and of the 6-mers. The baselines are of the very windows that the model scores. Each
// output appears when the scan is done, whole or not at all; what is finished is kept until then. Of a shard,
// and of a run whose outputs are there, the counts of what was looked at now alone. Errors: a model that is
// no promoter classifier or whose window is not known; a region outside the genome; {usage} options out of
// range.
PromoterScanSummary promoter_scan(const PromoterScanOptions& options, kernels::Backend& backend);
// The calls alone, in order of place, of these regions in place of those of the options. Writes nothing, and
// reads no base further from a region than a window and one base reach.
std::vector<PromoterCall> find_promoter_calls(const PromoterScanOptions& options,
                                              const std::vector<Region>& regions, kernels::Backend& backend);
// Error{usage} for settings out of range, and outputs of one name. promoter_scan() asks too.
void check_scan_options(const PromoterScanOptions& options);

}  // namespace bigbird
