// Private to lib/io/genome: the zoom levels of a bigWig, which browsers draw where a pixel has many values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/io/genome/bigwig_format.h"

namespace bigbird::bigwig {

// A record of a zoom level, as it is stored: the values at `bases` bases of [begin, end).
struct ZoomRecord {
  std::uint32_t contig, begin, end, bases;
  float least, most, sum, sum_of_squares;
};
static_assert(sizeof(ZoomRecord) == 32);

struct ZoomBlock {
  IndexRange range;
  std::string packed;
};

// One level. Holds its blocks, packed.
class ZoomLevel {
 public:
  static constexpr std::uint32_t records_of_a_slot = 1024;  // as its index says; a block has one less

  // size: bases of a record, at most.
  explicit ZoomLevel(std::uint32_t size) : size_(size) {}

  // In the order of the file. A record begins at its first value; sums of products of fp32, as libBigWig has
  // them.
  void add(std::uint32_t contig, std::uint32_t begin, std::uint32_t end, float value);
  // After the last value.
  void finish();

  std::uint32_t size() const { return size_; }
  const std::vector<ZoomBlock>& blocks() const { return blocks_; }

 private:
  void end_record();
  void end_block();

  std::uint32_t size_;
  std::vector<ZoomRecord> records_;
  double sum_ = 0, sum_of_squares_ = 0;  // of the last record
  std::vector<ZoomBlock> blocks_;
};

// The levels of a file: records of 16 times the mean length of its intervals, and four times as many bases
// from level to level, up to the longest contig; at most ten. `bases`: of all `intervals` together.
std::vector<ZoomLevel> zoom_levels(std::uint64_t bases, std::uint64_t intervals, std::int64_t longest_contig);

}  // namespace bigbird::bigwig
