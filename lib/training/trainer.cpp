// The training loop; see trainer.h.
#include "lib/training/trainer.h"
#include "lib/model/network/model.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/core/progress.h"
#include "lib/model/network/model_operations.h"
#include "lib/training/metrics_log.h"
#include "lib/training/stream_states.h"
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
  if (columns.mlm) names.insert(names.end(), {columns.tokens + "_loss", columns.tokens + "_accuracy"});
  if (!columns.sequence.empty()) {
    names.push_back(columns.sequence + "_loss");
    if (columns.sequence_accuracy) names.push_back(columns.sequence + "_accuracy");
  }
  const std::string contrast = name_of(Loss::contrast);
  if (columns.contrast) names.insert(names.end(), {contrast + "_loss", contrast + "_accuracy"});
  if (columns.span) names.push_back(name_of(Loss::span) + std::string("_loss"));
  if (columns.compression) names.push_back(name_of(Loss::compression) + std::string("_loss"));
  if (columns.commitment) names.push_back(name_of(Loss::commitment) + std::string("_loss"));
  return names;
}

// The columns after the step.
std::vector<std::string> loss_fields(const LossSums& sums, const LossColumns& columns) {
  std::vector<std::string> fields = {fmt::format("{:.7g}", sums.loss())};
  if (columns.mlm) {
    const LossTerm& mlm = sums[LossMean::mlm];
    fields.push_back(ratio(mlm.sum, mlm.count));
    fields.push_back(ratio(static_cast<double>(mlm.correct), mlm.count));
  }
  if (!columns.sequence.empty()) {
    const LossTerm& sequence = sums[LossMean::sequence];
    fields.push_back(ratio(sequence.sum, sequence.count));
    if (columns.sequence_accuracy)
      fields.push_back(ratio(static_cast<double>(sequence.correct), sequence.count));
  }
  if (columns.contrast) {
    const LossTerm& contrast = sums[LossMean::contrast];
    fields.push_back(ratio(contrast.sum, contrast.count));
    fields.push_back(ratio(static_cast<double>(contrast.correct), contrast.count));
  }
  if (columns.span) fields.push_back(ratio(sums[LossMean::span].sum, sums[LossMean::span].count));
  if (columns.compression)
    fields.push_back(ratio(sums[LossMean::compression].sum, sums[LossMean::compression].count));
  if (columns.commitment)
    fields.push_back(ratio(sums[LossMean::commitment].sum, sums[LossMean::commitment].count));
  return fields;
}

// `saved`: the checkpoint of the last whole update; empty when there is none.
[[noreturn]] void throw_not_finite(RankTeam* team, const Update& update, std::uint64_t step,
                                   const std::string& saved) {
  std::string what = fmt::format("step {}: {} is not finite", step, update.not_finite);
  if (!update.first_bad.empty()) what += ", first in " + update.first_bad;
  if (!saved.empty()) what += fmt::format("; the state after step {} is {}", step - 1, saved);
  const std::string search =
      update.first_bad.empty() ? message(" (`debug_nan` names the layer that it comes from)") : "";
  throw_on_all_ranks(
      team, Error(ErrorKind::runtime, what,
                  message("lower `learning_rate`, lengthen `warmup` or set `clip_norm` 1") + search));
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

// One run of the loop; what it holds is as of the last whole update.
class Trainer {
 public:
  Trainer(Model& model, Optimizer& optimizer, const TrainingTask& task, const RunFolder& run,
          const TrainerOptions& options, TrainState state, WeightAverage* average)
      : model_(model),
        optimizer_(optimizer),
        task_(task),
        run_(run),
        options_(options),
        average_(average),
        ranks_(ranks_of(options.team)),
        writes_(ranks_.rank() == 0),
        state_(std::move(state)),
        before_(state_),
        saved_step_(state_.step),
        best_(options.final_is_best ? run.best() : ValidatedCheckpoint{}) {
    state_.options = options.identity;
    state_.device = model.backend().name();
    state_.precision = name_of(model.backend().precision());
    state_.product_table = model.backend().product_table();
    state_.arithmetic = model.backend().arithmetic();
    state_.keeps_activated = options.keeps_activated;
    open_logs();
    summary_.peak_operations =
        ranks_.count() * peak_operations(state_.device, model.backend().precision()).value_or(0.0);
  }

  TrainingSummary train() {
    Progress progress(options_.task_name, options_.steps - std::min(options_.steps, state_.step), "steps");
    Updater updater(model_, optimizer_, task_.slots(),
                    {options_.schedule, options_.seed, options_.smoothing, options_.debug_nan,
                     task_.streams(kernels::slots_of_rank(ranks_, task_.slots()))});
    BatchPrefetcher batches(
        [this, &updater](std::uint64_t step) {
          std::vector<Batch> made = task_.batches(step, updater.own_slots());
          for (Batch& batch : made) model_.make_ready(batch);
          return made;
        },
        options_.steps, model_.backend().asynchronous());
    // A stop may have come between an update and its validation.
    if (state_.step > 0 && !state_.valid_loss && task_.validation_batches() > 0 && validation_is_due())
      close_step();
    while (state_.step < options_.steps && !out_of_patience()) {
      const Clock::time_point step_start = Clock::now();
      const std::optional<Update> update =
          updater.update(state_.step, [&] { return batches.take(state_.step); });
      if (!update) stop();
      if (!update->not_finite.empty()) give_up(*update);
      take(*update);
      const double rate = log_update(*update, seconds_since(step_start));
      progress.advance(1, speed_text(summary_.loss, rate, ranks_.count()));
      close_step();
    }
    return finish();
  }

 private:
  void open_logs() {
    columns_ = column_names(options_.columns);
    if (writes_ && options_.eval_every > 0)
      valid_log_.emplace(run_.file("valid.tsv"), columns_, options_.comments, state_.step);
    columns_.insert(columns_.end(), {"lr", "grad_norm", "tokens", "tokens_per_second", "seconds",
                                     "model_flops_per_second", "mfu"});
    if (writes_) metrics_.emplace(run_.file("metrics.tsv"), columns_, options_.comments, state_.step);
    columns_.erase(columns_.begin());  // the step
    if (writes_ && !options_.event_folder.empty()) events_.emplace(options_.event_folder, state_.step);
  }

  bool saving_is_due() const {
    return state_.step == options_.steps || due(state_.step, options_.save_every);
  }
  bool validation_is_due() const {
    return (options_.eval_every > 0 &&
            (state_.step == options_.steps || due(state_.step, options_.eval_every))) ||
           (saving_is_due() && options_.keep_best > 0);
  }
  // Of the steps alone, so that a run that goes on ends where it would have ended.
  bool out_of_patience() const {
    return options_.patience > 0 && best_.step > 0 &&
           state_.step >= best_.step + options_.patience * options_.eval_every;
  }

  // Collective: the moments of all ranks go to the one that writes, and what streams remember.
  void save_state() {
    const std::vector<std::vector<float>> streams = gather_streams(model_, task_, ranks_);
    if (!writes_) {
      optimizer_.state_to_read();
      return;
    }
    run_.check_still_ours();
    const AverageInPlace in_place(model_, average_);
    save_checkpoint(run_.checkpoint(state_.step), model_, optimizer_, state_, options_.extras,
                    in_place.trained(), streams);
  }
  void save() {
    save_state();
    saved_step_ = state_.step;
    const std::uint64_t keep_best =
        std::max<std::uint64_t>(options_.keep_best, options_.final_is_best ? 1 : 0);
    if (writes_) run_.retain(options_.keep_last, keep_best);
  }
  [[noreturn]] void stop() {
    if (state_.step != saved_step_) save();
    throw_on_all_ranks(
        options_.team,
        Error(ErrorKind::interrupted, fmt::format("stopped after step {} of {}", state_.step, options_.steps),
              message("everything is saved in {}; `resume` goes on from there", run_.path())));
  }
  [[noreturn]] void give_up(const Update& update) {
    const std::string saved = state_.step == 0 ? "" : run_.checkpoint(state_.step);
    // Without retain(): these weights may be the bad ones, and an older checkpoint the one to go on from.
    if (state_.step != saved_step_) save_state();
    throw_not_finite(options_.team, update, state_.step + 1, saved);
  }

  void take(const Update& update) {
    state_.step += 1;
    if (average_ != nullptr) average_->update(model_, state_.step);
    state_.tokens += update.tokens;
    state_.seconds = before_.seconds + seconds_since(start_);
    state_.valid_loss.reset();
    summary_.loss = update.sums.loss();
    if (options_.planned_device_memory > 0 && state_.step == before_.step + 1)
      log_device_memory(model_, options_);
  }

  // Returns its tokens a second.
  double log_update(const Update& update, double seconds) {
    const double rate = static_cast<double>(update.tokens) / seconds;
    const double operation_rate = update.operations / seconds;
    summary_.update_seconds += seconds;
    summary_.operations += update.operations;
    if (!metrics_) return rate;
    std::vector<std::string> fields = loss_fields(update.sums, options_.columns);
    fields.push_back(fmt::format("{:.7g}", update.learning_rate));
    fields.push_back(fmt::format("{:.7g}", update.gradient_norm));
    fields.push_back(std::to_string(state_.tokens));
    fields.push_back(fmt::format("{:.1f}", rate));
    fields.push_back(fmt::format("{:.3f}", state_.seconds));
    fields.push_back(fmt::format("{:.4g}", operation_rate));
    fields.push_back(summary_.peak_operations > 0
                         ? fmt::format("{:.4f}", operation_rate / summary_.peak_operations)
                         : "NA");
    metrics_->row(state_.step, fields);
    if (events_) events_->row("train", state_.step, columns_, fields);
    return rate;
  }

  // Whether this validation is the best so far of a run whose RUN/final is the best state.
  bool validate() {
    std::optional<LossSums> valid;
    try {
      const AverageInPlace in_place(model_, average_);
      valid = task_.validate(model_, ranks_);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::interrupted) throw;
      stop();
    }
    if (!valid) return false;
    state_.valid_loss = valid->loss();
    const std::vector<std::string> fields = loss_fields(*valid, options_.columns);
    if (valid_log_) valid_log_->row(state_.step, fields);
    if (events_) events_->row("valid", state_.step, columns_, fields);
    log_info(fmt::format("step {}: validation loss {:.4f}", state_.step, *state_.valid_loss));
    if (!options_.final_is_best || !(*state_.valid_loss < best_.loss)) return false;
    best_ = {state_.step, *state_.valid_loss};
    return true;
  }

  // What follows an update: validation, checkpoint.
  void close_step() {
    bool saving = saving_is_due();
    if (validation_is_due() && validate()) saving = true;
    if (out_of_patience() && state_.step != options_.steps) {
      saving = true;
      log_info(fmt::format("ended after step {} of {}: no validation after step {} was better", state_.step,
                           options_.steps, best_.step));
    }
    if (saving) save();
  }

  TrainingSummary finish() {
    if (ranks_.count() > 1 && state_.step > before_.step) {
      log_info(fmt::format("copies and sums between ranks took {:.1f} % of the time",
                           100.0 * optimizer_.slices().seconds() / seconds_since(start_)));
    }
    summary_.final_step = state_.step;
    if (average_ != nullptr) model_.set_parameters(average_->values());
    if (best_.step > 0) {
      if (writes_ && best_.step != state_.step) load_weights(run_.checkpoint(best_.step), model_);
      summary_.final_step = best_.step;
      summary_.final_valid_loss = best_.loss;
    }
    run_.check_still_ours();
    if (writes_) save_final(run_.file("final"), model_, options_.extras);
    summary_.steps = state_.step;
    summary_.tokens = state_.tokens - before_.tokens;
    summary_.seconds = seconds_since(start_);
    return summary_;
  }

  Model& model_;
  Optimizer& optimizer_;
  const TrainingTask& task_;
  const RunFolder& run_;
  const TrainerOptions& options_;
  WeightAverage* const average_;
  kernels::Ranks& ranks_;
  const bool writes_;
  TrainState state_;
  const TrainState before_;  // when this part of the run began
  const Clock::time_point start_ = Clock::now();
  std::uint64_t saved_step_;
  ValidatedCheckpoint best_;
  std::vector<std::string> columns_;  // of metrics.tsv after the step
  std::optional<MetricsLog> valid_log_, metrics_;
  std::optional<EventLog> events_;
  TrainingSummary summary_;
};

}  // namespace

void watch_device_memory(TrainerOptions& options, const TrainingMemory& planned,
                         const kernels::Backend& backend) {
  if (!planned.on_device()) return;
  options.planned_device_memory = planned.places.front().total - backend.driver_memory().allowance;
  options.free_device_memory = device_memory_at_hand(backend);
}

TrainingSummary train(Model& model, Optimizer& optimizer, const TrainingTask& task, const RunFolder& run,
                      const TrainerOptions& options, TrainState state, WeightAverage* average) {
  return Trainer(model, optimizer, task, run, options, std::move(state), average).train();
}

}  // namespace bigbird
