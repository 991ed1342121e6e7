// `bigbird chromatin import-deepsea`: what the program says and writes. The matrices themselves are tested in
// tests/unit/genomics/chromatin/test_import_deepsea.cpp.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/matlab_files.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using testing::run_bigbird;
using testing::RunResult;
using testing::TemporaryFolder;

// Two bins of 300 bp of A and C, each on both strands, three profiles.
void write_valid(const std::filesystem::path& path) {
  testing::MatlabVariable sequences{"validxdata", {4, 4, 300}, {}};
  for (int k = 0; k < 300; ++k) {
    for (int base = 0; base < 4; ++base) {  // A G C T
      for (int sample = 0; sample < 4; ++sample) {
        // Sample 1 is A, sample 2 is C; then T and G.
        const int wanted = sample == 0 ? 0 : sample == 1 ? 2 : sample == 2 ? 3 : 1;
        sequences.bytes.push_back(base == wanted ? 1 : 0);
      }
    }
  }
  testing::write_matlab5(path, {sequences, {"validdata", {4, 3}, {1, 0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 0}}});
}

TEST(CliImportDeepsea, SaysWhichSequencesItKept) {
  const TemporaryFolder folder;
  write_valid(folder / "valid.mat");
  const std::string out = (folder / "out").string();
  const RunResult run =
      run_bigbird({"chromatin", "import-deepsea", "--mat", (folder / "valid.mat").string(), "-o", out});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out, "");
  EXPECT_NE(run.err.find("without --bins-file the sequences of the matrices are kept"), std::string::npos)
      << run.err;
  EXPECT_NE(run.err.find("valid 2"), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("2 pairs of strands checked"), std::string::npos) << run.err;
  const auto manifest = nlohmann::json::parse(testing::read_text(out + "/manifest.json"));
  EXPECT_EQ(manifest.at("sequences"), "matrices, end to end");
  EXPECT_EQ(manifest.at("reference"), "sequences.fa.gz");
  EXPECT_EQ(manifest.at("window").at("length"), 300);
  EXPECT_TRUE(manifest.contains("provenance"));
  const RunResult again = run_bigbird({"chromatin", "import-deepsea", "--mat",
                                       (folder / "valid.mat").string(), "-o", out, "--no-provenance"});
  EXPECT_EQ(again.status, 1);  // the folder is there
  const RunResult forced =
      run_bigbird({"chromatin", "import-deepsea", "--mat", (folder / "valid.mat").string(), "-o", out,
                   "--no-provenance", "--force"});
  ASSERT_EQ(forced.status, 0) << forced.err;
  EXPECT_FALSE(nlohmann::json::parse(testing::read_text(out + "/manifest.json")).contains("provenance"));
}

TEST(CliImportDeepsea, RefusesWrongUsageAndWrongFiles) {
  const TemporaryFolder folder;
  write_valid(folder / "valid.mat");
  const std::string mat = (folder / "valid.mat").string(), out = (folder / "out").string();
  const auto status = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"chromatin", "import-deepsea", "-o", out});
    const RunResult run = run_bigbird(more);
    EXPECT_EQ(run.status != 0, run.err.find("error") != std::string::npos) << run.err;
    EXPECT_FALSE(std::filesystem::exists(out));
    return run.status;
  };
  EXPECT_EQ(status({}), 2);
  EXPECT_EQ(status({"--mat", mat, "--bins-file", "x.bed"}), 2);
  EXPECT_EQ(status({"--mat", mat, "--window", "8000"}), 2);
  EXPECT_EQ(status({"--mat", (folder / "absent.mat").string()}), 1);
  EXPECT_EQ(status({"--mat", mat, mat}), 1);
}

}  // namespace
}  // namespace bigbird
