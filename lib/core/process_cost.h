// What the process has cost so far: the clock, the processor and memory (Linux).
#pragma once

#include <cstddef>

namespace bigbird {

struct ProcessCost {
  double wall_seconds = 0;      // since the program began to run
  double cpu_seconds = 0;       // of all threads, in the program and in the system for it
  std::size_t peak_memory = 0;  // bytes that were resident at once
};
ProcessCost process_cost();

}  // namespace bigbird
