// Tracks read back: bedGraph as text, bigWig through libBigWig and by the reader.
#include <gtest/gtest.h>

#define NOCURL
#include <bigWig.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "lib/io/files/file.h"
#include "lib/io/genome/track.h"
#include "tests/fuzz/mutations.h"
#include "tests/support/full_disk.h"
#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;
using testing::TemporaryFolder;

const std::vector<Contig> contigs = {{"chr2", 1000000}, {"chr10", 500}, {"chr1", 3000}};

struct Interval {
  std::uint32_t begin, end;
  float value;
  bool operator==(const Interval& other) const {
    return begin == other.begin && end == other.end && value == other.value;
  }
};

std::vector<Interval> read_back(const std::string& path, const char* contig, std::uint32_t length) {
  const std::unique_ptr<bigWigFile_t, void (*)(bigWigFile_t*)> file(bwOpen(path.c_str(), nullptr, "r"),
                                                                    bwClose);
  EXPECT_NE(file, nullptr);
  std::vector<Interval> intervals;
  if (!file) return intervals;
  bwOverlappingIntervals_t* found = bwGetOverlappingIntervals(file.get(), contig, 0, length);
  for (std::uint32_t i = 0; found != nullptr && i < found->l; ++i) {
    intervals.push_back({found->start[i], found->end[i], found->value[i]});
  }
  bwDestroyOverlappingIntervals(found);
  return intervals;
}

TEST(TrackWriter, TheFormatFollowsTheSuffix) {
  EXPECT_EQ(track_format("a.bw"), TrackFormat::bigwig);
  EXPECT_EQ(track_format("a.bigWig"), TrackFormat::bigwig);
  EXPECT_EQ(track_format("a.bedgraph.gz"), TrackFormat::bedgraph);
  EXPECT_EQ(track_format("-"), TrackFormat::bedgraph);
}

TEST(TrackWriter, BedGraphHoldsCommentsAndIntervals) {
  const TemporaryFolder folder;
  const std::string path = (folder / "a.bedgraph").string();
  const auto writer = make_track_writer(path, track_format(path), contigs, {"made=here"});
  writer->add(2, 0, 10, 0.1F);
  writer->add(0, 5, 7, -1e-20F);
  writer->add(0, 7, 8, 3);
  EXPECT_FALSE(file_exists(path));
  writer->close();
  EXPECT_EQ(testing::read_text(path),
            "##made=here\n#chrom\tstart\tend\tvalue\nchr1\t0\t10\t0.1\nchr2\t5\t7\t-1e-20\nchr2\t7\t8\t3\n");
}

TEST(TrackWriter, BigWigGivesBackWhatWasAdded) {
  const TemporaryFolder folder;
  const std::string path = (folder / "a.bw").string();
  std::vector<Interval> many;
  for (std::uint32_t i = 0; i < 70000; ++i) {
    many.push_back({i * 14 + i % 3, i * 14 + 9, static_cast<float>(i % 1000) / 7});
  }
  const auto writer = make_track_writer(path, track_format(path), contigs, {});
  for (const Interval& interval : many) writer->add(0, interval.begin, interval.end, interval.value);
  writer->add(1, 499, 500, -2);  // its last base
  writer->add(2, 0, 3000, 5);    // a whole contig
  writer->close();
  EXPECT_EQ(read_back(path, "chr2", 1000000), many);
  EXPECT_EQ(read_back(path, "chr10", 500), (std::vector<Interval>{{499, 500, -2}}));
  EXPECT_EQ(read_back(path, "chr1", 3000), (std::vector<Interval>{{0, 3000, 5}}));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);

  // Zoom levels are there, and say the same mean as the values.
  const std::unique_ptr<bigWigFile_t, void (*)(bigWigFile_t*)> file(bwOpen(path.c_str(), nullptr, "r"),
                                                                    bwClose);
  ASSERT_NE(file, nullptr);
  EXPECT_GT(file->hdr->nLevels, 0);
  double sum = 0, bases = 0;
  for (const Interval& interval : many) {
    sum += static_cast<double>(interval.value) * (interval.end - interval.begin);
    bases += interval.end - interval.begin;
  }
  double* mean = bwStats(file.get(), "chr2", 0, 1000000, 1, bwStatsType::mean);
  ASSERT_NE(mean, nullptr);
  EXPECT_NEAR(mean[0], sum / bases, 0.01 * sum / bases);
  std::free(mean);
}

TEST(TrackWriter, BigWigOfNoIntervalsIsWhole) {
  const TemporaryFolder folder;
  const std::string path = (folder / "a.bw").string();
  make_track_writer(path, TrackFormat::bigwig, contigs, {})->close();
  const std::unique_ptr<bigWigFile_t, void (*)(bigWigFile_t*)> file(bwOpen(path.c_str(), nullptr, "r"),
                                                                    bwClose);
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(file->cl->nKeys, 3);
  EXPECT_EQ(file->hdr->nBasesCovered, 0);
}

TEST(TrackWriter, RefusesIntervalsOutOfOrderOrPlace) {
  const TemporaryFolder folder;
  for (const std::string name : {"a.bw", "a.bedgraph"}) {
    const std::string path = (folder / name).string();
    const auto writer = make_track_writer(path, track_format(path), contigs, {});
    writer->add(0, 10, 20, 1);
    const auto refused = [&](std::size_t contig, std::int64_t begin, std::int64_t end, float value,
                             const std::string& what) {
      expect_bad_input(error_of([&] { writer->add(contig, begin, end, value); }), name, what);
    };
    refused(0, 19, 30, 1, "begins before the end");
    refused(0, 30, 30, 1, "is empty");
    refused(1, 0, 501, 1, "not on its contig of 500 bp");
    refused(1, -1, 5, 1, "not on its contig");
    refused(3, 0, 5, 1, "no such contig");
    refused(0, 30, 40, std::nanf(""), "not a finite number");
    refused(0, 30, 40, std::numeric_limits<float>::infinity(), "not a finite number");
    writer->add(1, 0, 5, 1);
    refused(0, 40, 50, 1, "was left before");
    if (name == "a.bw") {
      writer->add(2, 0, 5, 1);
      refused(1, 6, 7, 1, "left before");
    }
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));  // never closed
  const std::string path = (folder / "b.bw").string();
  const auto writer = make_track_writer(path, TrackFormat::bigwig, contigs, {});
  writer->add(2, 0, 5, 1);
  expect_bad_input(error_of([&] { writer->add(0, 0, 5, 1); }), "b.bw", "before the last one's");
}

TEST(TrackWriter, BigWigNeedsAFileAndContigsThatFit) {
  const TemporaryFolder folder;
  const auto kind = [&](const std::string& path, const std::vector<Contig>& some) {
    const auto error = error_of([&] { make_track_writer(path, TrackFormat::bigwig, some, {}); });
    EXPECT_TRUE(error.has_value());
    return error ? error->kind() : ErrorKind::environment;
  };
  EXPECT_EQ(kind("-", contigs), ErrorKind::usage);
  EXPECT_EQ(kind("/dev/null", contigs), ErrorKind::usage);
  EXPECT_EQ(kind((folder / "a.bw").string(), {{"long", 5000000000}}), ErrorKind::bad_input);
  EXPECT_EQ(kind((folder / "nowhere" / "a.bw").string(), contigs), ErrorKind::runtime);
}

// A file that may not grow, as on a full disk, at many sizes: always an Error, never a file.
TEST(TrackWriter, BigWigThatCannotBeWrittenLeavesNothing) {
  const TemporaryFolder folder;
  const std::string path = (folder / "a.bw").string();
  const auto write = [&] {
    const auto writer = make_track_writer(path, TrackFormat::bigwig, contigs, {});
    for (int i = 0; i < 12000; ++i) writer->add(0, i * 40, i * 40 + 20, static_cast<float>(i * 7919 % 20011));
    writer->close();
  };
  testing::expect_nothing_left_on_a_full_disk(path, write);
}

// Three contigs, blocks of several intervals, gaps between them.
void write_small_track(const std::string& path) {
  const auto writer = make_track_writer(path, TrackFormat::bigwig, contigs, {});
  for (std::uint32_t i = 0; i < 5000; ++i) {
    writer->add(0, i * 14 + i % 3, i * 14 + 9, static_cast<float>(i % 1000) / 7);
  }
  for (std::uint32_t i = 0; i < 100; ++i) writer->add(1, i * 5, i * 5 + 5, static_cast<float>(i));
  writer->add(2, 2999, 3000, -2);
  writer->close();
}

TEST(TrackReader, GivesTheValuesThatLibBigWigGives) {
  const TemporaryFolder folder;
  const std::string path = (folder / "a.bw").string();
  write_small_track(path);
  const std::unique_ptr<TrackReader> reader = open_bigwig(path);
  ASSERT_EQ(reader->contigs().size(), contigs.size());
  for (std::size_t contig = 0; contig < contigs.size(); ++contig) {
    EXPECT_EQ(reader->contigs()[contig].name, contigs[contig].name);
    EXPECT_EQ(reader->contigs()[contig].length, contigs[contig].length);
    std::vector<Interval> walked;
    reader->for_each(
        contig, 0, contigs[contig].length, [&](std::int64_t first, std::int64_t last, float value) {
          walked.push_back({static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last), value});
        });
    const auto stored =
        read_back(path, contigs[contig].name.c_str(), static_cast<std::uint32_t>(contigs[contig].length));
    EXPECT_EQ(walked, stored);
    const std::int64_t begin = contigs[contig].length / 3,
                       end = std::min<std::int64_t>(begin + 900, contigs[contig].length);
    std::vector<float> expected(static_cast<std::size_t>(end - begin),
                                std::numeric_limits<float>::quiet_NaN());
    for (const Interval& interval : stored) {
      for (std::int64_t at = std::max<std::int64_t>(begin, interval.begin);
           at < std::min<std::int64_t>(end, interval.end); ++at)
        expected[static_cast<std::size_t>(at - begin)] = interval.value;
    }
    const std::vector<float> values = reader->values(contig, begin, end);
    ASSERT_EQ(values.size(), expected.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_TRUE(values[i] == expected[i] || (std::isnan(values[i]) && std::isnan(expected[i]))) << i;
    }
  }
}

// Opened, and its values asked for: an Error, or none. True: read.
bool reads_track(const std::string& path) {
  const auto error = error_of([&] {
    const std::unique_ptr<TrackReader> reader = open_bigwig(path);
    for (std::size_t contig = 0; contig < std::min<std::size_t>(reader->contigs().size(), 4); ++contig) {
      reader->values(contig, 0, std::min<std::int64_t>(reader->contigs()[contig].length, 2000));
    }
  });
  if (error) {
    EXPECT_EQ(error->kind(), ErrorKind::bad_input) << error->message();
  }
  return !error;
}

TEST(TrackReader, DamagedFilesAreReadOrRefused) {
  const TemporaryFolder folder;
  const std::string path = (folder / "a.bw").string();
  write_small_track(path);
  const std::string whole = testing::read_text(path);
  ASSERT_TRUE(reads_track(path));
  int read = 0, refused = 0;
  for (std::uint64_t index = 0; index < 300; ++index) {
    testing::write_text(path, fuzz::mutated(whole, index));
    ++(reads_track(path) ? read : refused);
  }
  // Every number of the head and of the trees, made extreme.
  for (std::size_t at = 0; at + 8 <= std::min<std::size_t>(whole.size(), 600); at += 4) {
    for (const std::uint64_t value :
         {std::uint64_t{0}, std::uint64_t{0xffff}, ~std::uint64_t{0}, std::uint64_t{1} << 63,
          std::uint64_t{whole.size() - 1}, std::uint64_t{at}}) {
      std::string bytes = whole;
      std::memcpy(bytes.data() + at, &value, sizeof value);
      testing::write_text(path, bytes);
      ++(reads_track(path) ? read : refused);
    }
  }
  EXPECT_GT(read, 10);
  EXPECT_GT(refused, 300);
}

TEST(TrackReader, AnIndexThatLeadsBackIsRefused) {
  const TemporaryFolder folder;
  const std::string path = (folder / "a.bw").string();
  write_small_track(path);
  std::string bytes = testing::read_text(path);
  std::uint64_t index = 0;
  std::memcpy(&index, bytes.data() + 24, sizeof index);
  const std::uint64_t root = index + 48;
  bytes[root] = 0;  // no leaf: its first item leads to itself
  std::memcpy(bytes.data() + root + 4 + 16, &root, sizeof root);
  testing::write_text(path, bytes);
  expect_bad_input(error_of([&] { open_bigwig(path)->values(0, 0, 100); }), "a.bw", "is in it twice");
}

}  // namespace
}  // namespace bigbird
