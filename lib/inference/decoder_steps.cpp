// See decoder_steps.h.
#include "lib/inference/decoder_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/inference/step_rows.h"
#include "lib/model/network/decoder.h"
#include "lib/model/network/memory.h"
#include "lib/model/network/model.h"

namespace bigbird {
namespace {

using kernels::Index;
using kernels::Values;

struct StepMemory {
  std::vector<Values> sources;      // [layer] [T, 2C]
  std::vector<Values> written;      // [layer] [length * rows, 2C]: row r of call t at t * rows + r
  std::int32_t* seen = nullptr;     // [rows * length]: rows of `written`, of one row behind those of another
  std::int32_t* offsets = nullptr;  // [rows + 1] into `seen`
  StepRowMemory step;
  Values query;  // [rows, C]
  // Where attention wants whole blocks, the rows of a source fill some of their own.
  std::int32_t* spread = nullptr;  // [spread rows]: the row of the step that stands there, or any in padding
  std::int32_t* together = nullptr;  // [rows]: where each row stands
  Values spread_query;               // [spread rows, C]
  Values spread_context;
};

// A source has one row at least, so that its padding is less than a block for each row.
std::int64_t spread_rows(const ModelConfig& config, const DecoderLimits& limits) {
  return limits.rows * config.block_size;
}

StepMemory plan_steps(Arena& arena, const ModelConfig& of_model, const DecoderLimits& limits,
                      bool whole_blocks) {
  const ModelConfig config = decoder_config(of_model);
  const std::int64_t width = config.hidden_size, rows = limits.rows;
  StepMemory to;
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    to.sources.push_back(arena.values("keys and values of the sources", 2 * limits.source_tokens * width));
    to.written.push_back(
        arena.values("keys and values of what is written", 2 * limits.length * rows * width));
  }
  const std::string what = "activations of a step";
  to.seen = arena.integers(what, rows * limits.length);
  to.offsets = arena.integers(what, rows + 1);
  to.step = plan_step_rows(arena, config, rows, rows);
  to.query = arena.values(what, rows * width);
  if (whole_blocks) {
    to.spread = arena.integers(what, spread_rows(config, limits));
    to.together = arena.integers(what, rows);
    to.spread_query = arena.values(what, spread_rows(config, limits) * width);
    to.spread_context = arena.values(what, spread_rows(config, limits) * width);
  }
  return to;
}

std::size_t step_bytes(const ModelConfig& config, const DecoderLimits& limits,
                       const kernels::Backend& backend) {
  Arena arena(nullptr, backend);
  plan_steps(arena, config, limits, backend.wants_whole_blocks());
  return arena.used();
}

// The attention of one step over one source. What the backend takes for it beside the model's is a few
// hundred bytes a slot.
kernels::AttentionLimits cross_limits(const ModelConfig& config, const DecoderLimits& limits) {
  const kernels::AttentionBatch call = attention_call(config);
  kernels::AttentionLimits most;
  most.slots = limits.rows;
  most.sequences = 1;
  most.tokens = most.longest = std::max(limits.source_tokens, spread_rows(config, limits));
  most.heads = call.heads;
  most.head_size = call.head_size;
  most.block_size = call.block_size;
  return most;
}

// The rows of a step that are written of one source: `count` from `row` on, which stand at `place` of the
// spread rows (or at `row` again), and the first row of the source's keys.
struct CrossCall {
  AttentionRun run;
  Index row, place, key_row;
};

}  // namespace

struct DecoderSteps::Impl {
  Impl(Model& of, const DecoderLimits& up_to)
      : model(of),
        limits(up_to),
        config(decoder_config(of.config())),
        plans(config.num_attention_heads),
        whole_blocks(of.backend().wants_whole_blocks()),
        memory(model.backend(), step_bytes(of.config(), up_to, of.backend())),
        step(model.backend(), config, held.step) {
    Arena arena(memory.bytes(), model.backend());
    held = plan_steps(arena, of.config(), limits, whole_blocks);
    first_slot = model.backend().reserve_scratch(cross_limits(config, limits));
  }
  ~Impl() { model.backend().release_slots(first_slot, limits.rows); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void stage(std::span<const std::int32_t> tokens, std::span<const std::int32_t> parents) {
    const auto rows = tokens.size();
    std::vector<std::vector<std::int32_t>> next;
    std::vector<std::int32_t> seen, offsets{0};
    for (std::size_t row = 0; row < rows; ++row) {
      std::vector<std::int32_t>& path = next.emplace_back(
          written == 0 ? std::vector<std::int32_t>() : paths.at(static_cast<std::size_t>(parents[row])));
      path.push_back(static_cast<std::int32_t>(written * limits.rows + static_cast<std::int64_t>(row)));
      seen.insert(seen.end(), path.begin(), path.end());
      offsets.push_back(static_cast<std::int32_t>(seen.size()));
    }
    paths = std::move(next);
    const std::vector<std::int32_t> positions(rows, static_cast<std::int32_t>(written));
    kernels::Backend& backend = model.backend();
    backend.upload(held.step.ids, tokens.data(), rows * sizeof(std::int32_t));
    backend.upload(held.step.positions, positions.data(), rows * sizeof(std::int32_t));
    backend.upload(held.seen, seen.data(), seen.size() * sizeof(std::int32_t));
    backend.upload(held.offsets, offsets.data(), offsets.size() * sizeof(std::int32_t));
  }

  // Which rows ask which source, the same for all layers. It changes with a source that is done, seldom from
  // step to step.
  void stage_sources(std::span<const std::int32_t> sources) {
    if (std::equal(sources.begin(), sources.end(), staged.begin(), staged.end())) return;
    kernels::Backend& backend = model.backend();
    const Batch& batch = model.decoder_view().batch;
    std::vector<std::int32_t> spread, together;
    calls.clear();
    for (std::size_t first = 0, end = 0; first < sources.size(); first = end) {
      while (end < sources.size() && sources[end] == sources[first]) ++end;
      const auto source = static_cast<std::size_t>(sources[first]);
      const Index count = static_cast<Index>(end - first), key_row = batch.token_offsets[source];
      const Index key_rows = batch.token_offsets[source + 1] - key_row;
      const auto blocks = [&](Index tokens) { return (tokens + config.block_size - 1) / config.block_size; };
      const Index places = whole_blocks ? blocks(count) * config.block_size : count;
      AttentionRun run(0, attention_call(config));
      run.append_cross(places, count, key_rows, batch.lengths[source],
                       plans.cross(blocks(count), blocks(key_rows)));
      run.set_slot(first_slot + static_cast<Index>(calls.size()));
      const Index row = static_cast<Index>(first),
                  place = whole_blocks ? static_cast<Index>(spread.size()) : row;
      calls.push_back({std::move(run), row, place, key_row});
      if (!whole_blocks) continue;
      for (Index i = 0; i < places; ++i) {
        spread.push_back(static_cast<std::int32_t>(row + (i < count ? i : 0)));
        if (i < count) together.push_back(static_cast<std::int32_t>(place + i));
      }
    }
    for (const CrossCall& call : calls) backend.prepare_attention(call.run.call());
    if (whole_blocks) {
      backend.upload(held.spread, spread.data(), spread.size() * sizeof(std::int32_t));
      backend.upload(held.together, together.data(), together.size() * sizeof(std::int32_t));
      spread_count = static_cast<Index>(spread.size());
    }
    staged.assign(sources.begin(), sources.end());
  }

  void self_attention(const AttentionTensors& tensors, Values cache, Index rows) {
    kernels::Backend& backend = model.backend();
    const Index width = config.hidden_size;
    const Values now = cache + 2 * written * limits.rows * width;
    const kernels::ConstValues input = step.branch_input(tensors.norm, rows);
    backend.linear_forward(input, outputs_of(tensors.qkv, 0, width), held.query, rows);
    backend.linear_forward(input, outputs_of(tensors.qkv, width, 2 * width), now, rows);
    const kernels::AttentionBatch call = attention_call(config);
    backend.attend_rows({rows, call.heads, call.head_size, call.scale, held.seen, held.offsets},
                        {{held.query, width}, {cache, 2 * width}, {cache + width, 2 * width}},
                        {held.step.context, width}, nullptr);
    step.join(held.step.context, tensors.output, tensors.norm, rows);
  }

  void cross_attention(const CrossAttentionTensors& tensors, Values cache, Index rows) {
    kernels::Backend& backend = model.backend();
    const Index width = config.hidden_size;
    backend.linear_forward(step.branch_input(tensors.norm, rows), tensors.query, held.query, rows);
    if (whole_blocks) backend.gather_rows(held.query, held.spread, held.spread_query, spread_count, width);
    const Values query = whole_blocks ? held.spread_query : held.query;
    const Values context = whole_blocks ? held.spread_context : held.step.context;
    for (const CrossCall& call : calls) {
      const Values keys = cache + 2 * call.key_row * width;
      const Index place = call.place * width;
      backend.attention_forward(call.run.call(),
                                {{query + place, width}, {keys, 2 * width}, {keys + width, 2 * width}},
                                {context + place, width}, nullptr);
    }
    if (whole_blocks) backend.gather_rows(context, held.together, held.step.context, rows, width);
    step.join(held.step.context, tensors.output, tensors.norm, rows);
  }

  Model& model;
  const DecoderLimits limits;
  const ModelConfig config;
  DecoderPlans plans;
  const bool whole_blocks;
  DeviceMemory memory;
  StepMemory held;
  StepRows step;
  std::int64_t written = 0;  // calls since begin()
  std::vector<std::vector<std::int32_t>> paths;
  std::vector<std::int32_t> staged;  // the sources that `calls` are of
  std::vector<CrossCall> calls;
  Index first_slot = 0;
  Index spread_count = 0;
};

std::vector<MemoryRow> plan_decoder_memory(const ModelConfig& config, const DecoderLimits& limits,
                                           const kernels::Backend& backend) {
  Arena arena(nullptr, backend);
  plan_steps(arena, config, limits, backend.wants_whole_blocks());
  return arena.rows();
}

DecoderSteps::DecoderSteps(Model& model, const DecoderLimits& limits) {
  if (!model.config().has_decoder()) throw_runtime("a model without a decoder writes nothing");
  impl_ = std::make_unique<Impl>(model, limits);
}
DecoderSteps::~DecoderSteps() = default;

void DecoderSteps::begin() {
  const DecoderView view = impl_->model.decoder_view();
  if (view.batch.tokens() > impl_->limits.source_tokens) {
    throw_runtime(fmt::format("sources of {} tokens, the decoder was made for {}", view.batch.tokens(),
                              impl_->limits.source_tokens));
  }
  for (std::size_t layer = 0; layer < view.tensors.layers.size(); ++layer) {
    throw_if_cancelled_anywhere();
    view.backend.linear_forward(view.hidden, view.tensors.layers[layer].cross_attention.key_value,
                                impl_->held.sources[layer], view.batch.tokens());
  }
  impl_->written = 0;
  impl_->staged.clear();
}

void DecoderSteps::step(std::span<const std::int32_t> tokens, std::span<const std::int32_t> parents,
                        std::span<const std::int32_t> sources) {
  Impl& of = *impl_;
  const DecoderView view = of.model.decoder_view();
  const Index rows = static_cast<Index>(tokens.size());
  if (rows == 0 || rows > of.limits.rows || of.written >= of.limits.length ||
      of.written >= of.config.max_position_embeddings) {
    throw_runtime(fmt::format("{} rows at position {} of a decoder for {} rows of {} tokens", rows,
                              of.written, of.limits.rows, of.limits.length));
  }
  of.stage(tokens, parents);
  of.stage_sources(sources);
  of.step.embed(view.tensors.embeddings, rows);
  for (std::size_t layer = 0; layer < view.tensors.layers.size(); ++layer) {
    const DecoderLayerTensors& tensors = view.tensors.layers[layer];
    of.self_attention(tensors.attention, of.held.written[layer], rows);
    of.cross_attention(tensors.cross_attention, of.held.sources[layer], rows);
    of.step.feed_forward(tensors.feed_forward, rows);
  }
  of.step.predict(of.held.step.state, view.tensors.final_norm, view.tensors.output, rows);
  ++of.written;
}

std::span<const float> DecoderSteps::logits() {
  return impl_->step.logits();
}

TopTokens DecoderSteps::top(std::int64_t count) {
  return impl_->step.top(count);
}

}  // namespace bigbird
