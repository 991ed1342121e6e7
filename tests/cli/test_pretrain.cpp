// `bigbird pretrain` as a user runs it: the run folder, memory as planned, stops and kills, and bad input.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <thread>

#include "lib/core/rng.h"
#include "lib/io/files/file.h"
#include "lib/io/tables/tsv.h"
#include "lib/io/weights/safetensors.h"
#include "lib/model/config.h"
#include "lib/model/plans/plan_table.h"
#include "lib/model_folder/checkpoint.h"
#include "lib/model_folder/config_json.h"
#include "lib/training/run_folder.h"
#include "tests/support/sanitizer.h"
#include "tests/support/support.h"
#include "tests/support/tiny_training_data.h"

namespace bigbird {
namespace {

namespace fs = std::filesystem;
using testing::run_bigbird;
using testing::RunResult;

class Pretrain : public ::testing::Test {
 protected:
  Pretrain() {
    testing::write_tiny_tokenizer(folder_ / "tokenizer");
    testing::write_tiny_shards(path("train"), folder_ / "tokenizer");
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  // A model that trains in milliseconds a step.
  std::vector<std::string> arguments(const std::string& run,
                                     const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all = {"pretrain",
                                    "--train",
                                    path("train"),
                                    "-m",
                                    path("tokenizer"),
                                    "-o",
                                    path(run),
                                    "--layers",
                                    "1",
                                    "--width",
                                    "32",
                                    "--heads",
                                    "2",
                                    "--length",
                                    "64",
                                    "--block-size",
                                    "16",
                                    "--random-blocks",
                                    "1",
                                    "--random-mode",
                                    "hf-train",
                                    "--batch",
                                    "2",
                                    "-@",
                                    "1"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  // Starts the program and returns at once.
  static pid_t start(const std::vector<std::string>& arguments) {
    std::vector<std::string> words = {testing::bigbird_binary()};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(126);
      execv(argv[0], argv.data());
      _exit(127);
    }
    return child;
  }
  static int wait_for(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  // Checkpoints that are there now, by looking only: a RunFolder would clear what the running program is
  // writing.
  std::vector<fs::path> checkpoints(const std::string& run) const {
    std::vector<fs::path> found;
    std::error_code absent;
    for (const auto& entry : fs::directory_iterator(folder_ / run, absent)) {
      if (std::regex_match(entry.path().filename().string(), std::regex("checkpoint-[0-9]+")))
        found.push_back(entry.path());
    }
    return found;
  }
  std::uint64_t newest_step(const std::string& run) const {
    std::uint64_t newest = 0;
    for (const fs::path& folder : checkpoints(run)) {
      newest = std::max<std::uint64_t>(newest, std::stoull(folder.filename().string().substr(11)));
    }
    return newest;
  }
  // Waits until there is a checkpoint of a step after this one.
  bool wait_for_step_after(std::uint64_t step, const std::string& run) const {
    for (int i = 0; i < 6000; ++i) {
      if (newest_step(run) > step) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }

  testing::TemporaryFolder folder_;
};

void expect_error(const RunResult& result, int status, const std::string& words) {
  EXPECT_EQ(result.status, status) << result.err;
  EXPECT_NE(result.err.find("bigbird: error: "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("hint: "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find(words), std::string::npos) << result.err;
}

TEST_F(Pretrain, WritesTheRunFolder) {
  testing::write_tiny_shards(path("valid"), folder_ / "tokenizer", {4, 10, 20, 2});
  const RunResult result = run_bigbird(arguments(
      "run", {"--steps", "6", "--save-every", "2", "--valid", path("valid"), "--eval-every", "3", "-v"}));
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_TRUE(result.out.empty());
  for (const char* file :
       {"metrics.tsv", "valid.tsv", "config.toml", "final/config.json", "final/model.safetensors",
        "final/spiece.model", "final/README.md", "checkpoint-6/trainer_state.json",
        "checkpoint-6/optimizer.safetensors", "checkpoint-6/model.safetensors"}) {
    EXPECT_TRUE(fs::exists(folder_ / "run" / file)) << file;
  }
  EXPECT_FALSE(fs::exists(folder_ / "run" / "checkpoint-2"));  // two newest stay, and the best
  TsvReader metrics(path("run") + "/metrics.tsv");
  EXPECT_EQ(metrics.columns(),
            (std::vector<std::string>{"step", "loss", "mlm_loss", "mlm_accuracy", "nsp_loss", "nsp_accuracy",
                                      "lr", "grad_norm", "tokens", "tokens_per_second", "seconds",
                                      "model_flops_per_second", "mfu"}));
  std::vector<std::string_view> fields;
  ASSERT_TRUE(metrics.next(fields));
  // Of a CPU no peak is known. Tokens and products are of the same seconds.
  EXPECT_EQ(fields[metrics.column("mfu")], "NA");
  const double speed = parse_number(fields[metrics.column("model_flops_per_second")], "", "speed");
  const double tokens = parse_number(fields[metrics.column("tokens_per_second")], "", "tokens");
  EXPECT_GT(speed, 0);
  const double of_a_token = 6 * (4 * 32 * 32 + 2 * 32 * 128);  // the linear layers, forward and backward
  EXPECT_GT(speed / tokens, of_a_token);
  EXPECT_TRUE(std::regex_search(
      result.err, std::regex("updates took [0-9.]+ s: [0-9]+ tokens/s, [0-9.e-]+ TFLOP/s of the model\\n")))
      << result.err;
  EXPECT_NE(result.err.find("memory planned"), std::string::npos);
  EXPECT_LT(result.err.find("memory planned"), result.err.find("the model is"));
  EXPECT_TRUE(std::regex_search(result.err, std::regex("activations of [0-9]+ layers +[0-9.]+ MiB  fp32\n")))
      << result.err;
}

TEST_F(Pretrain, TheDeviceAndThePrecisionAreSaidAndKept) {
  const RunResult result = run_bigbird(arguments("run", {"--steps", "2", "--device", "cpu"}));
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.err.find("computing in fp32 on cpu: "), std::string::npos) << result.err;
  const TrainState state = read_train_state(path("run") + "/checkpoint-2");
  EXPECT_EQ(state.device, "cpu");
  EXPECT_EQ(state.precision, "fp32");
  EXPECT_NE(read_file(path("run") + "/final/README.md").find("| computed on | cpu, fp32 |"),
            std::string::npos);
  const RunResult info = run_bigbird({"info", path("run")});
  EXPECT_NE(info.out.find("device\tcpu\nprecision\tfp32\n"), std::string::npos) << info.out;
}

// Half a model's weights are as good as infinite: the layer that they are in is named.
TEST_F(Pretrain, TrainsInBf16OnTheProcessorAndGoesOnExactly) {
  const std::vector<std::string> options = {"--steps",     "4",    "--device",     "cpu",
                                            "--precision", "bf16", "--save-every", "2"};
  const RunResult result = run_bigbird(arguments("run", options));
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.err.find("computing in bf16 on cpu"), std::string::npos) << result.err;
  const RunResult info = run_bigbird({"info", path("run")});
  EXPECT_NE(info.out.find("bf16"), std::string::npos) << info.out;

  // The same from its second step, on another number of threads.
  fs::copy(path("run"), path("again"), fs::copy_options::recursive);
  fs::remove_all(path("again") + "/final");
  fs::remove_all(path("again") + "/checkpoint-4");
  std::vector<std::string> again = arguments("again", options);
  again.push_back("--resume");
  *(std::find(again.begin(), again.end(), "-@") + 1) = "2";
  const RunResult resumed = run_bigbird(again);
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  for (const char* file : {"/final/model.safetensors", "/checkpoint-4/optimizer.safetensors"})
    EXPECT_EQ(testing::read_text(path("again") + file), testing::read_text(path("run") + file)) << file;

  ASSERT_EQ(run_bigbird(arguments("exact", {"--steps", "4", "--device", "cpu"})).status, 0);
  EXPECT_NE(testing::read_text(path("exact") + "/final/model.safetensors"),
            testing::read_text(path("run") + "/final/model.safetensors"))
      << "nothing was rounded";
}

TEST_F(Pretrain, ALossThatIsNotFiniteStopsTheRunAndDebugNanNamesTheLayer) {
  ASSERT_EQ(run_bigbird(arguments("first", {"--steps", "1"})).status, 0);
  LoadedModel model = load_model(path("first") + "/final", LoadOptions{});
  const ParameterLayout layout(model.config);
  const TensorSpec& weight = *layout.find("bert.encoder.layer.0.output.dense.weight");
  const TensorSpec& bias = *layout.find("bert.encoder.layer.0.intermediate.dense.bias");
  std::fill_n(model.parameters.begin() + weight.offset, weight.count, 3e38f);
  std::fill_n(model.parameters.begin() + bias.offset, bias.count, 1e3f);
  fs::create_directories(path("poisoned"));
  write_model_files(path("poisoned"), model.config, layout, model.parameters, path("tokenizer"), "");

  const std::vector<std::string> options = {"--steps", "3", "--init", path("poisoned"), "--device", "cpu"};
  RunResult result = run_bigbird(arguments("second", options));
  expect_error(result, 1, "step 1: the loss is not finite");
  EXPECT_NE(result.err.find("--debug-nan"), std::string::npos) << result.err;
  std::vector<std::string> searching = options;
  searching.insert(searching.end(), {"--debug-nan", "--force"});
  result = run_bigbird(arguments("second", searching));
  expect_error(result, 1, "step 1: the loss is not finite, first in layer 1 of 1");
  EXPECT_FALSE(fs::exists(path("second") + "/final"));
}

TEST_F(Pretrain, APlanFromAFileGoesIntoTheModelFolder) {
  ASSERT_EQ(run_bigbird({"attention", "--length", "64", "--block-size", "16", "--random-blocks", "0",
                         "--heads", "2", "-o", path("plan.json")})
                .status,
            0);
  std::vector<std::string> words = arguments("run", {"--steps", "2", "--plan", path("plan.json")});
  const auto mode = std::find(words.begin(), words.end(), "--random-mode");
  *(mode + 1) = "file";
  const RunResult result = run_bigbird(words);
  ASSERT_EQ(result.status, 0) << result.err;
  const ModelConfig config = read_config(path("run/final/config.json"));
  EXPECT_EQ(config.random_mode, RandomMode::file);
  EXPECT_EQ(config.plan->rows(0, 4), PlanTable::read(path("plan.json")).rows(0, 4));
  // A plan shorter than the samples is refused before anything is written.
  ASSERT_EQ(run_bigbird({"attention", "--length", "48", "--block-size", "16", "--attention", "full",
                         "--heads", "2", "-o", path("plan.json")})
                .status,
            0);
  std::replace(words.begin(), words.end(), path("run"), path("short"));
  const RunResult refused = run_bigbird(words);
  EXPECT_EQ(refused.status, 2) << refused.err;
  EXPECT_NE(refused.err.find("is for 48 tokens"), std::string::npos) << refused.err;
  EXPECT_FALSE(fs::exists(folder_ / "short" / "final"));
}

TEST_F(Pretrain, ThreadsDoNotChangeTheWeights) {
  ASSERT_EQ(run_bigbird(arguments("one", {"--steps", "4"})).status, 0);
  std::vector<std::string> two = arguments("two", {"--steps", "4"});
  *(std::find(two.begin(), two.end(), "-@") + 1) = "2";
  ASSERT_EQ(run_bigbird(two).status, 0);
  EXPECT_EQ(testing::read_text(folder_ / "one/final/model.safetensors"),
            testing::read_text(folder_ / "two/final/model.safetensors"));
}

// The program's own memory and the sanitizers' would hide the model's: a model of some 200 MB.
TEST_F(Pretrain, PeakMemoryIsWithinFivePercentOfThePlan) {
  if (testing::under_sanitizer) GTEST_SKIP() << "sanitizers keep memory of their own";
  testing::write_tiny_shards(path("long"), folder_ / "tokenizer", {8, 60, 40, 1});
  for (const std::string run : {"kept", "recomputed", "bf16"}) {
    std::vector<std::string> words = {"pretrain", "--train", path("long"), "-m",       path("tokenizer"),
                                      "-o",       path(run), "--layers",   "4",        "--width",
                                      "384",      "--heads", "6",          "--length", "1024",
                                      "--batch",  "2",       "--steps",    "2"};
    if (run == "recomputed") words.push_back("--grad-checkpoint");
    if (run == "bf16") words.insert(words.end(), {"--device", "cpu", "--precision", "bf16"});
    const RunResult result = run_bigbird(words);
    ASSERT_EQ(result.status, 0) << result.err;
    std::smatch planned;
    ASSERT_TRUE(std::regex_search(result.err, planned, std::regex("memory planned: ([0-9.]+) MiB")))
        << result.err;
    std::smatch measured;
    ASSERT_TRUE(std::regex_search(result.err, measured, std::regex("([0-9]+) MiB peak memory")))
        << result.err;
    const double peak = std::stod(measured[1]);
    EXPECT_NEAR(std::stod(planned[1]) / peak, 1.0, 0.05) << result.err;
  }
}

TEST_F(Pretrain, TermSavesAndExits143AndResumeFinishes) {
  const std::vector<std::string> words =
      arguments("run", {"--steps", "1500", "--save-every", "10", "--lr", "1e-3"});
  std::vector<std::string> again = words;
  again.push_back("--resume");
  std::uint64_t saved = 0;
  std::vector<std::string_view> fields;
  // Several times, as a signal may come anywhere.
  for (int round = 0; round < 6; ++round) {
    const pid_t child = start(round == 0 ? words : again);
    const bool saves = wait_for_step_after(saved, "run");
    kill(child, SIGTERM);
    ASSERT_EQ(wait_for(child), 143) << round;
    ASSERT_TRUE(saves);
    saved = RunFolder(path("run"), RunStart::resume).checkpoints().back();
    ASSERT_LT(saved, 1500u);
    // The rows end where the checkpoint does: nothing that was done is lost.
    TsvReader metrics(path("run") + "/metrics.tsv");
    std::int64_t last = 0;
    while (metrics.next(fields)) last = parse_integer(fields[0], "", "step");
    EXPECT_EQ(static_cast<std::uint64_t>(last), saved);
  }
  const RunResult result = run_bigbird(again);
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.err.find("going on from"), std::string::npos);
  std::size_t rows = 0;
  TsvReader all(path("run") + "/metrics.tsv");
  while (all.next(fields)) EXPECT_EQ(fields[0], std::to_string(++rows));
  EXPECT_EQ(rows, 1500u);
}

TEST_F(Pretrain, ForceLeavesARunAloneThatIsBeingTrained) {
  const std::vector<std::string> more = {"--steps",     "300", "--save-every", "20",
                                         "--keep-last", "0",   "--lr",         "1e-3"};
  const RunResult alone = run_bigbird(arguments("alone", more));
  ASSERT_EQ(alone.status, 0) << alone.err;
  const pid_t child = start(arguments("run", more));
  const bool saves = wait_for_step_after(0, "run");
  kill(child, SIGSTOP);  // it is in the midst of it, however slow this machine
  std::vector<std::string> forced = arguments("run", more);
  forced.push_back("--force");
  const RunResult second = run_bigbird(forced);
  kill(child, SIGCONT);
  EXPECT_EQ(wait_for(child), 0);
  ASSERT_TRUE(saves);
  expect_error(second, 1, "run.lease: held by process " + std::to_string(child));
  EXPECT_NE(second.err.find("hint: wait for it, or stop it"), std::string::npos) << second.err;
  EXPECT_EQ(checkpoints("run").size(), 15u);
  for (const char* file : {"final/model.safetensors", "checkpoint-20/optimizer.safetensors",
                           "checkpoint-300/optimizer.safetensors"})
    EXPECT_TRUE(testing::read_text(path("run/") + file) == testing::read_text(path("alone/") + file)) << file;
  EXPECT_FALSE(fs::exists(path("run/run.lease")));
  EXPECT_EQ(run_bigbird(forced).status, 0) << "that nobody writes any more";
}

// Of a model that begins from nothing, with what decides its form.
TEST_F(Pretrain, ConfigTomlIsReadBackAndGivesTheSameRun) {
  const RunResult first = run_bigbird(
      arguments("first", {"--steps", "3", "--valid", path("train"), "--eval-samples", "4",
                          "--position-embedding", "rotary", "--warmup", "0", "--seed", "4", "--resume"}));
  ASSERT_EQ(first.status, 0) << first.err;
  const RunResult again =
      run_bigbird({"pretrain", "--config", path("first/config.toml"), "-o", path("again")});
  ASSERT_EQ(again.status, 0) << again.err;
  for (const char* file : {"model.safetensors", "config.json"})
    EXPECT_TRUE(testing::read_text(path("first/final/") + file) ==
                testing::read_text(path("again/final/") + file))
        << file;
}

TEST_F(Pretrain, TwentyKillsWhileSavingAlwaysLeaveAWholeCheckpoint) {
  // A checkpoint after every step: most of the time goes into saving.
  std::vector<std::string> words =
      arguments("run", {"--steps", "1000000", "--save-every", "1", "--warmup", "10", "--keep-last", "1"});
  words.push_back("--resume");
  CounterRng rng(1, Purpose::test, 0);
  std::uint64_t newest = 0;
  for (int round = 0; round < 20; ++round) {
    const pid_t child = start(words);
    const bool saves = wait_for_step_after(newest, "run");
    std::this_thread::sleep_for(std::chrono::microseconds(rng.below(60000)));
    kill(child, SIGKILL);
    ASSERT_EQ(wait_for(child), 128 + SIGKILL);
    ASSERT_TRUE(saves);
    // Read without clearing anything: every folder with a checkpoint's name is whole.
    std::uint64_t last = 0;
    for (const fs::path& folder : checkpoints("run")) {
      const TrainState state = read_train_state(folder.string());
      EXPECT_EQ(folder.filename().string(), "checkpoint-" + std::to_string(state.step));
      const LoadedModel model = load_model(folder.string(), HeadType::pretraining, 1);
      const SafetensorsFile moments(folder.string() + "/optimizer.safetensors");
      EXPECT_EQ(moments.tensors().size(), 2 * ParameterLayout(model.config).tensors().size());
      last = std::max(last, state.step);
    }
    ASSERT_GT(last, newest) << "round " << round;
    newest = last;
  }
}

TEST_F(Pretrain, AFolderThatHoldsARunNeedsResumeOrForce) {
  ASSERT_EQ(run_bigbird(arguments("run", {"--steps", "2"})).status, 0);
  expect_error(run_bigbird(arguments("run", {"--steps", "2"})), 1, "holds a run");
  EXPECT_EQ(run_bigbird(arguments("run", {"--steps", "3", "--force"})).status, 0);
  EXPECT_TRUE(fs::exists(folder_ / "run/checkpoint-3"));
  EXPECT_FALSE(fs::exists(folder_ / "run/checkpoint-2"));
  expect_error(run_bigbird(arguments("run", {"--steps", "4", "--resume"})), 2, "--steps was 3, is 4");
  expect_error(run_bigbird(arguments("run", {"--steps", "4", "--resume", "--force"})), 2, "contradict");
}

TEST_F(Pretrain, AShardCutShortIsNamed) {
  const fs::path bin = folder_ / "train.bin";
  fs::resize_file(bin, fs::file_size(bin) - 100);
  expect_error(run_bigbird(arguments("run")), 1, "train.bin");
  EXPECT_FALSE(fs::exists(folder_ / "run"));
}

TEST_F(Pretrain, ATokenizerThatDidNotMakeTheShardsIsRefused) {
  testing::write_tiny_tokenizer(folder_ / "other", 12);
  std::vector<std::string> words = arguments("run");
  words[4] = path("other");
  expect_error(run_bigbird(words), 1, "tokenizer");
}

TEST_F(Pretrain, ATokenizerOtherThanTheModelsIsRefused) {
  ASSERT_EQ(run_bigbird(arguments("run", {"--steps", "1"})).status, 0);
  testing::write_tiny_tokenizer(folder_ / "other", 12);
  testing::write_tiny_shards(path("other_train"), folder_ / "other");
  expect_error(run_bigbird({"pretrain", "--train", path("other_train"), "-m", path("other"), "--init",
                            path("run") + "/final", "-o", path("second"), "--length", "64", "--batch", "2",
                            "--steps", "1"}),
               1, "pieces");
}

TEST_F(Pretrain, ABrokenConfigOfTheInitialModelIsNamed) {
  ASSERT_EQ(run_bigbird(arguments("run", {"--steps", "1"})).status, 0);
  const fs::path config = folder_ / "run/final/config.json";
  const std::string good = testing::read_text(config);
  const auto init = [&] {
    return run_bigbird({"pretrain", "--train", path("train"), "-m", path("tokenizer"), "--init",
                        path("run") + "/final", "-o", path("second"), "--length", "64", "--batch", "2",
                        "--steps", "1"});
  };
  testing::write_text(config, std::regex_replace(good, std::regex("\"hidden_size\": 32,"), ""));
  expect_error(init(), 1, "hidden_size");
  testing::write_text(config,
                      std::regex_replace(good, std::regex("\"hidden_size\": 32,"), "\"hidden_size\": -32,"));
  expect_error(init(), 1, "hidden_size");
  testing::write_text(config, good);
  EXPECT_EQ(init().status, 0);
}

TEST_F(Pretrain, ImpossibleOptionsAreUsageErrors) {
  expect_error(run_bigbird(arguments("run", {"--accumulate", "3"})), 2, "--accumulate");
  expect_error(run_bigbird(arguments("run", {"--lr", "0"})), 2, "--lr");
  expect_error(run_bigbird(arguments("run", {"--intermediate", "99999999"})), 2, "--intermediate");
  expect_error(run_bigbird(arguments("run", {"--optimizer", "lion"})), 2, "lion");
  expect_error(run_bigbird(arguments("run", {"--no-mlm", "--no-nsp"})), 2, "--no-mlm");
  expect_error(run_bigbird(arguments("run", {"--memory-limit", "1M", "--steps", "1"})), 3, "memory");
  EXPECT_FALSE(fs::exists(folder_ / "run"));
}

// Every file may be 200 kB: the optimizer's moments do not fit, as on a full disk.
TEST_F(Pretrain, AFullDiskIsNoticedAndTheLastCheckpointStays) {
  const std::vector<std::string> words =
      arguments("run", {"--steps", "4", "--save-every", "2", "--keep-last", "0"});
  std::vector<std::string> command = {"bash", "-c", "ulimit -f 100; exec \"$@\"", "bash",
                                      testing::bigbird_binary()};
  command.insert(command.end(), words.begin(), words.end());
  const RunResult result = testing::run_program(command);
  expect_error(result, 1, "optimizer.safetensors");
  for (const auto& entry : fs::directory_iterator(path("run"))) {
    EXPECT_EQ(entry.path().filename().string().find("checkpoint"), std::string::npos) << entry.path();
  }
  EXPECT_FALSE(fs::exists(folder_ / "run/final"));
}

}  // namespace
}  // namespace bigbird
