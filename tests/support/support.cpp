// Test support; see support.h.
#include "tests/support/support.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace bigbird::testing {

namespace {

// No test, and no program that one starts, writes into the cache of whoever runs it.
const int no_cache = setenv("BIGBIRD_WEIGHT_CACHE", "none", 1);

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "bigbird-test-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::filesystem::path source_dir() {
  return BIGBIRD_SOURCE_DIR;
}

std::optional<std::filesystem::path> shared_dir() {
  const char* set = std::getenv("BIGBIRD_SHARED");
  const std::filesystem::path folder =
      set != nullptr ? std::filesystem::path(set) : source_dir() / ".." / "shared";
  if (std::filesystem::is_directory(folder / "golden")) return std::filesystem::canonical(folder);
  return std::nullopt;
}

std::string read_text(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + file.string());
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void write_text(const std::filesystem::path& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary);
  out << text;
  if (!out) throw std::runtime_error("cannot write " + file.string());
}

std::string bigbird_binary() {
  return BIGBIRD_BINARY;
}

RunResult run_bigbird(const std::vector<std::string>& arguments, const std::string& input) {
  std::vector<std::string> command{bigbird_binary()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return run_program(command, input);
}

RunResult run_program(const std::vector<std::string>& command, const std::string& input) {
  int in_pipe[2], out_pipe[2], err_pipe[2];
  if (pipe2(in_pipe, O_CLOEXEC) != 0 || pipe2(out_pipe, O_CLOEXEC) != 0 || pipe2(err_pipe, O_CLOEXEC) != 0) {
    throw std::runtime_error("pipe failed");
  }
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) {
    dup2(in_pipe[0], 0);
    dup2(out_pipe[1], 1);
    dup2(err_pipe[1], 2);
    std::vector<char*> argv;
    for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  close(in_pipe[0]);
  close(out_pipe[1]);
  close(err_pipe[1]);
  std::thread writer([&] {
    std::size_t written = 0;
    while (written < input.size()) {
      const ssize_t n = write(in_pipe[1], input.data() + written, input.size() - written);
      if (n <= 0) break;
      written += static_cast<std::size_t>(n);
    }
    close(in_pipe[1]);
  });
  RunResult result;
  const auto drain = [](int descriptor, std::string& text) {
    char buffer[65536];
    ssize_t n = 0;
    while ((n = read(descriptor, buffer, sizeof buffer)) > 0)
      text.append(buffer, static_cast<std::size_t>(n));
    close(descriptor);
  };
  std::thread reader([&] { drain(err_pipe[0], result.err); });
  drain(out_pipe[0], result.out);
  reader.join();
  writer.join();
  int status = 0;
  waitpid(child, &status, 0);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace bigbird::testing
