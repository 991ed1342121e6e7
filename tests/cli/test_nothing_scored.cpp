// Runs that end with nothing leave nothing: the corrected command is not refused for the parts of the first
// one, and what a killed process left of the folder of parts is in nobody's way.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "lib/io/files/file.h"
#include "tests/support/support.h"
#include "tests/support/tiny_classifier.h"

namespace bigbird::testing {
namespace {

class NothingScored : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string bases;
    for (int i = 0; i < 100; ++i) bases += i % 7 == 3 ? "GATTA" : i % 5 == 1 ? "CCGTA" : "ATGCC";
    write_text(folder_ / "g.fa", ">chr1\n" + std::string(1000, 'N') + bases + "\n");
    write_text(folder_ / "n.bed", "chr1\t200\t300\nchr1\t400\t500\n");
    write_text(folder_ / "w.bed", "chr1\t1100\t1200\nchr1\t1200\t1300\n");
    write_tiny_classifier(folder_ / "chromatin");
    TinyClassifier promoter;
    promoter.problem = ProblemType::single_label;
    promoter.profiles = {{"promoter", "promoter"}};
    promoter.labels = 2;
    promoter.window = {"promoter", 100, 60, 1};
    write_tiny_classifier(folder_ / "promoter", promoter);
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  // What lies beside the inputs.
  std::vector<std::string> outputs() const {
    std::vector<std::string> names;
    for (const std::string& name : names_in(folder_.path().string())) {
      if (name.starts_with("out")) names.push_back(name);
    }
    return names;
  }
  void expect_nothing_left(const std::vector<std::string>& wrong,
                           const std::vector<std::string>& right) const {
    SCOPED_TRACE(wrong[0] + " " + wrong[1]);
    const RunResult nothing = run_bigbird(wrong);
    EXPECT_EQ(nothing.status, 1) << nothing.err;
    EXPECT_TRUE(outputs().empty()) << outputs().front() << " is left: " << nothing.err;
    const RunResult something = run_bigbird(right);
    EXPECT_EQ(something.status, 0) << something.err;
    for (const std::string& name : outputs()) std::filesystem::remove_all(folder_ / name);
  }

  TemporaryFolder folder_;
};

TEST_F(NothingScored, LeavesNoParts) {
  const std::vector<std::string> scan = {"promoter", "scan", "-m", path("promoter"), "-f", path("g.fa"),
                                         "--step",   "10",   "-o", path("out.bw"),   "-r"};
  const auto with = [](std::vector<std::string> command, const std::string& last) {
    command.push_back(last);
    return command;
  };
  expect_nothing_left(with(scan, "chr1:100-500"), with(scan, "chr1:1100-1300"));
  for (const char* name : {"out.tsv", "out.npy", "out.h5"}) {
    const std::vector<std::string> predict = {
        "chromatin", "predict",  "-m", path("chromatin"), "-f", path("g.fa"), "--max-n", "0.1",
        "-o",        path(name), "-O", name + 4,          "-R"};
    expect_nothing_left(with(predict, path("n.bed")), with(predict, path("w.bed")));
  }
}

TEST_F(NothingScored, AKilledProcesssFolderIsNoRun) {
  const std::string parts = path("out.tsv.parts");
  const std::vector<std::string> predict = {"chromatin", "predict",       "-m", path("chromatin"),
                                            "-f",        path("g.fa"),    "-R", path("w.bed"),
                                            "-o",        path("out.tsv"), "-O", "tsv"};
  for (const bool resumed : {false, true}) {
    std::filesystem::create_directories(parts);
    write_text(parts + "/run.json.tmp.d6d17c60f6f6-1-1-0ef9da1d7c3366b1", "");
    std::vector<std::string> command = predict;
    if (resumed) command.emplace_back("--resume");
    const RunResult run = run_bigbird(command);
    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_FALSE(std::filesystem::exists(parts));
  }
}

}  // namespace
}  // namespace bigbird::testing
