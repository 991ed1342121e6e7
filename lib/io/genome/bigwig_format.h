// Private to lib/io/genome: the parts of a bigWig (Kent et al. 2010, "BigWig and BigBed", supplement), for
// its reader and its writer. Numbers are little-endian, as on every machine that this is built for.
//
//   header, list of zoom levels, total summary
//   contigs, a tree of nodes: name, number, length
//   count of blocks, blocks of data: sections packed by zlib, each with values of one contig
//   index of the blocks: a tree of nodes (R-tree)
//   for each zoom level: count of blocks, blocks of records packed by zlib, index of these
//   the magic number again
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

namespace bigbird::bigwig {

constexpr std::uint32_t magic = 0x888FFC26U;
constexpr std::uint32_t bigbed_magic = 0x8789F2EBU;
constexpr std::uint32_t contig_tree_magic = 0x78CA8C91U;
constexpr std::uint32_t index_magic = 0x2468ACE0U;

constexpr std::uint64_t header_bytes = 64;
constexpr std::uint64_t zoom_header_bytes = 24;
constexpr std::uint64_t contig_tree_header_bytes = 32;
constexpr std::uint32_t contig_value_bytes = 8;  // of the tree of contigs, behind a name
constexpr std::uint64_t index_header_bytes = 48;
constexpr std::uint64_t node_header_bytes = 4;
constexpr std::uint64_t leaf_bytes = 32;    // of the index: a block of data
constexpr std::uint64_t branch_bytes = 24;  // of the index: a node below
constexpr std::size_t section_header_bytes = 24;
constexpr std::size_t interval_bytes = 12;  // of a section of kind 1: begin, end, value

// What of [begin, end) of a contig an item of the index covers.
struct IndexRange {
  std::uint32_t first_contig, first_base, last_contig, last_base;

  bool overlaps(std::uint32_t contig, std::int64_t begin, std::int64_t end) const {
    const bool after =
        std::pair<std::uint32_t, std::int64_t>(first_contig, first_base) >= std::pair(contig, end);
    const bool before =
        std::pair<std::uint32_t, std::int64_t>(last_contig, last_base) <= std::pair(contig, begin);
    return !after && !before;
  }
};

template <typename Number>
void put(std::string& text, Number number) {
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  text.append(bytes, sizeof number);
}

// As zlib packs it by itself. std::bad_alloc where there is no memory for that.
std::string packed_block(const void* data, std::size_t size);

}  // namespace bigbird::bigwig
