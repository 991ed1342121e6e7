// bigbird liftover as a user runs it: all of EPDnew, streams, compressed VCF, reasons, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/support.h"

namespace bigbird::testing {
namespace {

// a 0-100 -> b 50-150.
const char* const chain_text = "chain 10 a 200 + 0 100 b 300 + 50 150 1\n100\n";

std::vector<std::string> sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

TEST(LiftoverCommand, LiftsAllOfEpdnewButThree) {
  BIGBIRD_REQUIRE_SHARED();
  const auto data = *shared_dir() / "data";
  const TemporaryFolder folder;
  const RunResult result = run_bigbird(
      {"liftover", "--chain", (data / "liftover/hg38ToHg19.over.chain.gz").string(),
       (data / "promoters/EPDnew_human_006_hg38.bed.gz").string(), "-o", (folder / "hg19.bed").string(),
       "--unmapped", (folder / "lost.bed").string(), "--no-provenance"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.err.find("29595 of 29598 records lifted"), std::string::npos) << result.err;
  const RunResult expected =
      run_program({"gzip", "-dc", (data / "promoters/EPDnew_human_006_lifted_hg19.bed.gz").string()});
  EXPECT_TRUE(sorted_lines(read_text(folder / "hg19.bed")) == sorted_lines(expected.out));
  const std::string lost = read_text(folder / "lost.bed");
  for (const char* name : {"\tTCRB_1\t", "\tTCR8_1\t", "\tANKRD20A3_1\t"})
    EXPECT_NE(lost.find(name), std::string::npos) << name;
  EXPECT_EQ(std::count(lost.begin(), lost.end(), '\n'), 6) << lost;
  EXPECT_EQ(std::count(lost.begin(), lost.end(), '#'), 3) << lost;
}

TEST(LiftoverCommand, StreamsAndSaysWhereItComesFrom) {
  const TemporaryFolder folder;
  write_text(folder / "x.chain", chain_text);
  const RunResult result =
      run_bigbird({"liftover", "--chain", (folder / "x.chain").string(), "-", "--provenance", "inline"},
                  "a\t1\t2\na\t150\t151\n");
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_TRUE(result.out.starts_with("##bigbird_version=")) << result.out;
  EXPECT_TRUE(result.out.ends_with("\nb\t51\t52\n")) << result.out;
  EXPECT_NE(result.err.find("1 of 2 records lifted"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("Deleted in new: 1"), std::string::npos) << result.err;
}

TEST(LiftoverCommand, VcfInAndBgzfOut) {
  const TemporaryFolder folder;
  write_text(folder / "x.chain", chain_text);
  const RunResult result = run_bigbird(
      {"liftover", "--chain", (folder / "x.chain").string(), "-", "-o", (folder / "o.vcf.gz").string()},
      "##fileformat=VCFv4.2\n##contig=<ID=a,length=200>\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
      "a\t5\trs1\tA\tC\t.\t.\t.\n");
  ASSERT_EQ(result.status, 0) << result.err;
  const RunResult unpacked = run_program({"gzip", "-dc", (folder / "o.vcf.gz").string()});
  EXPECT_TRUE(unpacked.out.starts_with("##fileformat=VCFv4.2\n##contig=<ID=b,length=300>\n##bigbird_"));
  EXPECT_TRUE(unpacked.out.ends_with("\nb\t55\trs1\tA\tC\t.\t.\t.\n")) << unpacked.out;
}

TEST(LiftoverCommand, BadInputIsOneLineAndAHint) {
  const TemporaryFolder folder;
  const auto path = [&](const char* name) { return (folder / name).string(); };
  write_text(folder / "x.chain", chain_text);
  write_text(folder / "good.bed", "a\t1\t2\n");
  write_text(folder / "bad.bed", "a\t1\t2\na\t3\n");
  write_text(folder / "unknown.bed", "chr1\t1\t2\n");
  write_text(folder / "spaces.vcf", "#CHROM\tPOS\na 1 . A C\n");
  write_text(folder / "x.bcf", "BCF\2\2 and more");
  write_text(folder / "bad.chain", "chain 10 a 200 + 0 100 b 300 + 50 150 1\n99\n");
  struct Case {
    std::vector<std::string> arguments;
    int status;
    std::string says;
  };
  const std::vector<Case> cases = {
      {{"--chain", path("x.chain"), path("absent.bed")}, 1, "absent.bed"},
      {{"--chain", path("absent.chain"), path("good.bed")}, 1, "absent.chain"},
      {{"--chain", path("bad.chain"), path("good.bed")}, 1, "bad.chain:2"},
      {{"--chain", path("x.chain"), path("bad.bed")}, 1, "bad.bed:2"},
      {{"--chain", path("x.chain"), path("unknown.bed")}, 1, "none of its contigs"},
      {{"--chain", path("x.chain"), path("spaces.vcf")}, 1, "spaces.vcf:2"},
      {{"--chain", path("x.chain"), path("x.bcf")}, 1, "binary"},
      {{"--chain", path("x.chain"), path("good.bed"), "-f", path("absent.fa")}, 1, "absent.fa"},
      {{"--chain", path("x.chain"), path("good.bed"), "--min-match", "2"}, 2, "min-match"},
      {{"--chain", path("x.chain"), path("good.bed"), "--unmapped", path("out")}, 2, "same file"},
      {{path("good.bed")}, 2, "--chain"},
  };
  for (const Case& bad : cases) {
    std::vector<std::string> command = {"liftover", "-o", path("out")};
    command.insert(command.end(), bad.arguments.begin(), bad.arguments.end());
    const RunResult result = run_bigbird(command);
    EXPECT_EQ(result.status, bad.status) << bad.says << ": " << result.err;
    EXPECT_NE(result.err.find(bad.says), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("hint: "), std::string::npos) << result.err;
    EXPECT_FALSE(std::filesystem::exists(folder / "out")) << bad.says;
  }
  const RunResult full =
      run_bigbird({"liftover", "--chain", path("x.chain"), path("good.bed"), "-o", "/dev/full"});
  EXPECT_EQ(full.status, 1);
  EXPECT_NE(full.err.find("/dev/full"), std::string::npos) << full.err;
}

}  // namespace
}  // namespace bigbird::testing
