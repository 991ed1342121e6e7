// Which side of the split each bin is on: by contigs and regions, and with a gap between the sides, because
// the windows around neighbouring bins share most of their bases.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/genomics/chromatin/dataset.h"
#include "lib/io/genome/contig_names.h"
#include "lib/io/genome/region.h"

namespace bigbird {

// As typed. Lists hold contigs and 1-based closed regions ("chr8,chr9", "chr7:30,508,751-35,296,850").
struct ChromatinSplitOptions {
  std::string preset;  // empty, "deepsea" or "deepsea-published"
  std::string test, valid;
  std::string train;  // empty: what is on no other side; else bins on no side are of split none
};

class ChromatinSplits {
 public:
  // Error{usage}: an unknown preset, a preset and lists at once. Error{bad_input}: a region that the genome
  // does not have, two sides that share bases, a preset whose chromosomes have other lengths here.
  ChromatinSplits(const ChromatinSplitOptions& options, const ContigNames& names);

  // The side of the region that holds the base.
  Split side(std::uint32_t contig, std::int64_t base) const;
  // 1-based regions of a side, for reports.
  std::vector<std::string> regions(Split split) const;
  // Of bins that lie in no region: train, or none.
  Split rest() const { return rest_; }

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

// Turns bins into Split::none that are too near to another side: of train near valid and test, of valid near
// test. `bins`: of one contig of `contig_length` bases, ascending. Without `gap`: those whose window, as the
// data set cuts it, shares a base with a window of the other side. With it: those with fewer than `gap` bases
// between their bin and a bin of the other side (0: none). Returns how many.
std::int64_t keep_sides_apart(std::vector<ChromatinBin>& bins, const ModelWindow& window,
                              std::int64_t contig_length, std::optional<std::int64_t> gap);

}  // namespace bigbird
