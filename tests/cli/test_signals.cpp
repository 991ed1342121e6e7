// SIGINT and SIGTERM as a user or a scheduler sends them: a verb that waits for its input ends, one that
// computes ends soon, nothing half-written stays, and a second signal does not wait. No test sleeps for a
// given time: each waits for what shows that the work has begun.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "lib/io/weights/safetensors.h"
#include "lib/model/folder/checkpoint.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using testing::read_text;
using testing::run_bigbird;
using testing::TemporaryFolder;
using testing::write_text;

// The program at work, its standard streams in the test's hands.
class Running {
 public:
  // Standard input from a file, or from in() when the path is empty.
  Running(const std::vector<std::string>& arguments, const std::string& error_file,
          const std::string& input_file = "")
      : error_file_(error_file) {
    std::array<int, 2> in{}, out{};
    if (pipe2(in.data(), O_CLOEXEC) != 0 || pipe2(out.data(), O_CLOEXEC) != 0) std::abort();
    in_ = in[1];
    in_reader_ = in[0];
    out_ = out[0];
    std::vector<std::string> words{testing::bigbird_binary()};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    child_ = fork();
    if (child_ == 0) {
      const int error = open(error_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
      dup2(input_file.empty() ? in[0] : open(input_file.c_str(), O_RDONLY), 0);
      dup2(out[1], 1);
      dup2(error, 2);
      execv(argv[0], argv.data());
      _exit(127);
    }
    close(out[1]);
  }
  ~Running() {
    if (child_ > 0) {
      kill(child_, SIGKILL);
      waitpid(child_, nullptr, 0);
    }
    close(in_);
    close(in_reader_);
    close(out_);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  void give(const std::string& text) const {
    ASSERT_EQ(write(in_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  // Bytes that were given and not read, and written and not read.
  int unread_input() const { return waiting(in_reader_); }
  int unread_output() const { return waiting(out_); }
  int output_room() const { return fcntl(out_, F_GETPIPE_SZ); }

  std::string proc(const char* file) const {
    std::ifstream in("/proc/" + std::to_string(child_) + "/" + file);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // False when the process ended first, or it took minutes.
  bool wait_until(const std::function<bool()>& condition) {
    for (int i = 0; i < 120'000; ++i) {
      if (condition()) return true;
      if (ended(WNOHANG)) return false;
      poll(nullptr, 0, 1);
    }
    return false;
  }
  void signal(int number) const { kill(child_, number); }
  // A signal that the process has taken is pending no more.
  bool took(int number) const {
    const std::string status = proc("status");
    for (const char* mask : {"ShdPnd:\t", "SigPnd:\t"}) {
      const std::size_t at = status.find(mask);
      if (at == std::string::npos) return false;
      const std::uint64_t bits = std::stoull(status.substr(at + 8, 16), nullptr, 16);
      if ((bits >> (number - 1) & 1) != 0) return false;
    }
    return true;
  }
  // Exit status, 1000 + signal when a signal ended it, -1 when it does not end in minutes.
  int wait() {
    for (int i = 0; i < 120'000; ++i) {
      if (ended(WNOHANG)) return status_;
      poll(nullptr, 0, 1);
    }
    return -1;
  }
  std::string error() const { return read_text(error_file_); }

 private:
  static int waiting(int descriptor) {
    int count = -1;
    ioctl(descriptor, FIONREAD, &count);
    return count;
  }
  bool ended(int options) {
    if (child_ <= 0) return true;
    int status = 0;
    if (waitpid(child_, &status, options) != child_) return false;
    child_ = -1;
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    return true;
  }

  std::string error_file_;
  pid_t child_ = -1;
  int status_ = -1;
  int in_ = -1, in_reader_ = -1, out_ = -1;
};

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

const char* const chain_text = "chain 10 a 200 + 0 100 b 300 + 50 150 1\n100\n";

TEST(Signals, EndAVerbThatWaitsOnTheStandardInput) {
  const TemporaryFolder folder;
  const auto path = [&](const std::string& name) { return (folder / name).string(); };
  write_text(path("x.chain"), chain_text);
  write_text(path("lines.txt"), "ACGTACGTTTGACA\nACCCGTAACGTACGTTTGACA\n\nACGTAGGGACGTTTGACA\n");
  const auto trained =
      run_bigbird({"train-bpe", "--text", path("lines.txt"), "-o", path("tokenizer"), "--vocab-size", "20"});
  ASSERT_EQ(trained.status, 0) << trained.err;
  struct Case {
    std::vector<std::string> arguments;
    std::string input;
  };
  const std::vector<Case> cases{
      {{"tokenize", "-m", path("tokenizer"), "--text", "-", "-o", path("shards")}, "ACGTACGT\nACG"},
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
  write_text(path("x.chain"), chain_text);
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
