// What the process has cost; see process_cost.h.
#include "lib/core/process_cost.h"

#include <sys/resource.h>

#include <chrono>

#include "lib/core/process_memory.h"

namespace bigbird {
namespace {

const std::chrono::steady_clock::time_point process_start = std::chrono::steady_clock::now();

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

}  // namespace

ProcessCost process_cost() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  // Not ru_maxrss: a process that a large program started inherits that one's size there.
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - process_start).count(),
          seconds(usage.ru_utime) + seconds(usage.ru_stime), resident_memory().peak};
}

}  // namespace bigbird
