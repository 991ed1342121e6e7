// See bigwig_zoom.h.
#include "lib/io/genome/bigwig_zoom.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>

namespace bigbird::bigwig {

constexpr std::size_t most_levels = 10;

std::string packed_block(const void* data, std::size_t size) {
  uLongf packed = compressBound(static_cast<uLong>(size));
  std::string text(packed, '\0');
  if (compress(reinterpret_cast<Bytef*>(text.data()), &packed, static_cast<const Bytef*>(data),
               static_cast<uLong>(size)) != Z_OK) {
    throw std::bad_alloc();
  }
  text.resize(packed);
  text.shrink_to_fit();
  return text;
}

void ZoomLevel::add(std::uint32_t contig, std::uint32_t begin, std::uint32_t end, float value) {
  while (begin < end) {
    if (records_.size() + 1 == records_of_a_slot) end_block();
    const bool goes_on = !records_.empty() && records_.back().contig == contig &&
                         begin < std::uint64_t{records_.back().begin} + size_;
    if (!goes_on) {
      end_record();
      records_.push_back({contig, begin, begin, 0, value, value, 0, 0});
    }
    ZoomRecord& record = records_.back();
    const auto stop =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(end, std::uint64_t{record.begin} + size_));
    const std::uint32_t bases = stop - begin;
    record.end = stop;
    record.bases += bases;
    record.least = std::min(record.least, value);
    record.most = std::max(record.most, value);
    sum_ += static_cast<double>(static_cast<float>(bases) * value);
    sum_of_squares_ += bases * (static_cast<double>(value) * static_cast<double>(value));
    begin = stop;
  }
}

void ZoomLevel::end_record() {
  if (records_.empty()) return;
  records_.back().sum = static_cast<float>(sum_);
  records_.back().sum_of_squares = static_cast<float>(sum_of_squares_);
  sum_ = sum_of_squares_ = 0;
}

void ZoomLevel::end_block() {
  end_record();
  const ZoomRecord &first = records_.front(), &last = records_.back();
  blocks_.push_back({{first.contig, first.begin, last.contig, last.end},
                     packed_block(records_.data(), records_.size() * sizeof(ZoomRecord))});
  records_.clear();
}

void ZoomLevel::finish() {
  if (!records_.empty()) end_block();
}

std::vector<ZoomLevel> zoom_levels(std::uint64_t bases, std::uint64_t intervals,
                                   std::int64_t longest_contig) {
  std::vector<ZoomLevel> levels;
  if (intervals == 0) return levels;
  const auto longest = static_cast<std::uint64_t>(longest_contig);
  std::uint64_t size = std::min(16 * (bases / intervals), longest);
  while (size <= longest && size <= std::numeric_limits<std::uint32_t>::max() &&
         levels.size() < most_levels) {
    levels.emplace_back(static_cast<std::uint32_t>(size));
    size *= 4;
  }
  return levels;
}

}  // namespace bigbird::bigwig
