// BED in and out, and every malformed line.
#include "lib/io/genome/bed.h"

#include <gtest/gtest.h>

#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;
using testing::TemporaryFolder;
using testing::write_text;

std::vector<BedRecord> parse(const std::string& text, int most_columns = 12) {
  const TemporaryFolder folder;
  write_text(folder / "x.bed", text);
  return read_bed(folder / "x.bed", most_columns);
}

std::string line_of(const BedRecord& record) {
  std::string text;
  append_bed_line(text, record);
  return text;
}

TEST(Bed, EveryColumnCountRoundTrips) {
  const std::string whole =
      "chr1\t100\t500\tname one\t900\t-\t120\t480\t255,0,0\t3\t100,50,10,\t0,200,390,\n";
  const BedRecord record = parse(whole).at(0);
  EXPECT_EQ(record.chrom, "chr1");
  EXPECT_EQ(record.begin, 100);
  EXPECT_EQ(record.end, 500);
  EXPECT_EQ(record.name, "name one");
  EXPECT_EQ(record.score, 900);
  EXPECT_EQ(record.strand, '-');
  EXPECT_EQ(record.thick_begin, 120);
  EXPECT_EQ(record.thick_end, 480);
  EXPECT_EQ(record.item_rgb, "255,0,0");
  EXPECT_EQ(record.blocks, (std::vector<BedBlock>{{0, 100}, {200, 50}, {390, 10}}));
  EXPECT_EQ(line_of(record), whole);
  std::string prefix;
  std::size_t tab = 0;
  for (int columns = 1; columns <= 9; ++columns) {
    tab = whole.find('\t', tab + 1);
    prefix = whole.substr(0, tab) + "\n";
    if (columns < 3) continue;
    const BedRecord part = parse(prefix).at(0);
    EXPECT_EQ(part.columns, columns);
    EXPECT_EQ(line_of(part), prefix);
  }
}

TEST(Bed, HeadersBlankLinesCarriageReturnsAndBlanksForTabs) {
  const auto records = parse(
      "# comment\nbrowser position chr7\ntrack name=x\n\n  \t\nchr1\t1\t2\r\nchr1 3  4 "
      "old\ntrack1\t5\t6\n#last\nchr2\t7\t8");
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(records[0].end, 2);
  EXPECT_EQ(records[1].name, "old");
  EXPECT_EQ(records[2].chrom, "track1");
  EXPECT_EQ(records[3].end, 8);
}

TEST(Bed, EmptyIntervalsAreLegalAndStayEmpty) {
  const BedRecord record = parse("chr1\t5\t5\n").at(0);
  EXPECT_EQ(record.begin, record.end);
  EXPECT_EQ(line_of(record), "chr1\t5\t5\n");
}

TEST(Bed, NarrowPeakGivesItsFirstSixColumns) {
  const BedRecord record = parse("chr1\t10\t60\tpeak\t12.5\t.\t7.5\t-1\t-1\t25\n").at(0);
  EXPECT_EQ(record.columns, 6);
  EXPECT_EQ(record.score, 12.5);
  EXPECT_EQ(record.thick_begin, 10);
  EXPECT_EQ(parse("chr1\t10\t60\tpeak\t.\t.\t7.5\t-1\t-1\n", 6).at(0).score, 0);
}

TEST(Bed, FieldsDoNotLeakFromOneRecordToTheNext) {
  const auto records = parse("chr1\t0\t9\ta\t5\t+\t1\t2\t9\t1\t9\t0\nchr1\t3\t4\n");
  EXPECT_EQ(records[1].name, ".");
  EXPECT_EQ(records[1].score, 0);
  EXPECT_EQ(records[1].strand, '.');
  EXPECT_TRUE(records[1].blocks.empty());
}

TEST(Bed, ScoresAreWrittenWholeWhereTheyAre) {
  BedRecord record;
  record.chrom = "c";
  record.columns = 5;
  record.score = 0.12345678901234567;
  EXPECT_EQ(parse(line_of(record)).at(0).score, record.score);
  record.score = 1e300;
  EXPECT_EQ(parse(line_of(record)).at(0).score, record.score);
  record.score = -3;
  EXPECT_EQ(line_of(record), "c\t0\t0\t.\t-3\n");
}

struct BadLine {
  const char* line;
  const char* what;
};

TEST(BedBadInput, NamesFileLineAndFault) {
  const BadLine lines[] = {
      {"chr1\t5", "2 columns"},
      {"chr1", "1 columns"},
      {"\t1\t2", "columns"},
      {"chr1\t9\t5", "start 9 is after end 5"},
      {"chr1\t-1\t5", "negative"},
      {"chr1\tx\t5", "start is not a whole number: x"},
      {"chr1\t1\t5.5", "end is not a whole number"},
      {"chr1\t1\t", "end is not a whole number"},
      {"chr1\t1\t99999999999999999999", "end is not a whole number"},
      {"chr1\t1\t5\tn\tmany", "score is not a number"},
      {"chr1\t1\t5\tn\t0\tplus", "strand"},
      {"chr1\t1\t5\tn\t0\t+\ta\t5", "thick start is not a whole number"},
      {"chr1\t1\t5\tn\t0\t+\t0\t5", "thick range"},
      {"chr1\t1\t5\tn\t0\t+\t1\t6", "thick range"},
      {"chr1\t1\t5\tn\t0\t+\t4\t2", "thick range"},
  };
  for (const BadLine& bad : lines) {
    SCOPED_TRACE(bad.line);
    expect_bad_input(error_of([&] { parse(std::string("# head\nchr1\t1\t2\n") + bad.line + "\n"); }),
                     "x.bed:3", bad.what);
  }
}

TEST(BedBadInput, BlocksMustFit) {
  const BadLine lines[] = {
      {"0\t\t", "block count of 0"},
      {"-1\t4\t0", "block count of -1"},
      {"1000000000000\t4,\t0,", "block count of 1000000000000"},
      {"x\t4\t0", "block count is not a whole number"},
      {"2\t2,2,\t0,2,4,", "more blocks listed"},
      {"2\t2,2,\t0,", "2 block sizes and 1 block starts"},
      {"2\t2,x,\t0,2,", "block size is not a whole number"},
      {"2\t2,2,\t1,2,", "overlaps another or is outside"},
      {"2\t1,2,\t1,2,", "does not begin at the record's start"},
      {"2\t3,2,\t0,2,", "overlaps another"},
      {"2\t2,1,\t0,2,", "does not end at the record's end"},
      {"2\t2,9,\t0,2,", "is outside"},
      {"1\t-4\t0", "overlaps another or is outside"},
      {"1\t9223372036854775807\t9223372036854775807", "is outside"},
  };
  for (const BadLine& bad : lines) {
    SCOPED_TRACE(bad.line);
    expect_bad_input(
        error_of([&] { parse(std::string("c\t10\t14\tn\t0\t+\t10\t14\t0\t") + bad.line + "\n"); }), "x.bed:1",
        bad.what);
  }
}

}  // namespace
}  // namespace bigbird
