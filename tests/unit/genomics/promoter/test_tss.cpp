// TSS catalogues: EPDnew's 8 columns, one-base BED6, naming, lifting, and what is refused.
#include "lib/genomics/promoter/tss.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "lib/core/error.h"
#include "lib/io/genome/fasta.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

const ContigNames tss_contigs({{"chr1", 249'250'621}, {"chr2", 1000}});

TssCatalogue read(const std::string& text) {
  const testing::TemporaryFolder folder;
  testing::write_text(folder / "tss.bed", text);
  return read_tss((folder / "tss.bed").string(), "", tss_contigs);
}

std::string message_of(const std::string& text) {
  try {
    read(text);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST(ReadTss, TakesTheTssFromTheThickRangeOfEpdnewRows) {
  // POGK_2 as UCSC gives it; the second row is its mirror image on the reverse strand.
  const auto catalogue = read(
      "chr1\t166839300\t166839360\tPOGK_2\t900\t+\t166839349\t166839360\n"
      "chr1\t166839300\t166839360\tPOGK_3\t900\t-\t166839300\t166839311\n");
  ASSERT_EQ(catalogue.sites.size(), 2u);
  EXPECT_EQ(catalogue.sites[0].tss, 166839349);
  EXPECT_EQ(catalogue.sites[0].gene, "POGK");
  EXPECT_EQ(catalogue.sites[1].tss, 166839310);
  EXPECT_EQ(catalogue.sites[1].strand, '-');
}

TEST(ReadTss, TakesOneBaseRowsUnderAnotherNaming) {
  const auto catalogue = read("1\t894635\t894636\tNOC2L_1\t1\t-\n");
  ASSERT_EQ(catalogue.sites.size(), 1u);
  EXPECT_EQ(catalogue.sites[0].contig, 0u);
  EXPECT_EQ(catalogue.sites[0].tss, 894635);
}

TEST(ReadTss, CountsWhatItDropsAndWhy) {
  const auto catalogue = read(
      "chr2\t10\t11\tA_1\t1\t+\nchr2\t10\t11\tA_1\t1\t+\nchr2\t1000\t1001\tB_1\t1\t+\nchr9\t5\t6\tC_1\t1\t+"
      "\n");
  EXPECT_EQ(catalogue.rows, 4);
  ASSERT_EQ(catalogue.sites.size(), 1u);
  ASSERT_EQ(catalogue.dropped.size(), 3u);
  EXPECT_EQ(catalogue.dropped[0].reason, "repeated row");
  EXPECT_EQ(catalogue.dropped[1].reason, "beyond the end of its contig");
  EXPECT_EQ(catalogue.dropped[2].reason, "contig not in the genome");
}

TEST(ReadTss, MakesIdsUniqueByTheirPlace) {
  const auto catalogue = read("chr2\t10\t11\tA_1\t1\t+\nchr2\t20\t21\tA_1\t1\t+\nchr2\t30\t31\t.\t1\t-\n");
  EXPECT_EQ(catalogue.sites[0].id, "A_1@chr2:10:+");
  EXPECT_EQ(catalogue.sites[1].id, "A_1@chr2:20:+");
  EXPECT_EQ(catalogue.sites[2].id, "chr2:30:-");
}

TEST(ReadTss, RefusesBadRowsByFileAndLine) {
  EXPECT_NE(message_of("chr1\t5\n").find("tss.bed:1"), std::string::npos);
  EXPECT_NE(message_of("chr1\t5\t6\tA\t1\t+\nchr1\t9\t8\tA\t1\t+\n").find("tss.bed:2"), std::string::npos);
  EXPECT_NE(message_of("chr1\t5\t6\tA\n").find("strand"), std::string::npos);
  EXPECT_NE(message_of("chr1\t5\t6\tA\t1\t.\n").find("strand"), std::string::npos);
  EXPECT_NE(message_of("chr1\t5\t65\tA\t1\t+\n").find("thick"), std::string::npos);
  EXPECT_NE(message_of("# nothing\n").find("no TSS"), std::string::npos);
  EXPECT_NE(message_of("chr7\t5\t6\tA\t1\t+\n").find("contig not in the genome"), std::string::npos);
}

TEST(ReadTss, LiftsTheWholeOfEpdnewAsItsSourceCounts) {
  BIGBIRD_REQUIRE_SHARED();
  const auto data = *testing::shared_dir() / "data";
  std::vector<Contig> contigs;
  for (int i = 1; i <= 22; ++i) contigs.push_back({"chr" + std::to_string(i), 249'250'621});
  contigs.push_back({"chrX", 155'270'560});
  contigs.push_back({"chrY", 59'373'566});
  const auto catalogue =
      read_tss((data / "promoters/EPDnew_human_006_hg38.bed.gz").string(),
               (data / "liftover/hg38ToHg19.over.chain.gz").string(), ContigNames(contigs));
  EXPECT_EQ(catalogue.rows, 29'598);
  EXPECT_EQ(catalogue.sites.size(), 29'595u);
  const auto lifted =
      read_tss((data / "promoters/EPDnew_human_006_lifted_hg19.bed.gz").string(), "", ContigNames(contigs));
  // The other file is in the order of the new positions: compare as sets.
  const auto places = [](const TssCatalogue& list) {
    std::set<std::tuple<std::string, std::size_t, std::int64_t, char>> set;
    for (const TssSite& site : list.sites) set.insert({site.id, site.contig, site.tss, site.strand});
    return set;
  };
  EXPECT_TRUE(places(lifted) == places(catalogue));
}

}  // namespace
}  // namespace bigbird
