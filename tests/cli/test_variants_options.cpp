// bigbird variants and variants background: every rule that an option sets, by what it does to single
// alleles; the same rules in both verbs.
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <tuple>

#include "lib/io/weights/safetensors.h"
#include "tests/cli/variants_fixture.h"
#include "tests/support/programs.h"

namespace bigbird::testing {
namespace {

using Row = std::map<std::string, std::string>;

class VariantsOptions : public VariantsFixture {
 protected:
  // The table of these records with these options.
  static std::vector<Row> scores(const std::string& records, const std::vector<std::string>& more = {}) {
    write_text(path("few.vcf"), header() + records);
    std::vector<std::string> words = command({path("few.vcf"), "-O", "tsv", "--no-provenance"});
    words.insert(words.end(), more.begin(), more.end());
    return read_table(must(words).out);
  }
  static std::string snv(std::int64_t position) {
    const std::string ref = reference("chr1", position);
    return line("chr1", position, ref, other(ref));
  }
  // A record that is scored whatever the rules, so that the run has something to write.
  static std::string always() { return snv(3000); }
  static void expect_equal_scores(const Row& one, const Row& two) {
    for (const char* column : {"p_k562_ctcf_0_ref", "p_k562_ctcf_1_alt", "p_k562_dnase_diff",
                               "p_k562_dnase_lfc", "diff", "lfc", "tf_diff"})
      EXPECT_EQ(one.at(column), two.at(column)) << column;
  }
  // A VCF sorted, compressed and indexed by bcftools, which takes what is no record of one of its contigs
  // away.
  static std::string indexed(const std::string& records, const std::string& name) {
    write_text(path("plain.vcf"), header() + records);
    const std::string out = path(name);
    const std::string type = name.ends_with(".bcf") ? "b" : "z";
    EXPECT_EQ(run_program({"bcftools", "sort", "-O", type, "-o", out, path("plain.vcf")}).status, 0);
    EXPECT_EQ(run_program({"bcftools", "index", "-f", out}).status, 0);
    return out;
  }
};

TEST_F(VariantsOptions, EdgeSaysWhatBecomesOfAWindowBeyondItsContig) {
  const std::string ends = snv(1) + snv(6000) + always();
  const auto pad = scores(ends, {"--edge", "pad", "--max-n", "1"});
  const auto shift = scores(ends, {"--edge", "shift"});
  const auto skip = scores(ends, {"--edge", "skip", "--max-n", "1"});
  for (const std::size_t end : {0u, 1u}) {
    EXPECT_EQ(pad[end].at("flags"), "edge_padded");
    EXPECT_EQ(pad[end].at("n"), end == 0 ? "0.49" : "0.5");
    EXPECT_EQ(shift[end].at("flags"), "edge_shifted");
    EXPECT_EQ(shift[end].at("n"), "0");
    EXPECT_EQ(skip[end].at("skip"), "edge");
    EXPECT_EQ(skip[end].at("p_k562_ctcf_0_ref"), "NA");
    // Moved inwards, the first base of the contig is the first of its window, the last one the last.
    const auto placed = scores(ends, {"--offset", end == 0 ? "0" : "99"});
    expect_equal_scores(shift[end], placed[end]);
    EXPECT_EQ(placed[end].at("flags"), "NA");
    EXPECT_NE(shift[end].at("p_k562_ctcf_0_ref"), pad[end].at("p_k562_ctcf_0_ref"));
  }
  EXPECT_EQ(skip[2].at("skip"), "NA");
  expect_equal_scores(pad[2], skip[2]);
}

TEST_F(VariantsOptions, RefMismatchSaysWhatBecomesOfARefThatTheGenomeDoesNotHave) {
  const std::string base = reference("chr1", 1050);
  // A REF that is neither the genome's nor ALT's; one whose ALT is the genome's; and the latter the right way
  // round.
  const std::string records = line("chr1", 1050, other(base), other(base, 2)) +
                              line("chr1", 1050, other(base), base) + line("chr1", 1050, base, other(base));
  const auto skip = scores(records, {"--ref-mismatch", "skip"});
  const auto use = scores(records, {"--ref-mismatch", "use"});
  const auto swap = scores(records, {"--ref-mismatch", "swap"});
  EXPECT_EQ(skip[0].at("skip"), "ref_mismatch");
  EXPECT_EQ(skip[1].at("skip"), "ref_mismatch");
  EXPECT_EQ(use[0].at("flags"), "ref_mismatch");
  EXPECT_EQ(use[1].at("flags"), "ref_mismatch");
  EXPECT_EQ(use[1].at("p_k562_ctcf_0_ref"), use[2].at("p_k562_ctcf_0_alt"));
  EXPECT_EQ(use[1].at("p_k562_ctcf_0_alt"), use[2].at("p_k562_ctcf_0_ref"));
  EXPECT_EQ(use[0].at("p_k562_ctcf_1_ref"), use[1].at("p_k562_ctcf_1_ref"));
  EXPECT_EQ(swap[0].at("skip"), "ref_mismatch");
  EXPECT_EQ(swap[1].at("flags"), "swapped");
  expect_equal_scores(swap[1], swap[2]);
  EXPECT_EQ(swap[2].at("flags"), "NA");
}

TEST_F(VariantsOptions, MaxNIsTheLargestShareThatIsScored) {
  // 40 of the 100 bases around chr2:690 are N.
  const std::string base = reference("chr2", 690);
  const std::string records = line("chr2", 690, base, other(base)) + always();
  EXPECT_EQ(scores(records)[0].at("skip"), "too_many_n");
  EXPECT_EQ(scores(records, {"--max-n", "0.39"})[0].at("skip"), "too_many_n");
  const Row scored = scores(records, {"--max-n", "0.4"})[0];
  EXPECT_EQ(scored.at("skip"), "NA");
  EXPECT_EQ(scored.at("n"), "0.4");
}

TEST_F(VariantsOptions, NMatchesTakesTheGenomesBaseForAnNOfRef) {
  const std::string base = reference("chr1", 1200);
  const std::string records = line("chr1", 1200, "N", other(base)) + line("chr1", 1200, base, other(base));
  const auto strict = scores(records);
  EXPECT_EQ(strict[0].at("skip"), "ambiguous_ref");
  const auto matching = scores(records, {"--n-matches"});
  EXPECT_EQ(matching[0].at("skip"), "NA");
  expect_equal_scores(matching[0], matching[1]);
  expect_equal_scores(matching[1], strict[1]);
}

TEST_F(VariantsOptions, PassOnlyLooksAtFilter) {
  std::string filtered = snv(800);
  filtered.replace(filtered.find("PASS"), 4, "q10");
  std::string unknown = snv(820);
  unknown.replace(unknown.find("PASS"), 4, ".");
  const std::string lines = filtered + unknown + always();
  for (const auto& [option, expected] :
       {std::pair<std::vector<std::string>, std::string>{{}, "NA"}, {{"--pass-only"}, "filtered"}}) {
    const auto rows = scores(lines, option);
    EXPECT_EQ(rows[0].at("skip"), expected);
    EXPECT_EQ(rows[1].at("skip"), "NA");
    EXPECT_EQ(rows[2].at("skip"), "NA");
  }
}

TEST_F(VariantsOptions, WindowIsTheNumberOfBasesRead) {
  // 20 of 100 bases around chr1:30 lie before the contig, and none of 40.
  const std::string records = snv(30) + always();
  EXPECT_EQ(scores(records)[0].at("skip"), "too_many_n");
  write_text(path("few.vcf"), header() + records);
  const RunResult run = must(command({path("few.vcf"), "-o", path("narrow.tsv"), "--window", "40"}));
  EXPECT_NE(run.err.find("trained with windows of 100 bp"), std::string::npos) << run.err;
  const auto narrow = read_table(file("narrow.tsv"));
  EXPECT_EQ(narrow[0].at("skip"), "NA");
  EXPECT_EQ(narrow[0].at("n"), "0");
  const auto summary = nlohmann::json::parse(file("narrow.tsv.summary.json"));
  EXPECT_EQ(summary.at("run").at("window"), 40);
  EXPECT_NE(narrow[1].at("p_k562_ctcf_0_ref"), scores(records)[1].at("p_k562_ctcf_0_ref"));
}

TEST_F(VariantsOptions, AllShiftsMustBeScored) {
  // The window itself fits at chr1:60, the one 20 bases before it does not.
  const std::string records = snv(60) + always();
  const auto rows = scores(records, {"--edge", "skip", "--shifts", "3", "--shift-step", "20"});
  EXPECT_EQ(rows[0].at("skip"), "edge");
  EXPECT_EQ(rows[1].at("skip"), "NA");
  EXPECT_EQ(scores(records, {"--edge", "skip"})[0].at("skip"), "NA");
}

TEST_F(VariantsOptions, ProfilesChooseColumnsAndNoScore) {
  const auto all = scores(always());
  const auto none = scores(always(), {"--profiles", "none"});
  const auto last = scores(always(), {"--profiles", "2"});
  EXPECT_EQ(none[0].count("p_k562_ctcf_0_ref") + none[0].count("p_k562_dnase_ref"), 0u);
  EXPECT_EQ(last[0].count("p_k562_ctcf_0_ref"), 0u);
  EXPECT_EQ(last[0].at("p_k562_dnase_lfc"), all[0].at("p_k562_dnase_lfc"));
  EXPECT_EQ(none[0].at("diff"), all[0].at("diff"));
}

TEST_F(VariantsOptions, BothStrandsAreTheMeanOfEach) {
  const auto plus = scores(always(), {"--strands", "+"})[0];
  const auto minus = scores(always(), {"--strands", "-"})[0];
  const auto both = scores(always())[0];
  for (const char* column :
       {"p_k562_ctcf_0_ref", "p_k562_ctcf_1_alt", "p_k562_dnase_diff", "p_k562_dnase_lfc"}) {
    const double one = std::stod(plus.at(column)), other = std::stod(minus.at(column));
    EXPECT_NEAR(std::stod(both.at(column)), (one + other) / 2,
                1e-5 * (std::abs(one) + std::abs(other)) + 1e-6)
        << column;
    EXPECT_NE(one, other) << column;
  }
}

TEST_F(VariantsOptions, AShardHoldsEveryNthChunk) {
  std::vector<std::string> input = split(file("in.vcf"), '\n');
  std::erase_if(input, [](const std::string& text) { return text.starts_with("#"); });
  for (const std::size_t shard : {1u, 2u, 3u}) {
    std::vector<std::string> expected, found;
    for (std::size_t record = 0; record < input.size(); ++record) {
      if (record / 5 % 3 + 1 == shard) expected.push_back(split(input[record], '\t')[1]);
    }
    const RunResult run =
        must(command({path("in.vcf"), "--chunk-size", "5", "--shard", std::to_string(shard) + "/3"}));
    for (const std::string& text : split(run.out, '\n')) {
      if (!text.starts_with("#")) found.push_back(split(text, '\t')[1]);
    }
    EXPECT_EQ(found, expected) << shard;
  }
}

TEST_F(VariantsOptions, ReportLiesWhereItIsAskedFor) {
  const RunResult run = must(command({path("in.vcf"), "--summary-prefix", path("here")}));
  EXPECT_NE(run.out.find("BB_DIFF="), std::string::npos);
  const auto skipped = read_table(file("here.skipped.tsv"));
  const auto summary = nlohmann::json::parse(file("here.summary.json"));
  // The counts are those of the table, reason by reason.
  std::map<std::string, int> reasons;
  for (const Row& row : skipped) ++reasons[row.at("reason")];
  EXPECT_EQ(summary.at("reasons").get<decltype(reasons)>(), reasons);
  EXPECT_EQ(reasons.at("symbolic"), 1);
  EXPECT_EQ(reasons.at("spanning_deletion"), 1);
}

TEST_F(VariantsOptions, ARegionTakesTheRecordsThatOverlapIt) {
  BIGBIRD_REQUIRE_PROGRAM("bcftools");
  std::string records;
  for (const std::int64_t position : {500, 600, 700, 800}) records += snv(position);
  // A deletion that begins before the region and reaches into it.
  records += line("chr1", 690, reference("chr1", 690, 12), reference("chr1", 690));
  for (const char* name : {"region.vcf.gz", "region.bcf"}) {
    const std::string input = indexed(records, name);
    std::vector<std::string> found;
    for (const Row& row :
         read_table(must(command({input, "-O", "tsv", "-r", "chr1:701-750", "-r", "chr1:790-800"})).out))
      found.push_back(row.at("pos"));
    EXPECT_EQ(found, (std::vector<std::string>{"690", "800"})) << name;
    // Other records of one file are another run.
    const auto says_whole = [&](const char* region) {
      const std::string said =
          must(command({input, "-o", path(std::string(name) + ".tsv"), "-r", region, "--resume", "auto"}))
              .err;
      return said.find("is whole already") != std::string::npos;
    };
    EXPECT_FALSE(says_whole("chr1:701-750")) << name;
    EXPECT_TRUE(says_whole("chr1:701-750")) << name;
    EXPECT_FALSE(says_whole("chr1:790-800")) << name;
  }
  refused(command({path("in.vcf"), "-r", "chr1:700-750"}), 1, "in.vcf");
}

TEST_F(VariantsOptions, AnIndexIsWrittenOnRequest) {
  std::string records;
  for (const std::int64_t position : {500, 600, 700, 800}) records += snv(position);
  write_text(path("sorted.vcf"), header() + records);
  const auto positions = [&](const std::string& scored, const char* region) {
    std::vector<std::string> found;
    for (const Row& row : read_table(must(command({scored, "-O", "tsv", "-r", region})).out))
      found.push_back(row.at("pos"));
    return found;
  };
  for (const std::string name : {"with.vcf.gz", "with.bcf"}) {
    must(command({path("sorted.vcf"), "--chunk-size", "1", "--write-index", "-o", path(name)}));
    EXPECT_EQ(positions(path(name), "chr1:590-710"), (std::vector<std::string>{"600", "700"})) << name;
    // A whole output gets the index that it lacks; so do merged shards.
    std::filesystem::remove(path(name + ".csi"));
    must(command(
        {path("sorted.vcf"), "--chunk-size", "1", "--write-index", "--resume", "auto", "-o", path(name)}));
    EXPECT_EQ(positions(path(name), "chr1:790-800"), (std::vector<std::string>{"800"})) << name;
    std::vector<std::string> merge = {"merge", "--write-index", "-o", path("merged_" + name)};
    for (const char* shard : {"1/2", "2/2"}) {
      merge.push_back(path(std::string("part") + shard[0] + name));
      must(command({path("sorted.vcf"), "--chunk-size", "1", "-o", merge.back(), "--shard", shard}));
    }
    must(merge);
    EXPECT_EQ(file("merged_" + name + ".csi"), file(name + ".csi")) << name;
  }
  for (const char* output : {"-", "out.tsv", "out.vcf"})
    refused(command({path("sorted.vcf"), "--write-index", "-o", output}), 2, "cannot have an index");
  // Scores of unsorted records are whole; an index that lay there before is not theirs.
  write_text(path("unsorted.vcf"), header() + snv(700) + snv(500));
  refused(command({path("unsorted.vcf"), "--write-index", "--force", "-o", path("with.bcf")}), 1,
          "not sorted by position");
  EXPECT_FALSE(std::filesystem::exists(path("with.bcf.csi")));
  EXPECT_EQ(read_table(must(command({path("with.bcf"), "-O", "tsv"})).out).size(), 2u);
}

TEST_F(VariantsOptions, AFileOfTheOtherAssemblyIsRefusedByBothVerbs) {
  // As long as it says, most of it a hole of the file.
  write_text(path("grch37.fa"), ">chr20\nACGT");
  std::filesystem::resize_file(path("grch37.fa"), 7 + std::uintmax_t{63025520});
  write_text(path("grch37.fa.fai"), "chr20\t63025520\t7\t63025520\t63025521\n");
  write_text(
      path("grch38.vcf"),
      "##fileformat=VCFv4.2\n##contig=<ID=chr20,length=64444167>\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
      "chr20\t3\t.\tG\tA\t.\tPASS\t.\n");
  std::string shifted;  // the alleles of this genome at the places of another
  for (std::int64_t position = 400; position < 800; position += 10)
    shifted += line("chr1", position, reference("chr1", position + 33), "GGGGG");
  write_text(path("shifted.vcf"), header() + shifted);
  for (const std::string verb : {"", "background"}) {
    std::vector<std::string> words = {"variants", "-m", path("model")};
    if (!verb.empty()) words.insert(words.begin() + 1, verb);
    for (const auto& [genome, input, says] :
         {std::tuple<std::string, std::string, std::string>{"grch37.fa", "grch38.vcf", "GRCh38"},
          {"genome.fa", "shifted.vcf", "REF alleles are not what the genome has"}}) {
      std::vector<std::string> whole = words;
      whole.insert(whole.end(), {"-f", path(genome), path(input), "-o", path("never.safetensors.tsv")});
      refused(whole, 1, says);
      EXPECT_FALSE(std::filesystem::exists(path("never.safetensors.tsv")));
    }
  }
}

// A background counts what `variants` scores with the same options.
TEST_F(VariantsOptions, TheBackgroundFollowsTheSameRules) {
  const std::string records = [] {
    std::string text = snv(1) + snv(30) + snv(60) + snv(700) + always();
    std::string filtered = snv(800);
    text += filtered.replace(filtered.find("PASS"), 4, "q10");
    const std::string base = reference("chr1", 1050);
    text += line("chr1", 1050, other(base), base) + line("chr1", 1060, "N", "A,C,G,T");
    return text;
  }();
  write_text(path("few.vcf"), header() + records);
  const auto count = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words =
        command({path("few.vcf"), "-o", path("b.safetensors"), "--chunk-size", "3"});
    words.insert(words.begin() + 1, "background");
    words.insert(words.end(), more.begin(), more.end());
    must(words);
    return std::stoi(SafetensorsFile(path("b.safetensors")).metadata().at("variants"));
  };
  // snv(1) and snv(30) have too many N, two alleles no REF of the genome, and four one that is ambiguous.
  const std::vector<std::pair<std::vector<std::string>, int>> cases = {
      {{}, 4},
      {{"--max-n", "0.5"}, 6},
      {{"--max-n", "0.2"}, 5},
      {{"--edge", "shift"}, 6},
      {{"--edge", "skip"}, 4},
      {{"--pass-only"}, 3},
      {{"--ref-mismatch", "use"}, 5},
      {{"--ref-mismatch", "swap"}, 5},
      {{"--n-matches"}, 7},
      {{"--window", "40"}, 5},
      {{"--offset", "20"}, 5},
      {{"--edge", "skip", "--shifts", "3", "--shift-step", "20"}, 3},
      {{"--anchor", "bin"}, 4},
      {{"--batch-tokens", "100"}, 4},
      {{"--strands", "+"}, 4},
  };
  for (const auto& [options, expected] : cases) {
    std::string text;
    for (const std::string& word : options) text += word + " ";
    int scored = 0;
    for (const Row& row : scores(records, options)) scored += row.at("skip") == "NA" ? 1 : 0;
    EXPECT_EQ(count(options), expected) << text;
    EXPECT_EQ(scored, expected) << text;
  }
}

TEST_F(VariantsOptions, TheBackgroundOfARegion) {
  BIGBIRD_REQUIRE_PROGRAM("bcftools");
  const std::string input = indexed(snv(500) + snv(600) + snv(700), "background.vcf.gz");
  std::vector<std::string> words =
      command({input, "-o", path("r.safetensors"), "-r", "chr1:550-1000", "--no-provenance"});
  words.insert(words.begin() + 1, "background");
  must(words);
  const auto metadata = SafetensorsFile(path("r.safetensors")).metadata();
  EXPECT_EQ(metadata.at("variants"), "2");
  EXPECT_EQ(metadata.count("provenance"), 0u);
}

TEST_F(VariantsOptions, MergeWritesItsReportWhereItIsAskedFor) {
  std::vector<std::string> merge = {"variants",         "merge",      "-o", path("merged.tsv"),
                                    "--summary-prefix", path("there")};
  for (const char* shard : {"1/2", "2/2"}) {
    merge.push_back(path(std::string("part") + shard[0] + ".tsv"));
    must(command({path("in.vcf"), "--chunk-size", "9", "-o", merge.back(), "--shard", shard}));
  }
  must(merge);
  EXPECT_FALSE(std::filesystem::exists(path("merged.tsv.summary.json")));
  EXPECT_EQ(nlohmann::json::parse(file("there.summary.json")).at("records"), 56);
  EXPECT_EQ(read_table(file("there.skipped.tsv")).size(), 12u);
}

}  // namespace
}  // namespace bigbird::testing
