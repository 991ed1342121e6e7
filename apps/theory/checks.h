// What the verbs of `bigbird theory` print: lines of a name, a tab and a text, and checks that end the
// program with status 1 where one fails.
#pragma once

#include <fmt/format.h>

#include <string>

#include "lib/core/error.h"

namespace bigbird::apps {

inline void print_fact(const std::string& name, const std::string& text) {
  fmt::print("{}\t{}\n", name, text);
}

class Checks {
 public:
  // What holds, and on how many inputs.
  void add(bool holds, const std::string& what) {
    fmt::print("check\t{}\t{}\n", what, holds ? "ok" : "failed");
    ++all_;
    if (holds) return;
    ++failed_;
    if (first_.empty()) first_ = what;
  }
  // Error{runtime} where one failed.
  void finish() const {
    if (failed_ > 0) throw_runtime(fmt::format("{} of {} checks failed: {}", failed_, all_, first_));
  }

 private:
  int all_ = 0, failed_ = 0;
  std::string first_;
};

}  // namespace bigbird::apps
