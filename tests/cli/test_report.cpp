// `bigbird report` as a user runs it: pages of a run, of scored variants and of predictions that were just
// made.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "lib/io/tables/tsv.h"
#include "tests/support/page.h"
#include "tests/support/support.h"
#include "tests/support/tiny_classifier.h"
#include "tests/support/tiny_training_data.h"

namespace bigbird {
namespace {

using testing::run_bigbird;

TEST(Report, OfARunHoldsItsNumbersAndNothingFromOutside) {
  const testing::TemporaryFolder folder;
  const auto path = [&](const std::string& name) { return (folder / name).string(); };
  testing::write_tiny_tokenizer(folder / "tokenizer");
  testing::write_tiny_shards(path("train"), folder / "tokenizer");
  ASSERT_EQ(run_bigbird({"pretrain",
                         "--train",
                         path("train"),
                         "--valid",
                         path("train"),
                         "-m",
                         path("tokenizer"),
                         "-o",
                         path("run"),
                         "--layers",
                         "1",
                         "--width",
                         "32",
                         "--heads",
                         "2",
                         "--length",
                         "64",
                         "--batch",
                         "4",
                         "--steps",
                         "4",
                         "--eval-every",
                         "2",
                         "--device",
                         "cpu",
                         "-@",
                         "1"})
                .status,
            0);
  ASSERT_EQ(run_bigbird({"report", path("run"), "-o", path("run.html")}).status, 0);
  const std::string page = testing::read_text(path("run.html"));
  TsvReader valid(path("run") + "/valid.tsv");
  std::vector<std::string_view> fields;
  int rows = 0;
  const testing::Page read = testing::read_page(page);
  for (; valid.next(fields); ++rows) {
    const auto row = std::find_if(read.full.begin(), read.full.end(), [&](const auto& cells) {
      return cells.size() == fields.size() && cells[0] == fields[0];
    });
    ASSERT_NE(row, read.full.end());
    for (std::size_t i = 0; i < fields.size(); ++i) EXPECT_EQ((*row)[i], fields[i]) << "whole, as its title";
  }
  EXPECT_EQ(rows, 2);
  EXPECT_NE(page.find("checkpoint-4"), std::string::npos);
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(read.error, "");
  EXPECT_TRUE(read.has_chart("loss"));
  EXPECT_EQ(read.headings.front().rfind("pretrain of train: validation loss ", 0), 0u)
      << read.headings.front();
  EXPECT_EQ(read.key_figures.size(), 3u);
  // What was planned and what was used: parts of the plan add up to its peak.
  TsvReader memory(path("run") + "/memory.tsv");
  double parts = 0, peak = 0, used = 0;
  while (memory.next(fields)) {
    const double bytes = std::stod(std::string(fields[2]));
    (fields[1] == "peak to expect"     ? peak
     : fields[1] == "used at the most" ? used
                                       : parts) += fields[1] == "limit" ? 0 : bytes;
  }
  EXPECT_EQ(parts, peak);
  EXPECT_GT(used, 0);
  EXPECT_TRUE(read.has_chart("memory"));

  const auto refused = run_bigbird({"report", path("tokenizer"), "-o", path("other.html")});
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.err.find("neither a run nor shards"), std::string::npos) << refused.err;
  EXPECT_FALSE(std::filesystem::exists(path("other.html")));
}

TEST(Report, OfScoredVariantsHasReasonsTheStrongestAndTheirLogos) {
  const testing::TemporaryFolder folder;
  const auto path = [&](const std::string& name) { return (folder / name).string(); };
  std::string bases;
  for (int i = 0; i < 60; ++i) bases += i % 7 == 3 ? "GATTA" : i % 5 == 1 ? "CCGTA" : "ATGCC";
  testing::write_text(path("g.fa"), ">chr1\n" + bases + "\n");
  testing::write_tiny_classifier(folder / "model");
  std::string vcf = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n";
  for (const int position : {101, 120, 150, 180})
    vcf += "chr1\t" + std::to_string(position) + "\t.\t" + bases[static_cast<std::size_t>(position - 1)] +
           "\t" + (bases[static_cast<std::size_t>(position - 1)] == 'A' ? "C" : "A") + "\t.\t.\t.\n";
  vcf += "chr1\t190\t.\t" + std::string(bases[189] == 'A' ? "C" : "A") + "\tG\t.\t.\t.\n";  // REF is another
  testing::write_text(path("v.vcf"), vcf);
  for (const char* output : {"scored.vcf", "scored.tsv"}) {
    const auto scored =
        run_bigbird({"variants", "-m", path("model"), "-f", path("g.fa"), path("v.vcf"), "-o", path(output)});
    ASSERT_EQ(scored.status, 0) << scored.err;
  }
  const auto made = run_bigbird({"report",
                                 path("scored.vcf"),
                                 "-m",
                                 path("model"),
                                 "-f",
                                 path("g.fa"),
                                 "--logos",
                                 "2",
                                 "--logo-bases",
                                 "11",
                                 "--strongest",
                                 "3",
                                 "--strands",
                                 "both",
                                 "--batch-tokens",
                                 "4096",
                                 "--multiqc",
                                 path("mqc"),
                                 "-o",
                                 path("v.html"),
                                 "--device",
                                 "cpu",
                                 "--precision",
                                 "fp32",
                                 "-@",
                                 "1"});
  ASSERT_EQ(made.status, 0) << made.err;
  const testing::Page page = testing::read_page(testing::read_text(path("v.html")));
  EXPECT_EQ(page.error, "");
  EXPECT_EQ(page.fact("alleles"), "5");
  EXPECT_EQ(page.fact("scored"), "4");
  EXPECT_TRUE(page.has_chart("why alleles were skipped"));
  EXPECT_EQ(page.elements.at("img"), 2) << "two logos";
  EXPECT_TRUE(page.outside.empty());
  std::vector<std::string> listed;
  for (const auto& row : page.full) {
    if (row.size() < 7 || row[0] != "chr1" || row[1] == "190") continue;
    listed.push_back(row[4]);
    const double effect = std::stod(row[4]);
    EXPECT_NEAR(effect, std::abs(std::stod(row[5]) * std::stod(row[6])), 1e-4 * effect);
  }
  ASSERT_EQ(listed.size(), 3u);
  EXPECT_GE(std::stod(listed[0]), std::stod(listed[1]));
  EXPECT_GE(std::stod(listed[1]), std::stod(listed[2]));
  EXPECT_NE(
      testing::read_text(path("mqc/bigbird_variants_why_alleles_were_skipped_mqc.json")).find("ref_mismatch"),
      std::string::npos);

  // A table of the same scores is the same report but for its name.
  ASSERT_EQ(run_bigbird({"report", path("scored.tsv"), "--strongest", "3", "-o", path("t.html")}).status, 0);
  const testing::Page table = testing::read_page(testing::read_text(path("t.html")));
  EXPECT_EQ(table.fact("scored"), "4");
  EXPECT_TRUE(std::any_of(table.full.begin(), table.full.end(),
                          [&](const auto& row) { return row.size() > 4 && row[4] == listed[0]; }));
  // The first screen: what was asked and how it came out, and what to look at.
  EXPECT_EQ(table.headings.front(), "variants of v.vcf by model: 4 of 5 alleles scored");
  EXPECT_TRUE(table.has_key_figure("skipped: 1: most often: 1 ref_mismatch: REF is not the genome's"));
  ASSERT_EQ(table.warnings.size(), 2u);
  EXPECT_EQ(table.warnings[1], "Alleles whose REF is not the genome's: 1. Is it the right assembly?");
  // Logos stand before the table of the strongest.
  const std::string html = testing::read_text(path("v.html"));
  EXPECT_LT(html.find("<img "), html.find("strongest by effect"));

  const auto half = run_bigbird({"report", path("scored.vcf"), "-m", path("model"), "-o", path("w.html")});
  EXPECT_EQ(half.status, 2);
  EXPECT_NE(half.err.find("--fasta-ref"), std::string::npos) << half.err;
  EXPECT_FALSE(std::filesystem::exists(path("w.html")));
}

TEST(Report, OfManyContigsThatTheGenomeLacksTheLargestAreShown) {
  const testing::TemporaryFolder folder;
  const auto path = [&](const std::string& name) { return (folder / name).string(); };
  std::string bases;
  for (int i = 0; i < 60; ++i) bases += "ATGCC";
  testing::write_text(path("g.fa"), ">chr1\n" + bases + "\n");
  testing::write_tiny_classifier(folder / "model");
  std::string vcf = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n";
  vcf += "chr1\t151\t.\tA\tC\t.\t.\t.\n";
  // w39 has 40 records, w0 one.
  for (int contig = 0; contig < 40; ++contig) {
    for (int i = 0; i <= contig; ++i) vcf += "w" + std::to_string(contig) + "\t9\t.\tA\tC\t.\t.\t.\n";
  }
  testing::write_text(path("v.vcf"), vcf);
  ASSERT_EQ(
      run_bigbird({"variants", "-m", path("model"), "-f", path("g.fa"), path("v.vcf"), "-o", path("s.vcf")})
          .status,
      0);
  ASSERT_EQ(run_bigbird({"report", path("s.vcf"), "-o", path("s.html"), "--multiqc", path("mqc")}).status, 0);
  const std::string page = testing::read_text(path("s.html"));
  const std::size_t chart = page.find("records on contigs that the genome lacks");
  ASSERT_NE(chart, std::string::npos);
  const std::string bars = page.substr(chart, page.find("</svg>", chart) - chart);
  for (const char* shown : {">w39<", ">w20<", ">20 others<", ">210<"}) {
    EXPECT_NE(bars.find(shown), std::string::npos) << shown;
  }
  EXPECT_EQ(bars.find(">w19<"), std::string::npos);
}

TEST(Report, OfPredictionsTakesAThreshold) {
  const testing::TemporaryFolder folder;
  testing::write_text(folder / "p.tsv", "#label\tscore\n1\t0.9\n1\t0.4\n0\t0.6\n0\t0.2\n");
  const std::string output = (folder / "p.html").string();
  ASSERT_EQ(run_bigbird({"report", (folder / "p.tsv").string(), "--threshold", "0.7", "-o", output}).status,
            0);
  const testing::Page page = testing::read_page(testing::read_text(output));
  EXPECT_EQ(page.error, "");
  EXPECT_EQ(page.fact("precision"), "1");
  EXPECT_EQ(page.fact("recall"), "0.5");
  EXPECT_TRUE(page.has_chart("ROC"));

  const auto barred = run_bigbird({"report", (folder / "p.tsv").string(), "--multiqc",
                                   (folder / "p.tsv/multiqc").string(), "-o", (folder / "q.html").string()});
  EXPECT_EQ(barred.status, 1);
  EXPECT_NE(barred.err.find("p.tsv/multiqc"), std::string::npos) << barred.err;
  EXPECT_EQ(barred.err.find("defect"), std::string::npos) << barred.err;
  EXPECT_FALSE(std::filesystem::exists(folder / "q.html"));
}

}  // namespace
}  // namespace bigbird
