// See memory.h.
#include "lib/model/network/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/model/network/attention_content.h"
#include "lib/model/network/attention_etc.h"
#include "lib/model/network/attention_recurrent.h"
#include "lib/model/network/attention_rows.h"
#include "lib/model/network/attention_windowed.h"
#include "lib/model/network/decoder.h"
#include "lib/model/network/head_rows.h"
#include "lib/model/network/hierarchy.h"
#include "lib/model/network/layout.h"
#include "lib/model/network/linear_layers.h"
#include "lib/model/network/pass_context.h"
#include "lib/model/network/planner.h"
#include "lib/model/network/reversible.h"
#include "lib/model/network/stem.h"

namespace bigbird {
namespace {

// The layers of a stack and their inputs. make(what, kept, rows) is one layer: kept, or of inference; with so
// many rows behind its attention.
template <typename Layer, typename Make>
void plan_layers(Planner& plan, const ModelOptions& options, const std::string& stack, Make make,
                 std::vector<kernels::Values>& states, std::vector<Layer>& to) {
  const std::int64_t layers = plan.config.num_hidden_layers, state = plan.tokens * plan.width;
  const auto rows_of = [&](std::int64_t layer) { return layer + 1 < layers ? plan.tokens : plan.last_rows; };
  Arena& arena = plan.arena;
  const std::string one = "activations of one layer" + stack;
  if (!options.training) {
    const kernels::Values ping_pong[2] = {arena.values(one, state), arena.values(one, state)};
    to.assign(static_cast<std::size_t>(layers), make(one, false, plan.tokens));
    for (std::int64_t i = 0; i <= layers; ++i) states.push_back(ping_pong[i % 2]);
  } else if (options.grad_checkpoint) {
    const std::string what = fmt::format("inputs of {} layers{}", layers, stack);
    states.push_back(arena.values(what, state));
    for (std::int64_t i = 0; i < layers; ++i) states.push_back(arena.values(what, rows_of(i) * plan.width));
    to.assign(static_cast<std::size_t>(layers), make(one, true, layers > 1 ? plan.tokens : plan.last_rows));
  } else {
    const std::string what = fmt::format("activations of {} layers{}", layers, stack);
    if (options.keep_activated) plan.activated = fmt::format("outputs of gelu in {} layers{}", layers, stack);
    states.push_back(arena.values(what, state));
    for (std::int64_t i = 0; i < layers; ++i) {
      to.push_back(make(what, true, rows_of(i)));
      states.push_back(arena.values(what, rows_of(i) * plan.width));
    }
  }
}

void plan_encoder(Planner& plan, Activations& to, const ModelOptions& options) {
  const auto layer = [&](const std::string& what, bool kept, std::int64_t rows) {
    LayerActivations made = kept ? plan.kept_layer(what, rows) : plan.shared_layer(what);
    plan.add_globals(made, what, kept);
    plan.add_labels(made, what);
    return made;
  };
  if (is_reversible(plan.config)) {
    to.reversible = plan_streams(plan.arena, plan.config, plan.tokens, options.training);
    to.states = to.reversible.states();
    const LayerActivations one = layer("activations of one layer", options.training, plan.tokens);
    to.layers.assign(static_cast<std::size_t>(plan.config.num_hidden_layers), one);
  } else {
    plan_layers(plan, options, "", layer, to.states, to.layers);
  }
  for (std::size_t i = 0; i < to.layers.size(); ++i) {
    plan.set_output(to.layers[i], is_reversible(plan.config) ? to.reversible.branch : to.states[i + 1]);
    to.layers[i].attention.rotations = to.rotations;
    to.layers[i].attention.windowed = to.windowed;
    to.layers[i].attention.etc = to.etc;
    to.layers[i].attention.lists = to.lists;
    to.layers[i].attention.recurrent = to.recurrent;
    to.layers[i].attention.clusters = to.clusters.of_layer(static_cast<std::int64_t>(i));
    to.layers[i].attention.routing = to.routing.of_layer(static_cast<std::int64_t>(i));
  }
}

// Of a stack whose layers are planned. In inference it takes the place of the last layer's input, which is
// spent by then.
template <typename Stack>
void plan_final_norm(Planner& plan, const ModelOptions& options, Stack& to) {
  if (!plan.config.has_final_norm()) return;
  const std::string what = "final LayerNorm";
  to.final_norm =
      options.training ? plan.arena.values(what, plan.last_rows * plan.read()) : *(to.states.end() - 2);
  if (options.training) to.final_norm_state = plan.norm_state(what, plan.last_rows);
}

void plan_embeddings(Planner& plan, EmbeddingActivations& to, const ModelOptions& options,
                     const kernels::Backend& backend) {
  const std::string what = "embeddings";
  to.ids = plan.arena.integers(what, plan.tokens);
  to.types = plan.arena.integers(what, plan.tokens);
  to.positions = plan.arena.integers(what, plan.tokens);
  if (plan.config.token_dropout) to.word_scales = plan.arena.floats(what, plan.tokens);
  if (options.training) to.updated_rows = plan.arena.integers(what, plan.tokens);
  // Of one input of single tokens.
  if (options.training && backend.wants_row_order() && !plan.config.has_stem() &&
      plan.config.attention != AttentionPattern::etc)
    to.orders = plan.arena.integers(what, 3 * plan.tokens);
  if (plan.config.embedding_norm != EmbeddingNorm::none) {
    to.sum = plan.arena.values(what, plan.tokens * plan.width);
    if (options.training) to.norm_state = plan.norm_state(what, plan.tokens);
  }
  if (options.embedding_offsets) to.offsets = plan.arena.values(what, plan.tokens * plan.width);
}

void plan_stem(Planner& plan, StemActivations& to, const ModelOptions& options) {
  if (!plan.config.has_stem()) return;
  const std::string what = "stem";
  const std::int64_t tokens = plan.tokens * plan.config.stem.stride;
  const std::int64_t channels = tokens * plan.config.stem.channels, states = tokens * plan.width;
  to.rows = plan.arena.integers(what, plan.config.stem.kernel * tokens);
  to.pre = plan.arena.values(what, channels);
  to.activated = options.training ? plan.arena.values(what, channels) : to.pre;
  if (options.training) to.gradient = plan.arena.values(what, channels);
  if (!plan.config.has_mlm()) return;
  if (options.training) to.tokens_pre = plan.arena.values(what, states);
  to.tokens = plan.arena.values(what, states);
  if (options.training) to.dtokens = plan.arena.values(what, states);
}

// longs, globals: T and G.
void plan_etc(Planner& plan, EtcActivations& to, std::int64_t longs, std::int64_t globals,
              const ModelOptions& options) {
  if (plan.config.attention != AttentionPattern::etc) return;
  const std::string what = "two inputs";
  const std::int64_t most = std::max(longs, globals);
  const auto links = static_cast<std::int64_t>(global_links);
  const auto flags = [&](std::int64_t count) {
    return static_cast<std::uint8_t*>(plan.arena.bytes(what, static_cast<std::size_t>(count)));
  };
  to.links = plan.arena.integers(what, links * longs);
  to.global_links = plan.arena.integers(what, links * globals);
  to.segments = plan.arena.integers(what, longs);
  to.examples = plan.arena.integers(what, longs);
  to.global_examples = plan.arena.integers(what, globals);
  to.parts = plan.arena.integers(what, globals);
  to.free = flags(longs);
  to.global_free = flags(globals);
  if (!options.training) to.sums = plan.arena.floats(what, plan.heads * (longs + globals));
  to.second_sums = plan.arena.floats(what, plan.heads * most);
  to.second = plan.arena.values(what, most * plan.width, plan.operands);
  // Of keys that two calls share.
  if (options.training && (plan.config.attention_options.etc.projections == EtcProjections::shared ||
                           plan.config.num_random_blocks > 0))
    to.dkey_value = plan.arena.values(what, most * 2 * plan.width, plan.operands);
}

void plan_head_rows(Planner& plan, HeadRowActivations& to) {
  const std::string what = "rows that the head reads";
  to.tokens = plan.arena.integers(what, plan.last_rows);
  to.input = plan.arena.values(what, plan.last_rows * plan.width);
  to.context = plan.arena.values(what, plan.last_rows * plan.width, plan.operands);
}

void plan_workspace(Planner& plan) {
  const std::string what = "backward workspace";
  std::int64_t wide = std::max({plan.inner, (1 + plan.projections) * plan.width, 4 * plan.width});
  if (is_reversible(plan.config)) {  // gradients of a head, which are of the stream's type
    const auto types =
        static_cast<std::int64_t>(kernels::size_of(plan.arena.stream()) / kernels::size_of(plan.operands));
    wide = std::max(wide, (2 * plan.width + plan.read()) * types);
  }
  plan.workspace = {plan.arena.values(what, plan.tokens * plan.read()),
                    plan.arena.values(what, plan.tokens * plan.read()),
                    plan.arena.values(what, plan.tokens * wide, plan.operands)};
}

CrossAttentionActivations plan_cross_attention(Planner& plan, const std::string& what, std::int64_t keys,
                                               bool kept) {
  CrossAttentionActivations to;
  const std::int64_t state = plan.tokens * plan.width;
  to.query = plan.arena.values(what, state);
  to.key_value = plan.arena.values(what, 2 * keys * plan.width);
  to.context = plan.arena.values(what, state);
  to.sum = plan.arena.values(what, state);
  // In inference of pre-LN it is read by the product for queries only, as in shared_layer().
  to.norm = kept || plan.postnorm() ? plan.arena.values(what, state) : to.context;
  if (!kept) return to;
  to.log_sum_exp = plan.arena.floats(what, plan.heads * plan.tokens);
  to.norm_state = plan.norm_state(what, plan.tokens);
  return to;
}

// Of a decoder that is given a row in place of cross-attention.
CrossAttentionActivations plan_added_row(Planner& plan, const std::string& what, bool kept) {
  CrossAttentionActivations to;
  to.sum = plan.arena.values(what, plan.tokens * plan.width);
  to.norm = plan.arena.values(what, plan.tokens * plan.width);
  if (kept) to.norm_state = plan.norm_state(what, plan.tokens);
  return to;
}

}  // namespace

void plan_documents(Arena& arena, const ModelConfig& of_model, DocumentActivations& to,
                    const BatchLimits& limits, const ModelOptions& options) {
  const ModelConfig config = document_config(of_model);
  Planner plan{arena,
               config,
               limits.sequences,
               config.hidden_size,
               config.intermediate_size,
               config.num_attention_heads,
               limits.sequences,
               arena.operands()};
  if (options.training) plan_workspace(plan);
  to.workspace = plan.workspace;
  const std::string what = "documents";
  to.ends = arena.integers(what, limits.sequences);
  to.places = arena.integers(what, limits.sequences);
  to.placed = arena.values(what, limits.sequences * plan.width);
  if (of_model.writes_sentences()) to.target_rows = arena.integers(what, limits.target_tokens);
  const auto layer = [&](const std::string& name, bool kept, std::int64_t rows) {
    return kept ? plan.kept_layer(name, rows) : plan.shared_layer(name);
  };
  plan_layers(plan, options, " of documents", layer, to.states, to.layers);
  for (std::size_t i = 0; i < to.layers.size(); ++i) plan.set_output(to.layers[i], to.states[i + 1]);
}

void plan_decoder(Arena& arena, const ModelConfig& of_model, DecoderActivations& to,
                  const BatchLimits& limits, const ModelOptions& options, const kernels::Backend& backend) {
  const ModelConfig config = decoder_config(of_model);
  Planner plan{arena,
               config,
               limits.target_tokens,
               config.hidden_size,
               config.intermediate_size,
               config.num_attention_heads,
               limits.target_tokens,
               arena.stream()};
  ModelOptions own = options;
  own.embedding_offsets = false;
  if (options.training) plan_workspace(plan);
  plan_embeddings(plan, to.embeddings, own, backend);
  const auto layer = [&](const std::string& what, bool kept, std::int64_t rows) {
    DecoderLayerActivations made;
    made.self = kept ? plan.kept_layer(what, rows) : plan.shared_layer(what);
    made.cross = of_model.writes_sentences()
                     ? plan_added_row(plan, what, kept)
                     : plan_cross_attention(plan, what, limits.target_tokens > 0 ? limits.tokens : 0, kept);
    return made;
  };
  plan_layers(plan, options, " of the decoder", layer, to.states, to.layers);
  for (std::size_t i = 0; i < to.layers.size(); ++i) plan.set_output(to.layers[i].self, to.states[i + 1]);
  const std::string heads = "heads", logits = "logits of targets";
  plan_final_norm(plan, options, to);
  to.labels = arena.integers(heads, plan.tokens);
  to.predictions = arena.integers(heads, plan.tokens);
  to.losses = arena.floats(heads, plan.tokens);
  to.logits_in_pieces = options.logits_in_pieces;
  to.logit_rows = options.logits_in_pieces ? std::min(plan.tokens, rows_of_logits) : plan.tokens;
  const std::int64_t count = to.logit_rows * backend.row_stride(config.vocab_size);
  if (options.training) {
    to.logits = arena.values(logits, count);
    to.workspace = plan.workspace;
    if (!of_model.writes_sentences())
      to.key_value_gradient = arena.values("backward workspace", 2 * limits.tokens * plan.width);
  } else {
    to.logits = arena.floats(logits, count);
  }
}

Activations plan_activations(Arena& arena, const ModelConfig& given, const BatchLimits& of_tokens,
                             const ModelOptions& options, const kernels::Backend& backend) {
  const ModelConfig config = trunk_config(given);
  const BatchLimits limits = trunk_limits(given, of_tokens);
  const std::int64_t head_rows = most_head_rows(config, limits, options, backend);
  // Of two inputs, or of tokens and spans, which are one matrix for all that does not tell them apart.
  const std::int64_t second_rows = most_second_rows(config, limits);
  const std::int64_t tokens = limits.tokens + second_rows + most_span_rows(config, limits);
  Planner plan{arena,
               config,
               tokens,
               config.hidden_size,
               config.intermediate_size,
               config.num_attention_heads,
               head_rows > 0 ? head_rows : tokens,
               arena.operands()};
  plan.projections = projections_of_a_token(config);
  Activations to;
  to.scalars.dropout_seed = arena.keys("embeddings", 1);
  to.scalars.loss_scales = arena.floats("heads", static_cast<std::int64_t>(loss_kinds.size()));
  if (options.training) plan_workspace(plan);
  to.workspace = plan.workspace;
  plan_embeddings(plan, to.embeddings, options, backend);
  plan_stem(plan, to.embeddings.stem, options);
  if (config.position_type == PositionType::sinusoidal)
    to.sinusoids = arena.floats("positions", config.max_position_embeddings * config.hidden_size);
  if (config.position_type == PositionType::rotary) {
    to.rotations = {to.embeddings.positions,
                    arena.floats("rotary positions", limits.longest * config.rotary_dim)};
  }
  plan.globals = most_global_rows(config, limits);
  plan.memory_rows = most_memory_rows(config, limits);
  plan.labels = recurrent_labels(config, limits);
  to.recurrent = plan_recurrent(arena, config, limits, options);
  to.windowed = plan_windows(arena, config, tokens, plan.globals, options.training);
  plan_etc(plan, to.etc, limits.tokens, second_rows, options);
  to.lists = plan_lists(arena, config, limits, tokens, options.training);
  to.clusters = plan_clusters(arena, config, limits, options);
  to.routing = plan_routing(arena, config, limits, options);
  plan_encoder(plan, to, options);
  if (head_rows > 0) plan_head_rows(plan, to.head_rows);
  plan_final_norm(plan, options, to);
  plan_heads(plan, to, limits, options, backend);
  return to;
}

std::int64_t floats_behind_parameters(const ModelConfig& config, const kernels::Backend& backend) {
  return backend.row_stride(config.vocab_size) - config.vocab_size;
}

ModelMemory plan_model(Arena& arena, const ModelConfig& config, const BatchLimits& limits,
                       const ModelOptions& options, const kernels::Backend& backend) {
  const std::int64_t parameters = ParameterLayout(config).count();
  const std::int64_t read = parameters + floats_behind_parameters(config, backend);
  ModelMemory memory;
  memory.parameters = arena.floats("parameters", read);
  if (options.training) memory.gradients = arena.floats("gradients", parameters);
  const std::size_t copy = backend.weight_copy_bytes(read);
  if (copy > 0)
    memory.working_weights = arena.bytes("working weights (bf16)", copy, kernels::ElementType::bf16);
  memory.activations = plan_activations(arena, config, limits, options, backend);
  return memory;
}

kernels::AttentionLimits attention_limits(const ModelConfig& given, const BatchLimits& of_tokens,
                                          const ModelOptions& options) {
  const ModelConfig config = trunk_config(given);
  const BatchLimits limits = trunk_limits(given, of_tokens);
  kernels::AttentionLimits most;
  most.slots = config.num_hidden_layers * most_attention_runs(config, limits, options.training);
  most.slots += windowed_slots(config);
  if (config.attention == AttentionPattern::etc) {
    most.slots += etc_slots(config);
    most.tokens = std::max(most.tokens, most_second_rows(config, limits));
    most.longest = std::max(most.longest, most_second_rows(config, limits));
    most.labels = etc_labels(config.attention_options.etc);
  }
  most.sequences = limits.sequences;
  most.tokens = limits.tokens;
  most.longest = limits.longest;
  if (is_recurrent(config)) {
    most.slots += recurrent_slots(config);
    most.tokens += most_memory_rows(config, limits);
    most.longest += most_memory_rows_of_one(config, limits);
    most.labels = recurrent_labels(config, limits);
  }
  if (config.attention == AttentionPattern::performer) {
    most.projected = projected_features(config);
    most.features = features_of_a_row(config);
  }
  most.hash_columns = most_hash_columns(config, limits);
  most.hash_buckets = most_hash_buckets(config, limits);
  if (most.hash_columns > 0) most.cluster = config.attention_options.reformer.chunk;
  if (routed_heads(config) > 0) {
    most.clusters = config.attention_options.routing.clusters;
    most.cluster_window = config.attention_options.routing.window;
  }
  most.heads = config.num_attention_heads;
  most.head_size = config.head_size();
  if (config.has_documents()) {
    most.documents = true;
    most.slots += config.documents.num_hidden_layers;
    most.tokens = std::max(most.tokens, limits.sequences);
    most.longest = std::max(most.longest, limits.sequences);
  }
  if (config.has_any_decoder()) {
    const ModelConfig decoder = decoder_config(config);
    most.slots += 2 * decoder.num_hidden_layers;
    most.tokens = std::max(most.tokens, limits.target_tokens);
    most.longest = std::max(most.longest, limits.target_tokens);
    most.heads = std::max(most.heads, decoder.num_attention_heads);
    most.head_size = std::max(most.head_size, decoder.head_size());
  }
  most.block_size = config.block_size;
  most.training = options.training || weighs_keys(config, options);
  return most;
}

namespace {

// Weights that are packed leave their floats' place empty; before that those are all there, but no
// activations yet.
void plan_packed_weights(std::vector<MemoryRow>& rows, const ModelConfig& config,
                         const kernels::Backend& backend) {
  const ParameterLayout layout(config);
  auto* const nowhere = reinterpret_cast<float*>(Arena::alignment);  // sizes alone count
  const std::vector<PackedLayer> packed =
      packed_layers(config, model_tensors(config, layout, nowhere), backend);
  if (packed.empty()) return;
  const std::size_t bytes = packed_bytes(packed),
                    floats = static_cast<std::size_t>(packed_floats(packed)) * sizeof(float);
  std::size_t largest = 0, later = 0, bf16 = 0;
  for (const PackedLayer& layer : packed) {
    largest = std::max(largest, layer.bytes);
    if (layer.form == kernels::WeightForm::bf16) bf16 += layer.bytes;
  }
  const auto parameters =
      std::find_if(rows.begin(), rows.end(), [](const MemoryRow& row) { return row.what == "parameters"; });
  const std::size_t before = parameters->bytes + largest;
  parameters->bytes -= floats;
  parameters->fp32_bytes -= floats;
  rows.insert(parameters + 1, {"packed weights", bytes, 0, bf16});
  for (const MemoryRow& row : rows) later += row.bytes;
  if (before > later) rows.push_back(fp32_row("weights before they are packed", before - later));
}

}  // namespace

std::vector<MemoryRow> plan_model_memory(const ModelConfig& config, const BatchLimits& limits,
                                         const ModelOptions& options, const kernels::Backend& backend) {
  Arena arena(nullptr, backend);
  plan_model(arena, config, limits, options, backend);
  std::vector<MemoryRow> rows = arena.rows();
  rows.push_back({"kernels", backend.scratch_bytes(attention_limits(config, limits, options))});
  if (!options.training) plan_packed_weights(rows, config, backend);
  return rows;
}

}  // namespace bigbird
