// See training_run.h.
#include "lib/training/training_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/hash.h"
#include "lib/core/log.h"
#include "lib/core/process_memory.h"
#include "lib/io/files/file.h"
#include "lib/io/files/sha256.h"
#include "lib/model/network/model.h"
#include "lib/model_folder/config_json.h"
#include "lib/training/memory_plan.h"
#include "lib/training/optimizer.h"
#include "lib/training/rate_sweep.h"
#include "lib/training/run_folder.h"
#include "lib/training/stream_states.h"

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
    digest.add(std::span(batch.globals.lengths));
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
  if (const double decay = average_of_run(options, schedule.total); decay > 0.0)
    all["average_decay"] = fmt::format("{}", decay);
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

// What a run takes that cuts its batch into micro-batches of so many sequences of at most `length` tokens.
class RunPlanner {
 public:
  RunPlanner(const TaskDescription& description, const RunOptions& options, const kernels::Backend& backend)
      : config_(description.config),
        before_(memory_before(backend, options.memory_limit, ranks_of(options.team).count_on_machine())),
        limits_(description.limits),
        backend_(&backend),
        averages_(options.average_decay != 0),
        variant_(options.optimizer.variant),
        ranks_(&ranks_of(options.team)) {
    if (options.dropout >= 0.0) config_.hidden_dropout_prob = options.dropout;
    before_.resident.file += description.mapped_bytes;
    before_.resident.anonymous -= std::min(before_.resident.anonymous, description.initial_bytes);
  }

  TrainingMemory plan(std::uint64_t parts, std::int64_t sequences, std::int64_t length, bool grad_checkpoint,
                      bool keep_activated = false) const {
    const auto slots = static_cast<kernels::Index>(parts / static_cast<std::uint64_t>(ranks_->count()));
    return plan_training_memory(config_, limits_(sequences, length),
                                training_options(grad_checkpoint, keep_activated), *backend_, before_,
                                averages_, variant_, {ranks_, slots});
  }
  const ModelConfig& config() const { return config_; }

 private:
  ModelConfig config_;
  MemoryBefore before_;
  std::function<BatchLimits(std::int64_t, std::int64_t)> limits_;
  const kernels::Backend* backend_;
  bool averages_;
  OptimizerVariant variant_;
  const kernels::Ranks* ranks_;
};

bool fits(const TrainingMemory& memory) {
  return std::all_of(memory.places.begin(), memory.places.end(),
                     [](const MemoryPlan& plan) { return plan.fits(); });
}

// 1, 2, 4, 8, 16, 24, ...
std::vector<std::uint64_t> micro_batches_to_choose_from(std::uint64_t most) {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t size = 1; size <= most; size += size < 8 ? size : 8) sizes.push_back(size);
  return sizes;
}

// The last of these that fits; the first where none does. Each is tried: smaller micro-batches are more of
// them, whose gradients wait in more arrays, so that a smaller one may take more.
std::uint64_t last_that_fits(const std::vector<std::uint64_t>& choices,
                             const std::function<bool(std::uint64_t)>& fits) {
  const auto found = std::find_if(choices.rbegin(), choices.rend(), fits);
  return found == choices.rend() ? choices.front() : *found;
}

// Of the newest checkpoint of a run that goes on; nothing where there is none.
std::optional<TrainState> state_before(const RunOptions& options) {
  if (options.start != RunStart::resume || !folder_exists(options.run)) return std::nullopt;
  const RunFolder run = RunFolder::of_another(options.run);
  const std::vector<std::uint64_t> checkpoints = run.checkpoints();
  if (checkpoints.empty()) return std::nullopt;
  return read_train_state(run.checkpoint(checkpoints.back()));
}

// What it has of a field.
std::optional<std::uint64_t> number_of_before(const RunOptions& options, const std::string& field) {
  const std::optional<TrainState> state = state_before(options);
  if (!state) return std::nullopt;
  const auto found = state->options.find(field);
  if (found == state->options.end()) return std::nullopt;
  std::uint64_t number = 0;
  const char* const end = found->second.data() + found->second.size();
  if (std::from_chars(found->second.data(), end, number).ptr != end || number == 0) return std::nullopt;
  return number;
}

// Whether all ranks have room for what this one has: they then sum the same gradients.
bool on_all_ranks(kernels::Ranks& ranks, bool mine) {
  const double here = mine ? 1.0 : 0.0;
  const std::vector<double> all = kernels::gather_numbers(ranks, {&here, 1});
  return std::all_of(all.begin(), all.end(), [](double there) { return there > 0.0; });
}

void say_made_again(const TrainState& before, bool keeps, const kernels::Backend& backend) {
  if (!before.keeps_activated || keeps || backend.precision() != kernels::Precision::bf16) return;
  log_warning(
      "what gelu gives was kept for the backward pass so far and does not fit now: it is made again, from "
      "numbers in bf16, and gradients differ by that rounding");
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
    trainer.keeps_activated = on_all_ranks(ranks, planned.keeps_activated);
    say_made_again(state, trainer.keeps_activated, backend);
    Model model(backend, config, description.limits(micro_batch(options), description.length),
                training_options(options.grad_checkpoint, trainer.keeps_activated));
    // Before the optimizer takes memory: what the weights come from is given up first.
    if (checkpoint.empty()) {
      model.set_parameters(description.initial_parameters());
    } else {
      if (description.initial_bytes > 0) description.initial_parameters();
      load_weights(checkpoint, model);
    }
    Optimizer optimizer(backend, model.layout(), options.optimizer, &ranks);
    std::optional<WeightAverage> average;
    if (const double decay = average_of_run(options, schedule.total); decay > 0.0)
      average.emplace(backend, model, decay);
    if (!checkpoint.empty()) {
      load_training_state(checkpoint, model, optimizer, average.has_value());
      load_streams(checkpoint, model, task.streams({0, task.slots()}));
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
      if (!options.provenance_json.empty())
        write_text_atomic(run.file("provenance.json"), options.provenance_json + "\n");
      write_text_atomic(run.file("memory.tsv"), memory_tsv(planned.memory, 0));
    }
    summary = train(model, optimizer, task, run, trainer, state, average ? &*average : nullptr);
    if (ranks.rank() == 0)
      write_text_atomic(run.file("memory.tsv"), memory_tsv(planned.memory, resident_memory().peak));
    if (options.team != nullptr) options.team->leave();
  });
  return summary;
}

PlannedMemory plan_run_memory(const TaskDescription& description, const RunOptions& options,
                              const kernels::Backend& backend) {
  const auto count = static_cast<std::uint64_t>(ranks_of(options.team).count());
  const RunPlanner planner(description, options, backend);
  const auto plan = [planner, batch = options.batch](std::int64_t sequences, std::int64_t length,
                                                     bool grad_checkpoint) {
    const auto size = static_cast<std::uint64_t>(sequences);
    return planner.plan((batch + size - 1) / size, sequences, length, grad_checkpoint);
  };
  const std::int64_t sequences_now = micro_batch(options);
  const std::int64_t length_now = description.length;
  const bool checkpointed_now = options.grad_checkpoint;
  // Every way of cutting the batch further, from large micro-batches to single sequences.
  std::vector<SmallerRun> more_parts, checkpointed, shorter;
  if (!checkpointed_now) {
    checkpointed.push_back(
        {message("`grad_checkpoint`"), [=] { return plan(sequences_now, length_now, true); }});
  }
  for (std::int64_t sequences = sequences_now - 1; sequences > 0; --sequences) {
    const auto size = static_cast<std::uint64_t>(sequences), parts = (options.batch + size - 1) / size;
    // Ranks share parts that are equal, 2, 4, 8, ...
    if (count > 1 && (parts * size != options.batch || (parts & (parts - 1)) != 0)) continue;
    const std::string text = message("`accumulate` {} ({} sequences at a time)", parts / count, sequences);
    more_parts.push_back({text, [=] { return plan(sequences, length_now, checkpointed_now); }});
    if (checkpointed_now) continue;
    checkpointed.push_back(
        {message("`grad_checkpoint` ") + text, [=] { return plan(sequences, length_now, true); }});
  }
  for (const std::int64_t sequences : {sequences_now, std::int64_t{1}}) {
    if (!description.may_be_shorter) break;
    const std::string parts =
        sequences == sequences_now ? "" : message(" `accumulate` {}", options.batch / count);
    const std::int64_t block = planner.config().block_size;
    for (std::int64_t length = (length_now - 1) / block * block; length > 0; length -= block) {
      shorter.push_back({message("`length` {}{}", length, parts),
                         [=] { return plan(sequences, length, checkpointed_now); }});
    }
  }
  PlannedMemory planned{plan(sequences_now, length_now, checkpointed_now),
                        {std::move(more_parts), std::move(checkpointed), std::move(shorter)}};
  const std::optional<TrainState> before = state_before(options);
  if (!planned.memory.on_device() || checkpointed_now || (before && !before->keeps_activated)) return planned;
  const auto size = static_cast<std::uint64_t>(sequences_now);
  TrainingMemory keeping =
      planner.plan((options.batch + size - 1) / size, sequences_now, length_now, false, true);
  planned.keeps_activated = fits(keeping);
  if (planned.keeps_activated) planned.memory = std::move(keeping);
  return planned;
}

void choose_batch(RunOptions& options, const TaskDescription& description, const kernels::Backend& backend) {
  if (is_batch_chosen(options)) return;
  const RunPlanner planner(description, options, backend);
  const auto fits_in_parts = [&](std::uint64_t parts, std::uint64_t sequences) {
    return fits(planner.plan(parts, static_cast<std::int64_t>(sequences), description.length,
                             options.grad_checkpoint));
  };
  const bool is_batch = options.batch == chosen_by_memory;
  const std::string field = is_batch ? "batch" : "accumulate";
  std::uint64_t& number = is_batch ? options.batch : options.accumulate;
  const std::optional<std::uint64_t> before = number_of_before(options, field);
  std::string why = "as in the part of the run that it goes on from";
  if (before) {
    number = *before;
  } else if (is_batch) {
    const std::uint64_t parts = options.accumulate;
    const std::uint64_t most = std::min(most_automatic_batch, std::max(description.samples, parts));
    const std::vector<std::uint64_t> sizes =
        micro_batches_to_choose_from(std::max<std::uint64_t>(most / parts, 1));
    const std::uint64_t size =
        last_that_fits(sizes, [&](std::uint64_t each) { return fits_in_parts(parts, each); });
    number = parts * size;
    why = fmt::format("{} sequences at a time are {}", size,
                      size == sizes.back() ? "the most that are chosen" : "the most that fit");
  } else {
    std::vector<std::uint64_t> sizes;  // of micro-batches, ascending
    for (std::uint64_t size = 1; size <= options.batch; ++size) {
      if (options.batch % size == 0) sizes.push_back(size);
    }
    const std::uint64_t size =
        last_that_fits(sizes, [&](std::uint64_t each) { return fits_in_parts(options.batch / each, each); });
    number = options.batch / size;
    why = fmt::format("{} sequences at a time are the most that fit and divide the batch of {}", size,
                      options.batch);
  }
  log_info(fmt::format("{} chosen: {} ({})", field, number, why));
  check_options(options);
  if (options.batch_chosen) options.batch_chosen(options);
}

}  // namespace bigbird
