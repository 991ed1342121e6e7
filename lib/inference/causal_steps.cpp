// See causal_steps.h.
#include "lib/inference/causal_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/inference/step_rows.h"
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
  std::int32_t* offsets = nullptr;  // [rows + 1] into them
};

struct CausalMemory {
  // [layer] [1 + cached, 2C]: row 0 is zeros, which a query without a key sees.
  std::vector<Values> cache;
  std::vector<SeenRows> seen;  // [list of CausalKeys]
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
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    to.cache.push_back(arena.values("keys and values of what is written", 2 * (1 + limits.cached) * width));
  }
  const std::string what = "activations of a step";
  to.seen.resize(keys.lists());
  for (SeenRows& seen : to.seen) {
    seen.rows = arena.integers(what, rows * limits.length);
    seen.offsets = arena.integers(what, rows + 1);
  }
  to.step = plan_step_rows(arena, config, rows, limits.asked);
  to.qkv = arena.values(what, rows * 3 * width);
  to.asked = arena.integers(what, limits.asked);
  to.last = arena.values(what, limits.asked * width);
  if (config.position_type == PositionType::rotary)
    to.rotations = arena.floats(what, limits.length * config.rotary_dim);
  return to;
}

std::size_t causal_bytes(const kernels::Backend& backend, const ModelConfig& config,
                         const CausalLimits& limits, const CausalKeys& keys) {
  Arena arena(nullptr, backend);
  plan_causal(arena, config, limits, keys);
  return arena.used();
}

}  // namespace

struct CausalSteps::Impl {
  Impl(Model& of, const CausalLimits& up_to)
      : model(of),
        limits(up_to),
        config(of.config()),
        keys(config),
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
  }

  // Where the tokens of a text lie in the cache, by their positions.
  using Path = std::vector<std::int32_t>;

  // Brings tokens, positions and the rows that they see to the device; what is asked of is in `asked`. Rows
  // of the cache are taken in the order of the tokens.
  void stage(std::span<const ReadText> texts, std::int64_t rows) {
    std::vector<Path> next;
    std::vector<std::int32_t> ids, positions, asked;
    std::vector<std::vector<std::int32_t>> seen(keys.lists()), offsets(keys.lists(), {0});
    Path visible;
    for (const ReadText& text : texts) {
      Path& path =
          next.emplace_back(text.parent < 0 ? Path() : paths.at(static_cast<std::size_t>(text.parent)));
      for (const std::int32_t token : text.tokens) {
        const auto position = static_cast<std::int32_t>(path.size());
        // Behind the row of zeros.
        path.push_back(static_cast<std::int32_t>(1 + written + static_cast<std::int64_t>(ids.size())));
        ids.push_back(token);
        positions.push_back(position);
        for (std::size_t list = 0; list < seen.size(); ++list) {
          visible.clear();
          keys.append(list, position, visible);
          for (const std::int32_t key : visible) seen[list].push_back(path[static_cast<std::size_t>(key)]);
          if (visible.empty()) seen[list].push_back(0);
          offsets[list].push_back(static_cast<std::int32_t>(seen[list].size()));
        }
      }
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
      upload(held.seen[list].offsets, offsets[list]);
    }
  }

  void self_attention(std::int64_t layer, const AttentionTensors& tensors, Index rows) {
    kernels::Backend& backend = model.backend();
    const Index width = config.hidden_size;
    const Values cache = held.cache[static_cast<std::size_t>(layer)];
    backend.linear_forward(step.branch_input(tensors.norm, rows), tensors.qkv, held.qkv, rows);
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
    backend.add_rows({held.qkv + width, 3 * width}, {cache + 2 * (1 + written) * width, 2 * width}, rows,
                     2 * width);
    const kernels::AttentionBatch call = attention_call(config);
    for (const CausalKeys::Heads& heads : keys.heads(layer)) {
      const SeenRows& seen = held.seen[heads.list];
      const Index column = heads.first * call.head_size;
      backend.attend_rows({rows, heads.count, call.head_size, call.scale, seen.rows, seen.offsets},
                          {{held.qkv + column, 3 * width},
                           {cache + column, 2 * width},
                           {cache + (width + column), 2 * width}},
                          {held.step.context + column, width}, nullptr);
    }
    step.join(held.step.context, tensors.output, tensors.norm, rows);
  }

  Model& model;
  const CausalLimits limits;
  const ModelConfig config;
  const CausalKeys keys;
  DeviceMemory memory;
  CausalMemory held;
  StepRows step;
  std::int64_t written = 0;  // rows of the cache since begin(), but for that of zeros
  std::vector<Path> paths;   // of the texts of the last call
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
  for (const Values& cache : of.held.cache) {
    of.model.backend().zero(cache.data(),
                            static_cast<std::size_t>(2 * (1 + of.limits.cached) * of.config.hidden_size) *
                                kernels::size_of(cache.type()));
  }
  of.written = 0;
  of.paths.clear();
}

void CausalSteps::read(std::span<const ReadText> texts) {
  Impl& of = *impl_;
  std::int64_t rows = 0, asked = 0, longest = 0;
  for (const ReadText& text : texts) {
    const auto count = static_cast<std::int64_t>(text.tokens.size());
    const std::int64_t before =
        text.parent < 0
            ? 0
            : static_cast<std::int64_t>(of.paths.at(static_cast<std::size_t>(text.parent)).size());
    rows += count;
    asked += text.asked && count > 0 ? 1 : 0;
    longest = std::max(longest, before + count);
  }
  if (rows > of.limits.rows || asked > of.limits.asked || of.written + rows > of.limits.cached ||
      longest > std::min(of.limits.length, of.config.max_position_embeddings)) {
    throw_runtime(fmt::format(
        "{} tokens after {}, {} texts asked of, up to {} tokens: made for {} of {}, {} texts, {} tokens",
        rows, of.written, asked, longest, of.limits.rows, of.limits.cached, of.limits.asked,
        of.limits.length));
  }
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
