// Which places of a genome belong to which side of a split, as users list them: what chromatin build and
// promoter build share. Coordinates are 0-based half-open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/io/genome/contig_names.h"
#include "lib/io/genome/region.h"

namespace bigbird {

enum class Split : std::uint8_t { none, train, valid, test };
constexpr std::size_t split_count = 4;
const char* split_side_name(Split split);
Split parse_split_side(std::string_view word, const std::string& where);

// As typed: contigs and 1-based closed regions ("chr8,chr9", "chr7:30,508,751-35,296,850").
struct SideLists {
  std::string test, valid;
  std::string train;  // empty: what is on no other side; else what is in no list is of no side
};

class GenomeSides {
 public:
  // Error{usage}: an empty name in a list. Error{bad_input}: a region that the genome does not have, two
  // sides that share bases.
  GenomeSides(const SideLists& lists, const ContigNames& names);

  // The side of the region that holds the base.
  Split side(std::size_t contig, std::int64_t base) const;
  // 1-based regions of a side, for reports.
  std::vector<std::string> regions(Split split) const;
  bool lists(Split split) const { return !regions(split).empty(); }
  // Of what lies in no region: train, or none.
  Split rest() const { return rest_; }
  // The stretches of a contig that are not on this side, ascending and apart.
  std::vector<Region> elsewhere(Split split, std::size_t contig) const;

 private:
  void add(Split split, const std::string& list);
  void check_overlaps() const;

  const ContigNames& names_;
  struct Part {
    Split split = Split::none;
    Region region;
    std::string text;
  };
  std::vector<Part> parts_;
  Split rest_ = Split::train;
};

// Whether [begin, end) shares no base with any of these stretches of its contig.
bool apart_from(const std::vector<Region>& stretches, std::int64_t begin, std::int64_t end);

}  // namespace bigbird
