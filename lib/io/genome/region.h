// Regions as users type them (samtools style, 1-based and closed) and as the code uses them (0-based
// half-open).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/io/genome/contig_names.h"

namespace bigbird {

// 0-based half-open [begin, end) on contigs[contig].
struct Region {
  std::size_t contig = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool operator==(const Region&) const = default;
};

// "chr8,chr7:1,000-2,000,chr9" -> {"chr8", "chr7:1,000-2,000", "chr9"}: three digits after a comma belong to
// the position before it, anything else begins a region.
std::vector<std::string> split_region_list(const std::string& text);

// Every region of a list, as parse_region takes one, in its order.
std::vector<Region> parse_regions(const std::string& text, const ContigNames& contigs);

// "chr1", "chr1:3" (from base 3 to the end), "chr1:3-6" (four bases), "chr1:1,000-2,000". Names that hold
// colons (HLA contigs) are taken whole when the whole text is a known name. Error{bad_input}: unknown contig,
// a list of regions, malformed numbers, start after end, or positions outside the contig (never clamped).
Region parse_region(std::string_view text, const ContigNames& contigs);

// "chr1:3-6" for [2, 6).
std::string format_region(const std::string& contig, std::int64_t begin, std::int64_t end);

}  // namespace bigbird
