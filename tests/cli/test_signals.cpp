// SIGINT and SIGTERM as a user or a scheduler sends them: a verb that waits for its input ends, one that
// computes ends soon, nothing half-written stays, and a second signal does not wait. No test sleeps for a
// given time: each waits for what shows that the work has begun.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "lib/io/weights/safetensors.h"
#include "lib/model_folder/checkpoint.h"
#include "tests/cli/running_program.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using testing::run_bigbird;
using testing::Running;
using testing::TemporaryFolder;
using testing::write_text;

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

const char* const one_chain = "chain 10 a 200 + 0 100 b 300 + 50 150 1\n100\n";

TEST(Signals, EndAVerbThatWaitsOnTheStandardInput) {
  const TemporaryFolder folder;
  const auto path = [&](const std::string& name) { return (folder / name).string(); };
  write_text(path("x.chain"), one_chain);
  write_text(path("lines.txt"), "ACGTACGTTTGACA\nACCCGTAACGTACGTTTGACA\n\nACGTAGGGACGTTTGACA\n");
  const auto trained =
      run_bigbird({"train-bpe", "--lines", path("lines.txt"), "-o", path("tokenizer"), "--vocab-size", "20"});
  ASSERT_EQ(trained.status, 0) << trained.err;
  struct Case {
    std::vector<std::string> arguments;
    std::string input;
  };
  const std::vector<Case> cases{
      {{"tokenize", "-m", path("tokenizer"), "--lines", "-", "-o", path("shards")}, "ACGTACGT\nACG"},
      {{"liftover", "--chain", path("x.chain"), "-", "-o", path("lifted.bed")}, "a\t1\t2\na\t"}};
  const std::vector<std::string> before = names_in(folder.path());
  for (const Case& each : cases) {
    for (const int number : {SIGTERM, SIGINT}) {
      SCOPED_TRACE(each.arguments[0] + " " + std::to_string(number));
      Running running(each.arguments, path("stderr"));
      running.give(each.input);
      ASSERT_TRUE(running.wait_until([&] { return running.unread_input() == 0; })) << running.error();
      running.signal(number);
      EXPECT_EQ(running.wait(), 128 + number) << running.error();
      EXPECT_NE(running.error().find(number == SIGINT ? "stopped by SIGINT" : "stopped by SIGTERM"),
                std::string::npos)
          << running.error();
      std::filesystem::remove(path("stderr"));
      EXPECT_EQ(names_in(folder.path()), before);
    }
  }
}

// The work cannot go on, because nobody reads its output, and so it does not see the first signal.
TEST(Signals, ASecondOneDoesNotWait) {
  const TemporaryFolder folder;
  const auto path = [&](const std::string& name) { return (folder / name).string(); };
  write_text(path("x.chain"), one_chain);
  std::string records;
  for (int i = 0; i < 100'000; ++i) records += "a\t1\t2\n";
  write_text(path("many.bed"), records);
  Running running({"liftover", "--chain", path("x.chain"), path("many.bed")}, path("stderr"));
  const int room = running.output_room();
  ASSERT_TRUE(running.wait_until([&] { return running.unread_output() == room; })) << running.error();
  running.signal(SIGINT);
  ASSERT_TRUE(running.wait_until([&] { return running.took(SIGINT); })) << "the first one ended it";
  EXPECT_FALSE(running.proc("status").empty());
  running.signal(SIGINT);
  EXPECT_EQ(running.wait(), 130);
}

// A model whose layers take a while.
class LongWork : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    ModelConfig config;
    config.vocab_size = 500;
    config.hidden_size = 256;
    config.num_hidden_layers = 40;
    config.num_attention_heads = 4;
    config.intermediate_size = 1024;
    config.max_position_embeddings = 1024;
    const ParameterLayout layout(config);
    std::filesystem::create_directory(path("model"));
    write_model_files(path("model"), config, layout, initial_parameters(layout, config, 1), "", "\n");
    std::vector<std::int64_t> ids(8 * 1024, 7);
    write_safetensors(path("in.safetensors"), {{"input_ids", TensorType::i64, {8, 1024}, ids.data()}});
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }

  // A machine may be so fast, or the test so slow, that the work is done before the signal: then once more.
  void expect_stopped(const std::vector<std::string>& arguments) {
    const std::vector<std::string> before = names_in(folder_->path());
    for (int attempt = 0; attempt < 5; ++attempt) {
      Running running(arguments, path("stderr"));
      const bool begun = running.wait_until(
          [&] { return running.proc("maps").find("model.safetensors") != std::string::npos; });
      running.signal(SIGTERM);
      const int status = running.wait();
      const std::string error = running.error();
      std::filesystem::remove(path("stderr"));
      if (begun && status == 143) {
        EXPECT_NE(error.find("stopped by SIGTERM"), std::string::npos) << error;
        EXPECT_EQ(names_in(folder_->path()), before);
        EXPECT_EQ(names_in(path("model")), model_files);
        return;
      }
      ASSERT_EQ(status, 0) << error;
      std::filesystem::remove_all(path("out"));
      std::filesystem::remove(path("model/self_test.json"));
    }
    ADD_FAILURE() << "the work went on to its end five times";
  }
  static std::string path(const std::string& name) { return (*folder_ / name).string(); }

  static inline TemporaryFolder* folder_ = nullptr;
  const std::vector<std::string> model_files{"README.md", "config.json", "model.safetensors"};
};

TEST_F(LongWork, ConvertStops) {
  expect_stopped({"convert", path("model"), path("out")});
}

TEST_F(LongWork, CheckStops) {
  expect_stopped({"check", path("model"), "--write-digest"});
}

TEST_F(LongWork, ForwardStops) {
  expect_stopped({"forward", "-m", path("model"), "-i", path("in.safetensors"), "-o", path("out")});
}

}  // namespace
}  // namespace bigbird
