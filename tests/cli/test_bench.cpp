// `bigbird bench` as a user runs it, on models of milliseconds: the rows that it gives, what it leaves out
// and why, and that a stop leaves nothing behind.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "lib/io/tables/tsv.h"
#include "tests/cli/running_program.h"
#include "tests/cli/text_fixture.h"
#include "tests/cli/words.h"
#include "tests/support/tiny_classifier.h"

namespace bigbird {
namespace {

using testing::holds;
using testing::run_bigbird;
using testing::RunResult;
using testing::Words;

// Temporary folders of the program are made in one of the test's own.
class Bench : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(folder_ / "tmp");
    if (const char* before = std::getenv("TMPDIR")) before_ = before;
    setenv("TMPDIR", path("tmp").c_str(), 1);
  }
  void TearDown() override {
    if (before_.empty())
      unsetenv("TMPDIR");
    else
      setenv("TMPDIR", before_.c_str(), 1);
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  RunResult bench(const std::string& model, const Words& more = {}) const {
    Words words = {"bench", "-m", path(model), "--seconds", "0", "--device", "cpu", "-@", "2"};
    words.insert(words.end(), more.begin(), more.end());
    return run_bigbird(words);
  }
  bool nothing_left() const { return std::filesystem::is_empty(path("tmp")); }

  testing::TemporaryFolder folder_;
  std::string before_;
};

TEST_F(Bench, MeasuresEveryKindOfWorkOfAClassifier) {
  testing::write_tiny_classifier(folder_ / "model");
  const RunResult run = bench("model", {"--precision", "fp32", "--seed", "4", "-o", path("rates.tsv")});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out, "");
  TsvReader table(path("rates.tsv"));
  const std::size_t what = table.column("what"), median = table.column("median"), best = table.column("best"),
                    repeats = table.column("repeats"), spread = table.column("spread"),
                    shape = table.column("shape");
  std::set<std::string> seen, shapes;
  std::vector<std::string_view> fields;
  while (table.next(fields)) {
    seen.emplace(fields[what]);
    shapes.emplace(fields[shape]);
    EXPECT_GT(parse_number(fields[median], "rates.tsv", "median"), 0) << fields[what];
    EXPECT_GE(parse_number(fields[best], "rates.tsv", "best"),
              parse_number(fields[median], "rates.tsv", "median"));
    EXPECT_EQ(fields[repeats], "3");
    EXPECT_GE(parse_number(fields[spread], "rates.tsv", "spread"), 0);
  }
  EXPECT_EQ(seen, (std::set<std::string>{"product", "forward", "training step", "tokenization", "variants",
                                         "scan"}));
  EXPECT_EQ(shapes.count("4096 x 2304 x 768"), 1u) << "the product that all machines have in common";
  EXPECT_EQ(shapes.count("1 x 16, 128 tokens"), 1u)
      << "no length of the list is within the model's positions";
  EXPECT_EQ(shapes.count("1 x 16, windows of 100 bp, both strands"), 1u);
  std::string comments;
  for (const std::string& comment : table.comments()) comments += comment + "\n";
  for (const char* fact : {"bigbird_version=", "bigbird_seed=4", "processor=", "threads=2", "device=cpu",
                           "precision=fp32", "processor_share=", "model="})
    EXPECT_TRUE(holds(comments, fact)) << comments;
  for (const char* line : {"memory planned at the most:", "s to go, by the speed of the products",
                           "compared with the machines of benchmarks/speed.md"})
    EXPECT_TRUE(holds(run.err, line)) << run.err;
  EXPECT_TRUE(nothing_left());
}

TEST_F(Bench, SaysWhatTheProcessorAndTheModelAreNotFor) {
  testing::write_tiny_text_model(folder_ / "text");
  const RunResult run = bench("text", {"--precision", "bf16", "--no-provenance"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_TRUE(holds(run.out, "\ntraining step\t")) << run.out;
  for (const char* what : {"tokenization", "variants", "scan"})
    EXPECT_TRUE(holds(run.err, std::string("skipped ") + what + "=" + path("text") + " reads text"))
        << run.err;
  EXPECT_FALSE(holds(run.out, "bigbird_command"));
  EXPECT_TRUE(holds(run.out, "\nforward\t"));
}

TEST_F(Bench, RefusesWhatItCannotMeasure) {
  testing::write_tiny_summary_model(folder_ / "writes");
  const RunResult writes = bench("writes");
  EXPECT_EQ(writes.status, 1);
  EXPECT_TRUE(holds(writes.err, path("writes") + ": a model with a decoder")) << writes.err;
  EXPECT_EQ(bench("nowhere").status, 1);
  const RunResult both = bench("writes", {"--size", "base"});
  EXPECT_EQ(both.status, 2);
  EXPECT_TRUE(holds(both.err, "--size with --model")) << both.err;
  EXPECT_EQ(run_bigbird({"bench", "--size", "huge"}).status, 2);
  EXPECT_TRUE(nothing_left());
}

TEST_F(Bench, AStopEndsItAndLeavesNothing) {
  testing::write_tiny_classifier(folder_ / "model");
  testing::Running running({"bench", "-m", path("model"), "--seconds", "300", "-@", "1"}, path("stderr"));
  ASSERT_TRUE(running.wait_until([&] {
    return std::filesystem::exists(path("stderr")) && holds(running.error(), "memory planned");
  })) << running.error();
  running.signal(SIGINT);
  EXPECT_EQ(running.wait(), 130) << running.error();
  EXPECT_TRUE(holds(running.error(), "stopped by SIGINT")) << running.error();
  EXPECT_TRUE(nothing_left());
}

}  // namespace
}  // namespace bigbird
