// The run folder: what may be begun where, which checkpoints stay, and files that grow by a row a step.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "lib/core/error.h"
#include "lib/training/metrics_log.h"
#include "lib/training/run_folder.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using testing::read_text;
using testing::TemporaryFolder;
using testing::write_text;

void make_checkpoint(const RunFolder& run, std::uint64_t step, const std::string& valid_loss) {
  std::filesystem::create_directories(run.checkpoint(step));
  write_text(run.checkpoint(step) + "/trainer_state.json",
             "{\"global_step\": " + std::to_string(step) +
                 ", \"tokens\": 1, \"seconds\": 1.5, \"valid_loss\": " + valid_loss +
                 ", \"options\": {\"--lr\": \"0.1\"}}");
}

TEST(RunFolder, AFreshRunTakesOnlyAnEmptyFolder) {
  const TemporaryFolder folder;
  const std::string path = (folder / "run").string();
  { const RunFolder run(path, RunStart::fresh); }
  EXPECT_NO_THROW(RunFolder(path, RunStart::fresh));
  std::filesystem::create_directories(path + "/checkpoint-5");
  try {
    const RunFolder run(path, RunStart::fresh);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    EXPECT_NE(error.message().find("holds a run"), std::string::npos);
    EXPECT_NE(error.hint().find("`resume`"), std::string::npos);
    EXPECT_NE(error.hint().find("`force`"), std::string::npos);
  }
}

TEST(RunFolder, OverwritingRemovesTheRunAndNothingElse) {
  const TemporaryFolder folder;
  for (const char* name : {"checkpoint-5", "final", "checkpoint-7.tmp-123"})
    std::filesystem::create_directories(folder / name);
  for (const char* name : {"metrics.tsv", "notes.txt", "finally.txt"}) write_text(folder / name, "x");
  const RunFolder run(folder.path().string(), RunStart::overwrite);
  EXPECT_TRUE(run.checkpoints().empty());
  EXPECT_FALSE(std::filesystem::exists(folder / "final"));
  EXPECT_FALSE(std::filesystem::exists(folder / "checkpoint-7.tmp-123"));
  EXPECT_FALSE(std::filesystem::exists(folder / "metrics.tsv"));
  EXPECT_TRUE(std::filesystem::exists(folder / "notes.txt"));
  EXPECT_TRUE(std::filesystem::exists(folder / "finally.txt"));
}

TEST(RunFolder, ASecondWriterIsRefusedBeforeItRemovesAnything) {
  const TemporaryFolder folder;
  const std::string path = (folder / "run").string();
  {
    const RunFolder first(path, RunStart::fresh);
    make_checkpoint(first, 5, "1");
    for (const RunStart start : {RunStart::resume, RunStart::overwrite}) {
      try {
        const RunFolder second(path, start);
        FAIL();
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::runtime);
        EXPECT_NE(error.message().find("run.lease: held by process"), std::string::npos) << error.message();
        EXPECT_EQ(error.hint(), "wait for it, or stop it");
      }
    }
    EXPECT_NO_THROW(first.check_still_ours());
    EXPECT_EQ(first.checkpoints(), std::vector<std::uint64_t>{5});
    EXPECT_EQ(RunFolder::of_another(path).checkpoints(), std::vector<std::uint64_t>{5});
  }
  EXPECT_FALSE(std::filesystem::exists(path + "/run.lease"));
  EXPECT_EQ(RunFolder(path, RunStart::resume).checkpoints(), std::vector<std::uint64_t>{5});
  const RunFolder anew(path, RunStart::overwrite);
  EXPECT_TRUE(std::filesystem::exists(path + "/run.lease"));
  EXPECT_THROW(RunFolder(path, RunStart::overwrite), Error);
}

// Of several rates one may be trained by a process of its own.
TEST(RunFolder, OverwritingLeavesARateAloneThatIsBeingTrained) {
  const TemporaryFolder folder;
  const std::string path = (folder / "run").string();
  for (const char* name : {"lr-0.1", "lr-0.2", "final"})
    std::filesystem::create_directories(folder / "run" / name);
  {
    const RunFolder rate(path + "/lr-0.2", RunStart::fresh);
    EXPECT_THROW(RunFolder(path, RunStart::overwrite), Error);
    EXPECT_NO_THROW(rate.check_still_ours());
    for (const char* name : {"lr-0.1", "lr-0.2/run.lease", "final"})
      EXPECT_TRUE(std::filesystem::exists(folder / "run" / name)) << name;
    for (const char* name : {"run.lease", "lr-0.1/run.lease"})
      EXPECT_FALSE(std::filesystem::exists(folder / "run" / name)) << name;
  }
  const RunFolder anew(path, RunStart::overwrite);
  EXPECT_FALSE(std::filesystem::exists(folder / "run/lr-0.2"));
}

TEST(RunFolder, ResumingClearsWhatAKilledProcessLeft) {
  const TemporaryFolder folder;
  for (const char* name :
       {"checkpoint-5", "checkpoint-6.tmp-99", "checkpoint-4.removed-99", "final.old-99"}) {
    std::filesystem::create_directories(folder / name);
  }
  const RunFolder run(folder.path().string(), RunStart::resume);
  EXPECT_EQ(run.checkpoints(), std::vector<std::uint64_t>{5});
  EXPECT_FALSE(std::filesystem::exists(folder / "checkpoint-6.tmp-99"));
  EXPECT_FALSE(std::filesystem::exists(folder / "checkpoint-4.removed-99"));
  EXPECT_FALSE(std::filesystem::exists(folder / "final.old-99"));
}

TEST(RunFolder, TheLastAndTheBestCheckpointsStay) {
  const TemporaryFolder folder;
  const RunFolder run((folder / "run").string(), RunStart::fresh);
  make_checkpoint(run, 10, "3.0");
  make_checkpoint(run, 20, "1.0");
  make_checkpoint(run, 30, "null");
  make_checkpoint(run, 40, "2.0");
  make_checkpoint(run, 100, "2.5");
  run.retain(0, 1);
  EXPECT_EQ(run.checkpoints(), (std::vector<std::uint64_t>{10, 20, 30, 40, 100}));
  run.retain(2, 1);
  EXPECT_EQ(run.checkpoints(), (std::vector<std::uint64_t>{20, 40, 100}));
  run.retain(1, 2);
  EXPECT_EQ(run.checkpoints(), (std::vector<std::uint64_t>{20, 40, 100}));
  run.retain(1, 0);
  EXPECT_EQ(run.checkpoints(), std::vector<std::uint64_t>{100});
}

TEST(RunFolder, TrainerStateIsReadBackAndDamageIsNamed) {
  const TemporaryFolder folder;
  const RunFolder run((folder / "run").string(), RunStart::fresh);
  make_checkpoint(run, 10, "3.25");
  const TrainState state = read_train_state(run.checkpoint(10));
  EXPECT_EQ(state.step, 10u);
  EXPECT_EQ(state.valid_loss, 3.25);
  EXPECT_EQ(state.options.at("learning_rate"), "0.1");
  write_text(run.checkpoint(10) + "/trainer_state.json", "{\"global_step\": 10}");
  try {
    read_train_state(run.checkpoint(10));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("trainer_state.json"), std::string::npos);
    EXPECT_NE(error.message().find("tokens"), std::string::npos);
  }
}

// The options of 0.1.0's first runs, as they were typed.
TEST(RunFolder, OptionsOfEarlierVersionsAreReadAsFields) {
  const TemporaryFolder folder;
  write_text(folder / "trainer_state.json",
             "{\"global_step\": 1, \"tokens\": 1, \"seconds\": 1, \"valid_loss\": null, \"options\": "
             "{\"--lr\": \"0.1\", \"--weight-decay\": \"0.5\", \"--train (two-part documents)\": \"7\", "
             "\"--no-nsp\": \"true\", \"model.attention_type\": \"a--b\"}}");
  const std::map<std::string, std::string> expected = {{"learning_rate", "0.1"},
                                                       {"weight_decay", "0.5"},
                                                       {"train (two-part documents)", "7"},
                                                       {"no_nsp", "true"},
                                                       {"model.attention_type", "a--b"}};
  EXPECT_EQ(read_train_state(folder.path().string()).options, expected);
}

TEST(RunFolder, OtherOptionsAreRefusedByName) {
  EXPECT_NO_THROW(require_same_options("c", {{"seed", "1"}}, {{"seed", "1"}}));
  try {
    require_same_options(
        "c", {{"seed", "1"}, {"batch", "4"}, {"data (windows)", "7"}, {"model.head", "x"}, {"init", "a"}},
        {{"seed", "1"}, {"batch", "8"}, {"data (windows)", "9"}, {"model.head", "y"}, {"length", "3"}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_EQ(error.message(),
              "c: cannot go on with other options: `batch` was 4, is 8; `data` (windows) was 7, is 9; "
              "`length` was not set, is 3; model.head was x, is y; `init` was a, is not set");
  }
}

TEST(MetricsLog, RowsAfterTheCheckpointAndATornLineAreCut) {
  const TemporaryFolder folder;
  const std::string path = (folder / "metrics.tsv").string();
  {
    MetricsLog log(path, {"step", "loss"}, {"bigbird_version=1"}, 0);
    for (std::uint64_t step = 1; step <= 5; ++step) log.row(step, {std::to_string(step * 10)});
  }
  std::ofstream(path, std::ios::app) << "6\t6";
  {
    MetricsLog log(path, {"step", "loss"}, {"bigbird_version=1"}, 3);
    log.row(4, {"again"});
  }
  EXPECT_EQ(read_text(path), "##bigbird_version=1\nstep\tloss\n1\t10\n2\t20\n3\t30\n4\tagain\n");
}

TEST(MetricsLog, AFileOfAnEarlierVersionKeepsItsColumnsAndGetsTheNewOnes) {
  const TemporaryFolder folder;
  const std::string path = (folder / "metrics.tsv").string();
  write_text(path,
             "##bigbird_version=0\n#step\tloss\told\tseconds\n1\t10\tx\t0.5\n2\t20\ty\t0.6\n3\t30\tz\t0.7\n");
  {
    MetricsLog log(path, {"step", "loss", "seconds", "mfu"}, {"bigbird_version=1"}, 2);
    log.row(3, {"31", "0.8", "0.4"});
  }
  const std::string expected =
      "##bigbird_version=0\nstep\tloss\told\tseconds\tmfu\n1\t10\tx\t0.5\tNA\n2\t20\ty\t0.6\tNA\n"
      "3\t31\tNA\t0.8\t0.4\n";
  EXPECT_EQ(read_text(path), expected);
  MetricsLog(path, {"step", "loss", "seconds", "mfu"}, {"bigbird_version=1"}, 3).row(4, {"41", "0.9", "0.5"});
  EXPECT_EQ(read_text(path), expected + "4\t41\tNA\t0.9\t0.5\n") << "nothing is added twice";
}

}  // namespace
}  // namespace bigbird
