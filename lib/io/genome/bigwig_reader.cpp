// Reading bigWig (Kent et al. 2010, "BigWig and BigBed", supplement: the file format); see track.h.
//
// A reader of our own: libBigWig believes counts and offsets, and ends the process on files that are damaged.
// Here every offset is held against the file's size before it is followed, no node of the index is visited
// twice, and no number of the file decides how much memory is taken. Values are read from the full data;
// zoom levels are only looked at.
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <unordered_set>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/unicode.h"
#include "lib/io/files/file.h"
#include "lib/io/genome/bigwig_format.h"
#include "lib/io/genome/track.h"

namespace bigbird {
namespace {

// A section holds at most 65,535 items of at most 12 bytes.
constexpr std::size_t largest_section = bigwig::section_header_bytes + std::size_t{65535} * 12;
constexpr std::uint32_t longest_name = 4096;

class BigWigReader : public TrackReader {
 public:
  explicit BigWigReader(const std::string& path) : file_(path) {
    const std::uint32_t magic = file_.size() < sizeof(std::uint32_t) ? 0 : at<std::uint32_t>(0, "magic");
    if (magic != bigwig::magic) {
      throw_bad_input(
          fmt::format("{}: is not a bigWig{}", path, magic == bigwig::bigbed_magic ? ", but a bigBed" : ""),
          "tracks are bigWig files; UCSC's wigToBigWig and bedGraphToBigWig make them");
    }
    need(0, bigwig::header_bytes, "header");
    check_zooms();
    read_contigs(at<std::uint64_t>(8, "header"));
    const auto index = at<std::uint64_t>(24, "header");
    compressed_ = at<std::uint32_t>(52, "header") != 0;
    // libBigWig gives a file without values no index.
    if (index == 0 && at<std::uint32_t>(at<std::uint64_t>(16, "header"), "count of blocks") == 0) return;
    need(index, bigwig::index_header_bytes, "index");
    if (at<std::uint32_t>(index, "index") != bigwig::index_magic) refuse(index, "no index begins here");
    root_ = index + bigwig::index_header_bytes;
    need(root_, bigwig::node_header_bytes, "index");
  }

  const std::vector<Contig>& contigs() const override { return contigs_; }

  std::vector<float> values(std::size_t contig, std::int64_t begin, std::int64_t end) override {
    std::vector<float> values(static_cast<std::size_t>(end - begin), std::numeric_limits<float>::quiet_NaN());
    // Items of a track do not overlap. A few do in files that people have; in damaged ones all may.
    std::int64_t budget = 4 * (end - begin) + (std::int64_t{1} << 20);
    for_each(contig, begin, end, [&](std::int64_t first, std::int64_t last, float value) {
      budget -= last - first;
      if (budget < 0) refuse(root_, "values of the index overlap");
      std::fill(values.begin() + (first - begin), values.begin() + (last - begin), value);
    });
    return values;
  }

  void for_each(std::size_t contig, std::int64_t begin, std::int64_t end, const TakeValue& take) override {
    if (root_ == 0) return;
    const auto id = static_cast<std::uint32_t>(contig);
    std::vector<std::uint64_t> waiting{root_};
    std::unordered_set<std::uint64_t> seen{root_};
    while (!waiting.empty()) {
      const std::uint64_t node = waiting.back();
      waiting.pop_back();
      const bool leaf = at<std::uint8_t>(node, "index") != 0;
      const auto items = at<std::uint16_t>(node + 2, "index");
      const std::uint64_t item_bytes = leaf ? bigwig::leaf_bytes : bigwig::branch_bytes;
      need(node + bigwig::node_header_bytes, items * item_bytes, "index");
      // The last one first: what waits is taken from the end, and so in the order of the file.
      for (std::uint64_t i = items; i-- > 0;) {
        const std::uint64_t item = node + bigwig::node_header_bytes + (leaf ? items - 1 - i : i) * item_bytes;
        const auto covered = at<bigwig::IndexRange>(item, "index");
        if (!covered.overlaps(id, begin, end)) continue;
        const auto place = at<std::uint64_t>(item + sizeof(bigwig::IndexRange), "index");
        if (leaf) {
          read_block(place, at<std::uint64_t>(item + sizeof(bigwig::IndexRange) + 8, "index"), id, begin, end,
                     take);
          continue;
        }
        if (!seen.insert(place).second) refuse(item, "a node of the index is in it twice");
        waiting.push_back(place);
      }
    }
  }

 private:
  [[noreturn]] void refuse(std::uint64_t offset, const std::string& what) const {
    throw_bad_input(
        fmt::format("{}: the bigWig is damaged or cut short: byte {}: {}", file_.path(), offset, what),
        "copy or download the file again");
  }

  // The bytes [offset, offset + size) are there.
  void need(std::uint64_t offset, std::uint64_t size, const char* part) const {
    if (offset > file_.size() || size > file_.size() - offset) {
      refuse(std::min<std::uint64_t>(offset, file_.size()),
             fmt::format("{} reaches beyond the end, byte {}", part, file_.size()));
    }
  }
  template <typename Value>
  Value at(std::uint64_t offset, const char* part) const {
    need(offset, sizeof(Value), part);
    Value value;
    std::memcpy(&value, file_.data() + offset, sizeof value);
    return value;
  }

  void check_zooms() const {
    const auto zooms = at<std::uint16_t>(6, "header");
    need(bigwig::header_bytes, zooms * bigwig::zoom_header_bytes, "list of zoom levels");
    for (std::uint64_t i = 0; i < zooms; ++i) {
      const std::uint64_t zoom = bigwig::header_bytes + i * bigwig::zoom_header_bytes;
      need(at<std::uint64_t>(zoom + 8, "zoom level"), 1, "zoom level");
      need(at<std::uint64_t>(zoom + 16, "zoom level"), 1, "zoom level");
    }
  }

  void read_contigs(std::uint64_t tree) {
    need(tree, bigwig::contig_tree_header_bytes, "list of contigs");
    if (at<std::uint32_t>(tree, "contigs") != bigwig::contig_tree_magic)
      refuse(tree, "no list of contigs begins here");
    const auto name_bytes = at<std::uint32_t>(tree + 8, "contigs");
    const auto value_bytes = at<std::uint32_t>(tree + 12, "contigs");
    const auto count = at<std::uint64_t>(tree + 16, "contigs");
    if (name_bytes == 0 || name_bytes > longest_name || value_bytes != bigwig::contig_value_bytes) {
      refuse(tree, fmt::format("contigs with names of {} bytes and values of {}", name_bytes, value_bytes));
    }
    const std::uint64_t item_bytes = std::uint64_t{name_bytes} + value_bytes;
    if (count > file_.size() / item_bytes) refuse(tree, fmt::format("{} contigs", count));
    contigs_.resize(static_cast<std::size_t>(count));
    std::vector<bool> found(contigs_.size(), false);
    std::unordered_set<std::string> names;
    std::vector<std::uint64_t> waiting{tree + bigwig::contig_tree_header_bytes};
    std::unordered_set<std::uint64_t> seen(waiting.begin(), waiting.end());
    while (!waiting.empty()) {
      const std::uint64_t node = waiting.back();
      waiting.pop_back();
      const bool leaf = at<std::uint8_t>(node, "contigs") != 0;
      const auto items = at<std::uint16_t>(node + 2, "contigs");
      need(node + bigwig::node_header_bytes, items * item_bytes, "list of contigs");
      for (std::uint64_t i = 0; i < items; ++i) {
        const std::uint64_t item = node + bigwig::node_header_bytes + i * item_bytes;
        if (!leaf) {
          const auto place = at<std::uint64_t>(item + name_bytes, "contigs");
          if (!seen.insert(place).second) refuse(item, "a node is in the list of contigs twice");
          waiting.push_back(place);
          continue;
        }
        const char* text = reinterpret_cast<const char*>(file_.data() + item);
        std::string name(text, strnlen(text, name_bytes));
        const auto id = at<std::uint32_t>(item + name_bytes, "contigs");
        const auto length = at<std::uint32_t>(item + name_bytes + 4, "contigs");
        const bool plain = !name.empty() && find_invalid_utf8(name) == name.size() &&
                           std::none_of(name.begin(), name.end(),
                                        [](char c) { return static_cast<unsigned char>(c) < 0x20; });
        if (!plain) refuse(item, "a contig's name is not text");
        if (id >= count || found[id]) refuse(item, fmt::format("contig number {} of {}", id, count));
        if (!names.insert(name).second) refuse(item, "a contig is in the list twice");
        found[id] = true;
        contigs_[id] = {std::move(name), length};
      }
    }
    if (names.size() != count) refuse(tree, fmt::format("{} contigs of {} are listed", names.size(), count));
  }

  // A block of the data: one section, packed by zlib or not.
  void read_block(std::uint64_t offset, std::uint64_t size, std::uint32_t contig, std::int64_t begin,
                  std::int64_t end, const TakeValue& take) {
    need(offset, size, "a block of data");
    const auto* stored = reinterpret_cast<const unsigned char*>(file_.data() + offset);
    const unsigned char* section = stored;
    std::uint64_t held = size;
    if (compressed_) {
      section_.resize(largest_section);
      uLongf unpacked = section_.size();
      if (uncompress(section_.data(), &unpacked, stored, static_cast<uLong>(size)) != Z_OK) {
        refuse(offset, "a block of data cannot be unpacked");
      }
      section = section_.data();
      held = unpacked;
    }
    if (held < bigwig::section_header_bytes) refuse(offset, "a block of data without its header");
    std::array<std::uint32_t, 5> head{};  // contig, begin, end, step, span
    std::memcpy(head.data(), section, sizeof head);
    const unsigned type = section[20];
    std::uint16_t items = 0;
    std::memcpy(&items, section + 22, sizeof items);
    const std::size_t item_bytes = type == 1 ? 12 : type == 2 ? 8 : type == 3 ? 4 : 0;
    if (item_bytes == 0 || held - bigwig::section_header_bytes < items * item_bytes) {
      refuse(offset, fmt::format("a block of {} bytes with {} items of kind {}", held, items, type));
    }
    if (head[0] >= contigs_.size()) refuse(offset, fmt::format("values of contig number {}", head[0]));
    if (head[0] != contig) return;
    for (std::size_t i = 0; i < items; ++i) {
      const unsigned char* item = section + bigwig::section_header_bytes + i * item_bytes;
      std::array<std::uint32_t, 2> place{};
      if (type != 3) std::memcpy(place.data(), item, item_bytes - sizeof(float));
      std::int64_t first = place[0];
      if (type == 3) first = std::int64_t{head[1]} + static_cast<std::int64_t>(i) * head[3];
      const std::int64_t last = std::min(end, type == 1 ? std::int64_t{place[1]} : first + head[4]);
      first = std::max(first, begin);
      if (first >= last) continue;
      float value = 0;
      std::memcpy(&value, item + item_bytes - sizeof value, sizeof value);
      take(first, last, value);
    }
  }

  MappedFile file_;
  std::vector<Contig> contigs_;
  std::uint64_t root_ = 0;  // 0: there is no index
  bool compressed_ = false;
  std::vector<unsigned char> section_;
};

}  // namespace

std::unique_ptr<TrackReader> open_bigwig(const std::string& path) {
  return std::make_unique<BigWigReader>(path);
}

}  // namespace bigbird
