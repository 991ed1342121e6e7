// The training loop: batches -> forward -> backward -> AdamW, with metrics, validation, checkpoints, stop and
// resume. What is trained comes in as a TrainingTask; pretraining and the fine-tuning tasks share this loop.
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

namespace bigbird {

// Sums over a set of samples; means are taken where they are shown.
struct LossSums {
  double mlm_loss = 0;  // nats over masked tokens
  std::int64_t mlm_count = 0;
  std::int64_t mlm_correct = 0;
  double sequence_loss = 0;  // nats over sequences; multi-label: over sequences times labels
  std::int64_t sequence_count = 0;
  std::int64_t sequence_correct = 0;

  void add(const ForwardResult& result);
  // Mean over the masked tokens plus mean over the sequences (or their labels), those that there are: what is
  // minimised.
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

struct TrainerOptions {
  std::uint64_t steps = 0;
  Schedule schedule;
  std::uint64_t seed = 1;                       // of dropout
  std::uint64_t save_every = 0;                 // steps; 0: only when stopped
  std::uint64_t eval_every = 0;                 // steps; 0: never
  std::uint64_t keep_last = 0;                  // checkpoints; 0: all
  std::uint64_t keep_best = 0;                  // of lowest validation loss, kept beside the last ones
  std::string task_name;                        // for progress: "pretrain"
  std::string sequence_name;                    // columns <name>_loss and <name>_accuracy: "nsp"
  bool sequence_accuracy = true;                // the second of them; a multi-label loss has none
  bool mlm_columns = true;                      // columns mlm_loss and mlm_accuracy
  std::vector<std::string> comments;            // provenance lines of the TSV files
  std::map<std::string, std::string> identity;  // options that decide the result (TrainState::options)
  FolderExtras extras;
  // Names the layer or the tensor when a loss or gradient is not finite.
  bool debug_nan = false;
  // Bytes of a device with its own memory: what was planned, and what was free before anything was taken.
  // What is used is logged beside them after the first update. 0: nothing to say.
  std::size_t planned_device_memory = 0;
  std::size_t free_device_memory = 0;
};

// Fills the last two, before anything is taken.
void watch_device_memory(TrainerOptions& options, const TrainingMemory& planned,
                         const kernels::Backend& backend);

struct TrainingSummary {
  std::uint64_t steps = 0;   // of the run so far
  std::uint64_t tokens = 0;  // of this process
  double seconds = 0;        // of this process
  double loss = 0;           // of the last update
};

// Runs updates state.step .. steps and writes RUN/final. The model and the optimizer hold the state of
// `state.step`.
//
// The gradient of an update is that of LossSums::loss() over all its micro-batches together, so without
// dropout the way a batch is cut changes rounding only. Dropout masks are keyed by (seed, step, micro-batch).
//
// On SIGTERM or SIGINT (lib/core/cancel.h) the update in progress is dropped, the state after the last whole
// one is saved, and Error{interrupted} thrown. A loss or gradient that is not finite is Error{runtime}: the
// weights are not touched, and the state after the last whole update is saved beside the checkpoints that
// there are.
//
// While a device that works on its own is busy, the next update's batches are made.
TrainingSummary train(Model& model, Optimizer& optimizer, const TrainingTask& task, const RunFolder& run,
                      const TrainerOptions& options, TrainState state);

}  // namespace bigbird
