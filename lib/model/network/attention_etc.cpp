// See attention_etc.h.
#include "lib/model/network/attention_etc.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "lib/core/error.h"
#include "lib/model/attention_systems.h"
#include "lib/model/plans/patterns.h"

namespace bigbird {
namespace {

constexpr std::size_t long_side = 0, global_side = 1;

// Columns of [*, C] in the product of keys and values of one input: what its own queries read, and what those
// of the other input read (etc_products).
struct KeyColumns {
  kernels::Index own, across;  // the key's; its value is the next
};
KeyColumns key_columns(EtcProjections projections, std::size_t side) {
  if (projections == EtcProjections::shared) return {0, 0};
  if (projections == EtcProjections::by_query && side == global_side) return {2, 0};
  return {0, 2};
}

// A product of every input: one for all rows where both have the same.
template <typename Work>
void for_sides(const EtcPass& pass, const LayerTensors& tensors, LinearTensors EtcSideTensors::*which,
               const Work& work) {
  const EtcSideTensors &longs = tensors.sides[long_side], &globals = tensors.sides[global_side];
  const SideRows &first = pass.sides[long_side], &second = pass.sides[global_side];
  if ((longs.*which).weight == (globals.*which).weight) {
    work(long_side, SideRows{0, first.count + second.count});
    return;
  }
  work(long_side, first);
  work(global_side, second);
}

// Queries, keys and values of a pass, or their gradients.
struct Projected {
  kernels::Values queries, key_values;
  kernels::Index width, key_width;  // C, and the columns of key_values

  kernels::Rows query(const SideRows& rows) const { return {queries + rows.first * width, width}; }
  kernels::Rows key(const SideRows& rows, kernels::Index column) const {
    return {key_values + (rows.first * key_width + column * width), key_width};
  }
};

Projected projected(const PassContext& pass, kernels::Values first) {
  const kernels::Index width = pass.width();
  return {first, first + pass.tokens() * width, width, (projections_of_a_token(pass.config) - 1) * width};
}

kernels::QueryKeyValue read(const Projected& of, const SideRows& queries, const SideRows& keys,
                            kernels::Index column) {
  const kernels::Rows q = of.query(queries), k = of.key(keys, column), v = of.key(keys, column + 1);
  return {q, k, v};
}

// The calls of a layer for the queries of one input.
struct Calls {
  kernels::AttentionBatch own, across;
  std::optional<kernels::AttentionBatch> random;
};
Calls calls_of(const PassContext& pass, std::int64_t layer, std::size_t side) {
  const EtcPass& etc = *pass.etc;
  const auto number = static_cast<std::size_t>(layer);
  Calls calls{side == long_side ? pass.runs[number].front().call() : etc.global_run.front().call(),
              etc.across_runs[side].call(), std::nullopt};
  if (side == long_side && !etc.random_runs.empty()) calls.random = etc.random_runs[number].call();
  if (!etc.near.empty()) {
    calls.own.relative = &etc.near[number][side];
    calls.across.relative = &etc.far[number][side];
    if (calls.random) calls.random->relative = &etc.near[number][side];
  }
  const auto draw = [&](kernels::AttentionBatch& call, DropoutSite site) {
    if (call.drop_probability > 0) call.dropout_site = dropout_site(site, pass.first_layer + layer);
  };
  if (side == global_side) draw(calls.own, DropoutSite::global_probabilities);
  if (calls.random) draw(*calls.random, DropoutSite::random_probabilities);
  draw(calls.across,
       side == long_side ? DropoutSite::global_key_probabilities : DropoutSite::global_query_probabilities);
  return calls;
}

// Of the rows of one input.
PassContext part_of(const PassContext& pass, const SideRows& rows) {
  PassContext part = pass;
  part.row_count = rows.count;
  return part;
}
NormState part_of(const NormState& state, const SideRows& rows) {
  if (state.mean == nullptr) return state;
  return {state.mean + rows.first, state.rstd + rows.first};
}
kernels::Values part_of(kernels::Values values, const SideRows& rows, kernels::Index width) {
  return values == nullptr ? values : values + rows.first * width;
}
BackwardWorkspace part_of(const BackwardWorkspace& work, const SideRows& rows, kernels::Index width) {
  return {part_of(work.gradient, rows, width), part_of(work.branch, rows, width), work.wide};
}
ResidualActivations end_of_attention(const AttentionActivations& kept, const SideRows& rows,
                                     kernels::Index width) {
  return {part_of(kept.sum, rows, width), part_of(kept.norm, rows, width), part_of(kept.norm_state, rows)};
}
FeedForwardActivations part_of(const FeedForwardActivations& kept, const SideRows& rows, kernels::Index width,
                               kernels::Index inner) {
  return {part_of(kept.pre, rows, inner), kept.keeps_inner ? part_of(kept.inner, rows, inner) : kept.inner,
          part_of(kept.sum, rows, width), part_of(kept.norm, rows, width),
          part_of(kept.norm_state, rows), kept.keeps_inner};
}

constexpr std::array<DropoutSite, 2> output_sites{DropoutSite::attention_output,
                                                  DropoutSite::global_attention_output};

float* sums_of(const PassContext& pass, const AttentionActivations& kept, std::size_t side) {
  float* const sums = kept.log_sum_exp != nullptr ? kept.log_sum_exp : kept.etc.sums;
  return sums + pass.config.num_attention_heads * pass.etc->sides[side].first;
}

std::int64_t whole_blocks_of(std::int64_t rows, std::int64_t block) {
  return (rows + block - 1) / block * block;
}

// The first columns of links up to the last that is given, one at least.
kernels::Index link_columns(const GlobalTokens& globals) {
  kernels::Index columns = 1;
  for (std::size_t column = 1; column < globals.links.size(); ++column) {
    if (!globals.links[column].empty()) columns = static_cast<kernels::Index>(column) + 1;
  }
  return columns;
}

bool none_or_all(std::size_t size, std::int64_t all) {
  return size == 0 || size == static_cast<std::size_t>(all);
}

}  // namespace

const BlockPlan& EtcPlans::random(std::int64_t layer, std::int64_t blocks, std::int64_t own) {
  auto& slot = random_[{layer, blocks, own}];
  if (slot) return *slot;
  auto rows = etc_random_rows(own, config_.num_attention_heads, config_.block_size,
                              config_.attention_options.etc.radius, config_.num_random_blocks, layer);
  for (auto& head : rows) head.resize(static_cast<std::size_t>(blocks));
  slot = std::make_unique<BlockPlan>(rows);
  return *slot;
}

kernels::Index etc_slots(const ModelConfig& config) {
  return 3 + (config.num_random_blocks > 0 ? config.num_hidden_layers : 0);
}

void add_to_key(const EtcPass& pass, const Batch& batch, const std::function<void(std::int64_t)>& add) {
  for (const std::int64_t offset : batch.globals.token_offsets) add(offset);
  const kernels::PairRule &to_globals = pass.across[long_side], &to_longs = pass.across[global_side];
  for (const kernels::PairRule* rule : {&pass.window, &to_globals, &to_longs}) {
    add(rule->link_columns);
    add(rule->needed_links);
    add(rule->query_groups != nullptr ? 1 : 0);
    add(rule->free_queries != nullptr ? 1 : 0);
  }
  add(batch.globals.parts.empty() ? 0 : 1);
}

std::int64_t projections_of_a_token(const ModelConfig& config) {
  if (shares_queries(config)) return 2;
  if (config.attention != AttentionPattern::etc) return 3;
  return config.attention_options.etc.projections == EtcProjections::shared ? 3 : 5;
}

std::int64_t most_second_rows_of_one(const ModelConfig& config, const BatchLimits& limits) {
  if (config.attention != AttentionPattern::etc) return 0;
  const EtcOptions& options = config.attention_options.etc;
  if (limits.globals > 0)
    return std::min(limits.globals, whole_blocks_of(options.globals, config.block_size));
  const std::int64_t stretches = (limits.longest + options.stretch - 1) / options.stretch;
  return whole_blocks_of(std::min(stretches, options.globals), config.block_size);
}

std::int64_t most_second_rows(const ModelConfig& config, const BatchLimits& limits) {
  if (config.attention != AttentionPattern::etc) return 0;
  return limits.globals > 0 ? limits.globals : limits.sequences * most_second_rows_of_one(config, limits);
}

void check_globals(const Batch& batch, const ModelConfig& config, const BatchLimits& limits,
                   bool whole_blocks) {
  const GlobalTokens& globals = batch.globals;
  const std::int64_t longs = batch.tokens(), rows = globals.tokens();
  bool agree = globals.lengths.size() == batch.lengths.size() &&
               globals.token_offsets.size() == globals.lengths.size() + 1 &&
               globals.ids.size() == static_cast<std::size_t>(rows) &&
               globals.types.size() == globals.ids.size() && none_or_all(globals.segments.size(), longs) &&
               none_or_all(globals.examples.size(), longs) && none_or_all(globals.free.size(), longs) &&
               none_or_all(globals.parts.size(), rows) && none_or_all(globals.global_free.size(), rows) &&
               none_or_all(globals.global_examples.size(), rows) &&
               globals.examples.empty() == globals.global_examples.empty();
  for (const auto& column : globals.links) agree = agree && none_or_all(column.size(), longs);
  for (std::size_t s = 0; agree && s < globals.lengths.size(); ++s) {
    const std::int64_t of_one = globals.token_offsets[s + 1] - globals.token_offsets[s];
    agree = globals.lengths[s] > 0 && globals.lengths[s] <= of_one &&
            (!whole_blocks || of_one % config.block_size == 0);
    if (const std::int64_t most = config.attention_options.etc.globals; globals.lengths[s] > most) {
      throw_bad_input(
          fmt::format("a sequence of {} global tokens: the model takes {}", globals.lengths[s], most),
          "cut the input, or give the model a larger max_globals: no weight depends on it");
    }
  }
  if (!agree) throw_runtime("the two inputs of a batch do not agree in their sizes");
  if (rows > most_second_rows(config, limits)) {
    throw_runtime(fmt::format("a batch of {} global tokens, the model was built for {}", rows,
                              most_second_rows(config, limits)));
  }
  if (!globals.parts.empty() && config.attention_options.etc.distance > 0 &&
      etc_labels(config.attention_options.etc) < 2 * config.attention_options.etc.distance + 4) {
    throw_bad_input("documents of several parts have a label more than the model's tables have rows",
                    "take a model with a larger relative_labels");
  }
}

void etc_pass(const ModelConfig& config, const Batch& batch, bool training, const std::uint64_t* dropout_seed,
              EtcPlans& plans, kernels::Index first_slot, const EtcActivations& kept,
              const std::vector<LayerTensors>& layers, std::vector<std::vector<AttentionRun>>& runs,
              EtcPass& pass) {
  const EtcOptions& options = config.attention_options.etc;
  const GlobalTokens& globals = batch.globals;
  pass = {};
  pass.sides = {SideRows{0, batch.tokens()}, SideRows{batch.tokens(), globals.tokens()}};
  pass.window.before = pass.window.after = options.radius;
  if (!globals.segments.empty() || !globals.examples.empty()) {
    pass.window.query_groups = pass.window.key_groups = kept.segments;
    pass.beyond = {.query_groups = kept.segments, .key_groups = kept.segments};
  }
  kernels::PairRule &to_globals = pass.across[long_side], &to_longs = pass.across[global_side];
  if (!globals.examples.empty()) {
    pass.among_globals.query_groups = pass.among_globals.key_groups = kept.global_examples;
    to_globals.query_groups = to_longs.key_groups = kept.examples;
    to_globals.key_groups = to_longs.query_groups = kept.global_examples;
  }
  const kernels::Index columns = link_columns(globals);
  if (etc_labels(options) > 0 || options.hard_g2l || options.hard_l2g) {
    to_globals.link_columns = to_longs.link_columns = columns;
    to_globals.query_links = to_longs.key_links = kept.links;
    to_globals.key_links = to_longs.query_links = kept.global_links;
  }
  // A link of the last kind is a label alone (etcmodel's link_id).
  const kernels::Index hard_links = std::min(columns, static_cast<kernels::Index>(GlobalLink::other));
  if (options.hard_g2l) to_longs.needed_links = hard_links;
  if (options.hard_l2g) to_globals.needed_links = hard_links;
  if (options.hard_g2l && !globals.global_free.empty()) to_longs.free_queries = kept.global_free;
  if (options.hard_l2g && !globals.free.empty()) to_globals.free_queries = kept.free;

  for (std::size_t layer = 0; etc_labels(options) > 0 && layer < layers.size(); ++layer) {
    std::array<kernels::RelativeTerm, 2>&near = pass.near.emplace_back(), &far = pass.far.emplace_back();
    for (const std::size_t side : {long_side, global_side}) {
      const EtcSideTensors& tensors = layers[layer].sides[side];
      near[side] = {tensors.relative_weight, tensors.relative_bias, etc_labels(options), options.distance};
      far[side] = near[side];
      far[side].by_links = true;
    }
    if (!globals.parts.empty()) near[global_side].query_parts = near[global_side].key_parts = kept.parts;
  }

  for (std::vector<AttentionRun>& layer : runs) {
    for (AttentionRun& run : layer) run.set_rule(&pass.window);
  }
  kernels::AttentionBatch call = attention_call(config);
  if (training && config.attention_probs_dropout_prob > 0) {
    call.drop_probability = static_cast<float>(config.attention_probs_dropout_prob);
    call.dropout_seed = dropout_seed;
  }
  AttentionRun among(0, call), of_longs(0, call), of_globals(0, call);
  among.set_rule(&pass.among_globals);
  of_longs.set_rule(&to_globals);
  of_globals.set_rule(&to_longs);
  among.set_slot(first_slot);
  of_longs.set_slot(first_slot + 1);
  of_globals.set_slot(first_slot + 2);
  const auto blocks = [&](std::int64_t rows) { return (rows + config.block_size - 1) / config.block_size; };
  for (std::size_t s = 0; s < batch.lengths.size(); ++s) {
    const std::int64_t longs = batch.token_offsets[s + 1] - batch.token_offsets[s];
    const std::int64_t second = globals.token_offsets[s + 1] - globals.token_offsets[s];
    const std::int64_t length = batch.lengths[s], count = globals.lengths[s];
    among.append(second, count, count, plans.globals.cross(blocks(second), blocks(second)));
    of_longs.append_cross(longs, length, second, count, plans.globals.cross(blocks(longs), blocks(second)));
    of_globals.append_cross(second, count, longs, length, plans.globals.cross(blocks(second), blocks(longs)));
  }
  for (std::int64_t layer = 0; config.num_random_blocks > 0 && layer < config.num_hidden_layers; ++layer) {
    AttentionRun& run = pass.random_runs.emplace_back(0, call);
    run.set_rule(&pass.beyond);
    run.set_slot(first_slot + 3 + layer);
    for (std::size_t s = 0; s < batch.lengths.size(); ++s) {
      const std::int64_t longs = batch.token_offsets[s + 1] - batch.token_offsets[s];
      run.append(longs, batch.lengths[s], batch.lengths[s],
                 plans.random(layer, blocks(longs), blocks(batch.lengths[s])));
    }
  }
  pass.global_run.push_back(std::move(among));
  pass.across_runs.push_back(std::move(of_longs));
  pass.across_runs.push_back(std::move(of_globals));
}

void etc_stage(const PassContext& pass, const EtcActivations& kept) {
  const GlobalTokens& globals = pass.batch.globals;
  const auto upload = [&](auto* to, const auto& from) {
    if (!from.empty()) pass.backend.upload(to, from.data(), from.size() * sizeof from[0]);
  };
  const auto longs = static_cast<std::size_t>(pass.batch.tokens());
  std::vector<std::int32_t> links, numbers;
  for (std::size_t number = 0; number < static_cast<std::size_t>(link_columns(globals)); ++number) {
    const std::vector<std::int32_t>& column = globals.links[number];
    links.insert(links.end(), column.begin(), column.end());
    if (column.empty()) links.resize(links.size() + longs, -1);
    for (std::size_t s = 0; s + 1 < globals.token_offsets.size(); ++s) {
      for (std::int64_t i = globals.token_offsets[s]; i < globals.token_offsets[s + 1]; ++i)
        numbers.push_back(static_cast<std::int32_t>(i - globals.token_offsets[s]));
    }
  }
  upload(kept.links, links);
  upload(kept.global_links, numbers);
  // A long token meets those of its example and its segment.
  std::vector<std::int32_t> segments = globals.segments.empty() ? globals.examples : globals.segments;
  if (!globals.segments.empty() && !globals.examples.empty()) {
    const std::int32_t most = *std::max_element(segments.begin(), segments.end()) + 1;
    for (std::size_t i = 0; i < segments.size(); ++i) segments[i] += most * globals.examples[i];
  }
  upload(kept.segments, segments);
  upload(kept.examples, globals.examples);
  upload(kept.global_examples, globals.global_examples);
  upload(kept.parts, globals.parts);
  upload(kept.free, globals.free);
  upload(kept.global_free, globals.global_free);
  for (const AttentionRun& run : pass.etc->global_run) pass.backend.prepare_attention(run.call());
  for (const AttentionRun& run : pass.etc->across_runs) pass.backend.prepare_attention(run.call());
  for (const AttentionRun& run : pass.etc->random_runs) pass.backend.prepare_attention(run.call());
}

void etc_attention_layer_forward(const PassContext& pass, std::int64_t layer, const LayerTensors& tensors,
                                 kernels::ConstValues input, const AttentionActivations& kept) {
  kernels::Backend& backend = pass.backend;
  const EtcPass& etc = *pass.etc;
  const EtcActivations& work = kept.etc;
  const kernels::Index width = pass.width(), heads = pass.config.num_attention_heads;
  const Projected of = projected(pass, kept.qkv);
  for_sides(etc, tensors, &EtcSideTensors::query, [&](std::size_t side, const SideRows& rows) {
    backend.linear_forward(input + rows.first * width, tensors.sides[side].query,
                           of.queries + rows.first * width, rows.count);
  });
  for_sides(etc, tensors, &EtcSideTensors::key_value, [&](std::size_t side, const SideRows& rows) {
    backend.linear_forward(input + rows.first * width, tensors.sides[side].key_value,
                           of.key_values + rows.first * of.key_width, rows.count);
  });

  const EtcProjections projections = pass.config.attention_options.etc.projections;
  for (const std::size_t side : {long_side, global_side}) {
    const SideRows &queries = etc.sides[side], &others = etc.sides[1 - side];
    const Calls calls = calls_of(pass, layer, side);
    const kernels::Rows context{kept.context + queries.first * width, width}, second{work.second, width};
    float* const sums = sums_of(pass, kept, side);
    backend.attention_forward(calls.own, read(of, queries, queries, key_columns(projections, side).own),
                              context, sums);
    const auto merge = [&](const kernels::AttentionBatch& call, const kernels::QueryKeyValue& inputs) {
      backend.attention_forward(call, inputs, second, work.second_sums);
      backend.merge_attention({context, sums}, {second, work.second_sums}, context, sums, queries.count,
                              heads, pass.config.head_size());
    };
    if (calls.random) merge(*calls.random, read(of, queries, queries, key_columns(projections, side).own));
    merge(calls.across, read(of, queries, others, key_columns(projections, 1 - side).across));
  }

  for_sides(etc, tensors, &EtcSideTensors::output, [&](std::size_t side, const SideRows& rows) {
    backend.linear_forward(kept.context + rows.first * width, tensors.sides[side].output,
                           kept.sum + rows.first * width, rows.count);
  });
  for (const std::size_t side : {long_side, global_side}) {
    const SideRows& rows = etc.sides[side];
    const PassContext part = part_of(pass, rows);
    residual_forward(part, part.dropout(output_sites[side], layer), tensors.sides[side].norm,
                     input + rows.first * width, end_of_attention(kept, rows, width));
  }
}

void etc_attention_layer_backward(const PassContext& pass, std::int64_t layer, const LayerTensors& tensors,
                                  const LayerTensors& gradients, kernels::ConstValues input,
                                  const AttentionActivations& kept, const BackwardWorkspace& work) {
  kernels::Backend& backend = pass.backend;
  const EtcPass& etc = *pass.etc;
  const EtcActivations& scratch = kept.etc;
  const kernels::Index width = pass.width();
  const kernels::Values dcontext = work.wide;
  const Projected of = projected(pass, kept.qkv),
                  gradient_of = projected(pass, work.wide + pass.tokens() * width);

  // Each input's residual sum with its LayerNorm, and its output product.
  for (const std::size_t side : {long_side, global_side}) {
    const SideRows& rows = etc.sides[side];
    const PassContext part = part_of(pass, rows);
    const EtcSideTensors& layers = tensors.sides[side];
    kernels::LinearGradients output = gradients.sides[side].output;
    const kernels::ConstValues branch = residual_backward(
        part, part.dropout(output_sites[side], layer), layers.norm, gradients.sides[side].norm, output,
        end_of_attention(kept, rows, width), part_of(work, rows, width));
    backend.linear_backward_weight(branch, kept.context + rows.first * width, layers.output, output,
                                   rows.count);
    backend.linear_backward_input(branch, layers.output, dcontext + rows.first * width, rows.count, false);
  }

  // The calls over own keys write their gradients; of the others the gradients of queries are added, and
  // those of keys where another call has written them: of random blocks, and where one projection serves both
  // inputs.
  const EtcProjections projections = pass.config.attention_options.etc.projections;
  const auto backward = [&](std::size_t side, const kernels::AttentionBatch& call, const SideRows& keys,
                            kernels::Index column, bool first, bool adds_keys) {
    const SideRows& queries = etc.sides[side];
    kernels::QueryKeyValueGradients to{gradient_of.query(queries), gradient_of.key(keys, column),
                                       gradient_of.key(keys, column + 1)};
    if (!first) to.q = {scratch.second, width};
    if (adds_keys) {
      to.k = {scratch.dkey_value, 2 * width};
      to.v = {scratch.dkey_value + width, 2 * width};
    }
    to.relative = {gradients.sides[side].relative_weight, gradients.sides[side].relative_bias};
    const kernels::ConstRows context{kept.context + queries.first * width, width},
        dout{dcontext + queries.first * width, width};
    backend.attention_backward(call, read(of, queries, keys, column), context, sums_of(pass, kept, side),
                               dout, to);
    if (!first) backend.add_rows({scratch.second, width}, gradient_of.query(queries), queries.count, width);
    if (adds_keys)
      backend.add_rows({scratch.dkey_value, 2 * width}, gradient_of.key(keys, column), keys.count, 2 * width);
  };
  const std::array<Calls, 2> calls{calls_of(pass, layer, long_side), calls_of(pass, layer, global_side)};
  for (const std::size_t side : {long_side, global_side})
    backward(side, calls[side].own, etc.sides[side], key_columns(projections, side).own, true, false);
  if (calls[long_side].random) {
    backward(long_side, *calls[long_side].random, etc.sides[long_side],
             key_columns(projections, long_side).own, false, true);
  }
  for (const std::size_t side : {long_side, global_side}) {
    backward(side, calls[side].across, etc.sides[1 - side], key_columns(projections, 1 - side).across, false,
             projections == EtcProjections::shared);
  }

  const auto product = [&](LinearTensors EtcSideTensors::*which, kernels::Values dy, kernels::Index out) {
    for_sides(etc, tensors, which, [&](std::size_t side, const SideRows& rows) {
      const kernels::ConstValues part = dy + rows.first * out;
      backend.linear_backward_weight(part, input + rows.first * width, tensors.sides[side].*which,
                                     gradients.sides[side].*which, rows.count);
      backend.linear_backward_input(part, tensors.sides[side].*which, work.gradient + rows.first * width,
                                    rows.count, true);
    });
  };
  product(&EtcSideTensors::query, gradient_of.queries, width);
  product(&EtcSideTensors::key_value, gradient_of.key_values, gradient_of.key_width);
}

void etc_feed_forward_forward(const PassContext& pass, std::int64_t layer, const LayerTensors& tensors,
                              kernels::ConstValues input, const FeedForwardActivations& kept) {
  if (pass.config.attention_options.etc.shared_feed_forward) {
    feed_forward_forward(pass, layer, tensors.sides[long_side].feed_forward, input, kept);
    return;
  }
  const kernels::Index width = pass.width(), inner = pass.config.intermediate_size;
  for (const std::size_t side : {long_side, global_side}) {
    const SideRows& rows = pass.etc->sides[side];
    PassContext part = part_of(pass, rows);
    if (side == global_side) part.feed_forward_site = DropoutSite::global_feed_forward_output;
    feed_forward_forward(part, layer, tensors.sides[side].feed_forward, input + rows.first * width,
                         part_of(kept, rows, width, inner));
  }
}

void etc_feed_forward_backward(const PassContext& pass, std::int64_t layer, const LayerTensors& tensors,
                               const LayerTensors& gradients, kernels::ConstValues input,
                               const FeedForwardActivations& kept, const BackwardWorkspace& work) {
  if (pass.config.attention_options.etc.shared_feed_forward) {
    feed_forward_backward(pass, layer, tensors.sides[long_side].feed_forward,
                          gradients.sides[long_side].feed_forward, input, kept, work);
    return;
  }
  const kernels::Index width = pass.width(), inner = pass.config.intermediate_size;
  for (const std::size_t side : {long_side, global_side}) {
    const SideRows& rows = pass.etc->sides[side];
    PassContext part = part_of(pass, rows);
    if (side == global_side) part.feed_forward_site = DropoutSite::global_feed_forward_output;
    feed_forward_backward(part, layer, tensors.sides[side].feed_forward, gradients.sides[side].feed_forward,
                          input + rows.first * width, part_of(kept, rows, width, inner),
                          part_of(work, rows, width));
  }
}

}  // namespace bigbird
