// What every fine-tuning task shares, from its options to RUN/final: numbers checked, the length of a
// sequence, the schedule, the order of the samples, what must be the same when a run goes on, the memory
// plan, and the run itself. A task adds its data, its TrainingTask and what its model card says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/model/folder/checkpoint.h"
#include "lib/model/network/model.h"
#include "lib/training/optimizer.h"
#include "lib/training/run_folder.h"
#include "lib/training/schedule.h"
#include "lib/training/trainer.h"

namespace bigbird {

struct FinetuneOptions {
  std::string init;  // pretrained or fine-tuned model folder
  std::string run;   // folder to write

  std::int64_t length = 0;       // tokens every sequence is padded or cut to; 0: chosen from the data
  std::uint64_t batch = 32;      // sequences of one update,
  std::uint64_t accumulate = 1;  // run in so many micro-batches of ceil(batch / accumulate)
  double epochs = 3;             // passes over the training samples, when steps is 0
  std::uint64_t steps = 0;
  std::uint64_t seed = 1;
  double dropout = -1;  // negative: the model's own
  double learning_rate = 1e-4;
  std::optional<std::uint64_t> warmup;  // default_warmup(steps) when not given
  ScheduleForm schedule = ScheduleForm::google;
  OptimizerOptions optimizer;
  bool grad_checkpoint = false;

  RunStart start = RunStart::fresh;
  std::uint64_t save_every = 500;
  std::uint64_t eval_every = 0;  // 0: once an epoch
  std::uint64_t keep_last = 2;
  std::uint64_t keep_best = 1;
  std::size_t memory_limit = 0;  // bytes of the memory the model lives in; 0: what is left of it
  bool debug_nan = false;

  std::string config_toml;            // becomes RUN/config.toml
  std::string command;                // for the model card; empty: left out
  std::vector<std::string> comments;  // provenance lines of metrics.tsv
};

// Error{usage} naming the option; `verb` ("chromatin finetune") for the hint.
void check_numbers(const FinetuneOptions& options, const std::string& verb);

// Sequences of the largest micro-batch.
std::int64_t micro_batch(const FinetuneOptions& options);

// The tokens every sequence will have: as asked for, or `longest`, in whole blocks and at most what the model
// takes. Error{usage} for a --length outside 3 .. max_position_embeddings.
std::int64_t input_length(const FinetuneOptions& options, const ModelConfig& config, std::int64_t longest);

// Of a run over `samples` an epoch. Error{usage} for a warm-up that is longer than the run.
Schedule finetune_schedule(const FinetuneOptions& options, std::uint64_t samples);

// --eval-every, or once an epoch of `samples`.
std::uint64_t steps_between_validations(const FinetuneOptions& options, std::uint64_t samples);

// One draw of the run: its number from the first update on, and the sample that it is.
struct Draw {
  std::uint64_t number = 0;
  std::uint64_t sample = 0;
};
// The `batch` draws of update `step`. Every epoch visits every one of `samples` samples once, in an order
// that is a function of (seed, epoch) (Purpose::finetune_order).
std::vector<Draw> draws_of_update(std::uint64_t seed, std::uint64_t batch, std::uint64_t samples,
                                  std::uint64_t step);

// The largest batch of `sequences` sequences when every one is padded to config.input_length.
BatchLimits padded_limits(const ModelConfig& config, std::int64_t sequences);

// Options that decide the weights, as text, and the fields of config.json: what must be the same when a run
// goes on. The caller adds what names its data.
std::map<std::string, std::string> finetune_identity(const FinetuneOptions& options,
                                                     const ModelConfig& config, const Schedule& schedule);

// The rows of a model card's table on how the model was made, and the command. `title`, `tags` and
// `data_rows` ("| what | value |\n") are the task's.
std::string finetune_card(const FinetuneOptions& options, const ModelConfig& config, const Schedule& schedule,
                          const kernels::Backend& backend, const std::string& title, const std::string& tags,
                          const std::string& data_rows);

// Runs (or goes on with) the training of `loaded`, whose config is the run's. `trainer` comes with what is
// the task's own: name, columns, identity, extras, eval_every; the rest is filled in here. `mapped_bytes`: of
// files that the run will map. Errors: as trainer.h, run_folder.h and memory_plan.h.
TrainingSummary run_finetuning(const FinetuneOptions& options, const LoadedModel& loaded,
                               const Schedule& schedule, TrainerOptions trainer, const TrainingTask& task,
                               std::size_t mapped_bytes, kernels::Backend& backend);

}  // namespace bigbird
