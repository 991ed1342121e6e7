// The options of a training run; see run_options.h.
#include "lib/training/run_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/names.h"

namespace bigbird {
namespace {

constexpr std::array<std::pair<FinalState, const char*>, 2> final_names{
    {{FinalState::best, "best"}, {FinalState::last, "last"}}};

constexpr std::array<std::pair<Recipe, const char*>, 2> recipe_names{
    {{Recipe::standard, "standard"}, {Recipe::paper, "paper"}}};

void take_standard_updates(RunOptions& options) {
  options.schedule = ScheduleForm::huggingface;
  options.optimizer.variant = OptimizerVariant::torch;
  options.rate_by_width = true;
  options.eval_every = each_tenth_of_run;
}

double steps_per_epoch(const RunOptions& options, std::uint64_t samples) {
  return static_cast<double>(samples) / static_cast<double>(options.batch);
}

void require_between(const char* field, double value, double least, double below) {
  if (!(value >= least && value < below)) {
    throw_usage(fmt::format("{} {}: must be between {} and {}", setting_name(field), value, least, below));
  }
}

void require_not_negative(const char* field, double value) {
  if (!(value >= 0.0 && std::isfinite(value))) {
    throw_usage(fmt::format("{} {}: must not be negative", setting_name(field), value));
  }
}

// What ranks need to share an update: as many equal parts for each, and a binary tree over all of them.
void check_shares(const RunOptions& options) {
  const auto ranks = static_cast<std::uint64_t>(ranks_of(options.team).count());
  if (ranks == 1) return;
  const std::uint64_t parts = options.accumulate;
  const auto power_of_two = [](std::uint64_t count) { return (count & (count - 1)) == 0; };
  if (power_of_two(ranks) && power_of_two(parts) && options.batch % parts == 0 &&
      ranks <= static_cast<std::uint64_t>(kernels::most_ranks))
    return;
  throw_usage(
      message("{} ranks, each with `accumulate` {}: {} parts do not make `batch` {}", ranks, parts / ranks,
              parts, options.batch),
      fmt::format("ranks (at most {}) and parts of each are 1, 2, 4, 8, ..., and their product divides "
                  "the batch of an update",
                  kernels::most_ranks));
}

// Numbers that are still to be chosen: where one of them alone is, and by one rank.
void check_choice(const RunOptions& options) {
  if (options.batch == chosen_by_memory && options.accumulate == chosen_by_memory) {
    throw_usage(
        message("`batch` auto and `accumulate` auto: each is chosen for a given value of the other"),
        message("`batch` auto by itself fills the memory with one part; `accumulate` auto keeps the batch"));
  }
  if (ranks_of(options.team).count() > 1) {
    throw_usage(fmt::format("{} auto: {} ranks must have one number, whatever memory each has left",
                            setting_name(options.batch == chosen_by_memory ? "batch" : "accumulate"),
                            ranks_of(options.team).count()),
                "give the number; only a single rank finds what fits its memory");
  }
}

}  // namespace

std::string name_of(FinalState state) {
  return find_name(final_names, state);
}

FinalState parse_final_state(const std::string& name) {
  return parse_name(final_names, name, message("choice of `final_state`"));
}

std::string name_of(Recipe recipe) {
  return find_name(recipe_names, recipe);
}

Recipe parse_recipe(const std::string& name) {
  return parse_name(recipe_names, name, "recipe");
}

RunOptions pretraining_defaults(Recipe recipe) {
  RunOptions options;
  options.save_every = 1000;
  options.final_state = FinalState::best;
  if (recipe == Recipe::paper) {
    options.length = 4096;
    options.batch = 256;
    options.steps = 1000000;
    options.eval_every = 1000;
    return options;
  }
  options.length = 1024;
  options.batch = 16;
  options.steps = 5000;
  take_standard_updates(options);
  options.optimizer.clip_norm = 1;
  options.learning_rate = 1.5e-4;  // 9e-4 at width 128
  return options;
}

RunOptions finetuning_defaults(Recipe recipe) {
  RunOptions options;
  options.length = 0;
  options.batch = 32;
  options.epochs = 3;
  options.save_every = 500;
  options.eval_every = each_epoch;
  options.final_state = FinalState::best;
  if (recipe == Recipe::paper) return options;
  take_standard_updates(options);
  options.average_decay = -1;
  options.learning_rate = 5e-5;  // 3e-4 at width 128
  return options;
}

double rate_of_width(const RunOptions& options, std::int64_t width) {
  if (!options.rate_by_width) return options.learning_rate;
  // As short as people write rates: 0.0003 and not 0.00030000000000000003.
  return std::stod(fmt::format(
      "{:.6g}", options.learning_rate * 768.0 / static_cast<double>(std::max<std::int64_t>(width, 128))));
}

double average_of_run(const RunOptions& options, std::uint64_t updates) {
  if (options.average_decay >= 0) return options.average_decay;
  return std::max(0.0, 1.0 - 5.0 / static_cast<double>(std::max<std::uint64_t>(updates, 1)));
}

bool is_batch_chosen(const RunOptions& options) {
  return options.batch != chosen_by_memory && options.accumulate != chosen_by_memory;
}

void check_options(const RunOptions& options) {
  if (options.batch == 0)
    throw_usage(message("`batch` 0: must be at least 1"), "the usual values are 32 to 256");
  if (is_batch_chosen(options)) {
    check_shares(options);
  } else {
    check_choice(options);
  }
  const bool too_many = options.accumulate > options.batch && options.accumulate != chosen_by_memory;
  if (options.accumulate == 0 || too_many) {
    throw_usage(message("`accumulate` {}: must be between 1 and the batch of {} sequences",
                        options.accumulate, options.batch),
                message("`batch` is the whole batch of one update; `accumulate` cuts it into parts"));
  }
  if (options.steps == 0 && options.epochs == 0.0) {
    throw_usage(message("`steps` 0 and `epochs` 0: the run has no update"));
  }
  if (options.steps == 0 && !(options.epochs > 0.0 && options.epochs < 1e6)) {
    throw_usage(message("`epochs` {}: must be above 0", options.epochs));
  }
  if (options.steps > 0) schedule_of(options, 0);  // a warm-up that is too long, before long work
  if (!(options.learning_rate > 0.0 && options.learning_rate < 1.0)) {
    throw_usage(message("`learning_rate` {}: must be between 0 and 1", options.learning_rate),
                "the usual value is 1e-4");
  }
  if (options.rate_choices.size() > 1 && options.final_state != FinalState::best) {
    throw_usage(
        message(
            "several choices of `learning_rate`: the best is found by validation, and the last state is kept"),
        message("set `final_state` best, or give one rate"));
  }
  if (options.dropout >= 0.0 || std::isnan(options.dropout)) {
    require_between("dropout", options.dropout, 0.0, 1.0);
  }
  require_between("beta1", options.optimizer.beta1, 0.0, 1.0);
  require_between("beta2", options.optimizer.beta2, 0.0, 1.0);
  if (!(options.average_decay < 0.0)) require_between("average_decay", options.average_decay, 0.0, 1.0);
  require_not_negative("epsilon", options.optimizer.epsilon);
  require_not_negative("weight_decay", options.optimizer.weight_decay);
  require_not_negative("clip_norm", options.optimizer.clip_norm);
  if (!(options.optimizer.layer_decay > 0.0 && options.optimizer.layer_decay <= 1.0)) {
    throw_usage(message("`layer_decay` {}: must be above 0, at most 1", options.optimizer.layer_decay),
                "0.8 is usual; 1 gives every layer the same rate");
  }
  if (options.patience > 0 && options.final_state != FinalState::best) {
    throw_usage(message("`patience` {}: what is waited for is a better state, and the last one is kept",
                        options.patience),
                message("set `final_state` best"));
  }
}

std::int64_t micro_batch(const RunOptions& options) {
  return static_cast<std::int64_t>((options.batch + options.accumulate - 1) / options.accumulate);
}

std::int64_t slots_of_update(const RunOptions& options) {
  const std::int64_t size = micro_batch(options);
  return (static_cast<std::int64_t>(options.batch) + size - 1) / size;
}

kernels::IndexRange samples_of_slots(const RunOptions& options, const kernels::IndexRange& slots) {
  const std::int64_t size = micro_batch(options), batch = static_cast<std::int64_t>(options.batch);
  const std::int64_t first = std::min(slots.first * size, batch);
  return {first, std::min(slots.end() * size, batch) - first};
}

Schedule schedule_of(const RunOptions& options, std::uint64_t samples) {
  Schedule schedule{options.schedule, options.learning_rate, 0, options.steps};
  if (schedule.total == 0) {
    schedule.total =
        static_cast<std::uint64_t>(std::ceil(options.epochs * steps_per_epoch(options, samples)));
  }
  schedule.warmup = options.warmup.value_or(default_warmup(schedule.total));
  if (schedule.warmup > schedule.total) {
    throw_usage(message("`warmup` {}: longer than the {} steps of the run", schedule.warmup, schedule.total),
                "leave it out for 10 % of the steps");
  }
  return schedule;
}

std::uint64_t steps_between_validations(const RunOptions& options, std::uint64_t samples) {
  if (options.eval_every == each_tenth_of_run) return (schedule_of(options, samples).total + 9) / 10;
  if (options.eval_every != each_epoch) return options.eval_every;
  return std::max<std::uint64_t>(1,
                                 static_cast<std::uint64_t>(std::llround(steps_per_epoch(options, samples))));
}

}  // namespace bigbird
