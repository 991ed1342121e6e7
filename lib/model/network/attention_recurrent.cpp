// See attention_recurrent.h.
#include "lib/model/network/attention_recurrent.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "lib/core/error.h"
#include "lib/model/attention_systems.h"
#include "lib/model/network/adaptive_span.h"

namespace bigbird {
namespace {

std::int64_t in_whole_blocks(std::int64_t rows, std::int64_t block) {
  return (rows + block - 1) / block * block;
}

// kept.rows: of every segment what is read of what its layer remembers, then the input, then zeros.
void gather_rows_of_layer(const PassContext& pass, const std::vector<RecurrentSegment>& segments,
                          std::int64_t layer, kernels::ConstValues input, const RecurrentActivations& kept) {
  kernels::Backend& backend = pass.backend;
  const kernels::Index width = pass.width();
  const auto at = [&](std::int64_t row) { return kept.rows + row * width; };
  for (const RecurrentSegment& of : segments) {
    const std::int64_t real = of.memory + of.length;
    if (of.memory > 0) {
      const kernels::Values all = pass.recurrent->streams->at(layer, of.stream);
      backend.copy(at(of.first_key).data(), (all + (of.remembered - of.memory) * width).data(),
                   bytes_of(kept.rows, of.memory * width));
    }
    backend.copy(at(of.first_key + of.memory).data(), (input + of.first * width).data(),
                 bytes_of(kept.rows, of.length * width));
    if (of.key_rows > real)
      backend.zero(at(of.first_key + real).data(), bytes_of(kept.rows, (of.key_rows - real) * width));
  }
}

std::int64_t kept_rows(const ModelConfig& config, const RecurrentSegment& of) {
  if (compresses(config)) {
    const MemoryStep step = memory_step(config, of.remembered, of.length);
    return step.compressed_after + step.plain_after;
  }
  return std::min(remembered_rows(config), of.remembered + of.length);
}

// What streams remember of the layer from now on, out of all rows that were gathered.
void remember_layer(const PassContext& pass, std::int64_t layer, const RecurrentActivations& kept) {
  if (compresses(pass.config)) return compressive_remember(pass, layer, kept);
  const kernels::Index width = pass.width();
  for (const RecurrentSegment& of : pass.recurrent->segments) {
    if (of.stream < 0) continue;
    const std::int64_t rows = kept_rows(pass.config, of), end = of.first_key + of.memory + of.length;
    pass.backend.copy(pass.recurrent->streams->at(layer, of.stream).data(),
                      (kept.rows + (end - rows) * width).data(), bytes_of(kept.rows, rows * width));
  }
}

kernels::AttentionBatch call_of(const PassContext& pass, std::int64_t layer) {
  kernels::AttentionBatch call = pass.recurrent->of(layer).run.front().call();
  call.relative = &pass.recurrent->terms[static_cast<std::size_t>(layer)];
  if (call.drop_probability > 0)
    call.dropout_site = dropout_site(DropoutSite::attention_probabilities, pass.first_layer + layer);
  return call;
}

// Queries [T, C], then keys and values [K, 2C], which the rows of keys have beside each other.
struct Projections {
  kernels::Values query, key_value;
};
// For a listener, where there is one.
void report_key_weights(const PassContext& pass, std::int64_t layer, const AttentionActivations& kept) {
  const KeyWeightListener& listener = pass.recurrent->key_weights;
  if (!listener) return;
  if (kept.recurrent.weighing.ones == nullptr)
    throw_runtime("weights of keys of a model that plans for none");
  const std::vector<double> all = key_weights(pass, layer, kept);
  const std::vector<RecurrentSegment>& segments = pass.recurrent->of(layer).segments;
  for (std::size_t number = 0; number < segments.size(); ++number) {
    const RecurrentSegment& of = segments[number];
    KeyWeights made{layer, static_cast<std::int64_t>(number), of.remembered, {}};
    made.rows.assign(static_cast<std::size_t>(of.remembered - of.memory), 0.0);  // no head reads these
    for (std::int64_t row = of.first_key; row < of.first_key + of.memory + of.length; ++row) {
      made.rows.push_back(all[static_cast<std::size_t>(row)] /
                          static_cast<double>(of.length * pass.config.num_attention_heads));
    }
    listener(made);
  }
}

Projections projections_in(const PassContext& pass, kernels::Values qkv) {
  return {qkv, qkv + pass.tokens() * pass.width()};
}
kernels::QueryKeyValue read(const Projections& of, kernels::Index width) {
  return {{of.query, width}, {of.key_value, 2 * width}, {of.key_value + width, 2 * width}};
}

// The products with a bias for every head.
LinearTensors by_head(const ModelConfig& config, float* weight) {
  return {weight, nullptr, config.hidden_size, config.num_attention_heads, true};
}
LinearTensors exact(LinearTensors layer) {
  layer.exact = true;
  return layer;
}

// kept.by_head of the layer's two biases.
void make_biases_by_head(kernels::Backend& backend, const ModelConfig& config,
                         const AttentionTensors& tensors, const RecurrentActivations& kept) {
  const kernels::Index width = config.hidden_size, heads = config.num_attention_heads,
                       size = config.head_size();
  backend.linear_backward_input(kept.signs, exact(tensors.biases), kept.difference, 1, false);
  backend.zero(kept.by_head, static_cast<std::size_t>(heads * width) * sizeof(float));
  backend.add_rows({kept.difference, size}, {kernels::Values(kept.by_head), width + size}, heads, size);
}

// Gradients of what labels are of: on entry kept.dweight and kept.dbias.
void backward_of_labels(const PassContext& pass, const AttentionTensors& tensors,
                        const AttentionTensors& gradients, const AttentionActivations& kept) {
  kernels::Backend& backend = pass.backend;
  const RecurrentActivations& work = kept.recurrent;
  const kernels::Index width = pass.width(), heads = pass.config.num_attention_heads,
                       size = pass.config.head_size(), labels = pass.recurrent->labels();
  make_biases_by_head(backend, pass.config, tensors, work);
  const LinearTensors of_heads = by_head(pass.config, work.by_head);
  kernels::LinearGradients to_heads{work.dby_head, nullptr, true};
  backend.linear_backward_weight(kernels::ConstValues(work.dbias), kernels::ConstValues(kept.relative_weight),
                                 of_heads, to_heads, labels);
  backend.linear_backward_input(kernels::ConstValues(work.dbias), of_heads, kernels::Values(work.dweight),
                                labels, true);
  backend.zero(work.difference.data(), bytes_of(work.difference, width));
  backend.add_rows({kernels::Values(work.dby_head), width + size}, {work.difference, size}, heads, size);
  backend.linear_backward_weight(work.signs, work.difference, exact(tensors.biases), gradients.biases, 1);
  backend.linear_backward_weight(kernels::ConstValues(work.dweight), work.distances, tensors.position,
                                 gradients.position, labels);
}

// Gradients of the keys and values of tokens alone, [T, 2C], zeros of padding.
void gather_gradients_of_tokens(const PassContext& pass, std::int64_t layer, kernels::Values dkey_value,
                                kernels::Values to) {
  kernels::Backend& backend = pass.backend;
  const kernels::Index width = 2 * pass.width();
  for (const RecurrentSegment& of : pass.recurrent->of(layer).segments) {
    backend.copy((to + of.first * width).data(), (dkey_value + (of.first_key + of.memory) * width).data(),
                 bytes_of(to, of.length * width));
    if (of.rows > of.length)
      backend.zero((to + (of.first + of.length) * width).data(), bytes_of(to, (of.rows - of.length) * width));
  }
}

// Lays the rows of keys of segments behind each other.
void lay_keys(const ModelConfig& config, bool whole_blocks, std::vector<RecurrentSegment>& segments) {
  std::int64_t first_key = 0;
  for (RecurrentSegment& of : segments) {
    of.first_key = first_key;
    of.key_rows = of.memory + of.length;
    if (whole_blocks) of.key_rows = in_whole_blocks(of.key_rows, config.block_size);
    first_key += of.key_rows;
  }
}

std::vector<RecurrentSegment> segments_of(const ModelConfig& config, const Batch& batch,
                                          const StreamMemory& streams, bool whole_blocks) {
  std::vector<RecurrentSegment> segments;
  for (std::size_t s = 0; s < batch.lengths.size(); ++s) {
    RecurrentSegment& of = segments.emplace_back();
    of.first = batch.token_offsets[s];
    of.rows = batch.token_offsets[s + 1] - of.first;
    of.length = batch.lengths[s];
    if (batch.places.empty() || remembered_rows(config) == 0) continue;
    of.stream = batch.places.streams[s];
    if (batch.places.begins[s] == 0)
      of.memory = of.remembered = streams.rows()[static_cast<std::size_t>(of.stream)];
  }
  lay_keys(config, whole_blocks, segments);
  return segments;
}

// Labels of distances up to `most`, -1: all, of so many keys.
std::int64_t labels_of(const ModelConfig& config, std::int64_t keys, std::int64_t most) {
  const std::int64_t clamp = has_spans(config) ? 0 : config.attention_options.recurrent.clamp;
  const std::int64_t largest = clamp > 0 ? clamp : has_spans(config) ? most : -1;
  return largest < 0 ? keys : std::min(keys, largest + 1);
}

// Calls that layers make: one of all, or of spans one for each.
kernels::Index calls_of_layers(const ModelConfig& config) {
  return has_spans(config) ? config.num_hidden_layers : 1;
}

}  // namespace

kernels::Index recurrent_slots(const ModelConfig& config) {
  return calls_of_layers(config) + compressive_slots(config);
}

std::int64_t key_rows_of(const std::vector<RecurrentSegment>& segments) {
  return segments.back().first_key + segments.back().key_rows;
}

std::int64_t RecurrentPass::labels() const {
  std::int64_t most = 0;
  for (const RecurrentKeys& of : keys) most = std::max(most, of.labels);
  return most;
}

std::int64_t most_memory_rows_of_one(const ModelConfig& config, const BatchLimits& limits) {
  if (!is_recurrent(config) || limits.streams == 0) return 0;
  return in_whole_blocks(remembered_rows(config), config.block_size);
}

std::int64_t most_memory_rows(const ModelConfig& config, const BatchLimits& limits) {
  return std::min(limits.sequences, limits.streams) * most_memory_rows_of_one(config, limits);
}

std::int64_t recurrent_labels(const ModelConfig& config, const BatchLimits& limits) {
  if (!is_recurrent(config)) return 0;
  const std::int64_t keys = limits.longest + (limits.streams > 0 ? remembered_rows(config) : 0);
  const std::int64_t labels = labels_of(config, keys, rows_before(config));
  if (labels > kernels::most_labels) {
    throw_bad_input(fmt::format("a memory of {} tokens and segments of {} have {} distances, of at most {}",
                                keys - limits.longest, limits.longest, labels, kernels::most_labels),
                    has_spans(config)    ? "take a smaller max_span"
                    : compresses(config) ? "take a smaller memory, or fewer compressed rows"
                                         : "with clamp larger ones count as one");
  }
  return labels;
}

RecurrentActivations plan_recurrent(Arena& arena, const ModelConfig& config, const BatchLimits& limits,
                                    const ModelOptions& options) {
  RecurrentActivations to;
  if (!is_recurrent(config)) return to;
  const bool training = options.training;
  const std::string what = "distances and memories of one layer";
  const std::int64_t width = config.hidden_size, heads = config.num_attention_heads;
  const std::int64_t labels = recurrent_labels(config, limits);
  const std::int64_t rows = limits.tokens + most_memory_rows(config, limits);
  const std::int64_t memory = config.num_hidden_layers * limits.streams * remembered_rows(config);
  if (memory > 0)
    to.remembered = arena.values(fmt::format("memory of {} streams", limits.streams), memory * width);
  to.rows = arena.values(what, rows * width);
  to.compressive = plan_compressive(arena, config, limits, training);
  // A plan that is only counted has no addresses to ask.
  const bool weighs = weighs_keys(config, options);
  if (training || weighs) {
    to.dkey_value = arena.values(what, rows * 2 * width, arena.operands());
    to.dweight = arena.floats(what, labels * width);
    to.dbias = arena.floats(what, labels * heads);
    to.dby_head = arena.floats(what, heads * (has_spans(config) ? heads : width));
  }
  plan_labels(arena, config, labels, training, to);
  if (weighs) {
    to.weighing.ones = arena.values(what, width, arena.operands());
    to.weighing.dquery = arena.values(what, limits.tokens * width, arena.operands());
    if (!training) to.weighing.sums = arena.floats(what, heads * limits.tokens);
  }
  if (has_dynamic_spans(config)) {
    to.span_rows = limits.tokens;
    to.span_logits = arena.floats("spans", config.num_hidden_layers * limits.tokens * heads);
    if (training) to.dspan_logits = arena.floats("spans", limits.tokens * heads);
  }
  return to;
}

void plan_labels(Arena& arena, const ModelConfig& config, std::int64_t labels, bool training,
                 RecurrentActivations& to) {
  const std::string what = "distances and memories of one layer";
  const std::int64_t width = config.hidden_size, heads = config.num_attention_heads;
  to.labels = labels;
  if (has_spans(config)) {
    const std::int64_t spans = config.num_hidden_layers * heads;
    to.by_distance = arena.floats(what, labels * width);
    if (training) to.span_loss_gradient = arena.floats("spans", spans);
    if (has_dynamic_spans(config)) return;
    to.span_biases = arena.floats("spans", labels * spans);
    if (training) to.span_slopes = arena.floats("spans", labels * spans);
    return;
  }
  to.sinusoids = arena.floats(what, labels * width);
  to.distances = training ? kernels::Values(arena.floats(what, labels * width)) : to.sinusoids;
  to.signs = arena.floats(what, 2);
  to.difference = arena.floats(what, width);
  to.by_head = arena.floats(what, heads * width);
}

std::int64_t step_labels(const ModelConfig& config) {
  return labels_of(config, remembered_rows(config) + 1, rows_before(config));
}

void make_labels(kernels::Backend& backend, const ModelConfig& config, const AttentionTensors& tensors,
                 const RecurrentActivations& kept, kernels::Index labels, float* weight, float* bias) {
  make_biases_by_head(backend, config, tensors, kept);
  const kernels::Values weights(weight), biases(bias);
  backend.linear_forward(kept.distances, tensors.position, weights, labels);
  backend.linear_forward(weights, by_head(config, kept.by_head), biases, labels);
}

void fill_recurrent(kernels::Backend& backend, const ModelConfig& config, const RecurrentActivations& kept) {
  fill_compressive(backend, config, kept.compressive);
  check_span_device(backend, config);
  if (kept.weighing.ones != nullptr) {
    if (!backend.in_host_memory()) {
      const bool most_used =
          compresses(config) && config.attention_options.compressive.compression == Compression::most_used;
      throw_usage(fmt::format("attention {}: {} not computed on {}", name_of(config.attention),
                              most_used ? "compression most-used is" : "weights of keys are", backend.name()),
                  most_used ? "take the CPU, or another compression" : "take the CPU");
    }
    const std::vector<float> ones(static_cast<std::size_t>(config.hidden_size), 1.0f);
    backend.upload_values(kept.weighing.ones, ones.data(), config.hidden_size);
  }
  if (kept.sinusoids == nullptr) return;
  const auto width = static_cast<std::size_t>(config.hidden_size), half = (width + 1) / 2;
  const auto labels = static_cast<std::size_t>(kept.labels);
  // Rounded to fp32 step by step, as the published code does.
  std::vector<float> values(labels * width);
  for (std::size_t a = 0; a < half; ++a) {
    const float exponent = static_cast<float>(2 * a) / static_cast<float>(width);
    const float frequency = 1.0f / static_cast<float>(std::pow(10000.0, static_cast<double>(exponent)));
    for (std::size_t label = 0; label < labels; ++label) {
      const auto angle = static_cast<double>(static_cast<float>(label) * frequency);
      values[label * width + a] = static_cast<float>(std::sin(angle));
      if (half + a < width) values[label * width + half + a] = static_cast<float>(std::cos(angle));
    }
  }
  backend.upload_values(kept.sinusoids, values.data(), static_cast<kernels::Index>(values.size()));
  const float signs[2] = {-1.0f, 1.0f};
  backend.upload_values(kept.signs, signs, 2);
}

void check_places(const Batch& batch, const ModelConfig& config, const BatchLimits& limits) {
  const StreamPlaces& places = batch.places;
  if (places.empty()) return;
  if (!is_recurrent(config)) throw_runtime("places of streams for a model that remembers nothing");
  bool agree = places.streams.size() == batch.lengths.size() && places.begins.size() == batch.lengths.size();
  std::vector<bool> taken(static_cast<std::size_t>(limits.streams), false);
  for (std::size_t s = 0; agree && s < places.streams.size(); ++s) {
    const std::int32_t stream = places.streams[s];
    agree = stream >= 0 && stream < limits.streams && !taken[static_cast<std::size_t>(stream)];
    if (agree) taken[static_cast<std::size_t>(stream)] = true;
  }
  if (!agree) throw_runtime(fmt::format("places of a batch that are not of {} streams", limits.streams));
}

const BlockPlan& RecurrentPlans::plan(std::int64_t blocks, std::int64_t own, std::int64_t key_blocks,
                                      std::int64_t block_size, std::int64_t start,
                                      const std::vector<std::int64_t>& before) {
  const auto blocks_below = [&](std::int64_t row) {  // of rows before 0 as well
    return row >= 0 ? row / block_size : -((-row + block_size - 1) / block_size);
  };
  // Of the first query block, whose lists move on by a block with each that follows.
  const std::int64_t last = blocks_below(start + block_size - 1);
  std::vector<std::int64_t> key{blocks, own, key_blocks, last};
  for (const std::int64_t rows : before) key.push_back(rows < 0 ? -blocks : blocks_below(start - rows));
  auto& slot = plans_[key];
  if (slot) return *slot;
  std::vector<std::vector<std::vector<std::int32_t>>> heads;
  for (std::size_t head = 4; head < key.size(); ++head) {
    auto& rows = heads.emplace_back(static_cast<std::size_t>(blocks));
    for (std::int64_t row = 0; row < own; ++row) {
      for (std::int64_t at = std::max<std::int64_t>(key[head] + row, 0);
           at <= std::min(last + row, key_blocks - 1); ++at)
        rows[static_cast<std::size_t>(row)].push_back(static_cast<std::int32_t>(at));
    }
  }
  if (heads.size() == 1) heads.resize(static_cast<std::size_t>(heads_), heads.front());
  slot = std::make_unique<BlockPlan>(heads, key_blocks);
  return *slot;
}

void recurrent_pass(const ModelConfig& config, const Batch& batch, const StreamMemory& streams,
                    bool whole_blocks, bool training, bool keeps_at_once, const std::uint64_t* dropout_seed,
                    RecurrentPlans& plans, kernels::Index first_slot, const Activations& kept,
                    const Spans& spans, RecurrentPass& pass) {
  const std::int64_t block = config.block_size, calls = calls_of_layers(config);
  plans.drop_old_ones();
  pass = {};
  pass.streams = &streams;
  pass.keeps_at_once = keeps_at_once;
  pass.segments = segments_of(config, batch, streams, whole_blocks);
  kernels::AttentionBatch call = attention_call(config);
  call.causal = true;
  if (training && config.attention_probs_dropout_prob > 0) {
    call.drop_probability = static_cast<float>(config.attention_probs_dropout_prob);
    call.dropout_seed = dropout_seed;
  }
  pass.keys.reserve(static_cast<std::size_t>(calls));  // calls know their rules by address
  for (std::int64_t number = 0; number < calls; ++number) {
    RecurrentKeys& keys = pass.keys.emplace_back();
    keys.before = has_spans(config) ? spans.reaches(number) : std::vector{rows_before(config)};
    keys.segments = pass.segments;
    const std::int64_t furthest = *std::max_element(keys.before.begin(), keys.before.end());
    AttentionRun run(0, call);
    run.set_slot(first_slot + number);
    if (furthest >= 0) {
      keys.rule.before = furthest;
      keys.rule.no_self = has_spans(config);
      run.set_rule(&keys.rule);
    }
    // What no head of the layer sees has neither keys nor values.
    for (RecurrentSegment& of : keys.segments)
      of.memory = has_spans(config) ? std::min(of.remembered, furthest) : of.remembered;
    lay_keys(config, whole_blocks, keys.segments);
    for (const RecurrentSegment& of : keys.segments) {
      const std::int64_t real = of.memory + of.length;
      keys.labels = std::max(keys.labels, labels_of(config, real, furthest));
      const auto blocks = [&](std::int64_t rows) { return (rows + block - 1) / block; };
      run.append_behind(
          of.rows, of.length, of.key_rows, real, of.memory,
          plans.plan(blocks(of.rows), blocks(of.length), blocks(real), block, of.memory, keys.before));
    }
    keys.run.push_back(std::move(run));
  }
  pass.compressive = compressive_pass(config, pass.segments, training, plans, first_slot + calls);
  for (std::size_t layer = 0; layer < kept.layers.size(); ++layer) {
    kernels::RelativeTerm& term = pass.terms.emplace_back();
    const RecurrentActivations& shared = kept.recurrent;
    const AttentionActivations& own = kept.layers[layer].attention;
    term.weight = has_spans(config) ? shared.by_distance : own.relative_weight;
    const std::int64_t before = static_cast<std::int64_t>(layer) * config.num_attention_heads;
    term.bias = has_spans(config) ? shared.span_biases + before * shared.labels : own.relative_bias;
    if (has_dynamic_spans(config)) {
      const SpanOptions& options = config.attention_options.spans;
      term.bias = nullptr;
      term.span_logits = shared.span_logits + before * shared.span_rows;
      term.most_span = static_cast<float>(options.max_span);
      term.ramp = static_cast<float>(options.ramp);
    }
    term.labels = pass.of(static_cast<std::int64_t>(layer)).labels;
    term.most = term.labels - 1;
    term.behind = true;
  }
}

void add_to_key(const RecurrentPass& pass, const std::function<void(std::int64_t)>& add) {
  for (const RecurrentSegment& of : pass.segments) {
    add(of.stream);
    add(of.length);
    add(of.remembered);
  }
  for (const RecurrentKeys& keys : pass.keys) {
    for (const std::int64_t rows : keys.before) add(rows);
  }
}

void recurrent_stage(const PassContext& pass, Spans& spans, const RecurrentActivations& kept) {
  if (has_spans(pass.config)) spans.bring(pass.backend, kept);
  for (const RecurrentKeys& keys : pass.recurrent->keys)
    pass.backend.prepare_attention(keys.run.front().call());
  for (const auto* runs : {&pass.recurrent->compressive.wanted, &pass.recurrent->compressive.made}) {
    for (const AttentionRun& run : *runs) pass.backend.prepare_attention(run.call());
  }
}

void recurrent_begin(const PassContext& pass, const ModelTensors& tensors, const RecurrentActivations& kept) {
  if (has_spans(pass.config))
    return make_rows_of_distances(pass.backend, pass.config, tensors, pass.recurrent->labels(), kept);
  if (kept.distances.data() == kept.sinusoids.data()) return;
  pass.backend.dropout(kept.sinusoids, kept.distances, pass.recurrent->labels() * pass.width(),
                       pass.dropout(DropoutSite::distances, 0));
}

// The weights of keys, summed over queries, are the gradient of values where that of every output is 1.
std::vector<double> key_weights(const PassContext& pass, std::int64_t layer,
                                const AttentionActivations& kept) {
  kernels::Backend& backend = pass.backend;
  const RecurrentActivations& work = kept.recurrent;
  const kernels::Index width = pass.width(), size = pass.config.head_size();
  kernels::AttentionBatch call = call_of(pass, layer);
  call.drop_probability = 0.0f;
  backend.attention_backward(call, read(projections_in(pass, kept.qkv), width), {kept.context, width},
                             work.weighing.sums != nullptr ? work.weighing.sums : kept.log_sum_exp,
                             {work.weighing.ones, 0},
                             {{work.weighing.dquery, width},
                              {work.dkey_value, 2 * width},
                              {work.dkey_value + width, 2 * width},
                              {work.dweight, work.dbias}});
  const std::int64_t rows = pass.recurrent->of(layer).rows();
  std::vector<float> values(static_cast<std::size_t>(rows * 2 * width));
  backend.download_values(values.data(), work.dkey_value, static_cast<kernels::Index>(values.size()));
  std::vector<double> weights(static_cast<std::size_t>(rows));
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < width; column += size) {
      weights[static_cast<std::size_t>(row)] +=
          static_cast<double>(values[static_cast<std::size_t>((2 * row + 1) * width + column)]);
    }
  }
  return weights;
}

void recurrent_attention_forward(const PassContext& pass, std::int64_t layer, const AttentionTensors& tensors,
                                 kernels::ConstValues input, const AttentionActivations& kept) {
  kernels::Backend& backend = pass.backend;
  const RecurrentKeys& keys = pass.recurrent->of(layer);
  const kernels::Index width = pass.width(), labels = keys.labels;
  const RecurrentActivations& work = kept.recurrent;
  const Projections of = projections_in(pass, kept.qkv);
  gather_rows_of_layer(pass, keys.segments, layer, input, work);
  backend.linear_forward(input, tensors.query, of.query, pass.tokens());
  backend.linear_forward(work.rows, tensors.key_value, of.key_value, keys.rows());
  if (pass.recurrent->keeps_at_once && !compresses(pass.config)) {
    if (has_spans(pass.config)) gather_rows_of_layer(pass, pass.recurrent->segments, layer, input, work);
    remember_layer(pass, layer, work);
  }

  if (has_dynamic_spans(pass.config)) {
    own_spans_forward(pass, layer, tensors, input, work);
  } else if (!has_spans(pass.config)) {
    make_labels(backend, pass.config, tensors, work, labels, kept.relative_weight, kept.relative_bias);
  }
  float* const sums = work.weighing.sums != nullptr ? work.weighing.sums : kept.log_sum_exp;
  backend.attention_forward(call_of(pass, layer), read(of, width), {kept.context, width}, sums);
  report_key_weights(pass, layer, kept);
  if (!compresses(pass.config)) return;
  compressive_forward(pass, layer, tensors, input, kept);
  if (pass.recurrent->keeps_at_once) remember_layer(pass, layer, work);
}

void recurrent_attention_backward(const PassContext& pass, std::int64_t layer,
                                  const AttentionTensors& tensors, const AttentionTensors& gradients,
                                  kernels::ConstValues input, const AttentionActivations& kept,
                                  const BackwardWorkspace& work) {
  kernels::Backend& backend = pass.backend;
  const RecurrentKeys& keys = pass.recurrent->of(layer);
  const kernels::Index rows = pass.tokens(), width = pass.width(), labels = keys.labels;
  const RecurrentActivations& scratch = kept.recurrent;
  const kernels::Values dcontext = work.wide, dquery = work.wide + rows * width,
                        dtokens = work.wide + 2 * rows * width, dkey_value = scratch.dkey_value;
  backend.zero(scratch.dweight, static_cast<std::size_t>(labels * width) * sizeof(float));
  backend.zero(scratch.dbias,
               static_cast<std::size_t>(labels * pass.config.num_attention_heads) * sizeof(float));
  if (has_dynamic_spans(pass.config)) {
    backend.zero(scratch.dspan_logits,
                 static_cast<std::size_t>(rows * pass.config.num_attention_heads) * sizeof(float));
  }
  backend.attention_backward(call_of(pass, layer), read(projections_in(pass, kept.qkv), width),
                             {kept.context, width}, kept.log_sum_exp, {dcontext, width},
                             {{dquery, width},
                              {dkey_value, 2 * width},
                              {dkey_value + width, 2 * width},
                              {scratch.dweight, scratch.dbias, scratch.dspan_logits}});
  if (has_spans(pass.config)) {
    backward_of_spans(pass, layer, gradients, scratch);
  } else {
    backward_of_labels(pass, tensors, gradients, kept);
  }

  backend.linear_backward_weight(dquery, input, tensors.query, gradients.query, rows);
  backend.linear_backward_input(dquery, tensors.query, work.gradient, rows, true);
  if (has_dynamic_spans(pass.config))
    own_spans_backward(pass, layer, tensors, gradients, input, scratch, work.gradient);
  gather_rows_of_layer(pass, keys.segments, layer, input, scratch);
  backend.linear_backward_weight(dkey_value, scratch.rows, tensors.key_value, gradients.key_value,
                                 keys.rows());
  compressive_backward(pass, layer, tensors, gradients, input, kept);
  gather_gradients_of_tokens(pass, layer, dkey_value, dtokens);
  backend.linear_backward_input(dtokens, tensors.key_value, work.gradient, rows, true);
}

void recurrent_bring_scale(kernels::Backend& backend, const ModelConfig& config, const LossScale& scale,
                           const Spans& spans, const RecurrentPass& pass, const RecurrentActivations& kept) {
  spans.bring_loss(backend, scale[Loss::span], kept);
  bring_compression_scale(backend, pass.compressive, config.hidden_size, scale[Loss::compression],
                          kept.compressive);
}

void recurrent_losses(const PassContext& pass, const LabelCounts& labels, const Spans& spans,
                      const RecurrentActivations& kept, ForwardResult& result) {
  if (labels[Loss::span] > 0) result[Loss::span] = spans.loss(pass, kept);
  if (labels[Loss::compression] > 0) result[Loss::compression] = compression_loss(pass, kept.compressive);
}

void recurrent_remember(const PassContext& pass, const Activations& kept, StreamMemory& streams) {
  if (streams.bytes() == 0) return;
  const RecurrentPass& of_pass = *pass.recurrent;
  for (std::int64_t layer = 0; !of_pass.keeps_at_once && layer < pass.config.num_hidden_layers; ++layer) {
    gather_rows_of_layer(pass, of_pass.segments, layer, kept.states[static_cast<std::size_t>(layer)],
                         kept.recurrent);
    remember_layer(pass, layer, kept.recurrent);
  }
  for (const RecurrentSegment& of : of_pass.segments) {
    if (of.stream >= 0) streams.set_rows(of.stream, kept_rows(pass.config, of));
  }
}

}  // namespace bigbird
