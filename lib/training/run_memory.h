// The memory of a run as its options make it (memory_plan.h): what it will take, the options that would make
// it smaller, and the batch that fits, where that is left to the memory.
#pragma once

#include <cstdint>

#include "kernels/backend.h"
#include "lib/training/memory_plan.h"
#include "lib/training/run_options.h"
#include "lib/training/training_run.h"

namespace bigbird {

struct PlannedMemory {
  TrainingMemory memory;
  SmallerRuns smaller;
};
PlannedMemory plan_run_memory(const TaskDescription& description, const RunOptions& options,
                              const kernels::Backend& backend);

// The most sequences of an automatic batch.
inline constexpr std::uint64_t most_automatic_batch = 1024;

// Where RunOptions::batch is chosen_by_memory: so many sequences that a micro-batch is the largest that fits,
// 1, 2, 4 or a multiple of 8, and the batch at most most_automatic_batch and what an epoch has. Where
// RunOptions::accumulate is: the fewest parts that divide the batch and fit. Says which, and calls
// batch_chosen. Where nothing fits it is one sequence at a time, which run_training() then refuses.
//
// The number is the run's from then on: a run that goes on takes it from its newest checkpoint, because where
// a batch is cut its sums are rounded otherwise. Nothing to do where both are given.
//
// Of `description` all but samples that depend on the batch has to be known: config, limits, length, samples.
void choose_batch(RunOptions& options, const TaskDescription& description, const kernels::Backend& backend);

}  // namespace bigbird
