// One update of the weights; see update.h.
#include "lib/training/update.h"
#include "lib/model/network/model.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "lib/core/cancel.h"
#include "lib/core/rng.h"
#include "lib/training/not_finite.h"

namespace bigbird {
namespace {

// 2^20 micro-batches a step and 2^44 steps do not collide.
std::uint64_t dropout_seed(std::uint64_t seed, std::uint64_t step, kernels::Index slot) {
  return CounterRng(seed, Purpose::dropout, (step << 20) + static_cast<std::uint64_t>(slot)).next_u64();
}

std::uint64_t tokens_of(const Batch& batch) {
  std::uint64_t tokens = 0;
  for (const std::int64_t length : batch.lengths) tokens += static_cast<std::uint64_t>(length);
  return tokens;
}

// The first text that is not empty.
std::string said_first(kernels::Ranks& ranks, const std::string& mine) {
  for (const std::string& text : kernels::gather_texts(ranks, mine)) {
    if (!text.empty()) return text;
  }
  return {};
}

// Numbers of a slot's result: its losses, then its tokens, then the operations of its forward pass.
constexpr std::size_t result_width = LossSums::width + 2;

}  // namespace

Updater::Updater(Model& model, Optimizer& optimizer, kernels::Index slots, const UpdateOptions& options)
    : model_(model),
      optimizer_(optimizer),
      ranks_(optimizer.slices().ranks()),
      options_(options),
      slots_(slots),
      own_(kernels::slots_of_rank(ranks_, slots)),
      sums_(model.backend(), model.layout().count(), own_.count),
      operations_(model.config()) {}

// The means are over all slots of the update. Each rank sends its labels, and behind them whether it was
// asked to stop.
std::optional<LossScale> Updater::agree_on_scale(const std::vector<Batch>& batches) {
  LabelCounts labels;
  constexpr std::size_t losses = loss_kinds.size();
  std::array<double, losses + 1> mine{};
  for (const Batch& batch : batches) {
    const LabelCounts counts = label_counts(batch, model_.config());
    for (std::size_t loss = 0; loss < losses; ++loss) mine[loss] += static_cast<double>(counts.all[loss]);
  }
  mine.back() = cancel_signal() != 0 ? 1.0 : 0.0;
  const std::vector<double> all = kernels::gather_numbers(ranks_, mine);
  for (std::size_t rank = 0; rank < all.size() / mine.size(); ++rank) {
    const double* const numbers = all.data() + rank * mine.size();
    if (numbers[losses] > 0) return std::nullopt;
    for (std::size_t loss = 0; loss < losses; ++loss)
      labels.all[loss] += static_cast<std::int64_t>(numbers[loss]);
  }
  return scale_of_means(labels);
}

std::optional<Update> Updater::update(std::uint64_t step, const std::function<std::vector<Batch>()>& take) {
  const bool alone = ranks_.count() == 1;
  if (alone && cancel_signal() != 0) return std::nullopt;
  const std::vector<Batch> batches = take();
  const std::optional<LossScale> scale = agree_on_scale(batches);
  if (!scale) return std::nullopt;

  const auto number_of_slots = static_cast<std::size_t>(own_.count);
  std::vector<double> results(number_of_slots * result_width);
  std::string first_bad;
  sums_.begin_anew();
  for (std::size_t i = 0; i < number_of_slots; ++i) {
    if (alone && cancel_signal() != 0) return std::nullopt;
    ForwardOptions forward;
    forward.training = true;
    forward.dropout_seed = dropout_seed(options_.seed, step, own_.first + static_cast<kernels::Index>(i));
    forward.scale = *scale;
    forward.smoothing = options_.smoothing;
    // Every slot from zero: what a sum is made of does not depend on who adds it.
    model_.zero_gradients();
    const LossSums sums(model_.forward(batches[i], forward));
    const auto numbers = sums.numbers();
    std::copy(numbers.begin(), numbers.end(),
              results.begin() + static_cast<std::ptrdiff_t>(i * result_width));
    results[i * result_width + LossSums::width] = static_cast<double>(tokens_of(batches[i]));
    results[i * result_width + LossSums::width + 1] = operations_.forward(batches[i]);
    if (!std::isfinite(sums.loss())) {
      if (options_.debug_nan) first_bad = first_output_not_finite(model_, batches[i], forward);
      break;
    }
    model_.backward(*scale);
    sums_.add(model_.gradients());
  }

  Update update;
  const std::vector<double> all = kernels::gather_numbers(ranks_, results);
  for (std::size_t slot = 0; slot < static_cast<std::size_t>(slots_); ++slot) {
    const double* const numbers = all.data() + slot * result_width;
    const LossSums sums = LossSums::of_numbers(numbers);
    update.sums.add(sums);
    update.tokens += static_cast<std::uint64_t>(numbers[LossSums::width]);
    update.operations += training_passes * numbers[LossSums::width + 1];
    if (std::isfinite(sums.loss())) continue;
    update.not_finite = slots_ == 1 ? "the loss" : fmt::format("the loss of part {} of {}", slot + 1, slots_);
    // The first of all: ranks are in the order of their slots.
    if (options_.debug_nan) update.first_bad = said_first(ranks_, first_bad);
    return update;
  }
  update.learning_rate = options_.schedule.rate(step);
  update.gradient_norm =
      optimizer_.update(model_.parameters(), model_.gradients(), update.learning_rate, step + 1);
  if (!std::isfinite(update.gradient_norm)) {
    update.not_finite = "the gradient";
    if (options_.debug_nan) {
      optimizer_.slices().all_gather(model_.gradients());
      update.first_bad = first_gradient_not_finite(model_);
    }
  }
  return update;
}

}  // namespace bigbird
