// Bytes in the place of the standard input, for the life of the object.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace bigbird::testing {

// A pipe that holds `bytes`, at most what a pipe takes (64 KiB), and then ends.
class PipedInput {
 public:
  explicit PipedInput(const std::string& bytes) : saved_(dup(STDIN_FILENO)) {
    int ends[2];
    if (pipe(ends) != 0) std::abort();
    EXPECT_EQ(write(ends[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
  }
  ~PipedInput() {
    dup2(saved_, STDIN_FILENO);
    close(saved_);
  }
  PipedInput(const PipedInput&) = delete;
  PipedInput& operator=(const PipedInput&) = delete;

 private:
  int saved_;
};

}  // namespace bigbird::testing
