// What the process holds in memory, what the machine or the control group around the process has left, and
// what the process has cost so far: the clock, the processor and memory (Linux).
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace bigbird {

struct ResidentMemory {
  std::size_t anonymous = 0;  // bytes of heap, stacks and other memory of the program's own
  std::size_t file = 0;       // bytes of mapped files (code, token shards): the system can take these back
  std::size_t peak = 0;       // most bytes of both together, so far
};
// Zeros where /proc cannot be read.
ResidentMemory resident_memory();

// Bytes that can still be taken: the machine's available memory, cut to what the tightest memory limit of the
// control groups around the process leaves (version 1 and 2), and to what its Slurm job was granted. 0 when
// unknown.
std::size_t available_memory();

// The tighter limit of those that the process itself has: of its address space (RLIMIT_AS, `ulimit -v` of a
// shell) and of its writable memory (RLIMIT_DATA, `ulimit -d`).
struct ProcessLimit {
  std::string name;      // as a shell takes it, in KiB: "ulimit -v 614400"
  std::size_t room = 0;  // bytes that can still be taken under it
};
// Nothing where there is none.
std::optional<ProcessLimit> process_limit();

// Bytes of address space that threads will take for their stacks, where the process is to have so many.
std::size_t stacks_to_come(int threads);

// What to do where memory does not suffice: one line, which names the limit of the process if it has one.
std::string memory_hint();

struct ProcessCost {
  double wall_seconds = 0;      // since the program began to run
  double cpu_seconds = 0;       // of all threads, in the program and in the system for it
  std::size_t peak_memory = 0;  // bytes that were resident at once
};
ProcessCost process_cost();

}  // namespace bigbird
