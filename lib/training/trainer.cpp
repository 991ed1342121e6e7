// The training loop; see trainer.h.
#include "lib/training/trainer.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/core/progress.h"
#include "lib/training/batch_prefetcher.h"
#include "lib/training/device_peak.h"
#include "lib/training/event_log.h"
#include "lib/training/metrics_log.h"
#include "lib/training/update.h"

namespace bigbird {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string ratio(double sum, std::int64_t count) {
  return count == 0 ? "NA" : fmt::format("{:.7g}", sum / static_cast<double>(count));
}

std::vector<std::string> column_names(const LossColumns& columns) {
  std::vector<std::string> names = {"step", "loss"};
  if (columns.mlm) names.insert(names.end(), {"mlm_loss", "mlm_accuracy"});
  if (!columns.sequence.empty()) {
    names.push_back(columns.sequence + "_loss");
    if (columns.sequence_accuracy) names.push_back(columns.sequence + "_accuracy");
  }
  return names;
}

// The columns after the step.
std::vector<std::string> loss_fields(const LossSums& sums, const LossColumns& columns) {
  std::vector<std::string> fields = {fmt::format("{:.7g}", sums.loss())};
  if (columns.mlm) {
    fields.push_back(ratio(sums.mlm_loss, sums.mlm_count));
    fields.push_back(ratio(static_cast<double>(sums.mlm_correct), sums.mlm_count));
  }
  if (!columns.sequence.empty()) {
    fields.push_back(ratio(sums.sequence_loss, sums.sequence_count));
    if (columns.sequence_accuracy) {
      fields.push_back(ratio(static_cast<double>(sums.sequence_correct), sums.sequence_count));
    }
  }
  return fields;
}

// `saved`: the checkpoint of the last whole update; empty when there is none.
[[noreturn]] void throw_not_finite(RankTeam* team, const Update& update, std::uint64_t step,
                                   const std::string& saved) {
  std::string what = fmt::format("step {}: {} is not finite", step, update.not_finite);
  if (!update.first_bad.empty()) what += ", first in " + update.first_bad;
  if (!saved.empty()) what += fmt::format("; the state after step {} is {}", step - 1, saved);
  const std::string search =
      update.first_bad.empty() ? " (`debug_nan` names the layer that it comes from)" : "";
  throw_on_all_ranks(team, Error(ErrorKind::runtime, what,
                                 "lower `learning_rate`, lengthen `warmup` or set `clip_norm` 1" + search));
}

void log_device_memory(Model& model, const TrainerOptions& options) {
  const std::size_t left = model.backend().free_memory();
  const std::size_t used = options.free_device_memory > left ? options.free_device_memory - left : 0;
  log_info(
      fmt::format("device memory: planned {} bytes, used {} bytes ({:.1f} %); {} more are left to the driver",
                  options.planned_device_memory, used,
                  100.0 * static_cast<double>(used) / static_cast<double>(options.planned_device_memory),
                  model.backend().driver_memory().allowance));
}

// While it lives, the model holds the average, where there is one.
class AverageInPlace {
 public:
  AverageInPlace(Model& model, const WeightAverage* average) : model_(model) {
    if (average == nullptr) return;
    trained_ = model.host_parameters();
    model.set_parameters(average->values());
  }
  ~AverageInPlace() {
    if (trained_) model_.set_parameters(*trained_);
  }
  AverageInPlace(const AverageInPlace&) = delete;
  AverageInPlace& operator=(const AverageInPlace&) = delete;
  // The weights that are trained; null where the model holds them.
  const std::vector<float>* trained() const { return trained_ ? &*trained_ : nullptr; }

 private:
  Model& model_;
  std::optional<std::vector<float>> trained_;
};

std::string speed_text(double loss, double rate, int ranks) {
  const std::string text = fmt::format("loss {:.4f}, {:.0f} tokens/s", loss, rate);
  return ranks == 1 ? text : fmt::format("{} ({:.0f} a rank)", text, rate / ranks);
}

bool due(std::uint64_t step, std::uint64_t every) {
  return every > 0 && step % every == 0;
}

}  // namespace

void watch_device_memory(TrainerOptions& options, const TrainingMemory& planned,
                         const kernels::Backend& backend) {
  if (!planned.on_device()) return;
  options.planned_device_memory = planned.places.front().total - backend.driver_memory().allowance;
  options.free_device_memory = device_memory_at_hand(backend);
}

TrainingSummary train(Model& model, Optimizer& optimizer, const TrainingTask& task, const RunFolder& run,
                      const TrainerOptions& options, TrainState state, WeightAverage* average) {
  kernels::Ranks& ranks = ranks_of(options.team);
  const bool writes = ranks.rank() == 0;
  std::vector<std::string> columns = column_names(options.columns);
  std::optional<MetricsLog> valid_log, metrics;
  if (writes && options.eval_every > 0)
    valid_log.emplace(run.file("valid.tsv"), columns, options.comments, state.step);
  columns.insert(columns.end(), {"lr", "grad_norm", "tokens", "tokens_per_second", "seconds",
                                 "model_flops_per_second", "mfu"});
  if (writes) metrics.emplace(run.file("metrics.tsv"), columns, options.comments, state.step);
  columns.erase(columns.begin());  // the step
  std::optional<EventLog> events;
  if (writes && !options.event_folder.empty()) events.emplace(options.event_folder, state.step);

  state.options = options.identity;
  state.device = model.backend().name();
  state.precision = name_of(model.backend().precision());
  state.product_table = model.backend().product_table();
  const Clock::time_point start = Clock::now();
  const double seconds_before = state.seconds;
  const std::uint64_t tokens_before = state.tokens;
  const std::uint64_t first_step = state.step;
  std::uint64_t saved_step = state.step;
  TrainingSummary summary;
  summary.peak_operations =
      ranks.count() * peak_operations(state.device, model.backend().precision()).value_or(0.0);
  Progress progress(options.task_name, options.steps - std::min(options.steps, state.step), "steps");

  const std::uint64_t keep_best = std::max<std::uint64_t>(options.keep_best, options.final_is_best ? 1 : 0);
  // Collective: the moments of all ranks go to the one that writes.
  const auto save_state = [&] {
    if (!writes) {
      optimizer.state_to_read();
      return;
    }
    run.check_still_ours();
    const AverageInPlace in_place(model, average);
    save_checkpoint(run.checkpoint(state.step), model, optimizer, state, options.extras, in_place.trained());
  };
  const auto save = [&] {
    save_state();
    saved_step = state.step;
    if (writes) run.retain(options.keep_last, keep_best);
  };
  const auto stop = [&] {
    if (state.step != saved_step) save();
    throw_on_all_ranks(
        options.team,
        Error(ErrorKind::interrupted, fmt::format("stopped after step {} of {}", state.step, options.steps),
              fmt::format("everything is saved in {}; `resume` goes on from there", run.path())));
  };
  ValidatedCheckpoint best = options.final_is_best ? run.best() : ValidatedCheckpoint{};
  // Of the steps alone, so that a run that goes on ends where it would have ended.
  const auto out_of_patience = [&] {
    return options.patience > 0 && best.step > 0 &&
           state.step >= best.step + options.patience * options.eval_every;
  };

  const auto saving_is_due = [&] {
    return state.step == options.steps || due(state.step, options.save_every);
  };
  const auto validation_is_due = [&] {
    return (options.eval_every > 0 && (state.step == options.steps || due(state.step, options.eval_every))) ||
           (saving_is_due() && options.keep_best > 0);
  };
  const auto validate = [&]() -> std::optional<LossSums> {
    const AverageInPlace in_place(model, average);
    return task.validate(model, ranks);
  };
  // What follows an update: validation, checkpoint.
  const auto close_step = [&] {
    bool saving = saving_is_due();
    if (validation_is_due()) {
      std::optional<LossSums> valid;
      try {
        valid = validate();
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::interrupted) throw;
        stop();
      }
      if (valid) {
        state.valid_loss = valid->loss();
        const std::vector<std::string> fields = loss_fields(*valid, options.columns);
        if (valid_log) valid_log->row(state.step, fields);
        if (events) events->row("valid", state.step, columns, fields);
        log_info(fmt::format("step {}: validation loss {:.4f}", state.step, *state.valid_loss));
        if (options.final_is_best && *state.valid_loss < best.loss) {
          best = {state.step, *state.valid_loss};
          saving = true;
        }
      }
    }
    if (out_of_patience() && state.step != options.steps) {
      saving = true;
      log_info(fmt::format("ended after step {} of {}: no validation after step {} was better", state.step,
                           options.steps, best.step));
    }
    if (saving) save();
  };

  Updater updater(model, optimizer, task.slots(),
                  {options.schedule, options.seed, options.smoothing, options.debug_nan});
  BatchPrefetcher batches(
      [&task, &updater](std::uint64_t step) { return task.batches(step, updater.own_slots()); },
      options.steps, model.backend().asynchronous());
  // A stop may have come between an update and its validation.
  if (state.step > 0 && !state.valid_loss && task.validation_batches() > 0 && validation_is_due())
    close_step();
  while (state.step < options.steps && !out_of_patience()) {
    const Clock::time_point step_start = Clock::now();
    const std::optional<Update> update = updater.update(state.step, [&] { return batches.take(state.step); });
    if (!update) {
      stop();
      break;
    }
    if (!update->not_finite.empty()) {
      const std::string saved = state.step == 0 ? "" : run.checkpoint(state.step);
      // Without retain(): these weights may be the bad ones, and an older checkpoint the one to go on from.
      if (state.step != saved_step) save_state();
      throw_not_finite(options.team, *update, state.step + 1, saved);
    }
    state.step += 1;
    if (average != nullptr) average->update(model, state.step);
    state.tokens += update->tokens;
    state.seconds = seconds_before + seconds_since(start);
    state.valid_loss.reset();
    summary.loss = update->sums.loss();
    if (options.planned_device_memory > 0 && state.step == first_step + 1) log_device_memory(model, options);

    const double step_seconds = seconds_since(step_start);
    const double rate = static_cast<double>(update->tokens) / step_seconds;
    const double operation_rate = update->operations / step_seconds;
    summary.update_seconds += step_seconds;
    summary.operations += update->operations;
    if (metrics) {
      std::vector<std::string> fields = loss_fields(update->sums, options.columns);
      fields.push_back(fmt::format("{:.7g}", update->learning_rate));
      fields.push_back(fmt::format("{:.7g}", update->gradient_norm));
      fields.push_back(std::to_string(state.tokens));
      fields.push_back(fmt::format("{:.1f}", rate));
      fields.push_back(fmt::format("{:.3f}", state.seconds));
      fields.push_back(fmt::format("{:.4g}", operation_rate));
      fields.push_back(summary.peak_operations > 0
                           ? fmt::format("{:.4f}", operation_rate / summary.peak_operations)
                           : "NA");
      metrics->row(state.step, fields);
      if (events) events->row("train", state.step, columns, fields);
    }
    progress.advance(1, speed_text(summary.loss, rate, ranks.count()));
    close_step();
  }

  if (ranks.count() > 1 && state.step > first_step) {
    log_info(fmt::format("copies and sums between ranks took {:.1f} % of the time",
                         100.0 * optimizer.slices().seconds() / seconds_since(start)));
  }
  summary.final_step = state.step;
  if (average != nullptr) model.set_parameters(average->values());
  if (best.step > 0) {
    if (writes && best.step != state.step) load_weights(run.checkpoint(best.step), model);
    summary.final_step = best.step;
    summary.final_valid_loss = best.loss;
  }
  run.check_still_ours();
  if (writes) save_final(run.file("final"), model, options.extras);
  summary.steps = state.step;
  summary.tokens = state.tokens - tokens_before;
  summary.seconds = seconds_since(start);
  return summary;
}

}  // namespace bigbird
