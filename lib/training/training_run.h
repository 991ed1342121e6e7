// A training run from its options to RUN/final, whatever it trains: memory planned, the run folder opened,
// the model begun or gone on with, and the loop (trainer.h). Pretraining and every fine-tuning task come
// through here.
//
// A new task opens its data, says what it is in a TaskDescription, makes batches in a TrainingTask, and calls
//
//   check_run(options);                                       // first: the data may take long to read
//   const Schedule schedule = schedule_of(options, samples);  // where its model card speaks of it
//   return run_training(task, description, options, backend);
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/model/config.h"
#include "lib/model/network/model_limits.h"
#include "lib/training/memory_plan.h"
#include "lib/training/run_folder.h"
#include "lib/training/run_options.h"
#include "lib/training/trainer.h"

namespace bigbird {

// What a run has to know of its task beside the batches.
struct TaskDescription {
  std::string name;  // "promoter finetune": of the progress
  LossColumns columns;
  LabelSmoothing smoothing;  // of a decoder's loss, in updates; the task puts it into its identity

  // The model: valid, but for its dropout, which RunOptions::dropout may replace. The weights are asked for
  // once the memory is planned, and only by a run that begins.
  ModelConfig config;
  std::function<std::vector<float>()> initial_parameters;
  // Bytes that are in memory now and that the first call of initial_parameters gives up; 0: none.
  std::size_t initial_bytes = 0;

  std::uint64_t samples = 0;  // training samples of an epoch
  bool validates = false;     // TrainingTask::validate() gives losses

  // The largest batch of so many sequences of at most so many tokens; and the tokens of the longest sample.
  std::function<BatchLimits(std::int64_t sequences, std::int64_t length)> limits;
  std::int64_t length = 0;
  // A shorter `length` may be proposed where the memory is too small.
  bool may_be_shorter = false;
  std::size_t mapped_bytes = 0;  // of files that the run will have mapped and touched at its end

  // Options of the task that decide the weights, and what names its data, as text: they must be the same when
  // a run goes on. Keys are fields, with a remark in brackets where the value is not the field's: "data
  // (training windows)".
  std::map<std::string, std::string> identity;
  FolderExtras extras;
};

// Error{usage} for options out of range, Error{bad_input} for a folder that may not be written.
void check_run(const RunOptions& options);

// Runs the training, or goes on with it. Errors: {usage} options out of range or other than those of the run
// that is resumed; {environment} too little memory, naming sizes that fit; and as run_folder.h and trainer.h.
TrainingSummary run_training(const TrainingTask& task, const TaskDescription& description,
                             const RunOptions& options, kernels::Backend& backend);

// The memory of a run as its options make it (memory_plan.h): what it will take, the options that would make
// it smaller, and the batch that fits, where that is left to the memory.

struct PlannedMemory {
  TrainingMemory memory;
  SmallerRuns smaller;
  // ModelOptions::keep_activated: on a device with memory of its own, where the whole run fits with it. It
  // makes no batch smaller. As it may change a last bit, a run that goes on keeps to what it did before, as
  // far as it still fits.
  bool keeps_activated = false;
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
