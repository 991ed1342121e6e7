// bigWig written; see bigwig.h, and bigwig_format.h for the order of its parts.
//
// A writer of our own: libBigWig looks a contig up by comparing its name with all before it, for every contig
// that has values and three times over, which is the square of their number. Blocks, index and zoom levels
// are those that libBigWig 0.4.7 makes, with three faults of it left out: the greatest value of the summary
// (the first value did not count), the sums of the last record of a block of a zoom level (they were 0), and
// the length that an index says of itself.
//
// Data and index are written first. Then bigwig_reader.cpp reads them back: what comes must be what was
// added, and makes the zoom levels.
#include "lib/io/genome/bigwig.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <numeric>
#include <string_view>
#include <utility>

#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/io/genome/bigwig_format.h"
#include "lib/io/genome/bigwig_zoom.h"

namespace bigbird {
namespace {

constexpr std::uint16_t bigwig_version = 4;
constexpr std::size_t most_section_bytes = 32768;
constexpr std::uint8_t kind_of_intervals = 1;
constexpr std::size_t places_for_zooms = 10;
constexpr std::size_t items_of_an_index_node = 64;
constexpr std::size_t most_contigs_of_a_node = 0x7FFF;
constexpr std::size_t write_pieces = 1 << 16;  // a run may write hundreds of tracks at once
// The summary stands behind the list of zoom levels: bases, least, most, sum, sum of squares.
constexpr std::uint64_t summary_offset = bigwig::header_bytes + places_for_zooms * bigwig::zoom_header_bytes;
constexpr std::uint64_t head_bytes = summary_offset + 5 * sizeof(double);

// A digest of intervals in their order (FNV-1a over 32-bit words).
class IntervalDigest {
 public:
  void add(std::uint32_t contig, std::uint32_t begin, std::uint32_t end, float value) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    for (const std::uint32_t word : {contig, begin, end, bits}) hash_ = (hash_ ^ word) * 0x100000001b3U;
    ++count_;
  }
  bool operator==(const IntervalDigest& other) const {
    return hash_ == other.hash_ && count_ == other.count_;
  }
  std::uint64_t count() const { return count_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325U;
  std::uint64_t count_ = 0;
};

struct ValueSummary {
  std::uint64_t bases = 0;
  double least = 0, most = 0, sum = 0, sum_of_squares = 0;
};

struct PlacedBlock {
  bigwig::IndexRange range;
  std::uint64_t offset, size;
};

struct PlacedZoom {
  std::uint32_t size;
  std::uint64_t data, index;
};

class BigWigWriter : public TrackWriter {
 public:
  BigWigWriter(const std::string& path, const std::vector<Contig>& contigs)
      : order_(path, contigs, true), contigs_(contigs), file_(path) {
    if (file_.direct()) {
      throw_usage(path + ": a bigWig is written to a regular file only",
                  "give the name of a file, or write bedGraph");
    }
    for (const Contig& contig : contigs_) {
      if (contig.length > std::numeric_limits<std::uint32_t>::max()) {
        throw_bad_input(
            fmt::format("{}: {} is too long for a bigWig ({} bp)", path, contig.name, contig.length),
            "write bedGraph instead");
      }
    }
    buffer_.resize(head_bytes);  // written at the end
    put_contigs();
    data_offset_ = place();
    bigwig::put(buffer_, std::uint64_t{0});  // blocks of data, written at the end
  }

  void add(std::size_t contig, std::int64_t begin, std::int64_t end, float value) override {
    order_.check(contig, begin, end, value);
    const auto id = static_cast<std::uint32_t>(contig);
    const auto first = static_cast<std::uint32_t>(begin), last = static_cast<std::uint32_t>(end);
    const bool full = section_.size() + bigwig::interval_bytes > most_section_bytes;
    if (full || id != range_.first_contig) end_section();
    if (section_.empty()) {
      section_.resize(bigwig::section_header_bytes);
      range_ = {id, first, id, last};
    }
    range_.last_base = last;
    bigwig::put(section_, first);
    bigwig::put(section_, last);
    bigwig::put(section_, value);
    summarize(last - first, value);
    added_.add(id, first, last, value);
  }

  void close() override {
    end_section();
    const std::uint64_t index = put_index(blocks_, 1);
    write_heads(index, {});
    std::vector<bigwig::ZoomLevel> levels = read_back();
    const std::vector<PlacedZoom> zooms = put_zooms(levels);
    bigwig::put(buffer_, bigwig::magic);
    write_heads(index, zooms);
    file_.commit();
  }

 private:
  std::uint64_t place() const { return file_.size() + buffer_.size(); }

  void write_buffer() {
    file_.write(buffer_.data(), buffer_.size());
    buffer_.clear();
  }

  void put_text(std::string_view text) {
    buffer_ += text;
    if (buffer_.size() >= write_pieces) write_buffer();
  }

  void summarize(std::uint32_t bases, float value) {
    const auto exact = static_cast<double>(value);
    summary_.least = added_.count() == 0 ? exact : std::min(summary_.least, exact);
    summary_.most = added_.count() == 0 ? exact : std::max(summary_.most, exact);
    summary_.bases += bases;
    summary_.sum += static_cast<double>(static_cast<float>(bases) * value);
    summary_.sum_of_squares += bases * (exact * exact);
  }

  void end_section() {
    if (section_.empty()) return;
    const std::size_t items = (section_.size() - bigwig::section_header_bytes) / bigwig::interval_bytes;
    std::string head;
    for (const std::uint32_t number : {range_.first_contig, range_.first_base, range_.last_base, 0U, 0U})
      bigwig::put(head, number);
    bigwig::put(head, kind_of_intervals);
    bigwig::put(head, std::uint8_t{0});
    bigwig::put(head, static_cast<std::uint16_t>(items));
    section_.replace(0, bigwig::section_header_bytes, head);
    put_block(blocks_, range_, bigwig::packed_block(section_.data(), section_.size()));
    section_.clear();
  }

  void put_block(std::vector<PlacedBlock>& blocks, const bigwig::IndexRange& range, std::string_view packed) {
    blocks.push_back({range, place(), packed.size()});
    put_text(packed);
  }

  // One leaf, as long as all contigs fit into it, in the order of their numbers. Of more leaves a reader
  // takes the one whose names may hold the one that it looks for: they are in the order of names then.
  void put_contigs() {
    std::vector<std::uint32_t> order(contigs_.size());
    std::iota(order.begin(), order.end(), 0U);
    if (order.size() > most_contigs_of_a_node) {
      std::sort(order.begin(), order.end(),
                [&](std::uint32_t a, std::uint32_t b) { return contigs_[a].name < contigs_[b].name; });
    }
    std::size_t name_bytes = 1;
    for (const Contig& contig : contigs_) name_bytes = std::max(name_bytes, contig.name.size());
    const std::size_t of_a_node = std::clamp<std::size_t>(order.size(), 1, most_contigs_of_a_node);
    const std::size_t leaves = std::max<std::size_t>((order.size() + of_a_node - 1) / of_a_node, 1);
    const std::size_t item_bytes = name_bytes + bigwig::contig_value_bytes;
    for (const auto number : {bigwig::contig_tree_magic, static_cast<std::uint32_t>(of_a_node),
                              static_cast<std::uint32_t>(name_bytes), bigwig::contig_value_bytes})
      bigwig::put(buffer_, number);
    bigwig::put(buffer_, std::uint64_t{order.size()});
    bigwig::put(buffer_, std::uint64_t{0});
    const auto put_node = [&](bool leaf, std::size_t items) {
      bigwig::put(buffer_, static_cast<std::uint8_t>(leaf));
      bigwig::put(buffer_, std::uint8_t{0});
      bigwig::put(buffer_, static_cast<std::uint16_t>(items));
    };
    const auto put_name = [&](std::uint32_t contig) {
      std::string name = contigs_[contig].name;
      name.resize(name_bytes);
      put_text(name);
    };
    if (leaves > 1) {
      put_node(false, leaves);
      const std::uint64_t first = place() + leaves * item_bytes;
      for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
        put_name(order[leaf * of_a_node]);
        bigwig::put(buffer_, first + leaf * (bigwig::node_header_bytes + of_a_node * item_bytes));
      }
    }
    for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
      const std::size_t begin = leaf * of_a_node, end = std::min(begin + of_a_node, order.size());
      put_node(true, end - begin);
      for (std::size_t i = begin; i < end; ++i) {
        put_name(order[i]);
        bigwig::put(buffer_, order[i]);
        bigwig::put(buffer_, static_cast<std::uint32_t>(contigs_[order[i]].length));
      }
    }
  }

  // The index of blocks, from its root down, one level after the other. Returns where it begins.
  std::uint64_t put_index(const std::vector<PlacedBlock>& blocks, std::uint32_t items_of_a_block) {
    constexpr std::size_t width = items_of_an_index_node;
    // What the nodes of each level cover; the blocks themselves first.
    std::vector<std::vector<bigwig::IndexRange>> levels(1);
    for (const PlacedBlock& block : blocks) levels[0].push_back(block.range);
    do {
      const std::vector<bigwig::IndexRange>& below = levels.back();
      std::vector<bigwig::IndexRange> nodes;
      for (std::size_t i = 0; i < below.size(); i += width) {
        const bigwig::IndexRange& last = below[std::min(i + width, below.size()) - 1];
        nodes.push_back({below[i].first_contig, below[i].first_base, last.last_contig, last.last_base});
      }
      if (nodes.empty()) nodes.push_back({});  // a root without items
      levels.push_back(std::move(nodes));
    } while (levels.back().size() > 1);

    const std::uint64_t begin = place();
    const bigwig::IndexRange& all = levels.back().front();
    bigwig::put(buffer_, bigwig::index_magic);
    bigwig::put(buffer_, static_cast<std::uint32_t>(width));
    bigwig::put(buffer_, std::uint64_t{blocks.size()});
    bigwig::put(buffer_, all);
    bigwig::put(buffer_, begin);  // where the blocks end
    bigwig::put(buffer_, items_of_a_block);
    bigwig::put(buffer_, std::uint32_t{0});
    for (std::size_t level = levels.size(); --level > 0;) {
      const std::vector<bigwig::IndexRange>& items = levels[level - 1];
      const bool leaf = level == 1;
      const std::uint64_t item_bytes = leaf ? bigwig::leaf_bytes : bigwig::branch_bytes;
      const std::uint64_t next = place() + levels[level].size() * bigwig::node_header_bytes +
                                 items.size() * item_bytes;  // the level below
      const std::uint64_t node_bytes =
          bigwig::node_header_bytes + width * (level == 2 ? bigwig::leaf_bytes : bigwig::branch_bytes);
      for (std::size_t node = 0; node < levels[level].size(); ++node) {
        const std::size_t first = node * width, last = std::min(first + width, items.size());
        std::string text;
        bigwig::put(text, static_cast<std::uint8_t>(leaf));
        bigwig::put(text, std::uint8_t{0});
        bigwig::put(text, static_cast<std::uint16_t>(last - first));
        for (std::size_t i = first; i < last; ++i) {
          bigwig::put(text, items[i]);
          bigwig::put(text, leaf ? blocks[i].offset : next + i * node_bytes);
          if (leaf) bigwig::put(text, blocks[i].size);
        }
        put_text(text);
      }
    }
    return begin;
  }

  // Levels that have no fewer blocks than the one before save nothing, and are left out.
  std::vector<PlacedZoom> put_zooms(const std::vector<bigwig::ZoomLevel>& levels) {
    std::vector<PlacedZoom> placed;
    for (std::size_t i = 0; i < levels.size(); ++i) {
      const std::vector<bigwig::ZoomBlock>& blocks = levels[i].blocks();
      if (i > 0 && blocks.size() == levels[i - 1].blocks().size()) break;
      const std::uint64_t begin = place();
      bigwig::put(buffer_, static_cast<std::uint32_t>(blocks.size()));
      std::vector<PlacedBlock> places;
      for (const bigwig::ZoomBlock& block : blocks) put_block(places, block.range, block.packed);
      placed.push_back({levels[i].size(), begin, put_index(places, bigwig::ZoomLevel::records_of_a_slot)});
    }
    return placed;
  }

  // What could not be known when its place was passed: header, zoom levels, summary, count of blocks.
  void write_heads(std::uint64_t index, const std::vector<PlacedZoom>& zooms) {
    write_buffer();
    std::string head;
    bigwig::put(head, bigwig::magic);
    bigwig::put(head, bigwig_version);
    bigwig::put(head, static_cast<std::uint16_t>(zooms.size()));
    bigwig::put(head, head_bytes);  // the contigs follow
    bigwig::put(head, data_offset_);
    bigwig::put(head, index);
    head.resize(head.size() + 12);  // of bigBed
    bigwig::put(head, summary_offset);
    bigwig::put(head, static_cast<std::uint32_t>(most_section_bytes));
    head.resize(bigwig::header_bytes);
    for (const PlacedZoom& zoom : zooms) {
      bigwig::put(head, zoom.size);
      bigwig::put(head, std::uint32_t{0});
      bigwig::put(head, zoom.data);
      bigwig::put(head, zoom.index);
    }
    head.resize(summary_offset);
    bigwig::put(head, summary_.bases);
    for (const double number : {summary_.least, summary_.most, summary_.sum, summary_.sum_of_squares})
      bigwig::put(head, number);
    overwrite(0, head);
    std::string count;
    bigwig::put(count, std::uint64_t{blocks_.size()});
    overwrite(data_offset_, count);
  }

  void overwrite(std::uint64_t offset, std::string_view text) {
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t count = pwrite(file_.descriptor(), text.data() + done, text.size() - done,
                                   static_cast<off_t>(offset + done));
      if (count < 0 && errno != EINTR) throw_cannot_write(file_.path(), errno);
      if (count > 0) done += static_cast<std::size_t>(count);
    }
  }

  // Contig by contig, through the index.
  std::vector<bigwig::ZoomLevel> read_back() const {
    std::int64_t longest = 0;
    for (const Contig& contig : contigs_) longest = std::max(longest, contig.length);
    std::vector<bigwig::ZoomLevel> levels = bigwig::zoom_levels(summary_.bases, added_.count(), longest);
    IntervalDigest digest;
    const std::unique_ptr<TrackReader> reader = open_bigwig(file_.written_path());
    for (std::size_t contig = 0; contig < contigs_.size(); ++contig) {
      if (!order_.seen(contig)) continue;
      const auto take = [&, id = static_cast<std::uint32_t>(contig)](std::int64_t begin, std::int64_t end,
                                                                     float value) {
        const auto first = static_cast<std::uint32_t>(begin), last = static_cast<std::uint32_t>(end);
        digest.add(id, first, last, value);
        for (bigwig::ZoomLevel& level : levels) level.add(id, first, last, value);
      };
      reader->for_each(contig, 0, contigs_[contig].length, take);
    }
    if (!(digest == added_)) {
      throw_runtime(file_.path() + ": bigWig: what was read back differs from what was written",
                    "check the disk; nothing was left there");
    }
    for (bigwig::ZoomLevel& level : levels) level.finish();
    return levels;
  }

  TrackOrder order_;
  const std::vector<Contig>& contigs_;
  AtomicFile file_;
  std::string buffer_;   // what follows the bytes of file_
  std::string section_;  // its header's place, and intervals
  bigwig::IndexRange range_{};
  std::uint64_t data_offset_ = 0;
  std::vector<PlacedBlock> blocks_;
  ValueSummary summary_;
  IntervalDigest added_;
};

}  // namespace

std::unique_ptr<TrackWriter> make_bigwig_writer(const std::string& path, const std::vector<Contig>& contigs) {
  if (path == "-") {
    throw_usage("a bigWig cannot be written to the standard output",
                message("give its file name with `output`, or write bedGraph"));
  }
  return std::make_unique<BigWigWriter>(path, contigs);
}

}  // namespace bigbird
