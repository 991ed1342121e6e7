// lib/genomics/chromatin holds profiles of chromatin: peaks to labelled bins, data sets, DeepSEA's import,
// fine-tuning, prediction, evaluation, calibration. Bins are integers on a grid, the same on every machine.
//
// `bigbird chromatin build`: bins of a genome on a grid, labelled by peaks, with a split, as a data set
// folder (dataset.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/core/reason_counts.h"
#include "lib/genomics/chromatin/dataset.h"
#include "lib/genomics/chromatin/peaks.h"
#include "lib/genomics/genome_sides.h"
#include "lib/io/files/provenance.h"
#include "lib/io/genome/contig_names.h"

namespace bigbird {

// Which side of the split each bin is on: by contigs and regions, and with a gap between the sides, because
// the windows around neighbouring bins share most of their bases. Lists are those of SideLists.
struct ChromatinSplitOptions {
  std::string preset;  // empty, "deepsea" or "deepsea-published"
  std::string test, valid;
  std::string train;  // empty: what is on no other side; else bins on no side are of split none
};

class ChromatinSplits : public GenomeSides {
 public:
  // Error{usage}: an unknown preset, a preset and lists at once. Error{bad_input}: as GenomeSides; a preset
  // whose chromosomes have other lengths here.
  ChromatinSplits(const ChromatinSplitOptions& options, const ContigNames& names);
};

// Turns bins into Split::none that are too near to another side: of train near valid and test, of valid near
// test. `bins`: of one contig of `contig_length` bases, ascending. Without `gap`: those whose window, as the
// data set cuts it, shares a base with a window of the other side. With it: those with fewer than `gap` bases
// between their bin and a bin of the other side (0: none). Returns how many.
std::int64_t keep_sides_apart(std::vector<ChromatinBin>& bins, const ModelWindow& window,
                              std::int64_t contig_length, std::optional<std::int64_t> gap);

struct ChromatinBuildOptions {
  std::string peaks;  // the list; see read_peak_list
  std::string fasta;  // only its .fai is read, unless max_n is given
  std::string output;
  bool replace = false;
  std::int64_t bin = 200;           // bp; bins begin on multiples of it
  std::string min_overlap = "0.5";  // see least_overlap
  bool at_least = false;
  std::string keep = "tf";                 // see KeepRule
  std::vector<std::string> exclude;        // as ExcludedRegions: bins that touch a region are dropped
  std::int64_t left = 3900, right = 3900;  // bases of the window before and after the bin
  std::vector<std::string> chromosomes;    // see choose_chromosomes
  ChromatinSplitOptions split;
  std::optional<std::int64_t> gap;  // see keep_sides_apart
  std::optional<double> max_n;      // bins whose window has a larger fraction of N are dropped
  bool clip = false;                // see read_peaks
  bool with_provenance = true;
  bool provenance_in_tables = false;  // as "##" lines on top of tables too
  Provenance provenance;
};

struct ChromatinBuildSummary {
  std::size_t profiles = 0;
  std::int64_t grid = 0;                      // whole bins on the chosen contigs
  std::int64_t bins = 0;                      // kept
  ReasonCounts dropped;                       // bins; with `bins` they add up to `grid`
  std::map<std::string, std::int64_t> sides;  // bins by split
  std::int64_t moved = 0;                     // to split none, by the gap
  IntervalCounts peaks;
  std::uint64_t elsewhere = 0;                 // intervals, merged by track, on contigs that were not chosen
  std::vector<std::string> without_positives;  // "index name" of the profiles that no kept bin has
};

// A bin is on the side of the base in its middle (begin + bin / 2). Only whole bins are used. A window that
// would pass the end of its contig is moved inwards; on a contig shorter than the window there are no bins.
// Memory: the peaks, 12 bytes each, and the bins of one contig. The same bytes for any number of threads.
// Errors: as read_peak_list, read_peaks, KeepRule, ChromatinSplits, ExcludedRegions; no bin left.
ChromatinBuildSummary build_chromatin(const ChromatinBuildOptions& options);

}  // namespace bigbird
