// bigWig tracks, and the order that a track's intervals must have. Users take track.h.
//
// Format: Kent et al. 2010, doi:10.1093/bioinformatics/btq351, supplement. Positions are 32 bits there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/io/genome/contig_names.h"
#include "lib/io/genome/track.h"

namespace bigbird {

// Intervals of one contig together, ascending, without overlap, on their contig, their values finite.
class TrackOrder {
 public:
  // `contigs` must outlive it. in_order_of_contigs: contigs must also come in the order of the list.
  TrackOrder(std::string path, const std::vector<Contig>& contigs, bool in_order_of_contigs);
  // Error{bad_input} naming the interval.
  void check(std::size_t contig, std::int64_t begin, std::int64_t end, float value);
  bool seen(std::size_t contig) const { return seen_[contig]; }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  std::string path_;
  const std::vector<Contig>& contigs_;
  std::vector<bool> seen_;
  bool in_order_;
  std::size_t contig_ = none;
  std::int64_t end_ = 0;
};

// With zoom levels. `contigs` must outlive it. close() reads the whole file back and compares it with what
// was added before it takes its name. Errors: usage for "-" and for a device or pipe; bad_input for a contig
// beyond 2^32 - 1 bp.
std::unique_ptr<TrackWriter> make_bigwig_writer(const std::string& path, const std::vector<Contig>& contigs);

}  // namespace bigbird
