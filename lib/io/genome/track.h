// Genome tracks: a value for each of many intervals, as bedGraph text (OUT.bedgraph[.gz], BGZF) or bigWig
// (OUT.bw). Intervals are 0-based half-open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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

// `contigs`: names and lengths of the genome; they must outlive the writer (a run may write hundreds of
// tracks). `comments` become "##" lines of a bedGraph (bigWig has no place for them). bigWig cannot be
// written to "-".
std::unique_ptr<TrackWriter> make_track_writer(const std::string& path, TrackFormat format,
                                               const std::vector<Contig>& contigs,
                                               const std::vector<std::string>& comments);

// Read at places: the values of a bigWig, such as phyloP, phastCons or GERP++.
class TrackReader {
 public:
  virtual ~TrackReader() = default;
  // As the file names them; indices of values() are those of this list.
  virtual const std::vector<Contig>& contigs() const = 0;
  // A value for each base of [begin, end), 0-based half-open on its contig; NaN where the track has none. Not
  // safe for concurrent calls. Error{bad_input} for a damaged file.
  virtual std::vector<float> values(std::size_t contig, std::int64_t begin, std::int64_t end) = 0;
  // The stored intervals that overlap [begin, end), each cut to it, in the order of the file: its first and
  // its end, and its value. Takes no memory for the bases between.
  using TakeValue = std::function<void(std::int64_t first, std::int64_t last, float value)>;
  virtual void for_each(std::size_t contig, std::int64_t begin, std::int64_t end, const TakeValue& take) = 0;
};

// Error{bad_input} for a file that is no bigWig or is damaged.
std::unique_ptr<TrackReader> open_bigwig(const std::string& path);

}  // namespace bigbird
