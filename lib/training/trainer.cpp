// The training loop; see trainer.h.
#include "lib/training/trainer.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/core/progress.h"
#include "lib/core/rng.h"
#include "lib/training/batch_prefetcher.h"
#include "lib/training/metrics_log.h"
#include "lib/training/not_finite.h"

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

// 2^20 micro-batches a step and 2^44 steps do not collide.
std::uint64_t dropout_seed(std::uint64_t seed, std::uint64_t step, std::size_t micro_batch) {
  return CounterRng(seed, Purpose::dropout, (step << 20) + micro_batch).next_u64();
}

struct Update {
  LossSums sums;
  std::uint64_t tokens = 0;  // real ones
  double gradient_norm = 0;
  double learning_rate = 0;
  // Why the weights are as before: "the loss of part 2 of 4". Empty for an update that was made.
  std::string not_finite;
  std::string first_bad;  // with debug_nan: where it comes from
};

// What the losses of an update are divided by.
struct LabelCounts {
  std::int64_t masked = 0;
  std::int64_t labels = 0;  // of sequences and, for answers in parts, the choices among tokens
  std::int64_t positions = 0;
  std::int64_t marks = 0;
  std::int64_t targets = 0;  // of a decoder

  void add(const Batch& batch, const ModelConfig& config) {
    const auto known = [](const std::vector<std::int32_t>& all) {
      return std::count_if(all.begin(), all.end(), [](std::int32_t label) { return label != ignored_label; });
    };
    masked += static_cast<std::int64_t>(batch.masked_rows.size());
    labels += known(batch.sequence_labels);  // one of the two is empty
    labels += static_cast<std::int64_t>(batch.sequence_targets.size());
    positions += known(batch.start_positions) + known(batch.end_positions);
    std::int64_t marked = 0;
    for (std::size_t score = 0; score < batch.token_targets.size(); ++score) {
      const TokenTargets& groups = batch.token_targets[score];
      if (config.head == HeadType::question_answering) {
        positions += groups.answered_groups();
      } else if (config.token_scores[score].softmax) {
        labels += groups.answered_groups();
      } else {
        marked = groups.groups();  // the same for each
      }
    }
    marks += marked;
    targets += known(batch.targets.labels);
  }

  LossScale means() const {
    const auto mean = [](std::int64_t count) { return count > 0 ? 1.0f / static_cast<float>(count) : 0.0f; };
    return {mean(masked), mean(labels), mean(positions), mean(positions),
            mean(labels), mean(marks),  mean(targets)};
  }
};

// One update of the weights. Nothing when a stop was asked for: the weights are then as before.
std::optional<Update> update_weights(Model& model, Optimizer& optimizer, const std::vector<Batch>& batches,
                                     const TrainerOptions& options, std::uint64_t step) {
  LabelCounts counts;
  for (const Batch& batch : batches) counts.add(batch, model.config());
  const LossScale scale = counts.means();

  Update update;
  model.zero_gradients();
  for (std::size_t i = 0; i < batches.size(); ++i) {
    if (cancel_signal() != 0) return std::nullopt;
    ForwardOptions forward;
    forward.training = true;
    forward.dropout_seed = dropout_seed(options.seed, step, i);
    forward.scale = scale;
    forward.smoothing = options.smoothing;
    update.sums.add(model.forward(batches[i], forward));
    if (!std::isfinite(update.sums.loss())) {
      update.not_finite =
          batches.size() == 1 ? "the loss" : fmt::format("the loss of part {} of {}", i + 1, batches.size());
      if (options.debug_nan) update.first_bad = first_output_not_finite(model, batches[i], forward);
      return update;
    }
    model.backward(scale);
    for (const std::int64_t length : batches[i].lengths) update.tokens += static_cast<std::uint64_t>(length);
  }
  update.learning_rate = options.schedule.rate(step);
  update.gradient_norm =
      optimizer.update(model.parameters(), model.gradients(), update.learning_rate, step + 1);
  if (!std::isfinite(update.gradient_norm)) {
    update.not_finite = "the gradient";
    if (options.debug_nan) update.first_bad = first_gradient_not_finite(model);
  }
  return update;
}

// `saved`: the checkpoint of the last whole update; empty when there is none.
[[noreturn]] void throw_not_finite(const Update& update, std::uint64_t step, const std::string& saved) {
  std::string message = fmt::format("step {}: {} is not finite", step, update.not_finite);
  if (!update.first_bad.empty()) message += ", first in " + update.first_bad;
  if (!saved.empty()) message += fmt::format("; the state after step {} is {}", step - 1, saved);
  const std::string search =
      update.first_bad.empty() ? " (`debug_nan` names the layer that it comes from)" : "";
  throw_runtime(message, "lower `learning_rate`, lengthen `warmup` or set `clip_norm` 1" + search);
}

void log_device_memory(Model& model, const TrainerOptions& options) {
  const std::size_t left = model.backend().free_memory();
  const std::size_t used = options.free_device_memory > left ? options.free_device_memory - left : 0;
  log_info(fmt::format(
      "device memory: planned {} bytes, used {} bytes ({:.1f} %)", options.planned_device_memory, used,
      100.0 * static_cast<double>(used) / static_cast<double>(options.planned_device_memory)));
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

bool due(std::uint64_t step, std::uint64_t every) {
  return every > 0 && step % every == 0;
}

}  // namespace

void watch_device_memory(TrainerOptions& options, const TrainingMemory& planned,
                         const kernels::Backend& backend) {
  if (!planned.on_device()) return;
  options.planned_device_memory = planned.places.front().total;
  options.free_device_memory = device_memory_at_hand(backend);
}

void LossSums::add(const ForwardResult& result) {
  mlm_loss += result.mlm_loss_sum;
  mlm_count += result.mlm_count;
  mlm_correct += result.mlm_correct;
  sequence_loss += result.sequence_loss_sum + result.start_loss_sum + result.end_loss_sum +
                   result.choice_loss_sum + result.target_loss_sum;
  sequence_count += result.sequence_count + result.start_count + result.end_count + result.choice_count +
                    result.target_count;
  sequence_correct += result.sequence_correct + result.target_correct;
  mark_loss += result.mark_loss_sum;
  mark_count += result.mark_count;
}

double LossSums::loss() const {
  double loss = 0;
  if (mlm_count > 0) loss += mlm_loss / static_cast<double>(mlm_count);
  if (sequence_count > 0) loss += sequence_loss / static_cast<double>(sequence_count);
  if (mark_count > 0) loss += mark_loss / static_cast<double>(mark_count);
  return loss;
}

TrainingSummary train(Model& model, Optimizer& optimizer, const TrainingTask& task, const RunFolder& run,
                      const TrainerOptions& options, TrainState state, WeightAverage* average) {
  std::vector<std::string> columns = column_names(options.columns);
  std::optional<MetricsLog> valid_log;
  if (options.eval_every > 0) valid_log.emplace(run.file("valid.tsv"), columns, options.comments, state.step);
  columns.insert(columns.end(), {"lr", "grad_norm", "tokens", "tokens_per_second", "seconds"});
  MetricsLog metrics(run.file("metrics.tsv"), columns, options.comments, state.step);

  state.options = options.identity;
  state.device = model.backend().name();
  state.precision = name_of(model.backend().precision());
  const Clock::time_point start = Clock::now();
  const double seconds_before = state.seconds;
  const std::uint64_t tokens_before = state.tokens;
  const std::uint64_t first_step = state.step;
  std::uint64_t saved_step = state.step;
  TrainingSummary summary;
  Progress progress(options.task_name, options.steps - std::min(options.steps, state.step), "steps");

  const std::uint64_t keep_best = std::max<std::uint64_t>(options.keep_best, options.final_is_best ? 1 : 0);
  const auto save_state = [&] {
    const AverageInPlace in_place(model, average);
    save_checkpoint(run.checkpoint(state.step), model, optimizer, state, options.extras, in_place.trained());
  };
  const auto save = [&] {
    save_state();
    saved_step = state.step;
    run.retain(options.keep_last, keep_best);
  };
  ValidatedCheckpoint best = options.final_is_best ? run.best() : ValidatedCheckpoint{};
  // Of the steps alone, so that a run that goes on ends where it would have ended.
  const auto out_of_patience = [&] {
    return options.patience > 0 && best.step > 0 &&
           state.step >= best.step + options.patience * options.eval_every;
  };

  BatchPrefetcher batches([&task](std::uint64_t step) { return task.batches(step); }, options.steps,
                          model.backend().asynchronous());
  while (state.step < options.steps && !out_of_patience()) {
    const Clock::time_point step_start = Clock::now();
    const std::optional<Update> update =
        cancel_signal() == 0 ? update_weights(model, optimizer, batches.take(state.step), options, state.step)
                             : std::nullopt;
    if (update && !update->not_finite.empty()) {
      const std::string saved = state.step == 0 ? "" : run.checkpoint(state.step);
      // Without retain(): these weights may be the bad ones, and an older checkpoint the one to go on from.
      if (state.step != saved_step) save_state();
      throw_not_finite(*update, state.step + 1, saved);
    }
    if (!update) {
      if (state.step != saved_step) save();
      throw Error(ErrorKind::interrupted,
                  fmt::format("stopped after step {} of {}", state.step, options.steps),
                  fmt::format("everything is saved in {}; `resume` goes on from there", run.path()));
    }
    state.step += 1;
    if (average != nullptr) average->update(model, state.step);
    state.tokens += update->tokens;
    state.seconds = seconds_before + seconds_since(start);
    state.valid_loss.reset();
    summary.loss = update->sums.loss();
    if (options.planned_device_memory > 0 && state.step == first_step + 1) log_device_memory(model, options);

    const double rate = static_cast<double>(update->tokens) / seconds_since(step_start);
    std::vector<std::string> fields = loss_fields(update->sums, options.columns);
    fields.push_back(fmt::format("{:.7g}", update->learning_rate));
    fields.push_back(fmt::format("{:.7g}", update->gradient_norm));
    fields.push_back(std::to_string(state.tokens));
    fields.push_back(fmt::format("{:.1f}", rate));
    fields.push_back(fmt::format("{:.3f}", state.seconds));
    metrics.row(state.step, fields);
    progress.advance(1, fmt::format("loss {:.4f}, {:.0f} tokens/s", summary.loss, rate));

    const bool last = state.step == options.steps;
    bool saving = last || due(state.step, options.save_every);
    const bool validating = options.eval_every > 0 && (last || due(state.step, options.eval_every));
    if (validating || (saving && options.keep_best > 0)) {
      const std::optional<LossSums> valid = [&] {
        const AverageInPlace in_place(model, average);
        return task.validate(model);
      }();
      if (valid) {
        state.valid_loss = valid->loss();
        if (valid_log) valid_log->row(state.step, loss_fields(*valid, options.columns));
        log_info(fmt::format("step {}: validation loss {:.4f}", state.step, *state.valid_loss));
        if (options.final_is_best && *state.valid_loss < best.loss) {
          best = {state.step, *state.valid_loss};
          saving = true;
        }
      }
    }
    if (out_of_patience() && !last) {
      saving = true;
      log_info(fmt::format("ended after step {} of {}: no validation after step {} was better", state.step,
                           options.steps, best.step));
    }
    if (saving) save();
  }

  summary.final_step = state.step;
  if (average != nullptr) model.set_parameters(average->values());
  if (best.step > 0) {
    if (best.step != state.step) load_weights(run.checkpoint(best.step), model);
    summary.final_step = best.step;
    summary.final_valid_loss = best.loss;
  }
  save_final(run.file("final"), model, options.extras);
  summary.steps = state.step;
  summary.tokens = state.tokens - tokens_before;
  summary.seconds = seconds_since(start);
  return summary;
}

}  // namespace bigbird
