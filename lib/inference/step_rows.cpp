// See step_rows.h.
#include "lib/inference/step_rows.h"

#include <fmt/format.h>

#include "lib/core/error.h"
#include "lib/model/network/encoder.h"

namespace bigbird {

using kernels::Index;
using kernels::Values;

StepRowMemory plan_step_rows(Arena& arena, const ModelConfig& config, std::int64_t rows, std::int64_t asked) {
  const std::string what = "activations of a step";
  StepRowMemory to;
  to.ids = arena.integers(what, rows);
  if (config.type_vocab_size > 0) to.types = arena.integers(what, rows);
  to.positions = arena.integers(what, rows);
  for (Values* matrix : {&to.state, &to.norm, &to.context, &to.branch})
    *matrix = arena.values(what, rows * config.hidden_size);
  to.inner = arena.values(what, rows * config.intermediate_size);
  to.logits = arena.floats("logits of a step", asked * config.vocab_size);
  to.top_values = arena.floats(what, asked * most_top_tokens);
  to.top_tokens = arena.integers(what, asked * most_top_tokens);
  return to;
}

LinearTensors outputs_of(const LinearTensors& layer, Index first, Index count) {
  return {layer.weight + first * layer.in, layer.bias == nullptr ? nullptr : layer.bias + first, layer.in,
          count};
}

StepRows::StepRows(kernels::Backend& backend, const ModelConfig& config, const StepRowMemory& memory)
    : backend_(backend), config_(config), held_(memory) {}

void StepRows::embed(const EmbeddingTensors& tensors, Index rows) {
  const EmbeddingNorm norm = config_.embedding_norm;
  const Values sum = norm == EmbeddingNorm::none ? held_.state : held_.norm;
  backend_.embedding_forward({held_.ids, held_.types, held_.positions, rows},
                             embedding_tables(config_, tensors), sum);
  if (norm != EmbeddingNorm::none) backend_.layernorm_forward(sum, tensors.norm, held_.state, {}, rows);
}

kernels::ConstValues StepRows::branch_input(const NormTensors& norm, Index rows) {
  if (config_.norm_type == NormType::postnorm) return held_.state;
  backend_.layernorm_forward(held_.state, norm, held_.norm, {}, rows);
  return held_.norm;
}

void StepRows::join(kernels::ConstValues input, const LinearTensors& product, const NormTensors& norm,
                    Index rows) {
  const Index values = rows * config_.hidden_size;
  const bool postnorm = config_.norm_type == NormType::postnorm;
  const Values sum = postnorm ? held_.norm : held_.state;
  backend_.linear_forward(input, product, held_.branch, rows);
  backend_.dropout_add(held_.branch, held_.state, sum, values, {});
  if (postnorm) backend_.layernorm_forward(sum, norm, held_.state, {}, rows);
}

void StepRows::feed_forward(const FeedForwardTensors& tensors, Index rows) {
  backend_.linear_activation_forward(branch_input(tensors.norm, rows), tensors.inner, config_.activation,
                                     nullptr, held_.inner, rows);
  join(held_.inner, tensors.output, tensors.norm, rows);
}

void StepRows::predict(kernels::ConstValues state, const NormTensors& final_norm, const LinearTensors& output,
                       Index rows) {
  if (config_.has_final_norm()) {
    backend_.layernorm_forward(state, final_norm, held_.norm, {}, rows);
    state = held_.norm;
  }
  backend_.linear_forward(state, output, held_.logits, rows);
  asked_ = rows;
}

void StepRows::take_logits(const std::vector<float>& logits, Index rows) {
  if (rows > 0) backend_.upload(held_.logits, logits.data(), logits.size() * sizeof(float));
  asked_ = rows;
}

std::span<const float> StepRows::logits() {
  const auto count = static_cast<std::size_t>(asked_ * config_.vocab_size);
  if (backend_.in_host_memory()) return {held_.logits, count};
  on_host_.resize(count);
  backend_.download_values(on_host_.data(), held_.logits, static_cast<Index>(count));
  return on_host_;
}

TopTokens StepRows::top(std::int64_t count) {
  if (count < 1 || count > most_top_tokens || count > config_.vocab_size)
    throw_runtime(fmt::format("the best {} of {} tokens", count, config_.vocab_size));
  backend_.top_log_softmax({held_.logits, asked_, config_.vocab_size},
                           {count, held_.top_values, held_.top_tokens});
  const auto number = static_cast<std::size_t>(asked_ * count);
  if (backend_.in_host_memory()) return {{held_.top_values, number}, {held_.top_tokens, number}, count};
  values_on_host_.resize(number);
  tokens_on_host_.resize(number);
  backend_.download_values(values_on_host_.data(), held_.top_values, static_cast<Index>(number));
  backend_.download(tokens_on_host_.data(), held_.top_tokens, number * sizeof(std::int32_t));
  return {values_on_host_, tokens_on_host_, count};
}

}  // namespace bigbird
