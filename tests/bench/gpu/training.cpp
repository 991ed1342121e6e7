// See training.h.
#include "tests/bench/gpu/training.h"

#include <cmath>
#include <stdexcept>
#include <utility>

#include "lib/core/rng.h"
#include "lib/model/network/validate_config.h"

namespace bigbird::bench {

ModelConfig config_of(const Shapes& shapes, HeadType head, std::int64_t longest) {
  ModelConfig config;
  config.num_hidden_layers = shapes.layers;
  config.hidden_size = shapes.width;
  config.intermediate_size = shapes.inner;
  config.num_attention_heads = shapes.heads;
  config.vocab_size = shapes.vocabulary;
  config.block_size = shapes.block;
  config.max_position_embeddings = longest;
  config.head = head;
  validate(config, "bench_gpu");
  return config;
}

Batch batch_of(const ModelConfig& config, std::int64_t sequences, std::int64_t tokens, bool with_targets,
               std::uint64_t seed) {
  CounterRng rng(seed, Purpose::test, 0);
  Batch batch;
  for (std::int64_t s = 0; s < sequences; ++s) {
    const std::int64_t first = batch.tokens();
    std::vector<std::int32_t> ids;
    for (std::int64_t t = 0; t < tokens; ++t)
      ids.push_back(static_cast<std::int32_t>(rng.between(100, config.vocab_size - 1)));
    batch.append(ids, {}, config.block_size, 0);
    if (!with_targets) continue;
    const std::int64_t masked = tokens * 15 / 100;
    for (std::int64_t i = 0; i < masked; ++i) {
      const std::int64_t row = i * tokens / masked;
      batch.masked_rows.push_back(static_cast<std::int32_t>(first + row));
      batch.masked_labels.push_back(ids[static_cast<std::size_t>(row)]);
    }
    batch.sequence_labels.push_back(static_cast<std::int32_t>(s % 2));
  }
  return batch;
}

std::vector<Batch> batches_of(const ModelConfig& config, std::int64_t sequences, std::int64_t tokens,
                              bool with_targets) {
  std::vector<Batch> batches;
  for (std::uint64_t i = 0; i < 4; ++i)
    batches.push_back(batch_of(config, sequences, tokens, with_targets, i + 1));
  return batches;
}

BatchLimits limits_of(const Batch& batch, std::int64_t longest) {
  BatchLimits limits;
  limits.tokens = batch.tokens();
  limits.sequences = batch.sequences();
  limits.masked_tokens = static_cast<std::int64_t>(batch.masked_rows.size());
  limits.longest = longest;
  return limits;
}

void set_initial(Model& model) {
  model.set_parameters(initial_parameters(model.layout(), model.config(), 1));
}

TrainingMemory planned_as_in_a_run(const ModelConfig& config, const BatchLimits& limits,
                                   ModelOptions& options, kernels::Backend& backend) {
  options.keep_activated = true;
  const MemoryBefore before = memory_before(backend, 0);
  TrainingMemory memory = plan_training_memory(config, limits, options, backend, before);
  if (memory.places.front().fits()) return memory;
  options.keep_activated = false;
  return plan_training_memory(config, limits, options, backend, before);
}

TrainingSteps::TrainingSteps(kernels::Backend& backend, const ModelConfig& config, const BatchLimits& limits,
                             const ModelOptions& options, std::vector<Batch> batches)
    : batches_(std::move(batches)),
      model_(backend, config, limits, options),
      optimizer_(backend, model_.layout(), OptimizerOptions{}) {
  set_initial(model_);
  for (Batch& batch : batches_) model_.make_ready(batch);  // as a run does ahead of a step
}

void TrainingSteps::step() {
  const Batch& batch = batches_[(number_ + 1) % batches_.size()];
  const LossScale scale = scale_of_means(label_counts(batch, model_.config()));
  ForwardOptions forward;
  forward.training = true;
  forward.dropout_seed = ++number_;
  forward.scale = scale;
  model_.zero_gradients();
  const ForwardResult result = model_.forward_backward(batch, forward);
  optimizer_.update(model_.parameters(), model_.gradients(), 1e-4, number_);
  loss_ = scaled_loss(result, scale);
}

double TrainingSteps::loss() const {
  if (!std::isfinite(loss_)) throw std::runtime_error("the loss is not finite");
  return loss_;
}

}  // namespace bigbird::bench
