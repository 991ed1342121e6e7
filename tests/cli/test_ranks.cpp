// Ranks on the command line where no launcher is needed: one process, and launchers whose processes would not
// know of each other. What several ranks do is in tests/mpi/training.sh.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "tests/support/support.h"
#include "tests/support/tiny_training_data.h"

namespace bigbird {
namespace {

using testing::run_bigbird;
using testing::RunResult;

// A variable of the environment, as a launcher sets it, for one test.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

class RanksOnTheCommandLine : public ::testing::Test {
 protected:
  RanksOnTheCommandLine() {
    testing::write_tiny_tokenizer(folder_ / "tokenizer");
    testing::write_tiny_shards(path("train"), folder_ / "tokenizer");
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  RunResult pretrain(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"pretrain",
                                      "--train",
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
                                      "2",
                                      "--device",
                                      "cpu",
                                      "-@",
                                      "1"};
    words.insert(words.end(), more.begin(), more.end());
    return run_bigbird(words);
  }
  void expect_refused(const RunResult& result, const std::string& message, const std::string& hint) const {
    EXPECT_EQ(result.status, 3) << result.err;
    EXPECT_NE(result.err.find("bigbird: error: " + message), std::string::npos) << result.err;
    EXPECT_NE(result.err.find(hint), std::string::npos) << result.err;
    EXPECT_FALSE(std::filesystem::exists(path("run")));
  }

  testing::TemporaryFolder folder_;
};

TEST_F(RanksOnTheCommandLine, OneProcessNeedsNoLauncher) {
  ASSERT_EQ(pretrain({"--ranks", "none", "--log-ranks", "--between-devices", "host"}).status, 0);
  ASSERT_EQ(pretrain({"--tensorboard", path("board"), "--force"}).status, 0);
  EXPECT_FALSE(std::filesystem::is_empty(path("board")));
  const std::string metrics = testing::read_text(path("run") + "/metrics.tsv");
  EXPECT_EQ(metrics.find("ranks"), std::string::npos) << "how it was made is not a part of what it is";
  EXPECT_EQ(pretrain({"--ranks", "two", "--force"}).status, 2);
  std::filesystem::remove_all(path("run"));
  EXPECT_EQ(pretrain({"--tensorboard", "/proc/nothere"}).status, 1);
  EXPECT_FALSE(std::filesystem::exists(path("run"))) << "a run was begun";
  EXPECT_EQ(pretrain({"--between-devices", "pigeon", "--force"}).status, 2);
}

TEST_F(RanksOnTheCommandLine, ProcessesThatWouldNotKnowOfEachOtherAreRefused) {
  const Variable step("SLURM_STEP_NUM_TASKS", "4");
  expect_refused(pretrain({}), "srun started 4 processes, which know nothing of each other",
                 "srun --mpi=pmix");
  expect_refused(pretrain({"--ranks", "none"}), "srun started 4 processes", "srun -n 1");
}

TEST_F(RanksOnTheCommandLine, AnMpiWithoutItsPluginIsNamed) {
  const Variable size("OMPI_COMM_WORLD_SIZE", "2");
  const Variable plugin("BIGBIRD_MPI_PLUGIN", "/nowhere/libbigbird_open_mpi.so");
  expect_refused(pretrain({}), "/nowhere/libbigbird_open_mpi.so: the plug-in for Open MPI is not there",
                 "mpicxx.openmpi");
  const RunResult evaluate = run_bigbird({"evaluate", "-m", path("run"), "--data", path("train")});
  EXPECT_EQ(evaluate.status, 3) << evaluate.err;
}

}  // namespace
}  // namespace bigbird
