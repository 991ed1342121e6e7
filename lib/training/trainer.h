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

#include "lib/model/network/batch.h"
#include "lib/model/network/model.h"
#include "lib/training/memory_plan.h"
#include "lib/training/optimizer.h"
#include "lib/training/run_folder.h"
#include "lib/training/schedule.h"
#include "lib/training/weight_average.h"

namespace bigbird {

// Sums over a set of samples; means are taken where they are shown.
struct LossSums {
  double mlm_loss = 0;  // nats over masked tokens
  std::int64_t mlm_count = 0;
  std::int64_t mlm_correct = 0;
  // Nats over sequences; multi-label: over sequences times labels; question answering: over starts and ends;
  // answers in parts: over the types and over the choices among tokens.
  double sequence_loss = 0;
  std::int64_t sequence_count = 0;
  std::int64_t sequence_correct = 0;
  double mark_loss = 0;  // answers in parts: nats of the marked tokens over their groups (ForwardResult)
  std::int64_t mark_count = 0;

  void add(const ForwardResult& result);
  // Mean over the masked tokens plus mean over the sequences (or their labels) plus mean over the groups of
  // marks, of those that there are: what is minimised.
  double loss() const;
};

class TrainingTask {
 public:
  virtual ~TrainingTask() = default;
  // The micro-batches of update `step` (0, 1, ...): a function of the step alone, so that a run resumes
  // anywhere. May be called beside validate(), on another thread.
  virtual std::vector<Batch> batches(std::uint64_t step) const = 0;
  // Losses on the validation set; nothing where there is none.
  virtual std::optional<LossSums> validate(Model&) const { return std::nullopt; }
};

// Columns of metrics.tsv and valid.tsv after step and loss, in this order.
struct LossColumns {
  bool mlm = true;                // mlm_loss and mlm_accuracy
  std::string sequence;           // <name>_loss and <name>_accuracy: "nsp"; empty: neither
  bool sequence_accuracy = true;  // the second of them; a multi-label loss has none
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
  bool debug_nan = false;  // names the layer or the tensor when a loss or gradient is not finite
  // Bytes of a device with its own memory: what was planned, and what was free before anything was taken.
  // What is used is logged beside them after the first update. 0: nothing to say.
  std::size_t planned_device_memory = 0;
  std::size_t free_device_memory = 0;
};

// Fills planned_device_memory and free_device_memory, before the run takes anything of the device.
void watch_device_memory(TrainerOptions& options, const TrainingMemory& planned,
                         const kernels::Backend& backend);

struct TrainingSummary {
  std::uint64_t steps = 0;   // of the run so far
  std::uint64_t tokens = 0;  // of this process: real ones, special tokens included
  double seconds = 0;        // of this process
  double loss = 0;           // of the last update of this process; 0 when there was none
  // What RUN/final is: the state after this update, with its validation loss where that was why.
  std::uint64_t final_step = 0;
  std::optional<double> final_valid_loss;
};

// Runs the updates after the first state.step ones up to `steps`, and writes RUN/final. The model and the
// optimizer hold the weights and the state after update state.step. Writes metrics.tsv, a row an update, and
// valid.tsv, a row a validation (metrics_log.h); checkpoints every save_every updates, after the last one,
// and with final_is_best after every validation that is the best so far. Afterwards the model holds what
// RUN/final is.
//
// The gradient of an update is that of LossSums::loss() over all its micro-batches together, so without
// dropout the way a batch is cut changes rounding only. Dropout masks are a function of (seed, step,
// micro-batch) and, within the model, of the site (lib/model/network/dropout_site.h).
//
// On SIGTERM or SIGINT (lib/core/cancel.h) the update in progress is dropped, the state after the last whole
// one is saved, and Error{interrupted} thrown. A loss or gradient that is not finite is Error{runtime}: the
// weights are not touched, and the state after the last whole update is saved beside the checkpoints that
// there are.
//
// With `average` (weight_average.h) every update moves it, and it is what is validated, what checkpoints hold
// as their model and what RUN/final is made of.
//
// While a device that works on its own is busy, the next update's batches are made on another thread.
TrainingSummary train(Model& model, Optimizer& optimizer, const TrainingTask& task, const RunFolder& run,
                      const TrainerOptions& options, TrainState state, WeightAverage* average = nullptr);

}  // namespace bigbird
