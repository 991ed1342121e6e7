// Peaks of many tracks, from narrowPeak or BED files, as sorted and merged intervals of a genome.
// Coordinates are 0-based half-open. And labels of bins on a grid: how much of a bin peaks must cover, and
// which bins are worth keeping. Integers throughout: a bin at the threshold falls on the same side on every
// machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/inference/model_task.h"
#include "lib/io/genome/contig_names.h"

namespace bigbird {

// One label: a row of the list.
struct PeakTrack {
  Profile profile;
  std::string file;   // as it is opened
  std::string track;  // only the peaks whose column 4 is this; empty: all of the file
};

// Table "name group file" with an optional column "track" (NA or "." for all of the file). A file is relative
// to the list, or to the working folder (find_beside). Errors name file and line: an empty name or file; a
// file (and track) listed twice; no row; more than 65,535.
std::vector<PeakTrack> read_peak_list(const std::string& path);

// 12 bytes, because a bundle of 919 tracks has tens of millions.
struct GenomeInterval {
  std::uint32_t contig = 0;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  bool operator==(const GenomeInterval&) const = default;
};

// Sorts by place and joins what overlaps or touches.
void merge_intervals(std::vector<GenomeInterval>& intervals);

// What was read, added up over files.
struct IntervalCounts {
  std::uint64_t lines = 0;
  std::uint64_t empty = 0;                               // start == end: they cover nothing
  std::uint64_t clipped = 0;                             // reached over the end of their contig
  std::uint64_t unlisted = 0;                            // their column 4 names no track of the list
  std::map<std::string, std::uint64_t> unknown_contigs;  // lines by a name that the genome does not have
};

// The merged intervals of each track, in order. Files are read in parallel, each once. A track (not a file)
// without a peak is a warning. `clip`: peaks that reach over the end of their contig are cut there; else they
// are an Error naming file and line, as are those that begin beyond the end in either case, because they are
// of another assembly. An Error too: a file without a line.
std::vector<std::vector<GenomeInterval>> read_peaks(const std::vector<PeakTrack>& tracks,
                                                    const ContigNames& names, bool clip,
                                                    IntervalCounts& counts);

// The fewest bases of a bin of `bin` bp that its peaks must cover: more than `share` of it, or at least that
// much. `share` is a decimal as typed ("0.5"), which is taken exactly. Error{usage}: no decimal of [0, 1], or
// a rule that every bin (at least 0) or none (more than 1) fulfils.
std::int64_t least_overlap(std::string_view share, std::int64_t bin, bool at_least);

// Bytes of a row of packed labels.
inline std::size_t label_stride(std::size_t profiles) {
  return (profiles + 7) / 8;
}

// A stretch of neighbouring bins of one contig.
struct BinStretch {
  std::uint32_t contig = 0;
  std::int64_t begin = 0;  // of its first bin
  std::int64_t bins = 0;
  std::int64_t bin = 200;  // bp
};

// Sets bit `profile` of the row of each bin of which at least `least` bases lie in the union of `merged`
// (sorted, disjoint). rows: [stretch.bins, stride] bytes.
void mark_bins(std::span<const GenomeInterval> merged, const BinStretch& stretch, std::int64_t least,
               std::size_t profile, std::size_t stride, std::span<std::uint8_t> rows);

// Which bins are kept, by their labels. Text: "all", or terms of which one must hold, separated by commas; a
// term is conditions that must all hold, joined by '+'; a condition is a group's name in any case, or "any"
// for all profiles, with ":N" behind it for at least N labels instead of one. "tf" is DeepSEA's rule.
class KeepRule {
 public:
  // Error{usage}: a malformed text; Error{bad_input}: a group that no profile has.
  KeepRule(const std::string& text, const std::vector<Profile>& profiles);
  bool keeps(std::span<const std::uint8_t> row) const;

 private:
  struct Condition {
    std::vector<std::uint8_t> mask;  // of its profiles, packed as the labels are
    int least = 1;
  };
  std::vector<std::vector<Condition>> terms_;  // empty: every bin
};

}  // namespace bigbird
