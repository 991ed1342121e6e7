// The model: arenas on the device, the order of a call, and results back on the host; see model.h.
#include "lib/model/model.h"

#include <fmt/format.h>

#include "lib/core/error.h"
#include "lib/model/batch_check.h"
#include "lib/model/call.h"
#include "lib/model/encoder.h"
#include "lib/model/heads.h"
#include "lib/model/memory.h"
#include "lib/model/rotary.h"
#include "lib/model/tensors.h"

namespace bigbird {
namespace {

// Device memory with an owner.
class DeviceMemory {
 public:
  DeviceMemory(kernels::Backend& backend, std::size_t bytes)
      : backend_(backend), memory_(static_cast<std::byte*>(backend.allocate(bytes))) {}
  ~DeviceMemory() { backend_.release(memory_); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  std::byte* bytes() const { return memory_; }
  float* floats() const { return reinterpret_cast<float*>(memory_); }

 private:
  kernels::Backend& backend_;
  std::byte* memory_;
};

std::size_t activation_bytes(const ModelConfig& config, const BatchLimits& limits,
                             const ModelOptions& options) {
  Arena arena(nullptr);
  plan_activations(arena, config, limits, options);
  return arena.bytes();
}

}  // namespace

struct Model::Impl {
  Impl(kernels::Backend& on, const ModelConfig& of, const BatchLimits& up_to, const ModelOptions& how)
      : backend(on),
        config(of),
        limits(up_to),
        options(how),
        layout(of),
        plans(of),
        parameters(on, arena_bytes()),
        gradients(on, how.training ? arena_bytes() : 0),
        activations(on, activation_bytes(of, up_to, how)) {
    on.zero(parameters.floats(), arena_bytes());
    parameter_tensors = model_tensors(config, layout, parameters.floats());
    if (options.training) {
      on.zero(gradients.floats(), arena_bytes());
      gradient_tensors = model_tensors(config, layout, gradients.floats());
    }
    Arena arena(activations.bytes());
    kept = plan_activations(arena, config, limits, options);
    if (kept.turns.table != nullptr) {
      const std::vector<float> turns = rotary_turns(config, limits.longest);
      on.upload(kept.turns.table, turns.data(), turns.size() * sizeof(float));
    }
  }

  std::size_t arena_bytes() const { return static_cast<std::size_t>(layout.count()) * sizeof(float); }
  Call call() { return {backend, config, plans, batch, dropout_on, kept.cells.dropout_seed}; }

  // `count` floats of the device.
  std::vector<float> download(const float* from, std::int64_t count) const {
    std::vector<float> host(static_cast<std::size_t>(count));
    backend.download_values(host.data(), from, count);
    return host;
  }
  // The same for what only some heads have.
  std::vector<float> output(const float* from, std::int64_t count, const char* what) const {
    if (from == nullptr)
      throw_runtime(fmt::format("a model with the {} head has no {}", name_of(config.head), what));
    return download(from, count);
  }

  kernels::Backend& backend;
  ModelConfig config;
  BatchLimits limits;
  ModelOptions options;
  ParameterLayout layout;
  PlanCache plans;
  DeviceMemory parameters;
  DeviceMemory gradients;
  DeviceMemory activations;
  ModelTensors parameter_tensors;
  ModelTensors gradient_tensors;
  Activations kept;
  // The last call, for backward().
  Batch batch;
  bool dropout_on = false;
  bool backward_possible = false;
};

LossScale mean_scale(const ForwardResult& result) {
  const auto mean = [](std::int64_t count) { return count > 0 ? 1.0f / static_cast<float>(count) : 0.0f; };
  return {mean(result.mlm_count), mean(result.sequence_count), 0.5f * mean(result.start_count),
          0.5f * mean(result.end_count)};
}

double scaled_loss(const ForwardResult& result, const LossScale& scale) {
  return static_cast<double>(scale.mlm) * result.mlm_loss_sum +
         static_cast<double>(scale.sequence) * result.sequence_loss_sum +
         static_cast<double>(scale.start) * result.start_loss_sum +
         static_cast<double>(scale.end) * result.end_loss_sum;
}

Model::Model(kernels::Backend& backend, const ModelConfig& config, const BatchLimits& limits,
             const ModelOptions& options)
    : impl_(std::make_unique<Impl>(backend, config, limits, options)) {}
Model::~Model() = default;

const ModelConfig& Model::config() const {
  return impl_->config;
}
const ParameterLayout& Model::layout() const {
  return impl_->layout;
}
kernels::Backend& Model::backend() {
  return impl_->backend;
}
float* Model::parameters() {
  return impl_->parameters.floats();
}
float* Model::gradients() {
  return impl_->options.training ? impl_->gradients.floats() : nullptr;
}

void Model::set_parameters(const std::vector<float>& host) {
  if (static_cast<std::int64_t>(host.size()) != layout().count()) {
    throw_runtime(fmt::format("{} values for a model of {} parameters", host.size(), layout().count()));
  }
  impl_->backend.upload(impl_->parameters.floats(), host.data(), impl_->arena_bytes());
}

std::vector<float> Model::host_parameters() const {
  return impl_->download(impl_->parameters.floats(), layout().count());
}

std::vector<float> Model::host_gradients() const {
  if (!impl_->options.training) throw_runtime("this model was built without gradients");
  return impl_->download(impl_->gradients.floats(), layout().count());
}

void Model::zero_gradients() {
  if (impl_->options.training) impl_->backend.zero(impl_->gradients.floats(), impl_->arena_bytes());
}

ForwardResult Model::forward(const Batch& batch, const ForwardOptions& options) {
  check_batch(batch, impl_->config, impl_->limits);
  impl_->batch = batch;
  impl_->dropout_on = options.training;
  impl_->backend.upload(impl_->kept.cells.dropout_seed, &options.dropout_seed, sizeof(std::uint64_t));
  const Call call = impl_->call();
  ForwardResult result;
  encoder_forward(call, impl_->parameter_tensors, impl_->kept, options.hidden_state);
  const float* hidden = impl_->kept.last_hidden_state();
  head_forward(call, impl_->parameter_tensors, impl_->kept, hidden, result);
  impl_->backward_possible = impl_->options.training;
  return result;
}

void Model::backward(const LossScale& scale) {
  if (!impl_->backward_possible)
    throw_runtime("backward() needs a model built for training and one forward() before it");
  impl_->backward_possible = false;
  const Call call = impl_->call();
  const std::size_t bytes = static_cast<std::size_t>(call.tokens() * call.width()) * sizeof(float);
  impl_->backend.zero(impl_->kept.workspace.stream, bytes);
  const Cells& cells = impl_->kept.cells;
  impl_->backend.upload(cells.mlm_scale, &scale.mlm, sizeof(float));
  impl_->backend.upload(cells.sequence_scale, &scale.sequence, sizeof(float));
  impl_->backend.upload(cells.start_scale, &scale.start, sizeof(float));
  impl_->backend.upload(cells.end_scale, &scale.end, sizeof(float));
  head_backward(call, impl_->parameter_tensors, impl_->gradient_tensors, impl_->kept);
  encoder_backward(call, impl_->parameter_tensors, impl_->gradient_tensors, impl_->kept,
                   impl_->options.grad_checkpoint);
}

std::vector<float> Model::last_hidden_state() const {
  return impl_->download(impl_->kept.last_hidden_state(), impl_->batch.tokens() * impl_->config.hidden_size);
}

std::vector<float> Model::pooler_output() const {
  return impl_->output(impl_->kept.pooled.pooled, impl_->batch.sequences() * impl_->config.hidden_size,
                       "pooled output");
}

std::vector<float> Model::sequence_logits() const {
  const std::int64_t classes = impl_->config.head == HeadType::pretraining ? 2 : impl_->config.num_labels;
  return impl_->output(impl_->kept.sequence.logits, impl_->batch.sequences() * classes, "sequence logits");
}

std::vector<float> Model::masked_logits() const {
  const std::int64_t rows = static_cast<std::int64_t>(impl_->batch.masked_rows.size());
  return impl_->output(impl_->kept.masked.logits, rows * impl_->config.vocab_size, "logits of masked tokens");
}

std::vector<float> Model::start_logits() const {
  return impl_->output(impl_->kept.question.start, impl_->batch.tokens(), "start logits");
}

std::vector<float> Model::end_logits() const {
  return impl_->output(impl_->kept.question.end, impl_->batch.tokens(), "end logits");
}

}  // namespace bigbird
