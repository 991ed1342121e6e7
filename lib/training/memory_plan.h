// The memory of a training run, planned before step 1: what is there already, what the model will allocate,
// what the optimizer and the checkpoints take on top; and, when that is too much, the sizes that would fit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/model/config.h"
#include "lib/model/model.h"
#include "lib/training/process_memory.h"

namespace bigbird {

struct MemoryPlan {
  std::vector<MemoryRow> rows;
  std::size_t total = 0;        // the peak to expect
  std::size_t reclaimable = 0;  // of it, mapped files: not counted against the limit
};

// One training process: the program as it stands now (resident), the model (plan_model_memory), both moments
// of AdamW, and the host copies made while a checkpoint is written.
MemoryPlan plan_training_memory(const ModelConfig& config, const BatchLimits& limits,
                                const ModelOptions& options, const kernels::Backend& backend,
                                const ResidentMemory& resident);

// The table as lines for the log.
std::vector<std::string> memory_table(const MemoryPlan& plan, std::size_t limit);

// Options that make the run smaller ("--accumulate 32"), and the memory it would take with them.
struct SmallerRun {
  std::string options;
  std::function<MemoryPlan()> plan;
};
// Throws Error{environment} when the plan is over the limit (0: no limit). Its hint names, of every group,
// the first run that fits: a group is one way of saving, from the largest run to the smallest.
void require_memory(const MemoryPlan& plan, std::size_t limit,
                    const std::vector<std::vector<SmallerRun>>& groups);

// "1.2 GiB", "34.5 MiB".
std::string format_bytes(std::size_t bytes);

}  // namespace bigbird
