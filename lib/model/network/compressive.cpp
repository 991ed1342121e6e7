// See compressive.h.
#include "lib/model/network/compressive.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "lib/core/error.h"
#include "lib/model/attention_systems.h"
#include "lib/model/network/attention_recurrent.h"

namespace bigbird {
namespace {

void copy_rows(const PassContext& pass, kernels::Values from, kernels::Values to, std::int64_t count) {
  pass.backend.copy(to.data(), from.data(), bytes_of(to, count));
}

// [count, width] of which the first `filled` rows are there.
void clear_rest(const PassContext& pass, kernels::Values rows, std::int64_t filled, std::int64_t count,
                std::int64_t width) {
  if (count > filled)
    pass.backend.zero((rows + filled * width).data(), bytes_of(rows, (count - filled) * width));
}

kernels::Values fresh_of(const PassContext& pass, std::int64_t layer, const CompressiveActivations& kept) {
  const std::int64_t rows = kept.rows / pass.config.attention_options.compressive.rate;
  return kept.fresh + (pass.recurrent->keeps_at_once ? 0 : layer) * rows * pass.width();
}

// A product of dilated: its number is that of its tensors.
struct RowProduct {
  std::int64_t dilation = 1, stride = 1;
};
std::array<RowProduct, 3> row_products(const ModelConfig& config) {
  return {{{1, 1}, {2, 1}, {4, config.attention_options.compressive.rate}}};
}

// The rows of x [rows, C] that outputs have at a tap, and the places of these in their windows.
struct Tap {
  std::int64_t first_row = 0, first_window = 0, count = 0;
};
Tap tap_of(const RowProduct& product, std::int64_t rate, std::int64_t tap, std::int64_t rows) {
  const std::int64_t behind = (rate - 1 - tap) * product.dilation, stride = product.stride;
  Tap of;
  of.first_window = std::max<std::int64_t>(behind, 0) / stride;  // s j + s - 1 >= behind
  of.first_row = stride * of.first_window + stride - 1 - behind;
  of.count = std::max<std::int64_t>(rows / stride - of.first_window, 0);
  return of;
}

// Calls visit(taps, first row, first window) for every sequence and tap.
template <typename Visit>
void each_tap(const PassContext& pass, const RowProduct& product, Visit visit) {
  const std::int64_t rate = pass.config.attention_options.compressive.rate;
  for (const PushedRows& of : pass.recurrent->compressive.pushed) {
    const std::int64_t first = of.first_source / product.stride;
    for (std::int64_t tap = 0; tap < rate; ++tap) {
      const Tap taken = tap_of(product, rate, tap, of.fresh * rate);
      if (taken.count > 0) visit(tap, taken, of.first_source + taken.first_row, first + taken.first_window);
    }
  }
}

// windows [outputs, c C] of x [sources, C].
void gather_windows(const PassContext& pass, const RowProduct& product, kernels::Values x,
                    kernels::Values windows) {
  const kernels::Index width = pass.width(), wide = width * pass.config.attention_options.compressive.rate;
  pass.backend.zero(windows.data(),
                    bytes_of(windows, pass.recurrent->compressive.sources / product.stride * wide));
  each_tap(pass, product, [&](std::int64_t tap, const Tap& taken, std::int64_t row, std::int64_t window) {
    pass.backend.add_rows({x + row * width, product.stride * width},
                          {windows + (window * wide + tap * width), wide}, taken.count, width);
  });
}
// dx [sources, C] of dwindows.
void spread_windows(const PassContext& pass, const RowProduct& product, kernels::Values dwindows,
                    kernels::Values dx) {
  const kernels::Index width = pass.width(), wide = width * pass.config.attention_options.compressive.rate;
  pass.backend.zero(dx.data(), bytes_of(dx, pass.recurrent->compressive.sources * width));
  each_tap(pass, product, [&](std::int64_t tap, const Tap& taken, std::int64_t row, std::int64_t window) {
    pass.backend.add_rows({dwindows + (window * wide + tap * width), wide},
                          {dx + row * width, product.stride * width}, taken.count, width);
  });
}

// The numbers of the `count` largest of a row's weights, ascending; of equal ones the first.
std::vector<std::int64_t> largest(const std::vector<double>& weights, std::int64_t count) {
  std::vector<std::int64_t> order(weights.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return weights[static_cast<std::size_t>(a)] > weights[static_cast<std::size_t>(b)];
  });
  order.resize(static_cast<std::size_t>(count));
  std::sort(order.begin(), order.end());
  return order;
}

void take_most_used(const PassContext& pass, std::int64_t layer, const AttentionActivations& kept) {
  const RecurrentActivations& work = kept.recurrent;
  const kernels::Index width = pass.width();
  const kernels::Values fresh = fresh_of(pass, layer, work.compressive);
  const std::vector<double> all = key_weights(pass, layer, kept);
  for (const PushedRows& of : pass.recurrent->compressive.pushed) {
    const auto first = all.begin() + of.first_old;
    const std::vector<double> weights(first, first + of.pushed);
    std::int64_t to = of.first_fresh;
    for (const std::int64_t row : largest(weights, of.fresh))
      copy_rows(pass, work.rows + (of.first_old + row) * width, fresh + to++ * width, width);
  }
}

// own.sources, and what they become.
void compress(const PassContext& pass, std::int64_t layer, const AttentionTensors& tensors,
              const AttentionActivations& kept) {
  kernels::Backend& backend = pass.backend;
  const CompressivePass& of_pass = pass.recurrent->compressive;
  const CompressiveActivations& own = kept.recurrent.compressive;
  const CompressiveOptions& options = pass.config.attention_options.compressive;
  const kernels::Index width = pass.width();
  const kernels::Values fresh = fresh_of(pass, layer, own);
  const kernels::RowSpans spans{own.first, own.length, of_pass.fresh};
  if (options.compression == Compression::most_used) return take_most_used(pass, layer, kept);
  for (const PushedRows& of : of_pass.pushed) {
    copy_rows(pass, kept.recurrent.rows + of.first_old * width, own.sources + of.first_source * width,
              of.fresh * options.rate * width);
  }
  switch (options.compression) {
    case Compression::conv:  // windows lie behind each other
      backend.linear_forward(own.sources, tensors.compression[0], fresh, of_pass.fresh);
      break;
    case Compression::dilated: {
      kernels::Values x = own.sources;
      for (std::size_t i = 0; i < 3; ++i) {
        const RowProduct product = row_products(pass.config)[i];
        const kernels::Values y = i < 2 ? own.between[i] : fresh;
        gather_windows(pass, product, x, own.windows);
        backend.linear_forward(own.windows, tensors.compression[i], y, of_pass.sources / product.stride);
        x = y;
      }
      break;
    }
    case Compression::mean:
      backend.mean_rows_forward(own.sources, spans, fresh, width);
      break;
    case Compression::max:
      backend.max_rows_forward(own.sources, spans, fresh, width);
      break;
    case Compression::most_used:
      break;
  }
}

kernels::QueryKeyValue read(kernels::Values query, kernels::Values key_value, kernels::Index width) {
  return {{query, width}, {key_value, 2 * width}, {key_value + width, 2 * width}};
}

// own.wanted and own.made: attention over what is pushed out, and over what it became.
void reconstruct(const PassContext& pass, std::int64_t layer, const AttentionTensors& tensors,
                 kernels::ConstValues input, const AttentionActivations& kept) {
  kernels::Backend& backend = pass.backend;
  const CompressivePass& of_pass = pass.recurrent->compressive;
  const CompressiveActivations& own = kept.recurrent.compressive;
  const kernels::Index width = pass.width();
  const kernels::Values key_value = kept.qkv + pass.tokens() * width, fresh = fresh_of(pass, layer, own);
  for (const PushedRows& of : of_pass.pushed) {
    const std::int64_t first = pass.recurrent->segments[of.segment].first;
    backend.copy((own.input + of.first_query * width).data(), (input + first * width).data(),
                 bytes_of(own.input, of.queries * width));
    const kernels::Values old = own.old_key_value + of.first_old_key * 2 * width,
                          keys = own.keys + of.first_fresh_key * width;
    copy_rows(pass, key_value + of.first_old * 2 * width, old, of.pushed * 2 * width);
    clear_rest(pass, old, of.pushed, of.old_keys, 2 * width);
    copy_rows(pass, fresh + of.first_fresh * width, keys, of.fresh * width);
    clear_rest(pass, keys, of.fresh, of.fresh_keys, width);
  }
  LinearTensors query = tensors.query;  // without the bias of content
  query.bias = nullptr;
  backend.linear_forward(own.input, query, own.query, of_pass.queries);
  backend.linear_forward(own.keys, tensors.key_value, own.key_value, of_pass.fresh_keys);
  backend.attention_forward(of_pass.wanted.front().call(), read(own.query, own.old_key_value, width),
                            {kernels::Values(own.wanted), width}, own.wanted_sums);
  backend.attention_forward(of_pass.made.front().call(), read(own.query, own.key_value, width),
                            {kernels::Values(own.made), width}, own.made_sums);
}

// The squares of a layer's sequences, and their gradient where one is wanted.
void compare(const PassContext& pass, std::int64_t layer, const CompressiveActivations& own, bool gradient) {
  const kernels::Index width = pass.width();
  const CompressivePass& of_pass = pass.recurrent->compressive;
  for (std::size_t i = 0; i < of_pass.pushed.size(); ++i) {
    const PushedRows& of = of_pass.pushed[i];
    const std::int64_t at = of.first_query * width;
    kernels::LossGradient to;
    if (gradient) to = {kernels::Values(own.dmade + at), own.scales + i};
    pass.backend.squared_error({kernels::ConstValues(own.made + at), of.queries, width}, own.wanted + at,
                               own.losses + layer * own.rows + of.first_query, to);
  }
}

}  // namespace

MemoryStep memory_step(const ModelConfig& config, std::int64_t remembered, std::int64_t length) {
  const std::int64_t most = config.attention_options.recurrent.memory;
  const CompressiveOptions& options = config.attention_options.compressive;
  MemoryStep step;
  step.plain = std::min(remembered, most);
  step.compressed = remembered - step.plain;
  step.pushed = std::max<std::int64_t>(step.plain + length - most, 0);
  step.fresh = step.pushed / options.rate;
  step.plain_after = step.plain + length - step.pushed;
  step.compressed_after = std::min(step.compressed + step.fresh, options.compressed);
  return step;
}

bool weighs_keys(const ModelConfig& config, const ModelOptions& options) {
  if (options.key_weights) return true;
  return compresses(config) && config.attention_options.compressive.compression == Compression::most_used;
}

bool always_pads(const ModelConfig& config, const ModelOptions& options) {
  return options.training || config.has_stem() || weighs_keys(config, options);
}

kernels::Index compressive_slots(const ModelConfig& config) {
  return learns_compression(config) ? 2 : 0;
}

CompressiveActivations plan_compressive(Arena& arena, const ModelConfig& config, const BatchLimits& limits,
                                        bool training) {
  CompressiveActivations to;
  if (!compresses(config) || limits.streams == 0) return to;
  const std::string what = "compressed rows";
  const CompressiveOptions& options = config.attention_options.compressive;
  const std::int64_t width = config.hidden_size, heads = config.num_attention_heads, rows = limits.tokens,
                     windows = rows / options.rate, layers = config.num_hidden_layers;
  to.rows = rows;
  to.fresh = arena.values(what, (training ? layers : 1) * windows * width);
  if (options.compression == Compression::most_used) return to;
  to.sources = arena.values(what, rows * width);
  if (!learns_compression(config)) {
    to.first = arena.integers(what, windows);
    to.length = arena.integers(what, windows);
    return to;
  }
  if (options.compression == Compression::dilated) {
    to.windows = arena.values(what, rows * options.rate * width);
    for (kernels::Values& between : to.between) between = arena.values(what, rows * width);
    if (training) to.dwindows = arena.values(what, rows * options.rate * width);
  }
  if (!training) return to;
  to.input = arena.values(what, rows * width);
  to.query = arena.values(what, rows * width, arena.operands());
  to.old_key_value = arena.values(what, rows * 2 * width, arena.operands());
  to.keys = arena.values(what, rows * width);
  to.key_value = arena.values(what, rows * 2 * width, arena.operands());
  to.wanted = arena.floats(what, rows * width);
  to.made = arena.floats(what, rows * width);
  to.dmade = arena.floats(what, rows * width);
  to.wanted_sums = arena.floats(what, heads * rows);
  to.made_sums = arena.floats(what, heads * rows);
  to.losses = arena.floats(what, layers * rows);
  to.scales = arena.floats(what, limits.sequences);
  to.dquery = arena.values(what, rows * width, arena.operands());
  to.dkey_value = arena.values(what, rows * 2 * width, arena.operands());
  to.dkeys = arena.values(what, rows * width);
  return to;
}

void fill_compressive(kernels::Backend& backend, const ModelConfig& config,
                      const CompressiveActivations& kept) {
  if (kept.made != nullptr && backend.element_type() != kernels::ElementType::fp32) {
    throw_usage("attention compressive learns its compression only in fp32, not in the precision of " +
                    backend.name(),
                "take precision fp32 or tf32, or compression mean or max");
  }
  if (kept.first == nullptr) return;
  const std::int64_t rate = config.attention_options.compressive.rate;
  std::vector<std::int32_t> first, length;
  for (std::int64_t window = 0; window < kept.rows / rate; ++window) {
    first.push_back(static_cast<std::int32_t>(window * rate));
    length.push_back(static_cast<std::int32_t>(rate));
  }
  backend.upload(kept.first, first.data(), first.size() * sizeof(std::int32_t));
  backend.upload(kept.length, length.data(), length.size() * sizeof(std::int32_t));
}

CompressivePass compressive_pass(const ModelConfig& config, const std::vector<RecurrentSegment>& segments,
                                 bool training, RecurrentPlans& plans, kernels::Index first_slot) {
  CompressivePass pass;
  if (!compresses(config)) return pass;
  const std::int64_t block = config.block_size;
  const auto blocks = [&](std::int64_t rows) { return (rows + block - 1) / block; };
  kernels::AttentionBatch call = attention_call(config);
  AttentionRun wanted(0, call), made(0, call);
  wanted.set_slot(first_slot);
  made.set_slot(first_slot + 1);
  const auto append = [&](AttentionRun& run, const PushedRows& of, std::int64_t keys, std::int64_t real) {
    // As if every query stood behind all keys.
    run.append_cross(of.queries, of.length, keys, real,
                     plans.plan(blocks(of.queries), blocks(of.length), blocks(real), block, real, {-1}));
  };
  for (std::size_t number = 0; number < segments.size(); ++number) {
    const RecurrentSegment& segment = segments[number];
    const MemoryStep step = memory_step(config, segment.remembered, segment.length);
    if (segment.stream < 0 || step.fresh == 0) continue;
    PushedRows& of = pass.pushed.emplace_back();
    of.segment = number;
    of.first_old = segment.first_key + step.compressed;
    of.pushed = step.pushed;
    of.fresh = step.fresh;
    of.first_source =
        std::exchange(pass.sources, pass.sources + of.fresh * config.attention_options.compressive.rate);
    of.first_fresh = std::exchange(pass.fresh, pass.fresh + of.fresh);
    of.queries = segment.rows;
    of.length = segment.length;
    of.old_keys = blocks(of.pushed) * block;
    of.fresh_keys = blocks(of.fresh) * block;
    of.first_query = std::exchange(pass.queries, pass.queries + of.queries);
    of.first_old_key = std::exchange(pass.old_keys, pass.old_keys + of.old_keys);
    of.first_fresh_key = std::exchange(pass.fresh_keys, pass.fresh_keys + of.fresh_keys);
    if (!training || !learns_compression(config)) continue;
    append(wanted, of, of.old_keys, of.pushed);
    append(made, of, of.fresh_keys, of.fresh);
  }
  if (!training || !learns_compression(config) || pass.pushed.empty()) return pass;
  pass.wanted.push_back(std::move(wanted));
  pass.made.push_back(std::move(made));
  return pass;
}

void compressive_forward(const PassContext& pass, std::int64_t layer, const AttentionTensors& tensors,
                         kernels::ConstValues input, const AttentionActivations& kept) {
  const CompressivePass& of_pass = pass.recurrent->compressive;
  if (of_pass.pushed.empty()) return;
  compress(pass, layer, tensors, kept);
  if (of_pass.made.empty()) return;
  reconstruct(pass, layer, tensors, input, kept);
  compare(pass, layer, kept.recurrent.compressive, false);
}

void compressive_backward(const PassContext& pass, std::int64_t layer, const AttentionTensors& tensors,
                          const AttentionTensors& gradients, kernels::ConstValues input,
                          const AttentionActivations& kept) {
  kernels::Backend& backend = pass.backend;
  const CompressivePass& of_pass = pass.recurrent->compressive;
  const CompressiveActivations& own = kept.recurrent.compressive;
  const kernels::Index width = pass.width();
  if (of_pass.made.empty()) return;
  compress(pass, layer, tensors, kept);  // layers share all but what it gives
  reconstruct(pass, layer, tensors, input, kept);
  compare(pass, layer, own, true);
  backend.attention_backward(
      of_pass.made.front().call(), read(own.query, own.key_value, width), {kernels::Values(own.made), width},
      own.made_sums, {kernels::Values(own.dmade), width},
      {{own.dquery, width}, {own.dkey_value, 2 * width}, {own.dkey_value + width, 2 * width}});
  backend.linear_backward_input(own.dkey_value, tensors.key_value, own.dkeys, of_pass.fresh_keys, false);
  const kernels::Values dfresh = own.keys;  // which are spent
  for (const PushedRows& of : of_pass.pushed) {
    copy_rows(pass, own.dkeys + of.first_fresh_key * width, dfresh + of.first_fresh * width,
              of.fresh * width);
  }
  const std::array<LinearTensors, 3>& to = gradients.compression;
  if (pass.config.attention_options.compressive.compression == Compression::conv) {
    backend.linear_backward_weight(dfresh, own.sources, tensors.compression[0], to[0], of_pass.fresh);
    return;
  }
  kernels::Values dy = dfresh;
  for (std::size_t i = 3; i-- > 0;) {
    const RowProduct product = row_products(pass.config)[i];
    const std::int64_t outputs = of_pass.sources / product.stride;
    gather_windows(pass, product, i > 0 ? own.between[i - 1] : own.sources, own.windows);
    backend.linear_backward_weight(dy, own.windows, tensors.compression[i], to[i], outputs);
    if (i == 0) break;
    backend.linear_backward_input(dy, tensors.compression[i], own.dwindows, outputs, false);
    // The inputs of the layers above are spent.
    const kernels::Values dx = i == 2 ? own.dkeys : own.between[1];
    spread_windows(pass, product, own.dwindows, dx);
    dy = dx;
  }
}

void compressive_remember(const PassContext& pass, std::int64_t layer, const RecurrentActivations& kept) {
  const kernels::Index width = pass.width();
  const std::vector<PushedRows>& pushed = pass.recurrent->compressive.pushed;
  auto next = pushed.begin();
  for (std::size_t number = 0; number < pass.recurrent->segments.size(); ++number) {
    const RecurrentSegment& of = pass.recurrent->segments[number];
    if (of.stream < 0) continue;
    const MemoryStep step = memory_step(pass.config, of.remembered, of.length);
    const std::int64_t fresh = std::min(step.fresh, step.compressed_after),
                       stay = step.compressed_after - fresh;
    const kernels::Values to = pass.recurrent->streams->at(layer, of.stream);
    const std::int64_t end = of.first_key + of.memory + of.length;
    copy_rows(pass, kept.rows + (of.first_key + step.compressed - stay) * width, to, stay * width);
    if (next != pushed.end() && next->segment == number) {
      const std::int64_t first = next->first_fresh + next->fresh - fresh;
      copy_rows(pass, fresh_of(pass, layer, kept.compressive) + first * width, to + stay * width,
                fresh * width);
      ++next;
    }
    copy_rows(pass, kept.rows + (end - step.plain_after) * width, to + step.compressed_after * width,
              step.plain_after * width);
  }
}

void bring_compression_scale(kernels::Backend& backend, const CompressivePass& pass, std::int64_t width,
                             float scale, const CompressiveActivations& kept) {
  if (pass.made.empty()) return;
  std::vector<float> scales;
  for (const PushedRows& of : pass.pushed) scales.push_back(scale / static_cast<float>(of.length * width));
  backend.upload(kept.scales, scales.data(), scales.size() * sizeof(float));
}

LossTerm compression_loss(const PassContext& pass, const CompressiveActivations& kept) {
  if (!pass.training) return {};
  const CompressivePass& of_pass = pass.recurrent->compressive;
  LossTerm loss{0, pass.batch.sequences(), 0};
  for (std::int64_t layer = 0; !of_pass.made.empty() && layer < pass.config.num_hidden_layers; ++layer) {
    std::vector<float> rows(static_cast<std::size_t>(of_pass.queries));
    pass.backend.download_values(rows.data(), kernels::ConstValues(kept.losses + layer * kept.rows),
                                 of_pass.queries);
    for (const PushedRows& of : of_pass.pushed) {
      const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(of.first_query);
      loss.sum += std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(of.queries), 0.0) /
                  static_cast<double>(of.length * pass.width());
    }
  }
  return loss;
}

}  // namespace bigbird
