// The model: arenas on the device, the order of a call, and results back on the host; see model.h.
#include "lib/model/model.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/core/error.h"
#include "lib/model/call.h"
#include "lib/model/encoder.h"
#include "lib/model/heads.h"
#include "lib/model/memory.h"
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

void check_ids(const std::vector<std::int32_t>& ids, std::int64_t bound, const char* what) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= bound) {
      throw_bad_input(
          fmt::format("{} {} at row {} of the batch: the model knows 0 to {}", what, ids[i], i, bound - 1),
          "use the tokenizer that the model was trained with");
    }
  }
}

void check_size(std::int64_t size, std::int64_t limit, const char* what) {
  if (size > limit)
    throw_runtime(fmt::format("a batch of {} {}, the model was built for {}", size, what, limit));
}

// One pass over the host side of a batch, so that no kernel ever reads outside a table.
void check_batch(const Batch& batch, const ModelConfig& config, const BatchLimits& limits) {
  if (batch.sequences() == 0) throw_runtime("a batch without sequences");
  check_size(batch.tokens(), limits.tokens, "tokens");
  check_size(batch.sequences(), limits.sequences, "sequences");
  check_size(static_cast<std::int64_t>(batch.masked_rows.size()), limits.masked_tokens, "masked tokens");
  const std::size_t tokens = static_cast<std::size_t>(batch.tokens());
  bool consistent = batch.ids.size() == tokens && batch.types.size() == tokens &&
                    batch.token_offsets.size() == batch.lengths.size() + 1 &&
                    batch.token_offsets.front() == 0;
  for (std::size_t s = 0; consistent && s < batch.lengths.size(); ++s) {
    const std::int64_t rows = batch.token_offsets[s + 1] - batch.token_offsets[s], length = batch.lengths[s];
    consistent = rows > 0 && rows % config.block_size == 0 && length > 0 && length <= rows;
    check_size(rows, limits.longest, "tokens in one sequence");
    if (length > config.max_position_embeddings) {
      throw_bad_input(fmt::format("a sequence of {} tokens: the model has {} positions", length,
                                  config.max_position_embeddings),
                      "cut the sequence, or use a model trained for longer ones");
    }
  }
  const auto& rows = batch.masked_rows;
  consistent = consistent && (batch.masked_labels.empty() || batch.masked_labels.size() == rows.size()) &&
               (batch.sequence_labels.empty() || batch.sequence_labels.size() == batch.lengths.size()) &&
               std::adjacent_find(rows.begin(), rows.end(), std::greater_equal<>()) == rows.end() &&
               (rows.empty() || (rows.front() >= 0 && rows.back() < batch.tokens()));
  if (!consistent) throw_runtime("the parts of a batch do not agree in their sizes");
  check_ids(batch.ids, config.vocab_size, "token id");
  check_ids(batch.types, config.type_vocab_size, "token type");
  const std::int64_t classes = config.head == HeadType::pretraining ? 2 : config.num_labels;
  for (const std::int32_t label : batch.sequence_labels) {
    if (label != ignored_label) check_ids({label}, classes, "label");
  }
  for (const std::int32_t label : batch.masked_labels) {
    if (label != ignored_label) check_ids({label}, config.vocab_size, "masked label");
  }
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
  }

  std::size_t arena_bytes() const { return static_cast<std::size_t>(layout.count()) * sizeof(float); }
  Call call() { return {backend, config, plans, batch, dropout_on, dropout_seed}; }

  // `count` floats of the device.
  std::vector<float> download(const float* from, std::int64_t count) const {
    std::vector<float> host(static_cast<std::size_t>(count));
    backend.download(host.data(), from, host.size() * sizeof(float));
    return host;
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
  std::uint64_t dropout_seed = 0;
  bool backward_possible = false;
};

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
  impl_->dropout_seed = options.dropout_seed;
  const Call call = impl_->call();
  ForwardResult result;
  encoder_forward(call, impl_->parameter_tensors, impl_->kept, options.hidden_state);
  const float* hidden = impl_->kept.last_hidden_state();
  if (impl_->config.head == HeadType::pretraining) {
    pretraining_head_forward(call, impl_->parameter_tensors.pretraining, impl_->kept, hidden, result);
  } else {
    classification_head_forward(call, impl_->parameter_tensors.classification, impl_->kept, hidden, result);
  }
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
  if (impl_->config.head == HeadType::pretraining) {
    pretraining_head_backward(call, impl_->parameter_tensors.pretraining, impl_->gradient_tensors.pretraining,
                              impl_->kept, scale);
  } else {
    classification_head_backward(call, impl_->parameter_tensors.classification,
                                 impl_->gradient_tensors.classification, impl_->kept, scale);
  }
  encoder_backward(call, impl_->parameter_tensors, impl_->gradient_tensors, impl_->kept,
                   impl_->options.grad_checkpoint);
}

std::vector<float> Model::last_hidden_state() const {
  return impl_->download(impl_->kept.last_hidden_state(), impl_->batch.tokens() * impl_->config.hidden_size);
}

std::vector<float> Model::pooler_output() const {
  if (impl_->config.head != HeadType::pretraining) throw_runtime("a classification model has no pooler");
  return impl_->download(impl_->kept.pretraining.pooled,
                         impl_->batch.sequences() * impl_->config.hidden_size);
}

std::vector<float> Model::sequence_logits() const {
  const std::int64_t classes = impl_->config.head == HeadType::pretraining ? 2 : impl_->config.num_labels;
  return impl_->download(impl_->kept.sequence.logits, impl_->batch.sequences() * classes);
}

std::vector<float> Model::masked_logits() const {
  const std::int64_t rows = static_cast<std::int64_t>(impl_->batch.masked_rows.size());
  return impl_->download(impl_->kept.pretraining.logits, rows * impl_->config.vocab_size);
}

}  // namespace bigbird
