// AdamW over the parameter arena; see optimizer.h. The arithmetic is Backend::adamw.
#include "lib/training/optimizer.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

#include "lib/core/names.h"

namespace bigbird {
namespace {
constexpr std::array<std::pair<OptimizerVariant, const char*>, 2> variant_names{
    {{OptimizerVariant::google, "google"}, {OptimizerVariant::torch, "torch"}}};
}  // namespace

std::string name_of(OptimizerVariant variant) {
  return find_name(variant_names, variant);
}

OptimizerVariant parse_optimizer_variant(const std::string& name) {
  return parse_name(variant_names, name, "choice of `optimizer`");
}

std::map<std::string, std::string> update_identity(const Schedule& schedule,
                                                   const OptimizerOptions& options) {
  std::map<std::string, std::string> identity = {{"steps", std::to_string(schedule.total)},
                                                 {"learning_rate", fmt::format("{}", schedule.base)},
                                                 {"warmup", std::to_string(schedule.warmup)},
                                                 {"schedule", name_of(schedule.form)},
                                                 {"optimizer", name_of(options.variant)},
                                                 {"beta1", fmt::format("{}", options.beta1)},
                                                 {"beta2", fmt::format("{}", options.beta2)},
                                                 {"epsilon", fmt::format("{}", options.epsilon)},
                                                 {"weight_decay", fmt::format("{}", options.weight_decay)},
                                                 {"clip_norm", fmt::format("{}", options.clip_norm)}};
  // Only where it does something, so that runs of before the option was there go on.
  if (options.layer_decay < 1.0) identity["layer_decay"] = fmt::format("{}", options.layer_decay);
  if (options.freeze_positions) identity["freeze_positions"] = "true";
  return identity;
}

Optimizer::Optimizer(kernels::Backend& backend, const ParameterLayout& layout,
                     const OptimizerOptions& options)
    : backend_(backend), options_(options), count_(layout.count()) {
  if (options_.epsilon <= 0.0) options_.epsilon = options_.variant == OptimizerVariant::google ? 1e-6 : 1e-8;
  const std::int64_t top = layout.tensors().empty() ? 0 : layout.tensors().back().depth;
  for (const TensorSpec& tensor : layout.tensors()) {
    if (options_.freeze_positions && is_position_table(tensor.name)) continue;
    const double rate = std::pow(options_.layer_decay, static_cast<double>(top - tensor.depth));
    if (groups_.empty() || groups_.back().rate != rate) groups_.push_back({rate, {}});
    std::vector<kernels::ParameterRun>& runs = groups_.back().runs;
    const bool joins = !runs.empty() && runs.back().decay == tensor.decay &&
                       runs.back().offset + runs.back().count == tensor.offset;
    if (joins) {
      runs.back().count += tensor.count;
    } else {
      runs.push_back({tensor.offset, tensor.count, tensor.decay});
    }
  }
  const std::size_t bytes = static_cast<std::size_t>(count_) * sizeof(float);
  first_ = static_cast<float*>(backend_.allocate(bytes));
  try {
    second_ = static_cast<float*>(backend_.allocate(bytes));
  } catch (...) {
    backend_.release(first_);
    throw;
  }
  backend_.zero(first_, bytes);
  backend_.zero(second_, bytes);
}

Optimizer::~Optimizer() {
  backend_.release(first_);
  backend_.release(second_);
}

double Optimizer::update(float* parameters, const float* gradients, double learning_rate,
                         std::uint64_t update_number) {
  const double norm = std::sqrt(backend_.sum_of_squares(gradients, count_));
  if (!std::isfinite(norm)) return norm;
  kernels::AdamWStep step;
  step.beta1 = options_.beta1;
  step.beta2 = options_.beta2;
  step.epsilon = static_cast<float>(options_.epsilon);
  if (options_.clip_norm > 0.0 && norm > options_.clip_norm) {
    step.gradient_scale = static_cast<float>(options_.clip_norm / norm);
  }
  if (options_.variant == OptimizerVariant::torch) {
    const auto t = static_cast<double>(update_number);
    step.correction1 = static_cast<float>(1.0 - std::pow(options_.beta1, t));
    step.correction2 = static_cast<float>(1.0 - std::pow(options_.beta2, t));
  }
  step.weight_decay = static_cast<float>(options_.weight_decay);
  for (const Group& group : groups_) {
    step.learning_rate = static_cast<float>(learning_rate * group.rate);
    backend_.adamw({parameters, gradients, first_, second_}, group.runs, step);
  }
  return norm;
}

void Optimizer::download(std::vector<float>& first, std::vector<float>& second) const {
  const auto count = static_cast<std::size_t>(count_);
  first.resize(count);
  second.resize(count);
  backend_.download_values(first.data(), first_, count_);
  backend_.download_values(second.data(), second_, count_);
}

HostValues Optimizer::first_to_read() const {
  return {backend_, first_, count_};
}

HostValues Optimizer::second_to_read() const {
  return {backend_, second_, count_};
}

void Optimizer::upload_first(std::int64_t offset, const std::vector<float>& values) {
  backend_.upload(first_ + offset, values.data(), values.size() * sizeof(float));
}

void Optimizer::upload_second(std::int64_t offset, const std::vector<float>& values) {
  backend_.upload(second_ + offset, values.data(), values.size() * sizeof(float));
}

}  // namespace bigbird
