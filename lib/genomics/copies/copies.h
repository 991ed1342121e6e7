// lib/genomics/copies holds near-copies: stretches of a genome's held-out side that the other side has too,
// on either strand, with few differences.
//
// `bigbird copies`: the regions of a held-out side that have a near-copy on the other side of a genome.
//
// A window of the held-out side is a near-copy when it aligns somewhere on the other side, on either strand,
// with at least `identity` of its bases: 1 - edits / window, an edit being a base replaced, left out or put
// in, the ends of the other side's part free. It is aligned where two of its words of 16 bases lie on nearly
// one diagonal there (WordScanner says which words count). Windows that overlap become a region. Coordinates
// are 0-based half-open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/genomics/copies/word_index.h"

namespace bigbird {

struct CopyOptions {
  std::string fasta;
  std::string of;           // contigs and 1-based regions, as parse_regions takes them
  std::string in = "rest";  // the same. One of them may be rest: all that is not in the other
  std::int64_t window = 100;
  std::int64_t step = 25;
  double identity = 0.8;
  // Bases of the other side that are indexed at a time. The windows that are found do not depend on it; their
  // partners may, where they have several: a window is looked for no more once a piece had one.
  std::size_t piece = most_indexed_bases;
};

// Of the held-out side; contigs are those of the genome. The partner lies on the diagonal that most of the
// windows have, from the first of them to the last.
struct CopyRegion {
  std::size_t contig = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t windows = 0;
  double identity = 0;       // of its best window
  double mean_identity = 0;  // over its windows
  std::size_t partner_contig = 0;
  std::int64_t partner_begin = 0;
  std::int64_t partner_end = 0;
  bool reverse = false;
};

struct CopySummary {
  struct Contig {
    std::string name;
    std::int64_t bases = 0;  // of the held-out side
    std::int64_t copied = 0;
    std::int64_t regions = 0;
  };
  std::vector<Contig> contigs;  // those of the held-out side
  std::int64_t bases = 0;       // of the held-out side
  std::int64_t copied = 0;
  std::int64_t searched = 0;  // bases of the other side
  std::int64_t windows = 0;
  std::int64_t copied_windows = 0;
  std::vector<CopyRegion> regions;  // in the order of the genome
  std::vector<std::string> names;   // of the genome's contigs
};

// An interval shorter than the window is one window. Memory: 10 bytes for each base of a piece (0.7 GB for
// the largest), and 60 for each window that is a copy; the same regions for any number of threads. Errors:
// regions that are none, sides that share bases, a side without bases, `window`, `step` or `identity` out of
// range.
CopySummary find_copies(const CopyOptions& options);

// BED6+4 in the order of the genome, `comments` before it as lines with "##": chrom, start, end, the partner
// as a region is typed, 1000 times the identity of the best window, the strand of the partner; the partner as
// chrom, start and end, and the mean identity of the windows.
void write_copies(const std::string& path, const CopySummary& summary,
                  const std::vector<std::string>& comments);
// Bases and regions, of each contig too. `provenance_json` is put in as it is when not empty.
std::string copies_json(const CopySummary& summary, const CopyOptions& options,
                        const std::string& provenance_json);

}  // namespace bigbird
