// The program at work: its standard streams in the test's hands, signals to it, and how it ends.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "tests/support/support.h"

namespace bigbird::testing {

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
    std::vector<std::string> words{bigbird_binary()};
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
  // What was written and not read.
  std::string take_output() const {
    std::string text(static_cast<std::size_t>(unread_output()), '\0');
    EXPECT_EQ(read(out_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    return text;
  }
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

}  // namespace bigbird::testing
