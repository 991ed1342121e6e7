// bigbird ism as a user runs it: table, matrix and picture of one run, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/support.h"
#include "tests/support/tiny_classifier.h"

namespace bigbird::testing {
namespace {

class IsmCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string bases;
    for (int i = 0; i < 60; ++i) bases += i % 7 == 3 ? "GATTA" : i % 5 == 1 ? "CCGTA" : "ATGCC";
    write_text(folder_ / "g.fa", ">chr1\n" + bases + "\n");
    write_tiny_classifier(folder_ / "model");
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  RunResult ism(const std::vector<std::string>& arguments) const {
    std::vector<std::string> command = {"ism", "-m", path("model"), "-f", path("g.fa")};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return run_bigbird(command);
  }

  TemporaryFolder folder_;
};

TEST_F(IsmCommand, TableMatrixAndPicture) {
  const RunResult table = ism({"-r", "chr1:101-110", "--no-provenance"});
  ASSERT_EQ(table.status, 0) << table.err;
  EXPECT_TRUE(table.out.starts_with("chrom\tpos\tref\talt\tK562|CTCF:0\tK562|CTCF:1\tK562|DNase\n"));
  EXPECT_EQ(std::count(table.out.begin(), table.out.end(), '\n'), 31);
  EXPECT_NE(table.err.find("31 sequences of 100 bp, through 1 model on 2 strands: 62 passes"),
            std::string::npos)
      << table.err;
  const RunResult again = ism({"-r", "chr1:101-110", "--no-provenance", "-@", "1", "--batch-tokens", "1"});
  EXPECT_TRUE(again.out == table.out) << "neither threads nor batches matter";

  const RunResult matrix = ism({"-r", "chr1:101-110", "-o", path("x.npy"), "--svg", path("x.svg"),
                                "--profiles", "1-2", "--svg-profile", "2", "--value", "lfc"});
  ASSERT_EQ(matrix.status, 0) << matrix.err;
  EXPECT_NE(read_text(folder_ / "x.npy").find("'shape': (2,10,4"), std::string::npos);
  EXPECT_TRUE(read_text(folder_ / "x.rows.tsv").starts_with("base\tchrom\t"));
  const std::string told = read_text(folder_ / "x.npy.provenance.json");
  EXPECT_NE(told.find("\"command\":\"bigbird ism "), std::string::npos) << told;
  EXPECT_NE(told.find("\"ism_value\":\"lfc\""), std::string::npos) << told;
  const std::string svg = read_text(folder_ / "x.svg");
  EXPECT_NE(svg.find("profile 2: K562|DNase (DHS)"), std::string::npos);
  EXPECT_NE(svg.find(">chr1:101-110<"), std::string::npos);
}

TEST_F(IsmCommand, BadInputIsOneLineAndAHint) {
  struct Case {
    std::vector<std::string> arguments;
    int status;
    std::string says;
  };
  const std::vector<Case> cases = {
      {{"-r", "chr1:295-301"}, 1, "outside"},
      {{"-r", "chr9:1-2"}, 1, "unknown contig"},
      {{"-r", "chr1:1-150", "--window-at", "region"}, 1, "do not fit"},
      {{"-r", "chr1:101-110", "--window-at", "x"}, 2, "--window-at"},
      {{"-r", "chr1:101-110", "--value", "x"}, 2, "--value"},
      {{"-r", "chr1:101-110", "--profiles", "3"}, 2, "3"},
      {{"-r", "chr1:101-110", "--svg-profile", "1"}, 2, "--svg"},
      {{"-r", "chr1:101-110", "-o", "x.bed"}, 2, "x.bed"},
      {{"-r", "chr1:101-110", "--window", "50"}, 2, "windows of 100 bp"},
      {{"-r", "chr1:101-110", "-m", path("absent")}, 1, "absent"},
      {{}, 2, "--region"},
  };
  for (const Case& bad : cases) {
    const RunResult result = ism(bad.arguments);
    EXPECT_EQ(result.status, bad.status) << bad.says << ": " << result.err;
    EXPECT_NE(result.err.find(bad.says), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("hint: "), std::string::npos) << result.err;
    EXPECT_TRUE(result.out.empty()) << bad.says;
  }
  const RunResult full = ism({"-r", "chr1:101-102", "-o", "/dev/full"});
  EXPECT_EQ(full.status, 1);
  EXPECT_NE(full.err.find("/dev/full"), std::string::npos) << full.err;
}

}  // namespace
}  // namespace bigbird::testing
