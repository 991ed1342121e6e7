// The program over the emulated device, started with options of that device.
#pragma once

#include <string>
#include <vector>

#include "tests/support/support.h"

namespace bigbird::testing {

// device: "compute_capability=80 ..." (kernels/cuda/emulation/emulation.h); more: NAME=VALUE.
inline RunResult run_emulated(const std::string& device, const std::vector<std::string>& arguments,
                              const std::vector<std::string>& more = {}) {
  std::vector<std::string> words{"env", "BIGBIRD_EMULATION=" + device};
  words.insert(words.end(), more.begin(), more.end());
  words.emplace_back(BIGBIRD_EMULATED);
  words.insert(words.end(), arguments.begin(), arguments.end());
  return run_program(words);
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace bigbird::testing
