// The shared part of fine-tuning; see finetuning.h.
#include "lib/tasks/finetuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/core/rng.h"
#include "lib/io/files/file.h"
#include "lib/model/folder/config_json.h"
#include "lib/training/compute_device.h"
#include "lib/training/memory_plan.h"

namespace bigbird {
namespace {

std::uint64_t ceil_divide(std::uint64_t a, std::uint64_t b) {
  return (a + b - 1) / b;
}

std::int64_t whole_blocks(std::int64_t tokens, std::int64_t block) {
  return (tokens + block - 1) / block * block;
}

struct PlannedMemory {
  TrainingMemory memory;
  SmallerRuns smaller;
};

// What the run will take, and the options that would make it smaller.
PlannedMemory plan_memory(const FinetuneOptions& options, const ModelConfig& config, std::size_t mapped_bytes,
                          const kernels::Backend& backend) {
  MemoryBefore before = memory_before(backend, options.memory_limit);
  before.resident.file += mapped_bytes;
  const auto plan = [config, before, &backend](std::int64_t sequences, bool grad_checkpoint) {
    return plan_training_memory(config, padded_limits(config, sequences), {true, grad_checkpoint}, backend,
                                before);
  };
  const bool checkpointed_now = options.grad_checkpoint;
  std::vector<SmallerRun> more_parts, checkpointed;
  for (std::int64_t sequences = micro_batch(options); sequences > 0; --sequences) {
    const std::string text =
        fmt::format("--accumulate {} ({} windows at a time)",
                    ceil_divide(options.batch, static_cast<std::uint64_t>(sequences)), sequences);
    more_parts.push_back({text, [=] { return plan(sequences, checkpointed_now); }});
    checkpointed.push_back({"--grad-checkpoint " + text, [=] { return plan(sequences, true); }});
  }
  return {plan(micro_batch(options), checkpointed_now), {std::move(more_parts), std::move(checkpointed)}};
}

}  // namespace

void check_numbers(const FinetuneOptions& options, const std::string& verb) {
  const std::string help = fmt::format("see bigbird {} --help", verb);
  if (options.batch == 0) throw_usage("--batch 0: must be at least 1", help);
  if (options.accumulate == 0 || options.accumulate > options.batch) {
    throw_usage(
        fmt::format("--accumulate {}: must lie between 1 and --batch {}", options.accumulate, options.batch),
        help);
  }
  if (options.steps == 0 && !(options.epochs > 0 && options.epochs < 1e6)) {
    throw_usage(fmt::format("--epochs {}: must be above 0", options.epochs), help);
  }
  if (!(options.learning_rate > 0.0 && options.learning_rate < 1.0)) {
    throw_usage(fmt::format("--lr {}: must lie between 0 and 1", options.learning_rate), help);
  }
}

std::int64_t micro_batch(const FinetuneOptions& options) {
  return static_cast<std::int64_t>(ceil_divide(options.batch, options.accumulate));
}

std::int64_t input_length(const FinetuneOptions& options, const ModelConfig& config, std::int64_t longest) {
  const std::int64_t most = config.max_position_embeddings;
  if (options.length == 0) return std::min(whole_blocks(longest, config.block_size), most);
  if (options.length < 3 || options.length > most) {
    throw_usage(
        fmt::format("--length {}: must lie between 3 and the model's {} positions", options.length, most));
  }
  return whole_blocks(options.length, config.block_size);
}

Schedule finetune_schedule(const FinetuneOptions& options, std::uint64_t samples) {
  const double per_epoch = static_cast<double>(samples) / static_cast<double>(options.batch);
  Schedule schedule{options.schedule, options.learning_rate, 0, options.steps};
  if (schedule.total == 0) schedule.total = static_cast<std::uint64_t>(std::ceil(options.epochs * per_epoch));
  schedule.warmup = options.warmup.value_or(default_warmup(schedule.total));
  if (schedule.warmup > schedule.total) {
    throw_usage(
        fmt::format("--warmup {}: longer than the {} steps of the run", schedule.warmup, schedule.total));
  }
  return schedule;
}

std::uint64_t steps_between_validations(const FinetuneOptions& options, std::uint64_t samples) {
  if (options.eval_every > 0) return options.eval_every;
  const double per_epoch = static_cast<double>(samples) / static_cast<double>(options.batch);
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(per_epoch)));
}

std::vector<Draw> draws_of_update(std::uint64_t seed, std::uint64_t batch, std::uint64_t samples,
                                  std::uint64_t step) {
  std::vector<Draw> draws;
  draws.reserve(static_cast<std::size_t>(batch));
  std::optional<RandomPermutation> order;
  std::uint64_t order_epoch = 0;
  for (std::uint64_t i = 0; i < batch; ++i) {
    const std::uint64_t number = step * batch + i;
    const std::uint64_t epoch = number / samples;
    if (!order || epoch != order_epoch) {
      order.emplace(seed, Purpose::finetune_order, epoch, samples);
      order_epoch = epoch;
    }
    draws.push_back({number, (*order)(number % samples)});
  }
  return draws;
}

BatchLimits padded_limits(const ModelConfig& config, std::int64_t sequences) {
  return {sequences * config.input_length, sequences, 0, config.input_length};
}

std::map<std::string, std::string> finetune_identity(const FinetuneOptions& options,
                                                     const ModelConfig& config, const Schedule& schedule) {
  std::map<std::string, std::string> all = config_fields(config);
  all["--init"] = options.init;
  all["--batch"] = std::to_string(options.batch);
  all["--accumulate"] = std::to_string(options.accumulate);
  all["--seed"] = std::to_string(options.seed);
  all.merge(update_identity(schedule, options.optimizer));
  return all;
}

std::string finetune_card(const FinetuneOptions& options, const ModelConfig& config, const Schedule& schedule,
                          const kernels::Backend& backend, const std::string& title, const std::string& tags,
                          const std::string& data_rows) {
  std::string card = fmt::format(
      "---\nlibrary_name: transformers\ntags: [bigbird, dna, {}]\n---\n# {}\n\n| training | |\n|---|---|\n"
      "| begun from | {} |\n",
      tags, title, options.init);
  card += data_rows;
  card += fmt::format("| tokens of a window | {}, padded or cut at the right end |\n", config.input_length);
  card += fmt::format("| batch, steps, rate | {}, {}, {:g} |\n| seed | {} |\n", options.batch, schedule.total,
                      options.learning_rate, options.seed);
  card += fmt::format("| computed on | {}, {} |\n", backend.name(), name_of(backend.precision()));
  if (!options.command.empty()) card += "\n```\n" + options.command + "\n```\n";
  return card;
}

TrainingSummary run_finetuning(const FinetuneOptions& options, const LoadedModel& loaded,
                               const Schedule& schedule, TrainerOptions trainer, const TrainingTask& task,
                               std::size_t mapped_bytes, kernels::Backend& backend) {
  trainer.steps = schedule.total;
  trainer.schedule = schedule;
  trainer.seed = options.seed;
  trainer.save_every = options.save_every;
  trainer.keep_last = options.keep_last;
  trainer.keep_best = options.keep_best;
  trainer.mlm_columns = false;
  trainer.comments = options.comments;
  trainer.debug_nan = options.debug_nan;

  const ModelConfig& config = loaded.config;
  const PlannedMemory planned = plan_memory(options, config, mapped_bytes, backend);
  watch_device_memory(trainer, planned.memory, backend);
  TrainingSummary summary;
  run_in_memory(backend, planned.memory, planned.smaller, [&] {
    const RunFolder run(options.run, options.start);
    const auto [checkpoint, state] = resumption(run, trainer.identity, backend);
    Model model(backend, config, padded_limits(config, micro_batch(options)),
                {true, options.grad_checkpoint});
    Optimizer optimizer(backend, model.layout(), options.optimizer);
    if (checkpoint.empty()) {
      model.set_parameters(loaded.parameters);
    } else {
      load_checkpoint(checkpoint, model, optimizer);
      log_info(fmt::format("going on from {}", checkpoint));
    }
    write_text_atomic(run.file("config.toml"), options.config_toml);
    summary = train(model, optimizer, task, run, trainer, state);
  });
  return summary;
}

}  // namespace bigbird
