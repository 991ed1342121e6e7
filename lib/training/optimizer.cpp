// See optimizer.h. The arithmetic is Backend::adamw, lamb_moments, lamb_move, adafactor and move_towards.
#include "lib/training/optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include "lib/core/names.h"
#include "lib/model/network/model.h"
#include "lib/training/lamb.h"

namespace bigbird {
namespace {

constexpr std::array<std::pair<ScheduleForm, const char*>, 3> form_names{
    {{ScheduleForm::google, "google"},
     {ScheduleForm::huggingface, "huggingface"},
     {ScheduleForm::inverse_sqrt, "inverse-sqrt"}}};

constexpr std::array<std::pair<OptimizerVariant, const char*>, 4> variant_names{
    {{OptimizerVariant::google, "google"},
     {OptimizerVariant::torch, "torch"},
     {OptimizerVariant::adafactor, "adafactor"},
     {OptimizerVariant::lamb, "lamb"}}};

// Where each half of the moments, and what lies behind a state, begins: as far apart as kernels like their
// arrays.
std::int64_t aligned(std::int64_t count) {
  return (count + 63) / 64 * 64;
}

// The tensors of a layout for Backend::adafactor(), the state of one behind that of the other.
std::vector<kernels::AdafactorTensor> adafactor_tensors(const ParameterLayout& layout) {
  std::vector<kernels::AdafactorTensor> tensors;
  std::int64_t end = 0;
  for (const TensorSpec& spec : layout.tensors()) {
    kernels::AdafactorTensor& tensor = tensors.emplace_back();
    tensor.offset = spec.offset;
    tensor.columns = spec.shape.back();
    tensor.rows = spec.count / tensor.columns;
    if (spec.shape.size() > 1) tensor.row_means = std::exchange(end, end + tensor.rows);
    tensor.column_means = std::exchange(end, end + tensor.columns);
  }
  return tensors;
}

// All tensors of a layout, at the whole rate.
std::vector<LambTensor> lamb_tensors(const ParameterLayout& layout) {
  std::vector<LambTensor> tensors;
  for (const TensorSpec& spec : layout.tensors())
    tensors.push_back({spec.offset, spec.count, spec.decay, 1.0});
  return tensors;
}

}  // namespace

std::string name_of(ScheduleForm form) {
  return find_name(form_names, form);
}

ScheduleForm parse_schedule_form(const std::string& name) {
  return parse_name(form_names, name, message("choice of `schedule`"));
}

double Schedule::rate(std::uint64_t step) const {
  if (step >= total) return 0.0;
  if (step < warmup) return base * static_cast<double>(step) / static_cast<double>(warmup);
  if (form == ScheduleForm::google)
    return base * (1.0 - static_cast<double>(step) / static_cast<double>(total));
  if (form == ScheduleForm::inverse_sqrt) {
    const double first = static_cast<double>(std::max<std::uint64_t>(warmup, 1));
    return base * std::sqrt(first / std::max(first, static_cast<double>(step)));
  }
  return base * static_cast<double>(total - step) / static_cast<double>(total - warmup);
}

std::uint64_t default_warmup(std::uint64_t steps) {
  return std::min<std::uint64_t>(10000, steps / 10);
}

std::string name_of(OptimizerVariant variant) {
  return find_name(variant_names, variant);
}

OptimizerVariant parse_optimizer_variant(const std::string& name) {
  return parse_name(variant_names, name, message("choice of `optimizer`"));
}

std::map<std::string, std::string> update_identity(const Schedule& schedule,
                                                   const OptimizerOptions& options) {
  std::map<std::string, std::string> identity = {
      {"steps", std::to_string(schedule.total)},   {"learning_rate", fmt::format("{}", schedule.base)},
      {"warmup", std::to_string(schedule.warmup)}, {"schedule", name_of(schedule.form)},
      {"optimizer", name_of(options.variant)},     {"clip_norm", fmt::format("{}", options.clip_norm)}};
  if (options.variant != OptimizerVariant::adafactor) {
    identity["beta1"] = fmt::format("{}", options.beta1);
    identity["beta2"] = fmt::format("{}", options.beta2);
    identity["epsilon"] = fmt::format("{}", options.epsilon);
    identity["weight_decay"] = fmt::format("{}", options.weight_decay);
  }
  // Only where it does something, so that runs of before the option was there go on.
  if (options.layer_decay < 1.0) identity["layer_decay"] = fmt::format("{}", options.layer_decay);
  if (options.freeze_positions) identity["freeze_positions"] = "true";
  return identity;
}

std::vector<OptimizerState> optimizer_state(const ParameterLayout& layout, OptimizerVariant variant) {
  std::vector<OptimizerState> state;
  if (variant == OptimizerVariant::adafactor) {
    const std::vector<kernels::AdafactorTensor> tensors = adafactor_tensors(layout);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const kernels::AdafactorTensor& tensor = tensors[i];
      const std::string& name = layout.tensors()[i].name;
      const bool matrix = tensor.row_means >= 0;
      if (matrix) state.push_back({"exp_avg_sq_row." + name, {tensor.rows}, tensor.row_means, tensor.rows});
      state.push_back({(matrix ? "exp_avg_sq_col." : "exp_avg_sq.") + name,
                       {tensor.columns},
                       tensor.column_means,
                       tensor.columns});
    }
    return state;
  }
  for (const TensorSpec& tensor : layout.tensors())
    state.push_back({"exp_avg." + tensor.name, tensor.shape, tensor.offset, tensor.count});
  for (const TensorSpec& tensor : layout.tensors()) {
    state.push_back(
        {"exp_avg_sq." + tensor.name, tensor.shape, aligned(layout.count()) + tensor.offset, tensor.count});
  }
  return state;
}

OptimizerMemory optimizer_memory(const ParameterLayout& layout, OptimizerVariant variant,
                                 const kernels::Backend& backend, int ranks) {
  OptimizerMemory memory;
  const std::vector<OptimizerState> state = optimizer_state(layout, variant);
  if (!state.empty()) memory.state = aligned(state.back().offset + state.back().count);
  if (variant == OptimizerVariant::adafactor) {
    memory.scratch = backend.adafactor_scratch_bytes(adafactor_tensors(layout));
  } else if (ranks > 1) {
    memory.state = 2 * kernels::slice_size(ranks, layout.count());
  }
  for (const TensorSpec& tensor : layout.tensors()) memory.averages += tensor.moving_decay ? tensor.count : 0;
  memory.averages = aligned(memory.averages);
  if (variant == OptimizerVariant::lamb)
    memory.scratch = LambUpdate::scratch_bytes(backend, lamb_tensors(layout), layout.count());
  return memory;
}

Optimizer::Optimizer(kernels::Backend& backend, const ParameterLayout& layout,
                     const OptimizerOptions& options, kernels::Ranks* ranks)
    : backend_(backend),
      options_(options),
      count_(layout.count()),
      slices_(ranks != nullptr ? *ranks : kernels::this_process(), backend, layout.count()),
      state_(optimizer_state(layout, options.variant)),
      memory_(optimizer_memory(layout, options.variant, backend, slices_.ranks().count())) {
  if (options_.epsilon <= 0.0) options_.epsilon = options_.variant == OptimizerVariant::torch ? 1e-8 : 1e-6;
  const std::int64_t top = layout.tensors().empty() ? 0 : layout.tensors().back().depth;
  const auto rate_of = [&](const TensorSpec& tensor) {
    return std::pow(options_.layer_decay, static_cast<double>(top - tensor.depth));
  };
  // Adafactor and LAMB take tensor by tensor, AdamW neighbours of one group together.
  const bool factored = options_.variant == OptimizerVariant::adafactor;
  if (factored) tensors_ = adafactor_tensors(layout);
  for (std::size_t i = 0; i < tensors_.size(); ++i) tensors_[i].rate = rate_of(layout.tensors()[i]);
  const auto frozen = [&](const TensorSpec& tensor) {
    return tensor.moving_decay.has_value() || (options_.freeze_positions && is_position_table(tensor.name));
  };
  std::int64_t moving = 0;
  for (const TensorSpec& tensor : layout.tensors()) {
    if (!tensor.moving_decay) continue;
    has_averages_ = true;
    const std::int64_t begin = std::max(tensor.offset, slices_.own().first);
    const std::int64_t count = std::min(tensor.offset + tensor.count, slices_.own().end()) - begin;
    if (count <= 0) continue;
    averages_.push_back({begin, count, moving, static_cast<float>(1.0 - *tensor.moving_decay)});
    moving += count;
  }
  for (std::size_t i = tensors_.size(); i-- > 0;) {
    if (frozen(layout.tensors()[i])) tensors_.erase(tensors_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  if (options_.variant == OptimizerVariant::lamb) {
    std::vector<LambTensor> tensors;
    for (const TensorSpec& tensor : layout.tensors()) {
      if (!frozen(tensor)) tensors.push_back({tensor.offset, tensor.count, tensor.decay, rate_of(tensor)});
    }
    lamb_ = std::make_unique<LambUpdate>(backend_, slices_, std::move(tensors), count_);
  }
  for (const TensorSpec& tensor : layout.tensors()) {
    if (factored || lamb_ != nullptr) break;
    if (frozen(tensor)) continue;
    const double rate = rate_of(tensor);
    if (groups_.empty() || groups_.back().rate != rate) groups_.push_back({rate, {}});
    std::vector<kernels::ParameterRun>& runs = groups_.back().runs;
    // Of the own slice, and counted from where it begins.
    const kernels::IndexRange& own = slices_.own();
    const std::int64_t begin = std::max(tensor.offset, own.first);
    const std::int64_t count = std::min(tensor.offset + tensor.count, own.end()) - begin;
    if (count <= 0) continue;
    const std::int64_t offset = begin - own.first;
    const bool joins = !runs.empty() && runs.back().decay == tensor.decay &&
                       runs.back().offset + runs.back().count == offset;
    if (joins) {
      runs.back().count += count;
    } else {
      runs.push_back({offset, count, tensor.decay});
    }
  }
  values_ = static_cast<float*>(backend_.allocate(memory_.bytes()));
  backend_.zero(values_, memory_.bytes());
}

Optimizer::~Optimizer() {
  backend_.release(values_);
}

bool Optimizer::sliced() const {
  return options_.variant != OptimizerVariant::adafactor && slices_.ranks().count() > 1;
}

std::int64_t Optimizer::half() const {
  return sliced() ? kernels::slice_size(slices_.ranks().count(), count_) : aligned(count_);
}

double Optimizer::update(float* parameters, float* gradients, double learning_rate,
                         std::uint64_t update_number) {
  slices_.reduce_scatter(gradients);
  take_averages(gradients);
  const double norm = slices_.norm(gradients);
  if (!std::isfinite(norm)) return norm;
  move_averages(parameters);
  float gradient_scale = 1.0f;
  if (options_.clip_norm > 0.0 && norm > options_.clip_norm) {
    gradient_scale = static_cast<float>(options_.clip_norm / norm);
  }
  const auto t = static_cast<double>(update_number);
  if (options_.variant == OptimizerVariant::adafactor) {
    const double beta2 = 1.0 - std::pow(t, -0.8);
    slices_.all_gather(gradients);
    backend_.adafactor({parameters, gradients, values_, values_ + memory_.state + memory_.averages}, tensors_,
                       {learning_rate, beta2, gradient_scale});
    if (has_averages_) slices_.all_gather(parameters);
    return norm;
  }
  const std::int64_t first = slices_.own().first;
  if (lamb_ != nullptr) {
    lamb_->run({parameters + first, gradients + first, values_, values_ + half(),
                values_ + memory_.state + memory_.averages},
               learning_rate,
               {options_.beta1, options_.beta2, static_cast<float>(options_.epsilon),
                static_cast<float>(options_.weight_decay), gradient_scale});
  } else {
    step_adamw(parameters + first, gradients + first, learning_rate, gradient_scale, t);
  }
  if (slices_.ranks().count() > 1) {
    slices_.all_gather(parameters);
    backend_.refresh_weights(parameters);
  }
  return norm;
}

void Optimizer::take_averages(float* gradients) {
  for (const MovingRun& run : averages_) {
    const std::size_t bytes = static_cast<std::size_t>(run.count) * sizeof(float);
    backend_.copy(averaged() + run.at, gradients + run.offset, bytes);
    backend_.zero(gradients + run.offset, bytes);
  }
}

void Optimizer::move_averages(float* parameters) {
  for (const MovingRun& run : averages_)
    backend_.move_towards(parameters + run.offset, averaged() + run.at, run.count, run.share);
}

void Optimizer::step_adamw(float* parameters, const float* gradients, double learning_rate,
                           float gradient_scale, double t) {
  kernels::AdamWStep step;
  step.beta1 = options_.beta1;
  step.beta2 = options_.beta2;
  step.epsilon = static_cast<float>(options_.epsilon);
  step.gradient_scale = gradient_scale;
  if (options_.variant == OptimizerVariant::torch) {
    step.correction1 = static_cast<float>(1.0 - std::pow(options_.beta1, t));
    step.correction2 = static_cast<float>(1.0 - std::pow(options_.beta2, t));
  }
  step.weight_decay = static_cast<float>(options_.weight_decay);
  for (const Group& group : groups_) {
    step.learning_rate = static_cast<float>(learning_rate * group.rate);
    backend_.adamw({parameters, gradients, values_, values_ + half()}, group.runs, step);
  }
}

HostValues Optimizer::state_to_read() {
  if (!sliced()) return {backend_, values_, memory_.state};
  const bool first = slices_.ranks().rank() == 0;
  std::vector<float> whole(first ? static_cast<std::size_t>(2 * aligned(count_)) : 0);
  slices_.collect(values_, first ? whole.data() : nullptr);
  slices_.collect(values_ + half(), first ? whole.data() + aligned(count_) : nullptr);
  return HostValues(std::move(whole));
}

void Optimizer::upload_state(const OptimizerState& part, const std::vector<float>& values) {
  if (!sliced()) {
    backend_.upload(values_ + part.offset, values.data(), values.size() * sizeof(float));
    return;
  }
  const bool second = part.offset >= aligned(count_);
  const std::int64_t offset = part.offset - (second ? aligned(count_) : 0);
  const kernels::IndexRange& own = slices_.own();
  const std::int64_t begin = std::max(offset, own.first);
  const std::int64_t count = std::min(offset + part.count, own.end()) - begin;
  if (count <= 0) return;
  backend_.upload(values_ + (second ? half() : 0) + begin - own.first, values.data() + (begin - offset),
                  static_cast<std::size_t>(count) * sizeof(float));
}

double average_decay_at(double decay, std::uint64_t number) {
  const auto t = static_cast<double>(number);
  return std::min(decay, (1.0 + t) / (10.0 + t));
}

WeightAverage::WeightAverage(kernels::Backend& backend, Model& model, double decay)
    : backend_(backend), count_(model.layout().count()), decay_(decay) {
  average_ = static_cast<float*>(backend_.allocate(static_cast<std::size_t>(count_) * sizeof(float)));
  try {
    set(model.host_parameters());
  } catch (...) {
    backend_.release(average_);
    throw;
  }
}

WeightAverage::~WeightAverage() {
  backend_.release(average_);
}

void WeightAverage::update(Model& model, std::uint64_t number) {
  const auto share = static_cast<float>(1.0 - average_decay_at(decay_, number));
  backend_.move_towards(average_, model.parameters(), count_, share);
  // Random features are drawn, and a mean of two draws is none; what is an average already is taken as it is.
  for (const TensorSpec& spec : model.layout().tensors()) {
    if (spec.init != Init::features && !spec.moving_decay) continue;
    backend_.copy(average_ + spec.offset, model.parameters() + spec.offset,
                  static_cast<std::size_t>(spec.count) * sizeof(float));
  }
}

std::vector<float> WeightAverage::values() const {
  std::vector<float> values(static_cast<std::size_t>(count_));
  backend_.download_values(values.data(), average_, count_);
  return values;
}

void WeightAverage::set(const std::vector<float>& values) {
  backend_.upload(average_, values.data(), values.size() * sizeof(float));
}

}  // namespace bigbird
