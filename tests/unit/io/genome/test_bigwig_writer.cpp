// The writer of bigWig beside libBigWig: the same contigs, blocks, index and zoom levels, and files of many
// contigs.
#include <gtest/gtest.h>
#include <zlib.h>

#define NOCURL
#include <bigWig.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>

#include "lib/io/files/file.h"
#include "lib/io/genome/track.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using testing::TemporaryFolder;

struct PlacedValue {
  std::uint32_t contig, begin, end;
  float value;
};
struct ZoomItem {
  std::uint32_t contig, begin, end, bases;
  float least, most, sum, sum_of_squares;
  bool operator==(const ZoomItem&) const = default;
};
struct IndexItem {
  std::array<std::uint32_t, 4> range;
  std::uint64_t offset, size;
  bool operator==(const IndexItem&) const = default;
};

// What a file says, read here by the format's description alone.
class BigWigBytes {
 public:
  explicit BigWigBytes(const std::string& path) : bytes_(testing::read_text(path)) {}

  template <typename Number>
  Number at(std::uint64_t offset) const {
    Number number{};
    EXPECT_LE(offset + sizeof number, bytes_.size());
    if (offset + sizeof number <= bytes_.size()) std::memcpy(&number, bytes_.data() + offset, sizeof number);
    return number;
  }
  std::string_view piece(std::uint64_t begin, std::uint64_t end) const {
    return std::string_view(bytes_).substr(begin, end - begin);
  }
  std::size_t size() const { return bytes_.size(); }
  std::uint64_t contigs() const { return at<std::uint64_t>(8); }
  std::uint64_t data() const { return at<std::uint64_t>(16); }
  std::uint64_t index() const { return at<std::uint64_t>(24); }
  std::uint64_t summary() const { return at<std::uint64_t>(44); }
  std::size_t levels() const { return at<std::uint16_t>(6); }
  std::uint32_t zoom_size(std::size_t level) const { return at<std::uint32_t>(64 + 24 * level); }

  // Blocks of the index at `offset`, in its order.
  std::vector<IndexItem> blocks(std::uint64_t offset) const {
    std::vector<IndexItem> found;
    walk(offset + 48, [&](const IndexItem& item) { found.push_back(item); });
    EXPECT_EQ(found.size(), at<std::uint64_t>(offset + 8));
    return found;
  }
  std::string unpacked(const IndexItem& block) const {
    std::string text(at<std::uint32_t>(52), '\0');
    uLongf size = text.size();
    EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(text.data()), &size,
                         reinterpret_cast<const Bytef*>(bytes_.data() + block.offset), block.size),
              Z_OK);
    text.resize(size);
    return text;
  }
  // Records of a zoom level, a vector for each block.
  std::vector<std::vector<ZoomItem>> zoom(std::size_t level) const {
    std::vector<std::vector<ZoomItem>> found;
    for (const IndexItem& block : blocks(at<std::uint64_t>(64 + 24 * level + 16))) {
      const std::string text = unpacked(block);
      std::vector<ZoomItem> records(text.size() / sizeof(ZoomItem));
      std::memcpy(records.data(), text.data(), records.size() * sizeof(ZoomItem));
      if (records.empty()) continue;
      EXPECT_EQ(block.range, (std::array{records.front().contig, records.front().begin, records.back().contig,
                                         records.back().end}));
      found.push_back(std::move(records));
    }
    return found;
  }
  // Number and length of a contig, found as browsers do: in a node of names the last one that is not greater.
  std::pair<std::uint32_t, std::uint32_t> find(const std::string& name) const {
    const auto name_bytes = at<std::uint32_t>(contigs() + 8);
    std::string key = name;
    key.resize(name_bytes);
    std::uint64_t node = contigs() + 32;
    while (at<std::uint8_t>(node) == 0) {
      std::uint64_t below = at<std::uint64_t>(node + 4 + name_bytes);
      for (std::uint64_t i = 1; i < at<std::uint16_t>(node + 2); ++i) {
        const std::uint64_t item = node + 4 + i * (name_bytes + 8);
        if (key < piece(item, item + name_bytes)) break;
        below = at<std::uint64_t>(item + name_bytes);
      }
      node = below;
    }
    for (std::uint64_t i = 0; i < at<std::uint16_t>(node + 2); ++i) {
      const std::uint64_t item = node + 4 + i * (name_bytes + 8);
      if (key == piece(item, item + name_bytes))
        return {at<std::uint32_t>(item + name_bytes), at<std::uint32_t>(item + name_bytes + 4)};
    }
    ADD_FAILURE() << name << " is not where it is looked for";
    return {};
  }

 private:
  void walk(std::uint64_t node, const std::function<void(const IndexItem&)>& take) const {
    const bool leaf = at<std::uint8_t>(node) != 0;
    for (std::uint64_t i = 0; i < at<std::uint16_t>(node + 2); ++i) {
      const std::uint64_t item = node + 4 + i * (leaf ? 32U : 24U);
      const IndexItem found{at<std::array<std::uint32_t, 4>>(item), at<std::uint64_t>(item + 16),
                            leaf ? at<std::uint64_t>(item + 24) : 0};
      if (leaf) {
        take(found);
      } else {
        walk(found.offset, take);
      }
    }
  }

  std::string bytes_;
};

void write_by_library(const std::string& path, const std::vector<Contig>& contigs,
                      const std::vector<PlacedValue>& values) {
  bigWigFile_t* file = bwOpen(path.c_str(), nullptr, "w");
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(bwCreateHdr(file, 10), 0);
  std::vector<const char*> names;
  std::vector<std::uint32_t> lengths;
  for (const Contig& contig : contigs) {
    names.push_back(contig.name.c_str());
    lengths.push_back(static_cast<std::uint32_t>(contig.length));
  }
  file->cl = bwCreateChromList(names.data(), lengths.data(), static_cast<std::int64_t>(names.size()));
  ASSERT_EQ(bwWriteHdr(file), 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto& [contig, begin, end, value] = values[i];
    const bool appended = i > 0 && values[i - 1].contig == contig;
    ASSERT_EQ(appended ? bwAppendIntervals(file, &begin, &end, &value, 1)
                       : bwAddIntervals(file, &names[contig], &begin, &end, &value, 1),
              0);
  }
  bwClose(file);
}

void write_by_us(const std::string& path, const std::vector<Contig>& contigs,
                 const std::vector<PlacedValue>& values) {
  const auto writer = make_track_writer(path, TrackFormat::bigwig, contigs, {});
  for (const auto& [contig, begin, end, value] : values) writer->add(contig, begin, end, value);
  writer->close();
}

// Both files of the same values: all bytes before the zoom levels, but for the fields that libBigWig gets
// wrong; all records of all zoom levels, but for the sums that it leaves 0; and those against plain sums.
void expect_as_by_library(const std::vector<Contig>& contigs, const std::vector<PlacedValue>& values) {
  const TemporaryFolder folder;
  write_by_library(folder / "library.bw", contigs, values);
  write_by_us(folder / "ours.bw", contigs, values);
  const BigWigBytes theirs(folder / "library.bw"), ours(folder / "ours.bw");

  ASSERT_EQ(ours.index(), theirs.index());
  ASSERT_EQ(ours.levels(), theirs.levels());
  ASSERT_GT(ours.levels(), 0u);
  EXPECT_EQ(ours.piece(0, 64), theirs.piece(0, 64));
  const auto most = std::max_element(values.begin(), values.end(), [](const auto& a, const auto& b) {
                      return a.value < b.value;
                    })->value;
  EXPECT_EQ(ours.at<double>(ours.summary() + 16), static_cast<double>(most));
  EXPECT_EQ(ours.piece(ours.summary(), ours.summary() + 16),
            theirs.piece(ours.summary(), ours.summary() + 16));
  EXPECT_EQ(ours.piece(ours.summary() + 24, ours.index() + 32),
            theirs.piece(ours.summary() + 24, ours.index() + 32));
  const auto index_end = ours.at<std::uint64_t>(64 + 8);  // where the first zoom level begins
  ASSERT_EQ(index_end, theirs.at<std::uint64_t>(64 + 8));
  EXPECT_EQ(ours.at<std::uint64_t>(ours.index() + 32), ours.index());
  EXPECT_EQ(ours.piece(ours.index() + 40, index_end), theirs.piece(ours.index() + 40, index_end));

  for (std::size_t level = 0; level < ours.levels(); ++level) {
    ASSERT_EQ(ours.zoom_size(level), theirs.zoom_size(level));
    const auto mine = ours.zoom(level), other = theirs.zoom(level);
    ASSERT_EQ(mine.size(), other.size());
    std::size_t next = 0;  // of the values: records and values have one order
    for (std::size_t block = 0; block < mine.size(); ++block) {
      ASSERT_EQ(mine[block].size(), other[block].size());
      for (std::size_t i = 0; i < mine[block].size(); ++i) {
        ZoomItem expected = other[block][i];
        const ZoomItem& record = mine[block][i];
        double sum = 0, squares = 0;
        for (; next < values.size(); ++next) {
          const PlacedValue& value = values[next];
          if (value.contig > record.contig || (value.contig == record.contig && value.begin >= record.end))
            break;
          const double bases = std::min(value.end, record.end) - std::max(value.begin, record.begin);
          sum += bases * static_cast<double>(value.value);
          squares += bases * static_cast<double>(value.value) * static_cast<double>(value.value);
          if (value.contig == record.contig && value.end > record.end) break;
        }
        EXPECT_NEAR(record.sum, sum, 1e-5 * std::abs(sum) + 1e-5 * std::sqrt(squares * record.bases));
        EXPECT_NEAR(record.sum_of_squares, squares, 1e-5 * squares);
        if (i + 1 == mine[block].size()) {
          EXPECT_EQ(expected.sum, 0);
          expected.sum = record.sum;
          expected.sum_of_squares = record.sum_of_squares;
        }
        ASSERT_TRUE(expected == record) << level << " " << block << " " << i;
      }
    }
    EXPECT_EQ(next, values.size());
  }
  EXPECT_EQ(ours.piece(ours.size() - 4, ours.size()), ours.piece(0, 4));
}

TEST(BigWigWriter, WritesWhatLibBigWigWrites) {
  const std::vector<Contig> contigs = {{"chr2", 3000000}, {"chr10", 500}, {"none", 7}, {"chr1", 90000}};
  std::vector<PlacedValue> values;
  for (std::uint32_t i = 0; i < 150000; ++i) {  // many blocks, several zoom levels
    values.push_back({0, i * 14 + i % 3, i * 14 + 9, static_cast<float>(i * 7919 % 1009) / 7 - 60});
  }
  for (std::uint32_t i = 0; i < 100; ++i) values.push_back({1, i * 5, i * 5 + 5, static_cast<float>(i)});
  values.push_back({3, 0, 1, 1e-20F});
  values.push_back({3, 5000, 70000, -3});
  values.push_back({3, 89999, 90000, 4});
  expect_as_by_library(contigs, values);
}

TEST(BigWigWriter, TheGreatestValueMayBeTheFirst) {
  expect_as_by_library({{"a", 1000}}, {{0, 0, 10, -1}, {0, 10, 20, -2}, {0, 40, 50, -3}});
}

TEST(BigWigWriter, ValuesFarApartHaveARecordEach) {
  std::vector<PlacedValue> values;
  for (std::uint32_t i = 0; i < 3000; ++i)
    values.push_back({0, i * 1000, i * 1000 + 1, static_cast<float>(i % 11)});
  expect_as_by_library({{"a", 3000000}, {"b", 10}}, values);
}

// More than a node of the tree of contigs holds, in an order that is not that of names, with values on all.
TEST(BigWigWriter, ManyContigsWithValuesAreFoundByNameAndRead) {
  const TemporaryFolder folder;
  const std::string path = folder / "many.bw";
  std::vector<Contig> contigs;
  std::vector<PlacedValue> values;
  for (std::uint32_t i = 0; i < 70000; ++i) {
    contigs.push_back({"c" + std::to_string(i * 7919 % 70001), 100 + i % 9});
    values.push_back({i, i % 50, i % 50 + 20, static_cast<float>(i)});
    values.push_back({i, i % 50 + 20, i % 50 + 30, -1});
  }
  write_by_us(path, contigs, values);
  const BigWigBytes bytes(path);
  EXPECT_EQ(bytes.blocks(bytes.index()).size(), contigs.size());
  for (std::uint32_t i = 0; i < contigs.size(); i += 997) {
    EXPECT_EQ(bytes.find(contigs[i].name), (std::pair{i, static_cast<std::uint32_t>(contigs[i].length)}));
  }

  const std::unique_ptr<TrackReader> reader = open_bigwig(path);
  ASSERT_EQ(reader->contigs().size(), contigs.size());
  std::size_t next = 0;
  for (std::size_t contig = 0; contig < contigs.size(); ++contig) {
    ASSERT_EQ(reader->contigs()[contig].name, contigs[contig].name);
    reader->for_each(contig, 0, contigs[contig].length,
                     [&](std::int64_t begin, std::int64_t end, float value) {
                       const PlacedValue& stored = values.at(next++);
                       ASSERT_EQ(std::tuple(contig, begin, end, value),
                                 std::tuple(stored.contig, stored.begin, stored.end, stored.value));
                     });
  }
  EXPECT_EQ(next, values.size());

  const std::unique_ptr<bigWigFile_t, void (*)(bigWigFile_t*)> file(bwOpen(path.c_str(), nullptr, "r"),
                                                                    bwClose);
  ASSERT_NE(file, nullptr);
  for (std::uint32_t i = 1; i < contigs.size(); i += 9973) {
    bwOverlappingIntervals_t* found = bwGetOverlappingIntervals(file.get(), contigs[i].name.c_str(), 0, 100);
    ASSERT_NE(found, nullptr);
    ASSERT_EQ(found->l, 2u);
    EXPECT_EQ(found->start[0], values[2 * i].begin);
    EXPECT_EQ(found->end[1], values[2 * i + 1].end);
    EXPECT_EQ(found->value[0], values[2 * i].value);
    bwDestroyOverlappingIntervals(found);
    double* mean = bwStats(file.get(), contigs[i].name.c_str(), 0, 100, 1, bwStatsType::mean);
    ASSERT_NE(mean, nullptr);
    EXPECT_NEAR(mean[0], (20.0 * i - 10) / 30, 1e-3 * i);
    std::free(mean);
  }
}

// As libBigWig and pyBigWig write it: without an index.
TEST(BigWigWriter, FilesWithoutValuesAreRead) {
  const TemporaryFolder folder;
  const std::vector<Contig> contigs = {{"a", 1000}, {"b", 10}};
  write_by_library(folder / "library.bw", contigs, {});
  write_by_us(folder / "ours.bw", contigs, {});
  for (const char* name : {"library.bw", "ours.bw"}) {
    const std::unique_ptr<TrackReader> reader = open_bigwig(folder / name);
    ASSERT_EQ(reader->contigs().size(), 2u) << name;
    EXPECT_TRUE(std::isnan(reader->values(1, 3, 4)[0]));
  }
}

}  // namespace
}  // namespace bigbird
