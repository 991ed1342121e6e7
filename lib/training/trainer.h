// The training loop: batches, forward, backward, update, with metrics, validation, checkpoints, stop and
// resume. What is trained comes in as a TrainingTask; who calls train() has made the model, the optimizer and
// the run folder (run_training() in training_run.h does, from the options of a run).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/model/label_smoothing.h"
#include "lib/training/memory_plan.h"
#include "lib/training/optimizer.h"
#include "lib/training/rank_team.h"
#include "lib/training/run_folder.h"
#include "lib/training/training_task.h"

namespace bigbird {

// Columns of metrics.tsv and valid.tsv after step and loss, in this order.
struct LossColumns {
  bool mlm = true;                // mlm_loss and mlm_accuracy
  std::string sequence;           // <name>_loss and <name>_accuracy: "nsp"; empty: neither
  bool sequence_accuracy = true;  // the second of them; a multi-label loss has none
  bool contrast = false;          // contrast_loss and contrast_accuracy
  bool span = false;              // span_loss, of training alone
  bool compression = false;       // compression_loss, likewise
  bool commitment = false;        // commitment_loss, likewise
  std::string tokens = "mlm";     // what the first two are named after
};

// A run as the loop sees it, every number resolved; RunOptions (run_options.h) are what users say.
struct TrainerOptions {
  std::uint64_t steps = 0;
  Schedule schedule;
  std::uint64_t seed = 1;        // of dropout
  std::uint64_t save_every = 0;  // steps; 0: after the last one alone, and when stopped
  std::uint64_t eval_every = 0;  // steps, and after the last one; 0: never
  std::uint64_t keep_last = 0;   // checkpoints; 0: all
  std::uint64_t keep_best = 0;   // of lowest validation loss, kept beside the last ones
  // RUN/final is the state of lowest validation loss: a validation that is better than all before it saves a
  // checkpoint, and the best one is kept whatever keep_best says.
  bool final_is_best = false;
  // With final_is_best: the run ends when the best validation lies so many times eval_every updates back. The
  // learning rate does not know of it.
  std::uint64_t patience = 0;
  std::string task_name;  // for progress: "pretrain"
  LossColumns columns;
  LabelSmoothing smoothing;                     // of updates; validation has the plain loss
  std::vector<std::string> comments;            // provenance lines of the TSV files
  std::map<std::string, std::string> identity;  // options that decide the result (TrainState::options)
  FolderExtras extras;
  bool debug_nan = false;        // names the layer or the tensor when a loss or gradient is not finite
  std::string event_folder;      // for TensorBoard; empty: none
  bool keeps_activated = false;  // ModelOptions::keep_activated of the model: TrainState's
  RankTeam* team = nullptr;      // the ranks that train together, in step; null: this process alone
  // Bytes of a device with its own memory: what was planned, without what is left to its driver, and what was
  // free before anything was taken. What is used is logged beside them after the first update. 0: nothing to
  // say.
  std::size_t planned_device_memory = 0;
  std::size_t free_device_memory = 0;
};

// Fills planned_device_memory and free_device_memory, before the run takes anything of the device.
void watch_device_memory(TrainerOptions& options, const TrainingMemory& planned,
                         const kernels::Backend& backend);

struct TrainingSummary {
  std::uint64_t steps = 0;    // of the run so far
  std::uint64_t tokens = 0;   // of this part of the run: real ones, special tokens included
  double seconds = 0;         // of this part
  double update_seconds = 0;  // of them, those of its updates: batches, forward, backward, the optimizer
  double operations = 0;      // of these updates (model_operations.h)
  // Operations a second that the devices of all ranks could do (model_operations.h); 0: not known.
  double peak_operations = 0;
  double loss = 0;  // of the last update of this part; 0 when there was none
  // What RUN/final is: the state after this update, with its validation loss where that was why.
  std::uint64_t final_step = 0;
  std::optional<double> final_valid_loss;
};

// Runs the updates after the first state.step ones up to `steps`, and writes RUN/final. The model and the
// optimizer hold the weights and the state after update state.step. Writes metrics.tsv, a row an update, and
// valid.tsv, a row a validation (metrics_log.h), where four columns at the end of metrics.tsv are times:
// tokens_per_second, seconds, model_flops_per_second (model_operations.h) and mfu, what these are of the peak
// of the devices (NA where that is not known); checkpoints every save_every updates, after the last one,
// and with final_is_best after every validation that is the best so far. Afterwards the model holds what
// RUN/final is.
//
// The gradient of an update is that of LossSums::loss() over all its micro-batches together, so without
// dropout the way a batch is cut changes rounding only. Dropout masks are a function of (seed, step,
// micro-batch) and, within the model, of the site (lib/model/network/pass_context.h).
//
// Ranks of a team share the micro-batches of an update, and its validation; all call this with the same
// arguments, on models with the same weights, and the optimizer is one over the team's ranks. Rank 0 alone
// writes. The bytes of what it writes, but for seconds and speeds, are those of one process.
//
// On SIGTERM or SIGINT (lib/core/cancel.h) the update in progress is dropped (of several ranks, made first),
// the state after the last whole one is saved, and Error{interrupted} thrown; a validation that was due and
// given up is made when the run goes on. A loss or gradient that is not finite is Error{runtime}: the weights
// are not touched, and the state after the last whole update is saved beside the checkpoints that there are.
//
// With `average` (optimizer.h) every update moves it, and it is what is validated, what checkpoints hold
// as their model and what RUN/final is made of.
//
// While a device that works on its own is busy, the next update's batches are made on another thread.
TrainingSummary train(Model& model, Optimizer& optimizer, const TrainingTask& task, const RunFolder& run,
                      const TrainerOptions& options, TrainState state, WeightAverage* average = nullptr);

}  // namespace bigbird
