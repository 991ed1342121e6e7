// Inputs that a fuzzer found worth keeping: corpus/NAME.hex, one a line.
#pragma once

#include <cstddef>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/support.h"

namespace bigbird::fuzz {

inline std::vector<std::string> read_corpus(const std::string& name) {
  std::istringstream lines(
      testing::read_text(testing::source_dir() / "tests" / "fuzz" / "corpus" / (name + ".hex")));
  std::vector<std::string> inputs;
  for (std::string line; std::getline(lines, line);) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < line.size(); i += 2) {
      bytes += static_cast<char>(std::stoi(line.substr(i, 2), nullptr, 16));
    }
    inputs.push_back(std::move(bytes));
  }
  return inputs;
}

}  // namespace bigbird::fuzz
