// A training run from its options to RUN/final; see training_run.h.
#include "lib/training/training_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/io/files/file.h"
#include "lib/model/folder/config_json.h"
#include "lib/training/memory_plan.h"
#include "lib/training/weight_average.h"

namespace bigbird {
namespace {

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
  return trainer;
}

ModelOptions model_options(bool grad_checkpoint) {
  ModelOptions options;
  options.training = true;
  options.grad_checkpoint = grad_checkpoint;
  options.logits_in_pieces = true;
  return options;
}

struct PlannedMemory {
  TrainingMemory memory;
  SmallerRuns smaller;
};

// What the run will take, and the options that would make it smaller.
PlannedMemory plan_memory(const TaskDescription& description, const ModelConfig& config,
                          const RunOptions& options, const kernels::Backend& backend) {
  MemoryBefore before = memory_before(backend, options.memory_limit);
  before.resident.file += description.mapped_bytes;
  before.resident.anonymous -= std::min(before.resident.anonymous, description.initial_bytes);
  const auto plan = [config, before, limits = description.limits, &backend,
                     averages = options.average_decay > 0, variant = options.optimizer.variant](
                        std::int64_t sequences, std::int64_t length, bool grad_checkpoint) {
    return plan_training_memory(config, limits(sequences, length), model_options(grad_checkpoint), backend,
                                before, averages, variant);
  };
  const std::int64_t sequences_now = micro_batch(options);
  const std::int64_t length_now = description.length;
  const bool checkpointed_now = options.grad_checkpoint;
  // Every way of cutting the batch further, from large micro-batches to single sequences.
  std::vector<SmallerRun> more_parts, checkpointed, shorter;
  if (!checkpointed_now) {
    checkpointed.push_back({"`grad_checkpoint`", [=] { return plan(sequences_now, length_now, true); }});
  }
  for (std::int64_t sequences = sequences_now - 1; sequences > 0; --sequences) {
    const auto size = static_cast<std::uint64_t>(sequences);
    const std::string text =
        fmt::format("`accumulate` {} ({} sequences at a time)", (options.batch + size - 1) / size, sequences);
    more_parts.push_back({text, [=] { return plan(sequences, length_now, checkpointed_now); }});
    if (checkpointed_now) continue;
    checkpointed.push_back({"`grad_checkpoint` " + text, [=] { return plan(sequences, length_now, true); }});
  }
  for (const std::int64_t sequences : {sequences_now, std::int64_t{1}}) {
    if (!description.may_be_shorter) break;
    const std::string parts =
        sequences == sequences_now ? "" : fmt::format(" `accumulate` {}", options.batch);
    for (std::int64_t length = (length_now - 1) / config.block_size * config.block_size; length > 0;
         length -= config.block_size) {
      shorter.push_back({fmt::format("`length` {}{}", length, parts),
                         [=] { return plan(sequences, length, checkpointed_now); }});
    }
  }
  return {plan(sequences_now, length_now, checkpointed_now),
          {std::move(more_parts), std::move(checkpointed), std::move(shorter)}};
}

}  // namespace

void check_run(const RunOptions& options) {
  check_options(options);
  RunFolder::check(options.run, options.start);
}

TrainingSummary run_training(const TrainingTask& task, const TaskDescription& description,
                             const RunOptions& options, kernels::Backend& backend) {
  check_run(options);
  const bool validates = description.validates && steps_between_validations(options, description.samples) > 0;
  if (!validates && (options.patience > 0 || options.rate_choices.size() > 1)) {
    throw_usage(options.patience > 0 ? fmt::format("`patience` {}: nothing is validated", options.patience)
                                     : fmt::format("{} choices of `learning_rate`: nothing is validated",
                                                   options.rate_choices.size()),
                "give validation data and `eval_every`");
  }
  const Schedule schedule = schedule_of(options, description.samples);
  log_info(fmt::format("{} steps are {:.2f} epochs of {} samples", schedule.total,
                       static_cast<double>(schedule.total) * static_cast<double>(options.batch) /
                           static_cast<double>(description.samples),
                       description.samples));
  ModelConfig config = description.config;
  if (options.dropout >= 0.0) config.hidden_dropout_prob = options.dropout;

  TrainerOptions trainer = trainer_options(description, config, options, schedule);
  const PlannedMemory planned = plan_memory(description, config, options, backend);
  watch_device_memory(trainer, planned.memory, backend);
  TrainingSummary summary;
  run_in_memory(backend, planned.memory, planned.smaller, [&] {
    const RunFolder run(options.run, options.start);
    const auto [checkpoint, state] = resumption(run, trainer.identity, backend);
    Model model(backend, config, description.limits(micro_batch(options), description.length),
                model_options(options.grad_checkpoint));
    // Before the optimizer takes memory: what the weights come from is given up first.
    if (checkpoint.empty()) {
      model.set_parameters(description.initial_parameters());
    } else {
      if (description.initial_bytes > 0) description.initial_parameters();
      load_weights(checkpoint, model);
    }
    Optimizer optimizer(backend, model.layout(), options.optimizer);
    std::optional<WeightAverage> average;
    if (options.average_decay > 0) average.emplace(backend, model, options.average_decay);
    if (!checkpoint.empty()) {
      load_training_state(checkpoint, model, optimizer, average.has_value());
      log_info(fmt::format("going on from {}", checkpoint));
    }
    write_text_atomic(run.file("config.toml"), options.config_toml);
    summary = train(model, optimizer, task, run, trainer, state, average ? &*average : nullptr);
  });
  return summary;
}

}  // namespace bigbird
