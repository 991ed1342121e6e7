// Transcription start sites in BED, SGA and FPS: recognised by content, read to the same places, refused by
// line.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lib/genomics/promoter/tss.h"
#include "lib/io/genome/chain.h"
#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;
using testing::TemporaryFolder;
using testing::write_text;

constexpr std::int64_t grch37_chr1 = 249'250'621;
constexpr std::int64_t grch38_chr1 = 248'956'422;

std::vector<TssRow> rows_of(const std::string& text, TssFormat expected) {
  const TemporaryFolder folder;
  write_text(folder / "tss.txt", text);
  TssReader reader(folder / "tss.txt");
  std::vector<TssRow> rows;
  for (TssRow row; reader.next(row);) rows.push_back(row);
  EXPECT_EQ(reader.format(), expected);
  return rows;
}

void expect_row(const TssRow& row, const std::string& name, const std::string& chrom, std::int64_t tss,
                char strand) {
  EXPECT_EQ(row.name, name);
  EXPECT_EQ(row.chrom, chrom);
  EXPECT_EQ(row.tss, tss);
  EXPECT_EQ(row.strand, strand);
}

// NOC2L_1 and KLHL17_1 as EPDnew 006 has them on GRCh38, 0-based 959255 - and 960632 +.
TEST(TssFormats, SgaPositionsAreOneBased) {
  const auto rows = rows_of(
      "NC_000001.11\tTSS\t959256\t-\t1\tNOC2L_1\n\nNC_000001.11\tTSS\t960633\t+\t1\tKLHL17_1\textra\n",
      TssFormat::sga);
  ASSERT_EQ(rows.size(), 2u);
  expect_row(rows[0], "NOC2L_1", "NC_000001.11", 959255, '-');
  expect_row(rows[1], "KLHL17_1", "NC_000001.11", 960632, '+');
}

TEST(TssFormats, SgaWithoutANameIsARowWithoutOne) {
  const auto rows = rows_of("NC_000001.11\tTSS\t1\t+\t1\n", TssFormat::sga);
  ASSERT_EQ(rows.size(), 1u);
  expect_row(rows[0], ".", "NC_000001.11", 0, '+');
}

TEST(TssFormats, FpsFixedColumns) {
  const auto rows = rows_of(
      "FP   NOC2L_1             :+S  EU:NC_000001.11      1-    959256; 10001.001\n"
      "FP   Hs c-myc         P2+:+S  EU:NC_000008.9       1+ 128817660; 11148.053 010*2\n"
      "FP   A_1                 :+M  EU:NC_000001.11      1+1234567890;\n",
      TssFormat::fps);
  ASSERT_EQ(rows.size(), 3u);
  expect_row(rows[0], "NOC2L_1", "NC_000001.11", 959255, '-');
  expect_row(rows[1], "Hs c-myc P2+", "NC_000008.9", 128817659, '+');
  expect_row(rows[2], "A_1", "NC_000001.11", 1234567889, '+');
}

TEST(TssFormats, FpsFieldsShiftedByBlanks) {
  const auto rows = rows_of("FP A:2_1 :+R EU:chr7 0- 12; x;y\n", TssFormat::fps);
  ASSERT_EQ(rows.size(), 1u);
  expect_row(rows[0], "A:2_1", "chr7", 11, '-');
}

TEST(TssFormats, BedStaysBed) {
  const auto rows = rows_of("# a comment\nchr1\t959255\t959256\tNOC2L_1\t1\t-\n", TssFormat::bed);
  ASSERT_EQ(rows.size(), 1u);
  expect_row(rows[0], "NOC2L_1", "chr1", 959255, '-');
}

TEST(TssFormatsBadInput, RowsThatDoNotParse) {
  const std::string sga = "NC_000001.11\tTSS\t5\t+\t1\tA_1\n";
  const std::string fps = "FP   A_1                 :+S  EU:NC_000001.11      1+         5; 1.001\n";
  const std::pair<std::string, const char*> cases[] = {
      {sga + "NC_000001.11\tTSS\t5\n", "SGA has at least 5"},
      {sga + "NC_000001.11\tTSS\t0\t+\t1\tA\n", "begin at 1"},
      {sga + "NC_000001.11\tTSS\tx\t+\t1\tA\n", "position is not a whole number"},
      {sga + "NC_000001.11\tTSS\t5\t0\t1\tA\n", "needs a strand"},
      {sga + "NC_000001.11\tCAGE\t5\t+\t1\tA\n", "not TSS"},
      {sga + "NC_000001.11\tTSS\t5\t+\tx\tA\n", "count is not a number"},
      {sga + "\tTSS\t5\t+\t1\tA\n", "no accession"},
      {sga + "chr1\t5\t6\tA\t1\t+\n", "not TSS"},
      {fps + "XX\n", "does not begin with FP"},
      {fps + "FP   A_1                 :+S  EU:NC_000001.11      1+         5\n", "no ;"},
      {fps + "FP   A_1                 :+S  EU:NC_000001.11      1+          ;\n", "whole number"},
      {fps + "FP   A_1                 :+S  EU:NC_000001.11      1+       5x5;\n", "whole number"},
      {fps + "FP   A_1                 :+S  EU:NC_000001.11      1+         0;\n", "begin at 1"},
      {fps + "FP   A_1                 :+S  EU:NC_000001.11       +         5;\n", "circular or linear"},
      {fps + "FP   A_1                 :+S  NC_000001.11         1+         5;\n", "no accession"},
      {fps + "FP   A_1                 S    EU:NC_000001.11      1+         5;\n", "after the name"},
      {fps + "FP   ;\n", "no strand"},
      {"chr1\t5\t9\tA_1\t1\t+\n", "thick"},
  };
  for (const auto& bad : cases) {
    SCOPED_TRACE(bad.first);
    const bool first = bad.first.starts_with("chr1");
    expect_bad_input(error_of([&] { rows_of(bad.first, TssFormat::bed); }), first ? "tss.txt:1" : "tss.txt:2",
                     bad.second);
  }
}

TssCatalogue read(const std::string& text, const ContigNames& genome, const std::string& chain = "") {
  const TemporaryFolder folder;
  write_text(folder / "tss.txt", text);
  if (!chain.empty()) write_text(folder / "x.chain", chain);
  return read_tss(folder / "tss.txt", chain.empty() ? "" : (folder / "x.chain").string(), genome);
}

TEST(TssFormats, AnAccessionIsTheGenomesContigOfItsAssembly) {
  const auto catalogue =
      read("NC_000001.11\tTSS\t959256\t-\t1\tNOC2L_1\n", ContigNames({{"chr1", grch38_chr1}}));
  ASSERT_EQ(catalogue.sites.size(), 1u);
  EXPECT_EQ(catalogue.sites[0].tss, 959255);
  EXPECT_EQ(catalogue.sites[0].gene, "NOC2L");
}

TEST(TssFormatsBadInput, ACatalogueOfAnotherAssemblyIsRefused) {
  const std::string sga = "NC_000001.11\tTSS\t959256\t-\t1\tNOC2L_1\n";
  const ContigNames grch37({{"1", grch37_chr1}});
  expect_bad_input(error_of([&] { read(sga, grch37); }), "tss.txt:1",
                   "NC_000001.11 is chromosome 1 of GRCh38, but 1 here has 249250621 bases, as in GRCh37");
  expect_bad_input(
      error_of([&] { read("FP   A_1   :+S  EU:NC_000001.9        1+        50; 1.001\n", grch37); }),
      "tss.txt:1", "NC_000001.9 is chromosome 1 of an assembly not known here");
  // The chain lifts from GRCh37, the catalogue is of GRCh38.
  const std::string chain = "chain 1 chr1 249250621 + 0 1000000 chr1 248956422 + 0 1000000 1\n1000000\n";
  expect_bad_input(error_of([&] {
                     read(sga, ContigNames({{"chr1", grch38_chr1}}), chain);
                   }),
                   "tss.txt:1", "as in GRCh37");
}

TEST(TssFormats, AnAccessionLiftsThroughAChainOfItsAssembly) {
  const std::string chain = "chain 1 chr1 248956422 + 0 1000000 chr1 249250621 + 100 1000100 1\n1000000\n";
  const auto catalogue =
      read("NC_000001.11\tTSS\t959256\t-\t1\tNOC2L_1\n", ContigNames({{"1", grch37_chr1}}), chain);
  ASSERT_EQ(catalogue.sites.size(), 1u);
  EXPECT_EQ(catalogue.sites[0].tss, 959355);
}

// RefSeq names of GRCh38's chromosomes 1-22, X and Y.
std::string grch38_accession(int number) {
  const int versions[] = {11, 12, 12, 12, 10, 12, 14, 11, 12, 11, 10, 12,
                          11, 9,  10, 10, 11, 10, 10, 11, 9,  11, 11, 10};
  return fmt::format("NC_{:06}.{}", number, versions[number - 1]);
}

TEST(TssFormats, AllOfEpdnewInThreeFormatsIsOneCatalogue) {
  BIGBIRD_REQUIRE_SHARED();
  const auto data = *testing::shared_dir() / "data";
  const std::string bed = data / "promoters/EPDnew_human_006_hg38.bed.gz";
  const std::string chain = data / "liftover/hg38ToHg19.over.chain.gz";
  const TemporaryFolder folder;
  std::string sga, fps;
  for (const BedRecord& record : read_bed(bed)) {
    const std::string accession = grch38_accession(chromosome_number(record.chrom));
    sga += fmt::format("{}\tTSS\t{}\t{}\t1\t{}\n", accession, record.begin + 1, record.strand, record.name);
    fps += fmt::format("FP   {:<20}:+S  EU:{:<18}1{}{:>10}; 1.001\n", record.name, accession, record.strand,
                       record.begin + 1);
  }
  write_text(folder / "tss.sga", sga);
  write_text(folder / "tss.fps", fps);
  const ContigNames hg19 = ChainFile(chain).to();
  const TssCatalogue expected = read_tss(bed, chain, hg19);
  ASSERT_EQ(expected.sites.size(), 29'595u);
  for (const char* name : {"tss.sga", "tss.fps"}) {
    const TssCatalogue catalogue = read_tss(folder / name, chain, hg19);
    ASSERT_EQ(catalogue.sites.size(), expected.sites.size()) << name;
    EXPECT_EQ(catalogue.dropped.size(), 3u);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < expected.sites.size(); ++i) {
      const TssSite& one = expected.sites[i];
      const TssSite& other = catalogue.sites[i];
      const bool same = one.id == other.id && one.gene == other.gene && one.contig == other.contig &&
                        one.tss == other.tss && one.strand == other.strand;
      if (!same) ++wrong;
    }
    EXPECT_EQ(wrong, 0u) << name;
  }
}

}  // namespace
}  // namespace bigbird
