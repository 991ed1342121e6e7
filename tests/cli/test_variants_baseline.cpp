// bigbird variants --baseline: scores of other tools beside ours, from memory and through an index, over
// shards.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/io/files/file.h"
#include "lib/io/genome/indexed_table.h"
#include "tests/cli/variants_fixture.h"
#include "tests/support/programs.h"

namespace bigbird::testing {
namespace {

class VariantsBaseline : public VariantsFixture {
 protected:
  using Row = std::map<std::string, std::string>;

  static void SetUpTestSuite() {
    VariantsFixture::SetUpTestSuite();
    must(command({path("in.vcf"), "-o", path("plain.tsv")}));
    // Every second allele that is scored, under contig names without "chr", in the order of the genome.
    struct Line {
      std::string chrom;
      std::int64_t position;
      std::string text;
    };
    std::vector<Line> lines;
    std::size_t number = 0;
    for (const Row& row : plain()) {
      if (row.at("skip") != "NA" || row.at("chrom") == "1" || number++ % 2 == 1) continue;
      const std::string text = row.at("ref") + "\t" + row.at("alt") + "\t" + raw(row) + "\t" +
                               (number % 3 == 0 ? "NA" : row.at("pos")) + "\n";
      if (std::none_of(lines.begin(), lines.end(), [&](const Line& line) {
            return line.position == std::stoll(row.at("pos")) && line.text == text;
          }))
        lines.push_back({row.at("chrom").substr(3), std::stoll(row.at("pos")), text});
    }
    std::sort(lines.begin(), lines.end(), [](const Line& one, const Line& other) {
      return std::pair(one.chrom, one.position) < std::pair(other.chrom, other.position);
    });
    for (const Line& line : lines)
      table() += line.chrom + "\t" + std::to_string(line.position) + "\t" + line.text;
    write_text(path("tool.tsv"), table());
  }
  static std::string& table() {
    static std::string text = "## a tool\n#Chrom\tPos\tRef\tAlt\tRaw\tPHRED\n";
    return text;
  }
  static std::vector<Row> plain() { return read_table(file("plain.tsv")); }
  static std::string raw(const Row& row) {
    return std::to_string(std::stoll(row.at("pos")) % 37) + "." +
           std::to_string(row.at("alt").size() + static_cast<std::size_t>(row.at("alt")[0] % 10));
  }
  static std::vector<std::string> run(const std::vector<std::string>& more) {
    std::vector<std::string> words = command({path("in.vcf"), "--chunk-size", "7", "--no-provenance"});
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
};

TEST_F(VariantsBaseline, ColumnsHoldTheToolsScores) {
  const RunResult result = must(run(
      {"--baseline", "cadd=" + path("tool.tsv"), "-o", path("both.tsv"), "--baseline-columns", "phred,RAW"}));
  const auto rows = read_table(file("both.tsv"));
  const auto lines = read_table(table().substr(table().find('\n') + 1));
  std::size_t found = 0, with_phred = 0;
  for (const Row& row : rows) {
    const Row* known = nullptr;
    for (const Row& line : lines) {
      const bool same_contig =
          row.at("chrom") == "chr" + line.at("Chrom") || row.at("chrom") == line.at("Chrom");
      if (row.at("skip") == "NA" && same_contig && row.at("pos") == line.at("Pos") &&
          row.at("ref") == line.at("Ref") && row.at("alt") == line.at("Alt"))
        known = &line;
    }
    const std::string where = row.at("chrom") + ":" + row.at("pos") + row.at("ref") + ">" + row.at("alt");
    if (known == nullptr) {
      EXPECT_EQ(row.at("baseline_cadd_raw"), "NA") << where;
      EXPECT_EQ(row.at("baseline_cadd_phred"), "NA") << where;
      continue;
    }
    EXPECT_EQ(std::stod(row.at("baseline_cadd_raw")), std::stod(known->at("Raw"))) << where;
    EXPECT_EQ(row.at("baseline_cadd_phred"), known->at("PHRED")) << where;
    ++found;
    with_phred += known->at("PHRED") == "NA" ? 0U : 1U;
  }
  EXPECT_GT(found, 20U);
  const auto summary = nlohmann::json::parse(file("both.tsv.summary.json"));
  EXPECT_EQ(summary.at("baselines").at("CADD_RAW"), found);
  EXPECT_EQ(summary.at("baselines").at("CADD_PHRED"), with_phred);
  EXPECT_NE(result.err.find("CADD_RAW: found for " + std::to_string(found) + " of "), std::string::npos)
      << result.err;
  const std::string vcf = must(run({"--baseline", path("tool.tsv")})).out;
  EXPECT_NE(vcf.find("##INFO=<ID=BB_BASELINE_TOOL_RAW,Number=A,Type=Float"), std::string::npos);
  // What evaluate compares: all of a finished output.
  const auto compared = read_table(must({"variants", "evaluate", path("both.tsv"), "--baseline",
                                         path("tool.tsv"), "--baseline-columns", "raw"})
                                       .out);
  ASSERT_EQ(compared.size(), 3U);
  const auto row_of = [&](const std::string& name) {
    const auto at = std::find_if(compared.begin(), compared.end(),
                                 [&](const Row& row) { return row.at("baseline") == name; });
    return at == compared.end() ? Row() : *at;
  };
  EXPECT_EQ(row_of("baseline_cadd_raw").at("spearman"), row_of("tool_raw").at("spearman"));
  EXPECT_EQ(row_of("tool_raw").at("alleles"), std::to_string(found));
}

TEST_F(VariantsBaseline, BelongToTheRun) {
  const std::string tool = path("tool.tsv");
  must(run({"--baseline", tool, "-o", path("whole.tsv")}));
  for (const char* shard : {"1/2", "2/2"})
    must(run({"--baseline", tool, "--shard", shard, "-o", path(std::string("half") + shard[0] + ".tsv")}));
  must({"variants", "merge", path("half2.tsv"), path("half1.tsv"), "-o", path("merged.tsv")});
  EXPECT_TRUE(file("merged.tsv") == file("whole.tsv"));
  EXPECT_TRUE(file("merged.tsv.summary.json") == file("whole.tsv.summary.json"));
  must(run({"--baseline", tool, "--baseline-columns", "raw", "--shard", "2/2", "-o", path("half3.tsv")}));
  refused({"variants", "merge", path("half1.tsv"), path("half3.tsv"), "-o", path("never.tsv")}, 1,
          "options differ (baselines)");
}

TEST_F(VariantsBaseline, AnIndexGivesWhatMemoryGives) {
  // Without the first line of the run, which names the file; of a VCF and, where tabix is, of a table.
  const std::string expected = must(run({"--baseline", "tool=" + path("tool.tsv"), "-O", "tsv"})).out;
  std::string vcf =
      "##fileformat=VCFv4.2\n##INFO=<ID=Raw,Number=A,Type=Float,Description=\"r\">\n"
      "##INFO=<ID=PHRED,Number=A,Type=Float,Description=\"p\">\n"
      "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n";
  for (const Row& line : read_table(table().substr(table().find('\n') + 1))) {
    const std::string phred = line.at("PHRED") == "NA" ? "" : ";PHRED=" + line.at("PHRED");
    vcf += line.at("Chrom") + "\t" + line.at("Pos") + "\t.\t" + line.at("Ref") + "\t" + line.at("Alt") +
           "\t.\t.\tRaw=" + line.at("Raw") + phred + "\n";
  }
  OutputStream out(path("tool.vcf.gz"));
  out.write(vcf);
  out.close();
  EXPECT_EQ(must(run({"--baseline", "tool=" + path("tool.vcf.gz"), "-O", "tsv"})).out, expected);
  build_vcf_index(path("tool.vcf.gz"));
  const RunResult indexed = must(run({"--baseline", "tool=" + path("tool.vcf.gz"), "-O", "tsv"}));
  EXPECT_EQ(indexed.out, expected);
  EXPECT_EQ(indexed.err.find("in memory"), std::string::npos) << indexed.err;
  BIGBIRD_REQUIRE_PROGRAM("tabix");
  OutputStream again(path("indexed.tsv.gz"));
  again.write(table());
  again.close();
  output_of({"tabix", "-s", "1", "-b", "2", "-e", "2", path("indexed.tsv.gz")});
  EXPECT_EQ(must(run({"--baseline", "tool=" + path("indexed.tsv.gz"), "-O", "tsv"})).out, expected);
  // An index that is none.
  write_text(path("indexed.tsv.gz.tbi"), "no index");
  refused(run({"--baseline", "tool=" + path("indexed.tsv.gz"), "-O", "tsv"}), 1,
          "cannot be read as an index of");
}

TEST_F(VariantsBaseline, BadTablesAreRefused) {
  const std::string header = "chrom\tpos\tref\talt\tx\n";
  const auto with = [&](const std::string& text) {
    write_text(path("bad.tsv"), text);
    return run({"--baseline", path("bad.tsv"), "-O", "tsv"});
  };
  const std::string base = reference("chr1", 300);
  refused(with(header + "chr1\tx\tA\tC\t1\n"), 1, "bad.tsv:2: pos is not a whole number: x");
  refused(with("pos\tref\talt\tx\n"), 1, "bad.tsv:1: there is no column chrom");
  refused(with(header + "1\t300\t" + base + "\t" + other(base) + "\tdeleterious\n"), 1,
          "bad.tsv:2: x is not a number: deleterious");
  refused(with(header + "1\t300\t" + base + "\t" + other(base) + "\t1\nchr1\t300\t" + base + "\t" +
               other(base) + "\t2\n"),
          1, "bad.tsv:3: other scores of the allele of line 2");
  // Of another assembly: REF is not what the genome has.
  std::string elsewhere = header;
  for (int position = 300; position < 330; ++position) {
    const std::string here = reference("chr1", position);
    elsewhere += "chr1\t" + std::to_string(position) + "\t" + other(here) + "\t" + other(here, 2) + "\t1\n";
  }
  refused(with(elsewhere), 1, "comparable REF alleles are not what the genome has");
  refused(run({"--baseline", path("tool.tsv"), "--baseline-columns", "gerp"}), 1, "there is no column gerp");
  refused(run({"--baseline", path("tool.tsv"), "--baseline", path("tool.tsv")}), 2,
          "two scores of other tools are called TOOL_RAW");
  EXPECT_EQ(run_bigbird(run({"--baseline", "-"})).status, 2);
}

}  // namespace
}  // namespace bigbird::testing
