// Peaks of many tracks, from narrowPeak or BED files, as sorted and merged intervals of a genome.
// Coordinates are 0-based half-open.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
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

// Table "#name group file" with an optional column "track" ("." for all of the file). A file is
// relative to the list, or to the working folder (find_beside). Errors name file and line: an empty name or
// file; a file (and track) listed twice; no row; more than 65,535.
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

// Merged intervals of a BED file. `clip`: intervals that reach over the end of their contig are cut there;
// else they are an Error naming file and line, as are those that begin beyond the end in either case, because
// they are of another assembly. An Error too: a file without a line.
std::vector<GenomeInterval> read_intervals(const std::string& path, const ContigNames& names, bool clip,
                                           IntervalCounts& counts);

// The merged intervals of each track, in order. Files are read in parallel, each once. A track (not a file)
// without a peak is a warning.
std::vector<std::vector<GenomeInterval>> read_peaks(const std::vector<PeakTrack>& tracks,
                                                    const ContigNames& names, bool clip,
                                                    IntervalCounts& counts);

}  // namespace bigbird
