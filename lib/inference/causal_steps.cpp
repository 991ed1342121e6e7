// See causal_steps.h.
#include "lib/inference/causal_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/inference/step_rows.h"
#include "lib/model/network/adaptive_span.h"
#include "lib/model/network/attention_recurrent.h"
#include "lib/model/network/encoder.h"
#include "lib/model/network/memory.h"
#include "lib/model/network/model.h"
#include "lib/model/network/pass_context.h"
#include "lib/model/plans/causal_keys.h"

namespace bigbird {
namespace {

using kernels::Index;
using kernels::Values;

// Rows of keys that the queries of a call see in some heads, those of one query behind those of another.
struct SeenRows {
  std::int32_t* rows = nullptr;     // [rows * most keys]
  std::int32_t* labels = nullptr;   // [rows * most keys] distances; null without a memory
  std::int32_t* offsets = nullptr;  // [rows + 1] into `rows`
};

// What the labels of a layer with a memory are.
struct StepLabels {
  const float* weight = nullptr;  // [labels, C]
  const float* bias = nullptr;    // [labels, H]
};

struct CausalMemory {
  // [layer] [1 + cached, 2C]: row 0 is zeros, which a query without a key sees. With a memory one more, to
  // which rows move.
  std::vector<Values> cache;
  std::int32_t* moved = nullptr;  // [cached] rows that move
  RecurrentActivations distances;
  std::vector<float*> relative_weight, relative_bias;  // [layer] of Transformer-XL
  std::vector<SeenRows> seen;                          // [list of CausalKeys]
  StepRowMemory step;
  Values qkv;                     // [rows, 3C]
  std::int32_t* asked = nullptr;  // [asked] rows
  Values last;                    // [asked, C]
  float* rotations = nullptr;     // [length, rotary_dim]; null of absolute positions
};

CausalMemory plan_causal(Arena& arena, const ModelConfig& config, const CausalLimits& limits,
                         const CausalKeys& keys) {
  const std::int64_t width = config.hidden_size, rows = limits.rows;
  CausalMemory to;
  for (std::int64_t layer = 0; layer < config.num_hidden_layers + (is_recurrent(config) ? 1 : 0); ++layer) {
    to.cache.push_back(arena.values("keys and values of what is written", 2 * (1 + limits.cached) * width));
  }
  const std::string what = "activations of a step";
  const std::int64_t most = is_recurrent(config) ? remembered_rows(config) + 1 : limits.length;
  to.seen.resize(keys.lists());
  for (SeenRows& seen : to.seen) {
    seen.rows = arena.integers(what, rows * most);
    if (is_recurrent(config)) seen.labels = arena.integers(what, rows * most);
    seen.offsets = arena.integers(what, rows + 1);
  }
  to.step = plan_step_rows(arena, config, rows, limits.asked);
  to.qkv = arena.values(what, rows * 3 * width);
  to.asked = arena.integers(what, limits.asked);
  to.last = arena.values(what, limits.asked * width);
  if (config.position_type == PositionType::rotary)
    to.rotations = arena.floats(what, limits.length * config.rotary_dim);
  if (!is_recurrent(config)) return to;
  const std::int64_t labels = step_labels(config);
  to.moved = arena.integers(what, limits.cached);
  plan_labels(arena, config, labels, false, to.distances);
  for (std::int64_t layer = 0; !has_spans(config) && layer < config.num_hidden_layers; ++layer) {
    to.relative_weight.push_back(arena.floats("distances of all layers", labels * width));
    to.relative_bias.push_back(arena.floats("distances of all layers", labels * config.num_attention_heads));
  }
  return to;
}

std::size_t causal_bytes(const kernels::Backend& backend, const ModelConfig& config,
                         const CausalLimits& limits, const CausalKeys& keys) {
  Arena arena(nullptr, backend);
  plan_causal(arena, config, limits, keys);
  return arena.used();
}

// Keys of the layers, of spans as far as they reach now.
CausalKeys keys_of(Model& model, Spans& spans) {
  const ModelConfig& config = model.config();
  std::vector<std::int64_t> reaches;
  spans.read(model.backend(), model.tensors().spans);
  for (std::int64_t layer = 0; has_spans(config) && layer < config.num_hidden_layers; ++layer)
    reaches.push_back(*std::max_element(spans.reaches(layer).begin(), spans.reaches(layer).end()));
  return CausalKeys(config, reaches);
}

// Where the last tokens of a text lie in the cache: all of them, or those that are remembered.
struct Path {
  std::int64_t length = 0;  // of the text
  std::vector<std::int32_t> rows;

  std::int32_t row_of(std::int32_t position) const {
    return rows[static_cast<std::size_t>(position - length + static_cast<std::int64_t>(rows.size()))];
  }
};

}  // namespace

struct CausalSteps::Impl {
  Impl(Model& of, const CausalLimits& up_to)
      : model(of),
        limits(up_to),
        config(of.config()),
        spans(config, false),
        keys(keys_of(model, spans)),
        memory(model.backend(), causal_bytes(model.backend(), config, limits, keys)),
        step(model.backend(), config, held.step) {
    kernels::Backend& backend = model.backend();
    Arena arena(memory.bytes(), backend);
    held = plan_causal(arena, config, limits, keys);
    if (held.rotations != nullptr) {
      const std::vector<float> rotations = rotary_table(config, limits.length);
      backend.upload(held.rotations, rotations.data(), rotations.size() * sizeof(float));
    }
    if (held.step.types != nullptr)
      backend.zero(held.step.types, static_cast<std::size_t>(limits.rows) * sizeof(std::int32_t));
    if (is_recurrent(config)) make_distances();
  }

  void make_distances() {
    kernels::Backend& backend = model.backend();
    const ModelTensors& tensors = model.tensors();
    const RecurrentActivations& of = held.distances;
    if (has_spans(config)) {
      make_rows_of_distances(backend, config, tensors, of.labels, of);
      spans.bring(backend, of);
    } else {
      fill_recurrent(backend, config, of);
    }
    for (std::size_t layer = 0; layer < tensors.layers.size(); ++layer) {
      if (has_spans(config)) {
        const auto first = static_cast<std::int64_t>(layer) * of.labels * config.num_attention_heads;
        labels.push_back({of.by_distance, of.span_biases + first});
        continue;
      }
      labels.push_back({held.relative_weight[layer], held.relative_bias[layer]});
      make_labels(backend, config, tensors.layers[layer].attention, of, of.labels,
                  held.relative_weight[layer], held.relative_bias[layer]);
    }
  }

  const Path& parent_of(const ReadText& text) const {
    return paths.at(static_cast<std::size_t>(text.parent));
  }

  // Rows of the cache that texts go on from, ascending.
  std::vector<std::int32_t> rows_before(std::span<const ReadText> texts) const {
    std::vector<std::int32_t> left;
    for (const ReadText& text : texts) {
      if (text.parent < 0) continue;
      left.insert(left.end(), parent_of(text).rows.begin(), parent_of(text).rows.end());
    }
    std::sort(left.begin(), left.end());
    left.erase(std::unique(left.begin(), left.end()), left.end());
    return left;
  }

  // Moves these rows to the front of the cache, in their order; what nobody will see any more makes room.
  void move_to_front(const std::vector<std::int32_t>& left) {
    for (Path& path : paths) {
      for (std::int32_t& row : path.rows) {
        const auto place = std::lower_bound(left.begin(), left.end(), row) - left.begin();
        row = static_cast<std::int32_t>(1 + place);  // of a text that ends here: any
      }
    }
    kernels::Backend& backend = model.backend();
    backend.upload(held.moved, left.data(), left.size() * sizeof(std::int32_t));
    Values& empty = held.cache.back();
    for (std::size_t layer = 0; layer + 1 < held.cache.size(); ++layer) {
      clear(empty);
      backend.gather_rows(held.cache[layer], held.moved, empty + 2 * config.hidden_size,
                          static_cast<Index>(left.size()), 2 * config.hidden_size);
      std::swap(held.cache[layer], empty);
    }
    written = static_cast<std::int64_t>(left.size());
  }

  void clear(Values cache) {
    model.backend().zero(cache.data(),
                         static_cast<std::size_t>(2 * (1 + limits.cached) * config.hidden_size) *
                             kernels::size_of(cache.type()));
  }

  // Brings tokens, positions and the rows that they see to the device; what is asked of is in `asked`. Rows
  // of the cache are taken in the order of the tokens.
  void stage(std::span<const ReadText> texts, std::int64_t rows) {
    std::vector<Path> next;
    std::vector<std::int32_t> ids, positions, asked;
    std::vector<std::vector<std::int32_t>> seen(keys.lists()), distances(keys.lists()),
        offsets(keys.lists(), {0});
    std::vector<std::int32_t> visible;
    for (const ReadText& text : texts) {
      Path& path = next.emplace_back(text.parent < 0 ? Path() : parent_of(text));
      for (const std::int32_t token : text.tokens) {
        const auto position = static_cast<std::int32_t>(path.length);
        ++path.length;
        // Behind the row of zeros.
        path.rows.push_back(static_cast<std::int32_t>(1 + written + static_cast<std::int64_t>(ids.size())));
        ids.push_back(token);
        positions.push_back(position);
        for (std::size_t list = 0; list < seen.size(); ++list) {
          visible.clear();
          keys.append(list, position, visible);
          for (const std::int32_t key : visible) seen[list].push_back(path.row_of(key));
          if (visible.empty()) seen[list].push_back(0);
          offsets[list].push_back(static_cast<std::int32_t>(seen[list].size()));
          if (!is_recurrent(config)) continue;
          if (visible.empty()) visible.push_back(position - 1);  // the row of zeros, at any distance
          for (const std::int32_t key : visible) {
            const std::int64_t distance = position - key;
            distances[list].push_back(
                static_cast<std::int32_t>(std::min(distance, held.distances.labels - 1)));
          }
        }
      }
      const auto kept =
          is_recurrent(config) ? static_cast<std::size_t>(remembered_rows(config)) : path.rows.size();
      if (path.rows.size() > kept)
        path.rows.erase(path.rows.begin(), path.rows.end() - static_cast<std::ptrdiff_t>(kept));
      if (text.asked && !text.tokens.empty()) asked.push_back(static_cast<std::int32_t>(ids.size()) - 1);
    }
    paths = std::move(next);
    asked_rows = static_cast<Index>(asked.size());
    if (rows == 0) return;
    kernels::Backend& backend = model.backend();
    const auto upload = [&](std::int32_t* to, const std::vector<std::int32_t>& from) {
      backend.upload(to, from.data(), from.size() * sizeof(std::int32_t));
    };
    upload(held.step.ids, ids);
    upload(held.step.positions, positions);
    upload(held.asked, asked);
    for (std::size_t list = 0; list < seen.size(); ++list) {
      upload(held.seen[list].rows, seen[list]);
      if (is_recurrent(config)) upload(held.seen[list].labels, distances[list]);
      upload(held.seen[list].offsets, offsets[list]);
    }
  }

  void self_attention(std::int64_t layer, const AttentionTensors& tensors, Index rows) {
    kernels::Backend& backend = model.backend();
    const Index width = config.hidden_size;
    const Values cache = held.cache[static_cast<std::size_t>(layer)];
    const kernels::ConstValues input = step.branch_input(tensors.norm, rows);
    kernels::Rows query{held.qkv, 3 * width}, key_value{held.qkv + width, 3 * width};
    if (is_recurrent(config)) {
      query = {held.qkv, width};
      key_value = {held.qkv + rows * width, 2 * width};
      backend.linear_forward(input, tensors.query, query.data, rows);
      backend.linear_forward(input, tensors.key_value, key_value.data, rows);
    } else {
      backend.linear_forward(input, tensors.qkv, held.qkv, rows);
    }
    if (held.rotations != nullptr) {
      kernels::Rotary rotary;
      rotary.positions = held.step.positions;
      rotary.rotations = held.rotations;
      rotary.heads = 2 * config.num_attention_heads;  // query and key lie side by side
      rotary.head_size = config.head_size();
      rotary.half = config.rotary_dim / 2;
      backend.rotate({held.qkv, 3 * width}, rotary, rows, false);
    }
    // A row of the cache is zeros until it is written, once.
    backend.add_rows(key_value, {cache + 2 * (1 + written) * width, 2 * width}, rows, 2 * width);
    const kernels::AttentionBatch call = attention_call(config);
    for (const CausalKeys::Heads& heads : keys.heads(layer)) {
      const SeenRows& seen = held.seen[heads.list];
      const Index column = heads.first * call.head_size;
      kernels::RowAttention lists{rows, heads.count, call.head_size, call.scale, seen.rows, seen.offsets};
      if (is_recurrent(config)) {  // all heads see the same
        lists.labels = seen.labels;
        lists.label_weight = labels[static_cast<std::size_t>(layer)].weight;
        lists.label_bias = labels[static_cast<std::size_t>(layer)].bias;
        lists.label_count = held.distances.labels;
        lists.labels_by_head = true;
      }
      backend.attend_rows(lists,
                          {{query.data + column, query.stride},
                           {cache + column, 2 * width},
                           {cache + (width + column), 2 * width}},
                          {held.step.context + column, width}, nullptr);
    }
    step.join(held.step.context, tensors.output, tensors.norm, rows);
  }

  Model& model;
  const CausalLimits limits;
  const ModelConfig config;
  Spans spans;
  const CausalKeys keys;
  DeviceMemory memory;
  CausalMemory held;
  StepRows step;
  std::vector<StepLabels> labels;  // [layer] with a memory
  std::int64_t written = 0;        // rows of the cache that are taken, but for that of zeros
  std::vector<Path> paths;         // of the texts of the last call
  Index asked_rows = 0;
};

std::vector<MemoryRow> plan_causal_memory(const ModelConfig& config, const CausalLimits& limits,
                                          const kernels::Backend& backend) {
  Arena arena(nullptr, backend);
  plan_causal(arena, config, limits, CausalKeys(config));
  return arena.rows();
}

CausalSteps::CausalSteps(Model& model, const CausalLimits& limits) {
  if (!model.config().predicts_next()) throw_runtime("a model that predicts no next token writes nothing");
  impl_ = std::make_unique<Impl>(model, limits);
  begin();
}
CausalSteps::~CausalSteps() = default;

void CausalSteps::begin() {
  Impl& of = *impl_;
  for (const Values& cache : of.held.cache) of.clear(cache);
  of.written = 0;
  of.paths.clear();
}

void CausalSteps::read(std::span<const ReadText> texts) {
  Impl& of = *impl_;
  std::int64_t rows = 0, asked = 0, longest = 0;
  for (const ReadText& text : texts) {
    const auto count = static_cast<std::int64_t>(text.tokens.size());
    const std::int64_t before = text.parent < 0 ? 0 : of.parent_of(text).length;
    rows += count;
    asked += text.asked && count > 0 ? 1 : 0;
    longest = std::max(longest, before + count);
  }
  // Rows of a memory that nobody will see any more make room where there is none.
  const bool moves = is_recurrent(of.config) && of.written + rows > of.limits.cached;
  const std::vector<std::int32_t> left = moves ? of.rows_before(texts) : std::vector<std::int32_t>();
  const std::int64_t written = moves ? static_cast<std::int64_t>(left.size()) : of.written;
  const bool too_long =
      !is_recurrent(of.config) && longest > std::min(of.limits.length, of.config.max_position_embeddings);
  if (rows > of.limits.rows || asked > of.limits.asked || written + rows > of.limits.cached || too_long) {
    throw_runtime(fmt::format(
        "{} tokens after {}, {} texts asked of, up to {} tokens: made for {} of {}, {} texts, {} tokens",
        rows, written, asked, longest, of.limits.rows, of.limits.cached, of.limits.asked, of.limits.length));
  }
  if (moves) of.move_to_front(left);
  of.stage(texts, rows);
  if (rows == 0) return;
  const ModelTensors& tensors = of.model.tensors();
  of.step.embed(tensors.embeddings, rows);
  for (std::size_t layer = 0; layer < tensors.layers.size(); ++layer) {
    throw_if_cancelled_anywhere();
    of.self_attention(static_cast<std::int64_t>(layer), tensors.layers[layer].attention, rows);
    of.step.feed_forward(tensors.layers[layer].feed_forward, rows);
  }
  of.written += rows;
  if (of.asked_rows == 0) return;
  of.model.backend().gather_rows(of.held.step.state, of.held.asked, of.held.last, of.asked_rows,
                                 of.config.hidden_size);
  of.step.predict(of.held.last, tensors.final_norm, tensors.masked.decoder, of.asked_rows);
}

std::span<const float> CausalSteps::logits() {
  return impl_->step.logits();
}

TopTokens CausalSteps::top(std::int64_t count) {
  return impl_->step.top(count);
}

}  // namespace bigbird
