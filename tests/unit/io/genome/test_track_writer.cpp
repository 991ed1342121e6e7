// Tracks read back: bedGraph as text, bigWig through libBigWig.
#include <gtest/gtest.h>

#define NOCURL
#include <bigWig.h>

#include <cmath>
#include <limits>
#include <memory>

#include "lib/io/files/file.h"
#include "lib/io/genome/track_writer.h"
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

}  // namespace
}  // namespace bigbird
