// What lays out the memory of one pass, for memory.cpp, which has its stacks, and memory_heads.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "lib/model/network/memory.h"

namespace bigbird {

// Of targets, where logits are taken in pieces: 47 MiB of a vocabulary of 96,103, and enough of them that
// packing the table for a product is a small part of it (with 64, all packing was 8 % of an update of a
// small model).
constexpr std::int64_t rows_of_logits = 128;

// Everything that is needed to lay out one pass, so that the parts below read as tables.
struct Planner {
  Arena& arena;
  const ModelConfig& config;
  std::int64_t tokens, width, inner, heads;
  std::int64_t last_rows;            // of the last layer behind its attention
  kernels::ElementType operands;     // of what only products and attention read
  std::int64_t globals = 0;          // G of windows with global tokens
  std::int64_t projections = 3;      // of a token: queries, keys and values, [*, C] each
  std::int64_t memory_rows = 0;      // K - T: of keys and values that are of no token
  std::int64_t labels = 0;           // R of a layer with a memory
  BackwardWorkspace workspace = {};  // in training
  std::string activated = {};        // the row of what activations give, where it is kept

  // Columns of what the heads read.
  std::int64_t read() const { return head_width(config); }
  // Columns of what a feed-forward part's activation reads.
  std::int64_t inner_outputs() const { return config.gated_feed_forward ? 2 * inner : inner; }
  bool postnorm() const { return config.norm_type == NormType::postnorm; }

  // Rows of queries, keys and values.
  std::int64_t projected() const { return tokens * projections + memory_rows * (projections - 1); }

  NormState norm_state(const std::string& what, std::int64_t rows) {
    return {arena.floats(what, rows), arena.floats(what, rows)};
  }

  // A layer whose intermediate results are all kept, `rows` of them behind its attention. The output (norm or
  // sum of the feed-forward part) is the caller's.
  LayerActivations kept_layer(const std::string& what, std::int64_t rows) {
    LayerActivations layer;
    layer.attention.qkv = arena.values(what, projected() * width, operands);
    layer.attention.context = arena.values(what, tokens * width, operands);
    layer.attention.log_sum_exp = arena.floats(what, heads * tokens);
    layer.attention.sum = arena.values(what, rows * width);
    // Pre-LN: of the layer's input, before the attention.
    const std::int64_t norm_rows = postnorm() ? rows : tokens;
    layer.attention.norm = arena.values(what, norm_rows * width);
    layer.attention.norm_state = norm_state(what, norm_rows);
    layer.feed_forward.pre = arena.values(what, rows * inner_outputs(), operands);
    // Spent when the layer's output is there, before any gradient is under way; kept a quarter of a layer.
    layer.feed_forward.keeps_inner = !activated.empty();
    layer.feed_forward.inner =
        layer.feed_forward.keeps_inner ? arena.values(activated, rows * inner, operands) : workspace.wide;
    const kernels::Values other = arena.values(what, rows * width);
    (postnorm() ? layer.feed_forward.sum : layer.feed_forward.norm) = other;
    layer.feed_forward.norm_state = norm_state(what, rows);
    return layer;
  }

  // A layer of inference: one piece of memory, whose parts are used again as soon as their content is spent.
  // Parts of [T, C] are as large as their type, so that sum and norm may cover two others each.
  //   attention           q     k     v     context (pre-LN: before it the norm, which the qkv product reads)
  //   (BigBird-ETC has two keys and two values there)
  //   behind attention    sum   norm  the inner activations of the feed-forward part, [T, F], and of a gated
  //                                   one behind them what they are made of, [T, 2F]
  //   post-LN, at last    sum of the feed-forward part
  LayerActivations shared_layer(const std::string& what) {
    const auto bytes_of = [](std::int64_t count, kernels::ElementType type) {
      return static_cast<std::size_t>(count) * kernels::size_of(type);
    };
    const kernels::ElementType stream = arena.stream();
    const std::size_t operand = bytes_of(tokens * width, operands), state = bytes_of(tokens * width, stream);
    const std::int64_t gates = config.gated_feed_forward ? 2 * inner : 0;
    const std::size_t bytes = std::max(bytes_of(projected() * width, operands) + std::max(operand, state),
                                       2 * state + bytes_of(tokens * (inner + gates), operands));
    auto* const base = static_cast<std::byte*>(arena.bytes(what, bytes, operands));
    const auto at = [base](std::size_t offset, kernels::ElementType type) {
      return kernels::Values(base == nullptr ? nullptr : base + offset, type);
    };
    LayerActivations layer;
    layer.attention.qkv = at(0, operands);
    layer.attention.context = at(bytes_of(projected() * width, operands), operands);
    layer.attention.sum = at(0, stream);
    layer.attention.norm = at(postnorm() ? state : bytes_of(projected() * width, operands), stream);
    layer.feed_forward.inner = at(2 * state, operands);
    if (gates > 0) layer.feed_forward.pre = at(2 * state + bytes_of(tokens * inner, operands), operands);
    (postnorm() ? layer.feed_forward.sum : layer.feed_forward.norm) = at(postnorm() ? 0 : state, stream);
    return layer;
  }

  void add_globals(LayerActivations& layer, const std::string& what, bool kept) {
    if (globals == 0) return;
    GlobalActivations& global = layer.attention.global;
    global.key_value = arena.values(what, tokens * 2 * width, operands);
    global.query = arena.values(what, globals * width, operands);
    global.of_keys = arena.values(what, globals * 3 * width, operands);
    global.context = arena.values(what, globals * width, operands);
    if (kept) global.log_sum_exp = arena.floats(what, heads * globals);
  }

  void add_labels(LayerActivations& layer, const std::string& what) {
    if (labels == 0 || has_spans(config)) return;
    layer.attention.relative_weight = arena.floats(what, labels * width);
    layer.attention.relative_bias = arena.floats(what, labels * heads);
  }

  void set_output(LayerActivations& layer, kernels::Values output) const {
    (postnorm() ? layer.feed_forward.norm : layer.feed_forward.sum) = output;
  }
};

// Of a generation head.
void plan_decoder(Arena& arena, const ModelConfig& of_model, DecoderActivations& to,
                  const BatchLimits& limits, const ModelOptions& options, const kernels::Backend& backend);

// HIBERT's second encoder.
void plan_documents(Arena& arena, const ModelConfig& of_model, DocumentActivations& to,
                    const BatchLimits& limits, const ModelOptions& options);

// Of all heads, in memory_heads.cpp.
void plan_heads(Planner& plan, Activations& to, const BatchLimits& limits, const ModelOptions& options,
                const kernels::Backend& backend);

}  // namespace bigbird
