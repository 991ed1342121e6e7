// A training run from its options to RUN/final; see training_run.h.
#include "lib/training/training_run.h"
#include "lib/model/network/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/hash.h"
#include "lib/core/log.h"
#include "lib/core/process_memory.h"
#include "lib/io/files/file.h"
#include "lib/io/files/sha256.h"
#include "lib/model/folder/config_json.h"
#include "lib/training/memory_plan.h"
#include "lib/training/rate_sweep.h"
#include "lib/training/run_memory.h"
#include "lib/training/weight_average.h"

namespace bigbird {
namespace {

// Of samples at both ends of the run: that all ranks read the same files.
std::string data_digest(const TrainingTask& task, std::uint64_t steps) {
  NumberDigest digest;
  const auto add = [&digest](const Batch& batch) {
    digest.add(std::span(batch.ids));
    digest.add(std::span(batch.lengths));
    digest.add(std::span(batch.masked_labels));
    digest.add(std::span(batch.sequence_labels));
    digest.add(std::span(batch.sequence_targets));
    digest.add(std::span(batch.start_positions));
    digest.add(std::span(batch.targets.ids));
  };
  for (const std::uint64_t step : {std::uint64_t{0}, steps - 1}) {
    for (const Batch& batch : task.batches(step, {0, 1})) add(batch);
  }
  const std::uint64_t validation = task.validation_batches();
  if (validation > 0) add(task.validation_batch(0));
  if (validation > 1) add(task.validation_batch(validation - 1));
  return fmt::format("{:016x}", digest.value());
}

// What the ranks of a team must have in common beside the identity of the run.
std::map<std::string, std::string> facts_of(const TrainingTask& task, const TrainerOptions& trainer,
                                            const RunOptions& options, const kernels::Backend& backend) {
  std::map<std::string, std::string> facts;
  for (const auto& [name, value] : trainer.identity) facts[in_words(name)] = value;
  facts["the program"] = sampled_digest("/proc/self/exe");
  facts["the device"] = backend.arithmetic();
  facts["the data (samples of them)"] = data_digest(task, trainer.steps);
  facts["the run"] = fmt::format(
      "{}, {} steps, a checkpoint every {}, a validation every {}, best {} of {}, patience {}, start {}",
      options.run, trainer.steps, trainer.save_every, trainer.eval_every, trainer.final_is_best,
      trainer.keep_best, trainer.patience, static_cast<int>(options.start));
  facts[message("`debug_nan`")] = options.debug_nan ? "true" : "false";
  return facts;
}

// Everything that decides the weights, as text.
std::map<std::string, std::string> identity(const TaskDescription& description, const ModelConfig& config,
                                            const RunOptions& options, const Schedule& schedule) {
  std::map<std::string, std::string> all = config_fields(config);
  all["batch"] = std::to_string(options.batch);
  all["accumulate"] = std::to_string(options.accumulate);
  all["seed"] = std::to_string(options.seed);
  all.merge(update_identity(schedule, options.optimizer));
  if (options.average_decay > 0.0) all["average_decay"] = fmt::format("{}", options.average_decay);
  for (const auto& [name, value] : description.identity) all[name] = value;
  return all;
}

TrainerOptions trainer_options(const TaskDescription& description, const ModelConfig& config,
                               const RunOptions& options, const Schedule& schedule) {
  TrainerOptions trainer;
  trainer.steps = schedule.total;
  trainer.schedule = schedule;
  trainer.seed = options.seed;
  trainer.save_every = options.save_every;
  if (description.validates) {
    trainer.eval_every = steps_between_validations(options, description.samples);
    trainer.keep_best = options.keep_best;
    trainer.final_is_best = options.final_state == FinalState::best;
    trainer.patience = options.patience;
  }
  trainer.keep_last = options.keep_last;
  trainer.task_name = description.name;
  trainer.columns = description.columns;
  trainer.smoothing = description.smoothing;
  trainer.comments = options.comments;
  trainer.identity = identity(description, config, options, schedule);
  trainer.extras = description.extras;
  trainer.debug_nan = options.debug_nan;
  trainer.team = options.team;
  trainer.event_folder = options.tensorboard;
  if (!options.tensorboard.empty() && options.rate_choices.size() > 1)
    trainer.event_folder += "/" + rate_folder(options.learning_rate);
  return trainer;
}

// resumption() of rank 0, for all.
Resumption resumption_of_ranks(const RunFolder& run, const std::map<std::string, std::string>& identity,
                               const kernels::Backend& backend, kernels::Ranks& ranks) {
  Resumption from;
  if (ranks.rank() == 0) from = resumption(run, identity, backend);
  from.checkpoint = kernels::gather_texts(ranks, from.checkpoint).front();
  if (ranks.rank() != 0 && !from.checkpoint.empty()) from.state = read_train_state(from.checkpoint);
  return from;
}

}  // namespace

void check_run(const RunOptions& options) {
  check_options(options);
  RunFolder::check(options.run, options.start);
  // Before the run folder is made: nothing of it is left where the event files cannot be written.
  if (!options.tensorboard.empty()) make_folders(options.tensorboard);
}

TrainingSummary run_training(const TrainingTask& task, const TaskDescription& description,
                             const RunOptions& options, kernels::Backend& backend) {
  check_run(options);
  const bool validates = description.validates && steps_between_validations(options, description.samples) > 0;
  if (!validates && (options.patience > 0 || options.rate_choices.size() > 1)) {
    throw_usage(options.patience > 0 ? message("`patience` {}: nothing is validated", options.patience)
                                     : message("{} choices of `learning_rate`: nothing is validated",
                                               options.rate_choices.size()),
                message("give validation data and `eval_every`"));
  }
  const Schedule schedule = schedule_of(options, description.samples);
  const double epochs = static_cast<double>(schedule.total) * static_cast<double>(options.batch) /
                        static_cast<double>(description.samples);
  log_info(epochs < 100 ? fmt::format("{} steps are {:.2f} epochs of {} samples", schedule.total, epochs,
                                      description.samples)
                        : fmt::format("{} steps see each of {} samples {:.0f} times", schedule.total,
                                      description.samples, epochs));
  ModelConfig config = description.config;
  if (options.dropout >= 0.0) config.hidden_dropout_prob = options.dropout;

  TrainerOptions trainer = trainer_options(description, config, options, schedule);
  const PlannedMemory planned = plan_run_memory(description, options, backend);
  watch_device_memory(trainer, planned.memory, backend);
  kernels::Ranks& ranks = ranks_of(options.team);
  TrainingSummary summary;
  run_in_memory(backend, planned.memory, planned.smaller, [&] {
    if (options.team != nullptr) {
      std::map<std::string, std::string> facts;  // one process agrees with itself
      if (ranks.count() > 1) facts = facts_of(task, trainer, options, backend);
      options.team->enter(facts);
    }
    // Rank 0 makes and clears the folder, and says what to go on from; then the others look.
    std::optional<RunFolder> own;
    if (ranks.rank() == 0) own.emplace(options.run, options.start);
    const RunFolder& run = own ? *own : own.emplace(RunFolder::of_another(options.run));
    const auto [checkpoint, state] = resumption_of_ranks(run, trainer.identity, backend, ranks);
    Model model(backend, config, description.limits(micro_batch(options), description.length),
                training_options(options.grad_checkpoint));
    // Before the optimizer takes memory: what the weights come from is given up first.
    if (checkpoint.empty()) {
      model.set_parameters(description.initial_parameters());
    } else {
      if (description.initial_bytes > 0) description.initial_parameters();
      load_weights(checkpoint, model);
    }
    Optimizer optimizer(backend, model.layout(), options.optimizer, &ranks);
    std::optional<WeightAverage> average;
    if (options.average_decay > 0) average.emplace(backend, model, options.average_decay);
    if (!checkpoint.empty()) {
      load_training_state(checkpoint, model, optimizer, average.has_value());
      log_info(fmt::format("going on from {}", checkpoint));
    }
    if (options.team != nullptr && ranks.count() > 1) {
      NumberDigest weights;
      const HostValues values = model.parameters_to_read();
      weights.add(values.values());
      options.team->agree({{"the weights to begin with", fmt::format("{:016x}", weights.value())}});
    }
    if (ranks.rank() == 0) {
      write_text_atomic(run.file("config.toml"), options.config_toml);
      write_text_atomic(run.file("memory.tsv"), memory_tsv(planned.memory, 0));
    }
    summary = train(model, optimizer, task, run, trainer, state, average ? &*average : nullptr);
    if (ranks.rank() == 0)
      write_text_atomic(run.file("memory.tsv"), memory_tsv(planned.memory, resident_memory().peak));
    if (options.team != nullptr) options.team->leave();
  });
  return summary;
}

}  // namespace bigbird
