// The memory of a training run, planned before step 1: what is there already, what the model will allocate,
// what the optimizer and the checkpoints take on top; and, when that is too much, the sizes that would fit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/errors.h"
#include "kernels/ranks/ranks.h"
#include "lib/core/process_memory.h"
#include "lib/model/config.h"
#include "lib/model/network/model_limits.h"
#include "lib/training/optimizer.h"

namespace bigbird {

// What one memory will hold.
struct MemoryPlan {
  std::string where;  // "memory", "memory of cuda:0 NVIDIA H200"
  std::vector<MemoryRow> rows;
  std::size_t total = 0;        // the peak to expect
  std::size_t reclaimable = 0;  // of it, mapped files: not counted against the limit
  std::size_t limit = 0;        // 0: none
  std::string limit_name = {};  // what sets it, where the process itself is limited: "ulimit -v 614400"

  bool fits() const { return limit == 0 || total - reclaimable <= limit; }
};

struct TrainingMemory {
  // The memory that the model lives in first: of the device when it has its own, and then the program's.
  std::vector<MemoryPlan> places;
  // For Backend::reserve(); 0 on a device that works in the memory of the program.
  std::size_t reserve = 0;

  bool on_device() const { return places.size() > 1; }
};

// Bytes of a device's own memory that a run may count with, those that the backend holds already included; 0:
// it has none.
std::size_t device_memory_at_hand(const kernels::Backend& backend);

// What there is before the run takes anything.
struct MemoryBefore {
  ResidentMemory resident;
  std::size_t process_limit = 0;  // bytes that the program may hold in all; 0: unknown
  std::string limit_name = {};    // as MemoryPlan's
  std::size_t device_limit = 0;   // bytes that the run may take of the device's own memory; 0: it has none
};
// As things stand now. `typed`: the user's limit, in bytes, on the memory that the model lives in; 0: none.
// `processes` on this machine share what it has left; each has the limits of a process (process_limit()).
MemoryBefore memory_before(const kernels::Backend& backend, std::size_t typed, int processes = 1);

// What a process has of an update.
struct RankShare {
  const kernels::Ranks* ranks = &kernels::this_process();
  kernels::Index slots = 1;  // micro-batches of this rank
};

// How a run builds its model; keep_activated where there is room for it.
ModelOptions training_options(bool grad_checkpoint = false, bool keep_activated = false);

// One training process: the program as it stands now, the model (plan_model_memory), the state of the
// optimizer, the average of the weights where there is one, the gradients that wait for others and the slices
// that are on their way, and the host copies made while a checkpoint is written (of several ranks by the
// first, whose plan is that of all).
TrainingMemory plan_training_memory(const ModelConfig& config, const BatchLimits& limits,
                                    const ModelOptions& options, const kernels::Backend& backend,
                                    const MemoryBefore& before, bool averages_weights = false,
                                    OptimizerVariant variant = OptimizerVariant::google,
                                    const RankShare& share = {});

// A process that runs a model without training it: the program as it stands now, and `model`.
TrainingMemory plan_inference_memory(std::vector<MemoryRow> model, const kernels::Backend& backend,
                                     const MemoryBefore& before);

// "memory planned: 61.1 MiB, the limit is 23.07 GiB".
std::string memory_line(const MemoryPlan& plan);

// The table as lines for the log. A row ends with the types of its numbers.
std::vector<std::string> memory_table(const MemoryPlan& plan);

// Logs the line of every place and, for who asks for more (LogLevel::debug), its table.
void log_memory(const TrainingMemory& memory);

// The same for other programs: "where part bytes numbers", a row for each part, then "peak to expect",
// "limit" where there is one and, of the program's own memory, "used at the most" when `used` is not 0.
std::string memory_tsv(const TrainingMemory& memory, std::size_t used);

// Options that make the run smaller ("`accumulate` 32"), and the memory it would take with them.
struct SmallerRun {
  std::string options;
  std::function<TrainingMemory()> plan;
};
// A group is one way of saving, from the largest run to the smallest.
using SmallerRuns = std::vector<std::vector<SmallerRun>>;

// Throws Error{environment} when a plan is over its limit. The message names the row that does not fit; the
// hint, of every group, the first run that fits.
void require_memory(const TrainingMemory& memory, const SmallerRuns& smaller);

// Logs the plan (log_memory), requires the memory, and runs `work`, on a device with the memory reserved.
// When the device has less than it said, throws the Error of require_memory().
void run_in_memory(kernels::Backend& backend, const TrainingMemory& memory, const SmallerRuns& smaller,
                   const std::function<void()>& work);

// "1.2 GiB", "34.5 MiB".
std::string format_bytes(std::size_t bytes);

}  // namespace bigbird
