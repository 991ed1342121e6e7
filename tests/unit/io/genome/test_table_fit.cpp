// Indexes of tables (.tbi, .csi) that do not fit their file: made before records were added, of another file,
// damaged. Never a crash, and never fewer or other records than the region has.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <thread>

#include "lib/core/cancel.h"
#include "lib/core/rng.h"
#include "lib/io/files/file.h"
#include "lib/io/genome/indexed_table.h"
#include "lib/io/genome/vcf.h"
#include "tests/fuzz/mutations.h"
#include "tests/support/sanitizer.h"
#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;
using testing::read_text;
using testing::run_program;
using testing::TemporaryFolder;
using testing::write_text;

std::string header_of_three() {
  return "##fileformat=VCFv4.2\n##contig=<ID=chr1,length=2000000>\n##contig=<ID=chr2,length=2000000>\n"
         "##contig=<ID=chr3,length=2000000>\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n";
}

std::string records_of(const std::string& contig, int count, int first, int step) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += contig + "\t" + std::to_string(first + i * step) + "\trs" + std::to_string(i * 7919 % 100'000) +
            "\tA\tG\t.\t.\t.\n";
  }
  return text;
}

class TableIndexes : public ::testing::Test {
 protected:
  void write(const std::string& text) {
    OutputStream out(path_);
    out.write(text);
    out.close();
  }
  static std::vector<std::int64_t> places(const std::string& path, const std::string& region) {
    VcfReader reader(path, {region});
    std::vector<std::int64_t> found;
    for (VcfRecord record; reader.next(record);) found.push_back(record.position);
    return found;
  }
  // By both readers of indexes, over the VCF that lies there now.
  void expect_misfit(const std::string& what) {
    for (const char* region : {"chr1", "chr2:1-5000", "chr3"}) {
      const auto error = error_of([&] { places(path_, region); });
      expect_bad_input(error, path_ + ".tbi: does not fit", what);
      if (error) {
        EXPECT_NE(error->hint().find("tabix -p vcf"), std::string::npos) << error->hint();
      }
    }
    expect_bad_input(error_of([&] { IndexedTable{path_}; }), path_ + ".tbi: does not fit", what);
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "x.vcf.gz";
  // Of several blocks.
  const std::string one_ = records_of("chr1", 8000, 1000, 100);
  const std::string two_ = records_of("chr2", 8000, 500, 90);
};

TEST_F(TableIndexes, MadeBeforeRecordsWereAdded) {
  write(header_of_three() + one_);
  build_vcf_index(path_);
  EXPECT_EQ(places(path_, "chr1:1000-1100").size(), 2u);
  EXPECT_EQ(places(path_, "chr2").size(), 0u) << "in the header, and without records";
  write(header_of_three() + one_ + records_of("chr2", 1, 700, 1));
  expect_misfit("");
  write(header_of_three() + one_ + two_);
  expect_misfit("");
  // Behind the empty block that was the end, all places before stay as they are.
  write(records_of("chr2", 20, 100, 100));
  const std::string more = read_text(path_);
  write(header_of_three() + one_);
  build_vcf_index(path_);
  write_text(path_, read_text(path_) + more);
  expect_misfit("records after its end");
  write(header_of_three() + records_of("chr1", 20, 100, 100));
  build_vcf_index(path_);
  write(header_of_three() + records_of("chr1", 20, 100, 100) + records_of("chr2", 20, 100, 100));
  expect_misfit("");
  write(header_of_three());
  build_vcf_index(path_);
  write(header_of_three() + one_);
  expect_misfit("the first record");
}

TEST_F(TableIndexes, OfAnotherFile) {
  write(header_of_three() + one_ + two_);
  build_vcf_index(path_);
  const std::string index = read_text(path_ + ".tbi");
  for (const std::string& text :
       {header_of_three() + two_ + one_, header_of_three() + one_ + records_of("chr3", 8000, 500, 90),
        "##fileformat=VCFv4.2\n##more=1\n" + header_of_three().substr(21) + one_ + two_,
        header_of_three() + records_of("chr1", 8000, 900'000, 100) + two_}) {
    write(text);
    write_text(path_ + ".tbi", index);
    const auto error = error_of([&] { places(path_, "chr2:1-5000"); });
    expect_bad_input(error, path_ + ".tbi: ", "");
    if (error) {
      EXPECT_NE(error->hint().find("tabix -p vcf"), std::string::npos) << error->hint();
    }
    EXPECT_EQ(error->message().find("compressed data"), std::string::npos) << error->message();
  }
  write(header_of_three() + records_of("chr1", 10, 100, 100));
  expect_bad_input(error_of([&] { places(path_, "chr1"); }), path_ + ".tbi: ", "");
}

TEST_F(TableIndexes, OfBcfAndCsi) {
  if (run_program({"bcftools", "--version"}).status != 0)
    GTEST_SKIP() << "SKIPPED: bcftools is not installed";
  write(header_of_three() + one_ + two_);
  const std::string bcf = folder_ / "x.bcf";
  const std::string less = folder_ / "less.bcf";
  ASSERT_EQ(run_program({"bcftools", "view", "-Ob", "-o", bcf, path_}).status, 0);
  ASSERT_EQ(run_program({"bcftools", "index", bcf}).status, 0);
  ASSERT_EQ(run_program({"bcftools", "index", path_}).status, 0);
  for (const std::string& file : {bcf, path_}) {
    EXPECT_EQ(places(file, "chr2:500-1000").size(), 6u) << file;
    EXPECT_EQ(places(file, "chr3").size(), 0u) << file;
  }
  write(header_of_three() + one_);
  ASSERT_EQ(run_program({"bcftools", "view", "-Ob", "-o", less, path_}).status, 0);
  ASSERT_EQ(run_program({"bcftools", "index", less}).status, 0);
  expect_bad_input(error_of([&] { places(path_, "chr1"); }), path_ + ".csi: ", "");
  std::filesystem::copy_file(less + ".csi", bcf + ".csi", std::filesystem::copy_options::overwrite_existing);
  const auto error = error_of([&] { places(bcf, "chr2"); });
  expect_bad_input(error, bcf + ".csi: does not fit", "");
  EXPECT_NE(error->hint().find("bcftools index -f " + bcf), std::string::npos) << error->hint();
}

// Of mutants, stored and as decompressed, each is refused or gives the records of the region.
void expect_records_or_refused(const std::string& index, const std::function<std::string()>& read) {
  const std::string stored = read_text(index);
  const std::string content = InputStream(index).read_all();
  const std::string whole = read();
  const std::uint64_t count = testing::under_sanitizer ? 100 : 300;
  std::uint64_t refused = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const bool inner = i % 4 != 0;
    std::string bytes = fuzz::mutated(inner ? content : stored, i);
    if (i % 3 == 0 && bytes.size() > 64) {
      CounterRng rng(2, Purpose::test, i);
      const std::string extremes[] = {"\xFF\xFF\xFF\x7F", "\xFF\xFF\xFF\xFF", std::string(4, '\0')};
      bytes.replace(rng.below(i % 2 == 0 ? 60 : bytes.size() - 4), 4, extremes[rng.below(3)]);
    }
    if (inner) {
      const std::string packed = index + ".gz";
      OutputStream out(packed);
      out.write(bytes);
      out.close();
      std::filesystem::rename(packed, index);
    } else {
      write_text(index, bytes);
    }
    const auto error = error_of([&] { EXPECT_EQ(read(), whole) << index << " " << i; });
    if (!error) continue;
    ++refused;
    EXPECT_EQ(error->message().find('\n'), std::string::npos) << error->message();
    EXPECT_EQ(error->kind(), ErrorKind::bad_input) << error->message();
  }
  write_text(index, stored);
  EXPECT_GT(refused, count / 4);
}

TEST_F(TableIndexes, DamagedOnesAreRefused) {
  write(header_of_three() + one_ + two_);
  build_vcf_index(path_);
  expect_records_or_refused(path_ + ".tbi", [&] {
    std::string found;
    for (const std::int64_t place : places(path_, "chr2:300000-310000")) found += std::to_string(place) + " ";
    return found;
  });
  expect_records_or_refused(path_ + ".tbi", [&] {
    IndexedTable table(path_);
    std::string found;
    table.query(0, 40'000, 50'000);
    for (std::string_view line; table.next(line);) found += line;
    return found;
  });
  if (run_program({"bcftools", "--version"}).status != 0)
    GTEST_SKIP() << "SKIPPED: bcftools is not installed";
  const std::string bcf = folder_ / "x.bcf";
  ASSERT_EQ(run_program({"bcftools", "view", "-Ob", "-o", bcf, path_}).status, 0);
  ASSERT_EQ(run_program({"bcftools", "index", bcf}).status, 0);
  expect_records_or_refused(bcf + ".csi", [&] {
    std::string found;
    for (const std::int64_t place : places(bcf, "chr2:300000-310000")) found += std::to_string(place) + " ";
    return found;
  });
}

TEST_F(TableIndexes, CountRecordsOrNothing) {
  write(header_of_three() + one_);
  EXPECT_FALSE(records_in_index(path_));
  build_vcf_index(path_);
  EXPECT_EQ(records_in_index(path_), 8000u);
  write_text(path_ + ".tbi", "no index");
  EXPECT_FALSE(records_in_index(path_));
}

TEST_F(TableIndexes, CommentsAreNoMisfit) {
  if (run_program({"tabix", "--version"}).status != 0) GTEST_SKIP() << "SKIPPED: tabix is not installed";
  const std::string table = folder_ / "t.tsv.gz";
  OutputStream out(table);
  out.write("#chrom\tpos\tscore\n#a comment\nchr1\t100\t1\nchr2\t200\t2\nchr2\t40000\t3\n#last\n\n");
  out.close();
  run_program({"tabix", "-s", "1", "-b", "2", "-e", "2", table});
  ASSERT_TRUE(has_table_index(table));
  IndexedTable indexed(table);
  ASSERT_EQ(indexed.contigs(), (std::vector<std::string>{"chr1", "chr2"}));
  indexed.query(1, 0, 1000);
  std::string_view line;
  ASSERT_TRUE(indexed.next(line));
  EXPECT_EQ(line, "chr2\t200\t2");
  EXPECT_FALSE(indexed.next(line));
}

TEST(VcfText, AByteOrderMarkIsDropped) {
  const TemporaryFolder folder;
  for (const std::string& text : {header_of_three() + records_of("chr1", 2, 10, 5),
                                  std::string("chr1\t10\t.\tA\tG\nchr1\t15\t.\tA\tG\n")}) {
    write_text(folder / "x.vcf", "\xEF\xBB\xBF" + text);
    VcfReader reader(folder / "x.vcf");
    EXPECT_EQ(reader.headerless(), text.front() != '#');
    VcfRecord record;
    ASSERT_TRUE(reader.next(record));
    EXPECT_EQ(record.chrom, "chr1");
    EXPECT_EQ(record.position, 9);
  }
}

// A pipe that nobody writes to ends with the first request, and one whose writer is late or gone is read.
TEST(Pipes, AStopEndsTheWaitForAWriter) {
  const TemporaryFolder folder;
  const std::string path = folder / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::thread stop([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    request_cancel(15);
  });
  for (const bool as_variants : {false, true}) {
    const auto error = error_of([&] {
      if (as_variants) {
        VcfReader{path};
      } else {
        LineReader{path};
      }
    });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), ErrorKind::interrupted);
  }
  stop.join();
  clear_cancel();
  std::thread writer([&] { write_text(path, header_of_three() + records_of("chr1", 2, 10, 5)); });
  VcfReader reader(path);
  VcfRecord record;
  ASSERT_TRUE(reader.next(record));
  ASSERT_TRUE(reader.next(record));
  EXPECT_FALSE(reader.next(record));
  writer.join();
}

}  // namespace
}  // namespace bigbird
