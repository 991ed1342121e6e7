// See update.h.
#include "lib/training/update.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "lib/core/cancel.h"
#include "lib/core/rng.h"
#include "lib/model/network/model.h"
#include "lib/training/stream_states.h"

namespace bigbird {
namespace {

bool finite(float value) {
  return std::isfinite(value);
}

// "name (3 of 4096 values)" when any value of the tensor is not finite.
std::string bad_values(const TensorSpec& tensor, const std::vector<float>& arena) {
  const auto begin = arena.begin() + static_cast<std::ptrdiff_t>(tensor.offset);
  const auto bad =
      tensor.count - std::count_if(begin, begin + static_cast<std::ptrdiff_t>(tensor.count), finite);
  return bad == 0 ? "" : fmt::format("{} ({} of {} values)", tensor.name, bad, tensor.count);
}

std::string first_parameter_not_finite(const Model& model) {
  const std::vector<float> parameters = model.host_parameters();
  for (const TensorSpec& tensor : model.layout().tensors()) {
    if (std::string bad = bad_values(tensor, parameters); !bad.empty()) return bad;
  }
  return "";
}

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

std::vector<Batch> BatchPrefetcher::take(std::uint64_t step) {
  std::vector<Batch> batches;
  if (next_.valid() && next_step_ == step) {
    batches = next_.get();
  } else {
    if (next_.valid()) next_.wait();
    batches = make_(step);
  }
  if (ahead_ && step + 1 < steps_) {
    next_step_ = step + 1;
    next_ = std::async(std::launch::async, [this, ahead = next_step_] { return make_(ahead); });
  }
  return batches;
}

std::string first_output_not_finite(Model& model, const Batch& batch, const ForwardOptions& options) {
  std::string where = "the head";
  bool found = false;
  ForwardOptions watched = options;
  watched.hidden_state = [&](std::int64_t layer, const std::vector<float>& values) {
    if (found || std::all_of(values.begin(), values.end(), finite)) return;
    found = true;
    where = layer == 0 ? "the embeddings"
                       : fmt::format("layer {} of {}", layer, model.config().num_hidden_layers);
  };
  model.forward(batch, watched);
  const std::string parameter = first_parameter_not_finite(model);
  return parameter.empty() ? where : where + "; so are parameters: " + parameter;
}

std::string first_gradient_not_finite(const Model& model) {
  const std::vector<float> gradients = model.host_gradients();
  const std::vector<TensorSpec>& tensors = model.layout().tensors();
  for (auto tensor = tensors.rbegin(); tensor != tensors.rend(); ++tensor) {
    if (const std::string bad = bad_values(*tensor, gradients); !bad.empty()) return "gradient of " + bad;
  }
  return "";
}

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
  // An update that is not made leaves streams where they were.
  StreamsBefore streams(model_, options_.streams);
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
    const LossSums sums(model_.forward_backward(batches[i], forward));
    const auto numbers = sums.numbers();
    std::copy(numbers.begin(), numbers.end(),
              results.begin() + static_cast<std::ptrdiff_t>(i * result_width));
    results[i * result_width + LossSums::width] = static_cast<double>(tokens_of(batches[i]));
    results[i * result_width + LossSums::width + 1] = operations_.forward(batches[i]);
    if (!std::isfinite(sums.loss())) {
      if (options_.debug_nan) first_bad = first_output_not_finite(model_, batches[i], forward);
      break;
    }
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
    return update;
  }
  model_.after_update(step + 1, options_.seed);
  streams.keep();
  return update;
}

}  // namespace bigbird
