// Links of a report's rows to a genome browser: which genomes have one, and where they lead.
#include "lib/report/genome_browser.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <variant>

#include "lib/report/report_inputs.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

const std::string ucsc = "https://genome.ucsc.edu/cgi-bin/hgTracks?db=";

TEST(GenomeBrowser, LinksTheGenomesThatItKnows) {
  // One naming each; chr1 is of the length that neither assembly has.
  const GenomeBrowser grch37({{"20", 63025520}, {"chr1", 1000}, {"MT", 16569}});
  EXPECT_EQ(grch37.link("chr20", 1000, 1003),
            ucsc + "hg19&position=chr20:901-1103&highlight=hg19.chr20:1001-1003");
  EXPECT_EQ(grch37.link("chr1", 10, 11), "");
  EXPECT_EQ(grch37.link("MT", 10, 11), "");
  EXPECT_EQ(grch37.link("chr2", 10, 11), "");
  const GenomeBrowser grch38({{"NC_000020.11", 64444167}});
  EXPECT_EQ(grch38.link("NC_000020.11", 1000, 1001),
            ucsc + "hg38&position=chr20:901-1101&highlight=hg38.chr20:1001-1001");
  const GenomeBrowser yeast({{"chrI", 230218}, {"chrII", 813185}, {"chrM", 85779}});
  EXPECT_EQ(yeast.link("chrI", 0, 1), ucsc + "sacCer3&position=chrI:1-101&highlight=sacCer3.chrI:1-1");
  EXPECT_EQ(yeast.link("chrII", 0, 1), "");
  EXPECT_EQ(yeast.link("chrM", 0, 1), "");
}

TEST(GenomeBrowser, StaysOnTheContig) {
  const GenomeBrowser yeast({{"chrI", 230218}});
  EXPECT_EQ(yeast.link("chrI", 230217, 230218),
            ucsc + "sacCer3&position=chrI:230118-230218&highlight=sacCer3.chrI:230218-230218");
  EXPECT_EQ(yeast.link("chrI", 230217, 230219), "");
  EXPECT_EQ(yeast.link("chrI", -1, 3), "");
  EXPECT_EQ(yeast.link("chrI", 3, 3), "");
}

TEST(GenomeBrowser, RowsOfCallsLeadThere) {
  const testing::TemporaryFolder folder;
  const auto path = [&](const char* name) { return (folder / name).string(); };
  testing::write_text(path("calls.bed"),
                      "chrI\t500\t600\tp1\t900\t+\t550\t551\t0\nchrI\t900\t1000\tp2\t950\t+\t950\t951\t0\n");
  testing::write_text(path("calls.bed.provenance.json"),
                      "{\"version\":\"0.1.0\",\"command\":\"bigbird promoter scan\","
                      "\"reference\":\"" +
                          path("g.fa") + "\",\"inputs\":[]}");
  const auto links = [&] {
    for (const ReportElement& element : calls_section(path("calls.bed"), {}).elements) {
      if (const auto* table = std::get_if<ReportTable>(&element)) return table->links;
    }
    return std::vector<std::string>{"no table"};
  };
  const std::vector<std::string> none = {"", ""};
  EXPECT_EQ(links(), none) << "the genome is elsewhere by now";
  testing::write_text(path("g.fa.fai"), "chrI\t230218\t6\t60\t61\n");
  const std::vector<std::string> both = {
      ucsc + "sacCer3&position=chrI:801-1100&highlight=sacCer3.chrI:901-1000",
      ucsc + "sacCer3&position=chrI:401-700&highlight=sacCer3.chrI:501-600"};
  EXPECT_EQ(links(), both) << "the strongest first";
  testing::write_text(path("g.fa.fai"), "no index\n");
  EXPECT_EQ(links(), none);
}

}  // namespace
}  // namespace bigbird
