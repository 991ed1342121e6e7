// Genome tracks: a value for each of many intervals, as bedGraph text (OUT.bedgraph[.gz], BGZF) or bigWig
// (OUT.bw, through libBigWig). Intervals are 0-based half-open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/io/genome/contig_names.h"

namespace bigbird {

enum class TrackFormat { bedgraph, bigwig };

// By suffix: .bw and .bigwig; everything else, "-" too, is bedGraph.
TrackFormat track_format(const std::string& path);

class TrackWriter {
 public:
  virtual ~TrackWriter() = default;
  // Intervals of one contig together, ascending and without overlap; contigs in the order of `contigs` for
  // bigWig. Error{bad_input} naming the interval when they are not, or when the value is not finite.
  virtual void add(std::size_t contig, std::int64_t begin, std::int64_t end, float value) = 0;
  // Checks, closes and puts the file in its place: whole or not at all.
  virtual void close() = 0;
};

// `contigs`: names and lengths of the genome. `comments` become "##" lines of a bedGraph (bigWig has no place
// for them). bigWig cannot be written to "-".
std::unique_ptr<TrackWriter> make_track_writer(const std::string& path, TrackFormat format,
                                               const std::vector<Contig>& contigs,
                                               const std::vector<std::string>& comments);

}  // namespace bigbird
