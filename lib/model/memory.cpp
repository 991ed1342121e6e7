// The table of slices; see memory.h.
#include "lib/model/memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/model/layout.h"

namespace bigbird {
namespace {

constexpr std::size_t alignment = 64;

// Everything that is needed to lay out one call, so that the parts below read as tables.
struct Planner {
  Arena& arena;
  const ModelConfig& config;
  std::int64_t tokens, width, inner, heads;

  bool postnorm() const { return config.norm_type == NormType::postnorm; }

  NormState norm_state(const std::string& what, std::int64_t rows) {
    return {arena.floats(what, rows), arena.floats(what, rows)};
  }

  // A layer whose intermediate results are all kept. The output (norm or sum of the feed-forward part) is the
  // caller's.
  LayerActivations kept_layer(const std::string& what) {
    LayerActivations layer;
    layer.attention.qkv = arena.floats(what, tokens * 3 * width);
    layer.attention.context = arena.floats(what, tokens * width);
    layer.attention.log_sum_exp = arena.floats(what, heads * tokens);
    layer.attention.sum = arena.floats(what, tokens * width);
    layer.attention.norm = arena.floats(what, tokens * width);
    layer.attention.norm_state = norm_state(what, tokens);
    layer.feed_forward.pre = arena.floats(what, tokens * inner);
    layer.feed_forward.inner = arena.floats(what, tokens * inner);
    float* other = arena.floats(what, tokens * width);
    (postnorm() ? layer.feed_forward.sum : layer.feed_forward.norm) = other;
    layer.feed_forward.norm_state = norm_state(what, tokens);
    return layer;
  }

  // A layer of inference: buffers are shared as soon as their content is spent. Once attention has run, the
  // qkv matrix is free for three [T, C] matrices.
  LayerActivations shared_layer(const std::string& what) {
    LayerActivations layer;
    float* qkv = arena.floats(what, tokens * 3 * width);
    float* context = arena.floats(what, tokens * width);
    const auto third = [&](std::int64_t part) {
      return qkv == nullptr ? nullptr : qkv + part * tokens * width;
    };
    layer.attention.qkv = qkv;
    layer.attention.context = context;
    layer.attention.sum = third(0);
    layer.attention.norm = postnorm() ? third(1) : context;  // pre-LN: read by the qkv product only
    layer.feed_forward.inner = arena.floats(what, tokens * inner);
    (postnorm() ? layer.feed_forward.sum : layer.feed_forward.norm) = third(2);
    return layer;
  }

  void set_output(LayerActivations& layer, float* output) const {
    (postnorm() ? layer.feed_forward.norm : layer.feed_forward.sum) = output;
  }
};

void plan_encoder(Planner& plan, Activations& to, const ModelOptions& options) {
  const std::int64_t layers = plan.config.num_hidden_layers, state = plan.tokens * plan.width;
  Arena& arena = plan.arena;
  if (!options.training) {
    const std::string what = "activations of one layer";
    float* ping_pong[2] = {arena.floats(what, state), arena.floats(what, state)};
    const LayerActivations shared = plan.shared_layer(what);
    to.layers.assign(static_cast<std::size_t>(layers), shared);
    for (std::int64_t i = 0; i <= layers; ++i) to.states.push_back(ping_pong[i % 2]);
  } else if (options.grad_checkpoint) {
    const std::string what = fmt::format("inputs of {} layers", layers);
    for (std::int64_t i = 0; i <= layers; ++i) to.states.push_back(arena.floats(what, state));
    to.layers.assign(static_cast<std::size_t>(layers), plan.kept_layer("activations of one layer"));
  } else {
    const std::string what = fmt::format("activations of {} layers", layers);
    to.states.push_back(arena.floats(what, state));
    for (std::int64_t i = 0; i < layers; ++i) {
      to.layers.push_back(plan.kept_layer(what));
      to.states.push_back(arena.floats(what, state));
    }
  }
  for (std::size_t i = 0; i < to.layers.size(); ++i) {
    plan.set_output(to.layers[i], to.states[i + 1]);
    to.layers[i].attention.turns = to.turns;
  }
}

void plan_embeddings(Planner& plan, Activations& to, const ModelOptions& options) {
  const std::string what = "embeddings";
  to.embeddings.ids = plan.arena.integers(what, plan.tokens);
  to.embeddings.types = plan.arena.integers(what, plan.tokens);
  to.embeddings.positions = plan.arena.integers(what, plan.tokens);
  if (plan.config.embedding_norm != EmbeddingNorm::none) {
    to.embeddings.sum = plan.arena.floats(what, plan.tokens * plan.width);
    if (options.training) to.embeddings.norm_state = plan.norm_state(what, plan.tokens);
  }
}

void plan_masked(Planner& plan, MaskedActivations& head, std::int64_t masked) {
  Arena& arena = plan.arena;
  const std::string what = "heads";
  head.rows = arena.integers(what, masked);
  head.labels = arena.integers(what, masked);
  head.predictions = arena.integers(what, masked);
  head.gathered = arena.floats(what, masked * plan.width);
  head.transform_pre = arena.floats(what, masked * plan.width);
  head.transform = arena.floats(what, masked * plan.width);
  head.norm = arena.floats(what, masked * plan.width);
  head.norm_state = plan.norm_state(what, masked);
  head.losses = arena.floats(what, masked);
  head.logits = arena.floats("logits of masked tokens", masked * plan.config.vocab_size);
}

void plan_sequence(Planner& plan, SequenceActivations& head, std::int64_t sequences, std::int64_t classes) {
  Arena& arena = plan.arena;
  const std::string what = "heads";
  head.rows = arena.integers(what, sequences);
  head.gathered = arena.floats(what, sequences * plan.width);
  if (classes == 0) return;
  head.labels = arena.integers(what, sequences);
  head.predictions = arena.integers(what, sequences);
  head.logits = arena.floats(what, sequences * classes);
  head.losses = arena.floats(what, sequences);
  if (plan.config.head == HeadType::classification && plan.config.problem_type != ProblemType::single_label) {
    head.targets = arena.floats(what, sequences * classes);
  }
}

void plan_question(Planner& plan, QuestionActivations& head, std::int64_t sequences, bool training) {
  Arena& arena = plan.arena;
  const std::string what = "heads";
  head.input = arena.floats(what, plan.tokens * plan.width);
  if (training) head.block.pre = arena.floats(what, plan.tokens * plan.inner);
  head.block.inner = arena.floats(what, plan.tokens * plan.inner);
  head.block.sum = arena.floats(what, plan.tokens * plan.width);
  head.block.norm = arena.floats(what, plan.tokens * plan.width);
  if (training) head.block.norm_state = plan.norm_state(what, plan.tokens);
  head.penalty = arena.floats(what, plan.tokens);
  head.start = arena.floats(what, plan.tokens);
  head.end = arena.floats(what, plan.tokens);
  head.labels = arena.integers(what, 2 * sequences);
  head.losses = arena.floats(what, 2 * sequences);
}

void plan_heads(Planner& plan, Activations& to, const BatchLimits& limits, bool training) {
  const std::int64_t sequences = limits.sequences;
  if (plan.config.uses_pooler()) {
    to.pooled.linear = plan.arena.floats("heads", sequences * plan.width);
    to.pooled.pooled = plan.arena.floats("heads", sequences * plan.width);
  }
  switch (plan.config.head) {
    case HeadType::encoder:
      plan_sequence(plan, to.sequence, sequences, 0);
      break;
    case HeadType::pretraining:
      plan_sequence(plan, to.sequence, sequences, 2);
      plan_masked(plan, to.masked, limits.masked_tokens);
      break;
    case HeadType::masked_lm:
      plan_masked(plan, to.masked, limits.masked_tokens);
      break;
    case HeadType::classification:
      plan_sequence(plan, to.sequence, sequences, plan.config.num_labels);
      to.classification.dense_pre = plan.arena.floats("heads", sequences * plan.width);
      to.classification.dense = plan.arena.floats("heads", sequences * plan.width);
      break;
    case HeadType::question_answering:
      plan_question(plan, to.question, sequences, training);
      break;
  }
}

}  // namespace

void* Arena::slice(const std::string& what, std::size_t bytes) {
  const std::size_t padded = (bytes + alignment - 1) / alignment * alignment;
  const auto row = std::find_if(rows_.begin(), rows_.end(),
                                [&](const MemoryRow& candidate) { return candidate.what == what; });
  if (row == rows_.end()) {
    rows_.push_back({what, padded});
  } else {
    row->bytes += padded;
  }
  void* memory = base_ == nullptr ? nullptr : base_ + used_;
  used_ += padded;
  return memory;
}

float* Arena::floats(const std::string& what, std::int64_t count) {
  return static_cast<float*>(slice(what, static_cast<std::size_t>(count) * sizeof(float)));
}

std::int32_t* Arena::integers(const std::string& what, std::int64_t count) {
  return static_cast<std::int32_t*>(slice(what, static_cast<std::size_t>(count) * sizeof(std::int32_t)));
}

std::uint64_t* Arena::keys(const std::string& what, std::int64_t count) {
  return static_cast<std::uint64_t*>(slice(what, static_cast<std::size_t>(count) * sizeof(std::uint64_t)));
}

Activations plan_activations(Arena& arena, const ModelConfig& config, const BatchLimits& limits,
                             const ModelOptions& options) {
  Planner plan{
      arena, config, limits.tokens, config.hidden_size, config.intermediate_size, config.num_attention_heads};
  Activations to;
  to.cells.dropout_seed = arena.keys("embeddings", 1);
  to.cells.mlm_scale = arena.floats("heads", 4);
  to.cells.sequence_scale = to.cells.mlm_scale + 1;
  to.cells.start_scale = to.cells.mlm_scale + 2;
  to.cells.end_scale = to.cells.mlm_scale + 3;
  plan_embeddings(plan, to, options);
  if (config.position_type == PositionType::rotary) {
    to.turns = {to.embeddings.positions,
                arena.floats("rotary positions", limits.longest * config.rotary_dim)};
  }
  plan_encoder(plan, to, options);
  if (config.has_final_norm()) {
    to.final_norm = arena.floats("final LayerNorm", plan.tokens * plan.width);
    if (options.training) to.final_norm_state = plan.norm_state("final LayerNorm", plan.tokens);
  }
  plan_heads(plan, to, limits, options.training);
  if (options.training) {
    const std::string what = "backward workspace";
    to.workspace.stream = arena.floats(what, plan.tokens * plan.width);
    to.workspace.branch = arena.floats(what, plan.tokens * plan.width);
    to.workspace.wide = arena.floats(what, plan.tokens * std::max(plan.inner, 4 * plan.width));
  }
  return to;
}

kernels::AttentionLimits attention_limits(const ModelConfig& config, const BatchLimits& limits,
                                          const ModelOptions& options) {
  kernels::AttentionLimits most;
  most.places = config.num_hidden_layers;
  most.sequences = limits.sequences;
  most.tokens = limits.tokens;
  most.longest = limits.longest;
  most.heads = config.num_attention_heads;
  most.head_size = config.head_size();
  most.block_size = config.block_size;
  most.training = options.training;
  return most;
}

std::vector<MemoryRow> plan_model_memory(const ModelConfig& config, const BatchLimits& limits,
                                         const ModelOptions& options, const kernels::Backend& backend) {
  const std::size_t parameters = static_cast<std::size_t>(ParameterLayout(config).count()) * sizeof(float);
  std::vector<MemoryRow> rows{{"parameters", parameters}};
  if (options.training) rows.push_back({"gradients", parameters});
  Arena arena(nullptr);
  plan_activations(arena, config, limits, options);
  rows.insert(rows.end(), arena.rows().begin(), arena.rows().end());
  rows.push_back({"kernels", backend.scratch_bytes(attention_limits(config, limits, options))});
  return rows;
}

}  // namespace bigbird
