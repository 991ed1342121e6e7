// See attention_windowed.h.
#include "lib/model/network/attention_windowed.h"

#include <algorithm>
#include <numeric>

#include "lib/model/attention_systems.h"
#include "lib/model/network/encoder.h"
#include "lib/model/plans/patterns.h"

namespace bigbird {
namespace {

constexpr kernels::Index global_slots = 2;  // of all layers together

// The rows that global tokens of a sequence take: at least one, since a call wants keys of every sequence.
std::int64_t rows_of_globals(const ModelConfig& config, std::int64_t count, bool whole_blocks) {
  count = std::max<std::int64_t>(count, 1);
  return whole_blocks ? (count + config.block_size - 1) / config.block_size * config.block_size : count;
}

// By the rule: so many first ones.
std::int64_t first_globals(const ModelConfig& config, const Batch& batch, std::size_t sequence) {
  const LongformerGlobals rule = longformer_globals(config);
  const std::int64_t length = batch.lengths[sequence];
  if (!rule.question) return std::min(rule.first, length);
  const std::int32_t* const ids = batch.ids.data() + batch.token_offsets[sequence];
  const auto* const separator = std::find(ids, ids + length, static_cast<std::int32_t>(config.sep_token_id));
  // Without a separator there is no question.
  return separator == ids + length ? 1 : std::max<std::int64_t>(separator - ids, 1);
}

kernels::QueryKeyValue by_column(kernels::ConstRows q, kernels::ConstValues key_value, kernels::Index stride,
                                 kernels::Index key_column, kernels::Index width) {
  return {q, {key_value + key_column, stride}, {key_value + (key_column + width), stride}};
}

kernels::AttentionBatch of_layer(const AttentionRun& run, DropoutSite site, const PassContext& pass,
                                 std::int64_t layer) {
  kernels::AttentionBatch call = run.call();
  if (call.drop_probability > 0) call.dropout_site = dropout_site(site, pass.first_layer + layer);
  return call;
}

// Dropout of probabilities, which of systems with windows Longformer alone has.
void set_dropout(const ModelConfig& config, bool training, const std::uint64_t* seed,
                 kernels::AttentionBatch& call) {
  if (!training || config.attention != AttentionPattern::longformer) return;
  if (config.attention_probs_dropout_prob <= 0) return;
  call.drop_probability = static_cast<float>(config.attention_probs_dropout_prob);
  call.dropout_seed = seed;
}

// The calls over global tokens; pass.hidden and pass.query_groups are there, of zeros.
void add_globals(const ModelConfig& config, const Batch& batch, bool whole_blocks,
                 const kernels::AttentionBatch& call, DecoderPlans& plans, kernels::Index first_slot,
                 const WindowedActivations& kept, WindowedPass& pass) {
  pass.of_globals.query_groups = kept.query_groups;
  pass.of_globals.key_groups = kept.key_groups;
  AttentionRun keys(0, call), queries(0, call);
  keys.set_rule(&pass.of_globals);
  keys.set_slot(first_slot);
  queries.set_slot(first_slot + 1);
  const auto blocks = [&](std::int64_t rows) { return (rows + config.block_size - 1) / config.block_size; };
  for (std::size_t s = 0; s < batch.lengths.size(); ++s) {
    const std::int64_t first = batch.token_offsets[s], rows = batch.token_offsets[s + 1] - first;
    const std::vector<std::int64_t> tokens = global_tokens(config, batch, s);
    const auto globals = static_cast<std::int64_t>(tokens.size());
    const std::int64_t taken = rows_of_globals(config, globals, whole_blocks);
    for (const std::int64_t token : tokens) {
      pass.rows.push_back(static_cast<std::int32_t>(first + token));
      pass.hidden[static_cast<std::size_t>(first + token)] = 1;
      pass.query_groups[static_cast<std::size_t>(first + token)] = 1;
    }
    // Others fill up: the first that are not global, since rows are distinct.
    for (std::int64_t row = first, left = taken - globals; left > 0; ++row) {
      if (pass.hidden[static_cast<std::size_t>(row)] != 0) continue;
      pass.rows.push_back(static_cast<std::int32_t>(row));
      --left;
    }
    pass.offsets.push_back(pass.offsets.back() + taken);
    keys.append_cross(rows, batch.lengths[s], taken, globals, plans.cross(blocks(rows), blocks(taken)));
    queries.append_cross(taken, globals, rows, batch.lengths[s], plans.cross(blocks(taken), blocks(rows)));
  }
  pass.global_keys.push_back(std::move(keys));
  pass.global_queries.push_back(std::move(queries));
}

// Of every gathered row, in its sequence.
std::vector<std::int32_t> positions_of_globals(const PassContext& pass) {
  const WindowedPass& windowed = *pass.windowed;
  const std::int64_t last = pass.config.max_position_embeddings - 1;  // of padding too (encoder.cpp)
  std::vector<std::int32_t> positions;
  for (std::size_t s = 0; s + 1 < windowed.offsets.size(); ++s) {
    for (std::int64_t row = windowed.offsets[s]; row < windowed.offsets[s + 1]; ++row) {
      const std::int64_t token = windowed.rows[static_cast<std::size_t>(row)] - pass.batch.token_offsets[s];
      positions.push_back(static_cast<std::int32_t>(std::min(token, last)));
    }
  }
  return positions;
}

// Turns global queries [G, C], and the keys among global.key_value [T, 2C], by rotary positions, or their
// gradients back.
void rotate_globals(const PassContext& pass, const AttentionActivations& kept, kernels::Values query,
                    kernels::Values key_value, bool back) {
  if (pass.config.position_type != PositionType::rotary) return;
  kernels::Rotary rotary = rotary_of(pass.config, kept.rotations, pass.config.num_attention_heads);
  pass.backend.rotate({key_value, 2 * pass.width()}, rotary, pass.tokens(), back);
  rotary.positions = kept.windowed.positions;
  pass.backend.rotate({query, pass.width()}, rotary, pass.windowed->global_rows(), back);
}

// The calls over residue classes; pass.groups and pass.hidden are there.
void add_classes(const ModelConfig& config, const Batch& batch, const kernels::AttentionBatch& call,
                 ResidueClassPlans& plans, kernels::Index first_slot, const ResidueClassActivations& kept,
                 WindowedPass& pass) {
  const std::vector<std::int64_t> steps = class_steps(config);
  const auto layers = static_cast<std::size_t>(config.num_hidden_layers);
  pass.class_of_layer.assign(layers, 0);
  pass.class_rules.assign(layers, {});
  pass.class_runs.resize(layers);
  pass.classes.resize(steps.size());
  for (std::size_t layer = 0; layer < layers; ++layer) {
    const KeyGroup& group = pass.groups[layer].classes;
    if (group.heads == 0) continue;
    const auto number =
        static_cast<std::size_t>(std::find(steps.begin(), steps.end(), group.step) - steps.begin());
    ResidueClasses& classes = pass.classes[number];
    if (classes.rows.empty())
      classes = residue_classes(batch.token_offsets, batch.lengths, group, pass.hidden);
    pass.class_of_layer[layer] = number;
    kernels::PairRule& rule = pass.class_rules[layer];
    rule = distances_of(group);
    const auto before = static_cast<kernels::Index>(number) * batch.tokens();
    rule.query_groups = kept.query_groups + before;
    rule.key_groups = kept.key_groups + before;
    AttentionRun run(0, call);
    run.set_heads(group.heads);
    run.set_rule(&rule);
    run.set_slot(first_slot + static_cast<kernels::Index>(layer));
    for (std::size_t s = 0; s < batch.lengths.size(); ++s) {
      const std::int64_t rows = batch.token_offsets[s + 1] - batch.token_offsets[s];
      const std::int64_t blocks = (rows + config.block_size - 1) / config.block_size;
      run.append(
          rows, batch.lengths[s], batch.lengths[s],
          plans.plan(group, config.block_size, blocks, planned_blocks(config, blocks, batch.lengths[s])));
    }
    pass.class_runs[layer].push_back(std::move(run));
  }
}

// One layer's residue classes as its calls see them.
struct ClassLayer {
  const PassContext& pass;
  const ResidueClassActivations& work;
  const KeyGroup& group;
  kernels::Index rows, width, first_column;
  const std::int32_t* row_of;    // [T]
  const std::int32_t* place_of;  // [T]
  kernels::AttentionBatch call;

  ClassLayer(const PassContext& of, std::int64_t layer, const ResidueClassActivations& kept)
      : pass(of),
        work(kept),
        group(of.windowed->groups[static_cast<std::size_t>(layer)].classes),
        rows(of.tokens()),
        width(of.width()),
        first_column(group.first_head * of.config.head_size()) {
    const auto number = of.windowed->class_of_layer[static_cast<std::size_t>(layer)];
    const auto before = static_cast<kernels::Index>(number) * rows;
    row_of = kept.rows + before;
    place_of = kept.places + before;
    call = of_layer(of.windowed->class_runs[static_cast<std::size_t>(layer)][0],
                    DropoutSite::class_probabilities, of, layer);
  }

  kernels::QueryKeyValue inputs() const {
    const kernels::ConstValues qkv = work.qkv + first_column;
    return by_column({qkv, 3 * width}, qkv, 3 * width, width, width);
  }
  float* sums() const { return work.sums + group.first_head * rows; }
  // [H, T] of the heads that have classes.
  void move_sums(const float* from, const std::int32_t* numbers, float* to) const {
    for (kernels::Index head = group.first_head; head < group.first_head + group.heads; ++head)
      pass.backend.gather_rows(from + head * rows, numbers, to + head * rows, rows, 1);
  }
  void gather(kernels::ConstValues from, const std::int32_t* numbers, kernels::Values to,
              kernels::Index columns) const {
    pass.backend.gather_rows(from, numbers, to, rows, columns);
  }

  // Every column of context [T, C] is written; those of heads without classes mean nothing.
  void forward(kernels::ConstValues qkv, kernels::Values context, float* to_sums) const {
    gather(qkv, row_of, work.qkv, 3 * width);
    pass.backend.attention_forward(call, inputs(), {work.context + first_column, width}, sums());
    gather(work.context, place_of, context, width);
    move_sums(work.sums, place_of, to_sums);
  }
  // Of context and sums that may be merged ones; dqkv [T, 3C] as forward() has context.
  void backward(kernels::ConstValues qkv, kernels::ConstValues context, const float* from_sums,
                kernels::ConstValues dcontext, kernels::Values dqkv) const {
    gather(qkv, row_of, work.qkv, 3 * width);
    gather(context, row_of, work.context, width);
    gather(dcontext, row_of, work.dcontext, width);
    move_sums(from_sums, row_of, work.sums);
    const kernels::Values gradient = work.dqkv + first_column;
    pass.backend.attention_backward(
        call, inputs(), {work.context + first_column, width}, sums(), {work.dcontext + first_column, width},
        {{gradient, 3 * width}, {gradient + width, 3 * width}, {gradient + 2 * width, 3 * width}});
    gather(work.dqkv, place_of, dqkv, 3 * width);
  }
};

// Local queries over local keys: kept.context and sums of kept.qkv.
void local_forward(const PassContext& pass, std::int64_t layer, const AttentionActivations& kept,
                   float* sums) {
  kernels::Backend& backend = pass.backend;
  const WindowedActivations& work = kept.windowed;
  const LocalGroups& groups = pass.windowed->groups[static_cast<std::size_t>(layer)];
  const kernels::Index width = pass.width(), heads = pass.config.num_attention_heads;
  const kernels::Rows context{kept.context, width}, second{work.second, width};
  const bool merged = groups.merged();
  // Heads apart lie side by side: those with a window are written over what the others leave in their place.
  if (groups.classes.heads > 0) ClassLayer(pass, layer, work.classes).forward(kept.qkv, kept.context, sums);
  if (groups.window.heads == 0) return;
  for (const AttentionRun& run : pass.runs[static_cast<std::size_t>(layer)]) {
    backend.attention_forward(run.call(), by_column({kept.qkv, 3 * width}, kept.qkv, 3 * width, width, width),
                              merged ? second : context, merged ? work.second_sums : sums);
  }
  if (merged) {
    backend.merge_attention({context, sums}, {second, work.second_sums}, context, sums, pass.tokens(), heads,
                            pass.config.head_size());
  }
}

// dqkv [T, 3C] of the same.
void local_backward(const PassContext& pass, std::int64_t layer, const AttentionActivations& kept,
                    kernels::ConstValues dcontext, kernels::Values dqkv) {
  kernels::Backend& backend = pass.backend;
  const ResidueClassActivations& classes = kept.windowed.classes;
  const LocalGroups& groups = pass.windowed->groups[static_cast<std::size_t>(layer)];
  const kernels::Index width = pass.width();
  if (groups.classes.heads > 0) {
    ClassLayer(pass, layer, classes).backward(kept.qkv, kept.context, kept.log_sum_exp, dcontext, dqkv);
  }
  if (groups.window.heads == 0) return;
  // What the classes have gathered is spent.
  const kernels::Values to = groups.merged() ? classes.dqkv : dqkv;
  for (const AttentionRun& run : pass.runs[static_cast<std::size_t>(layer)]) {
    backend.attention_backward(run.call(),
                               by_column({kept.qkv, 3 * width}, kept.qkv, 3 * width, width, width),
                               {kept.context, width}, kept.log_sum_exp, {dcontext, width},
                               {{to, 3 * width}, {to + width, 3 * width}, {to + 2 * width, 3 * width}});
  }
  if (groups.merged())
    backend.add_rows({classes.dqkv, 3 * width}, {dqkv, 3 * width}, pass.tokens(), 3 * width);
}

ResidueClassActivations plan_classes(Arena& arena, const ModelConfig& config, std::int64_t steps,
                                     std::int64_t tokens, bool training) {
  ResidueClassActivations to;
  const std::string what = "residue classes of tokens";
  const std::int64_t width = config.hidden_size;
  const auto operands = [&](std::int64_t count) { return arena.values(what, count, arena.operands()); };
  to.rows = arena.integers(what, steps * tokens);
  to.places = arena.integers(what, steps * tokens);
  to.query_groups = arena.integers(what, steps * tokens);
  to.key_groups = arena.integers(what, steps * tokens);
  to.qkv = operands(tokens * 3 * width);
  to.context = operands(tokens * width);
  to.sums = arena.floats(what, config.num_attention_heads * tokens);
  if (!training) return to;
  to.dcontext = operands(tokens * width);
  to.dqkv = operands(tokens * 3 * width);
  return to;
}

}  // namespace

bool has_windows(const ModelConfig& config) {
  return config.attention == AttentionPattern::longformer || config.attention == AttentionPattern::routing ||
         config.attention == AttentionPattern::sparse_strided;
}

std::vector<std::int64_t> class_steps(const ModelConfig& config) {
  std::vector<std::int64_t> steps;
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    const KeyGroup group = local_groups(config, layer).classes;
    if (group.heads > 0 && std::find(steps.begin(), steps.end(), group.step) == steps.end())
      steps.push_back(group.step);
  }
  return steps;
}

kernels::Index windowed_slots(const ModelConfig& config) {
  if (!has_windows(config)) return 0;
  return global_slots + (class_steps(config).empty() ? 0 : config.num_hidden_layers);
}

std::vector<std::int64_t> global_tokens(const ModelConfig& config, const Batch& batch, std::size_t sequence) {
  std::vector<std::int64_t> globals;
  if (!batch.global_rows) {
    globals.resize(static_cast<std::size_t>(first_globals(config, batch, sequence)));
    std::iota(globals.begin(), globals.end(), std::int64_t{0});
    return globals;
  }
  const std::int64_t first = batch.token_offsets[sequence];
  for (const std::int32_t row : *batch.global_rows) {
    if (row >= first && row < first + batch.lengths[sequence]) globals.push_back(row - first);
  }
  return globals;
}

WindowedActivations plan_windows(Arena& arena, const ModelConfig& config, std::int64_t tokens,
                                 std::int64_t globals, bool training) {
  WindowedActivations to;
  if (!has_windows(config)) return to;
  const std::string what = "windows and global tokens";
  const std::int64_t width = config.hidden_size, heads = config.num_attention_heads;
  const auto operands = [&](std::int64_t count) { return arena.values(what, count, arena.operands()); };
  if (!training) to.sums = arena.floats(what, heads * tokens);
  const auto steps = static_cast<std::int64_t>(class_steps(config).size());
  if (steps > 0) to.classes = plan_classes(arena, config, steps, tokens, training);
  if (globals == 0 && steps == 0) return to;
  to.second_sums = arena.floats(what, heads * tokens);
  to.second = operands(tokens * width);
  if (globals == 0) return to;
  to.rows = arena.integers(what, globals);
  to.hidden = static_cast<std::uint8_t*>(arena.bytes(what, static_cast<std::size_t>(tokens)));
  to.query_groups = arena.integers(what, tokens);
  to.key_groups = arena.integers(what, tokens);
  to.gathered = arena.values(what, globals * width);
  if (config.position_type == PositionType::rotary) to.positions = arena.integers(what, globals);
  if (!training) return to;
  to.dof_keys = operands(globals * 3 * width);
  to.dcontext = operands(globals * width);
  to.dquery = operands(globals * width);
  to.dkey_value = operands(tokens * 2 * width);
  return to;
}

std::int64_t most_global_rows(const ModelConfig& config, const BatchLimits& limits) {
  if (config.attention != AttentionPattern::longformer) return 0;
  const LongformerGlobals rule = longformer_globals(config);
  if (!rule.any() && limits.global_tokens == 0) return 0;
  const std::int64_t globals = std::max(rule.question ? limits.longest : rule.first, limits.global_tokens);
  return std::min(limits.sequences * rows_of_globals(config, std::min(globals, limits.longest), true),
                  limits.tokens);
}

void windowed_pass(const ModelConfig& config, const Batch& batch, bool whole_blocks, bool training,
                   const std::uint64_t* dropout_seed, WindowPlans& plans, kernels::Index first_slot,
                   const WindowedActivations& kept, std::vector<std::vector<AttentionRun>>& runs,
                   WindowedPass& pass) {
  pass = {};
  const bool by_rule = longformer_globals(config).any() && batch.sequences() > 0;
  const bool any = batch.global_rows ? !batch.global_rows->empty() : by_rule;
  pass.hidden.assign(batch.ids.size(), 0);
  pass.query_groups.assign(batch.ids.size(), 0);
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    pass.groups.push_back(local_groups(config, layer));
    kernels::PairRule rule = distances_of(pass.groups.back().window);
    if (any) {
      rule.hidden = kept.hidden;
      rule.query_groups = kept.query_groups;
      rule.key_groups = kept.key_groups;
    }
    pass.rules.push_back(rule);
  }
  for (std::size_t layer = 0; layer < runs.size(); ++layer) {
    for (AttentionRun& run : runs[layer]) {
      run.set_rule(&pass.rules[layer]);
      run.set_heads(std::max<kernels::Index>(pass.groups[layer].window.heads, 1));
    }
  }
  kernels::AttentionBatch call = attention_call(config);
  set_dropout(config, training, dropout_seed, call);
  if (any) add_globals(config, batch, whole_blocks, call, plans.globals, first_slot, kept, pass);
  add_classes(config, batch, call, plans.classes, first_slot + global_slots, kept.classes, pass);
}

void windowed_stage(const PassContext& pass, const WindowedActivations& kept) {
  const WindowedPass& windowed = *pass.windowed;
  const auto upload = [&](auto* to, const auto& from) {
    pass.backend.upload(to, from.data(), from.size() * sizeof from[0]);
  };
  for (std::size_t number = 0; number < windowed.classes.size(); ++number) {
    const auto before = static_cast<kernels::Index>(number) * pass.tokens();
    const ResidueClasses& classes = windowed.classes[number];
    upload(kept.classes.rows + before, classes.rows);
    upload(kept.classes.places + before, classes.places);
    upload(kept.classes.query_groups + before, classes.query_groups);
    upload(kept.classes.key_groups + before, classes.key_groups);
  }
  for (const auto& layer : windowed.class_runs) {
    for (const AttentionRun& run : layer) pass.backend.prepare_attention(run.call());
  }
  if (windowed.global_rows() == 0) return;
  upload(kept.rows, windowed.rows);
  if (kept.positions != nullptr) upload(kept.positions, positions_of_globals(pass));
  upload(kept.hidden, windowed.hidden);
  upload(kept.query_groups, windowed.query_groups);
  upload(kept.key_groups, std::vector<std::int32_t>(windowed.query_groups.size(), 0));
  pass.backend.prepare_attention(windowed.global_keys[0].call());
  pass.backend.prepare_attention(windowed.global_queries[0].call());
}

void windowed_attention_forward(const PassContext& pass, std::int64_t layer, const AttentionTensors& tensors,
                                kernels::ConstValues input, const AttentionActivations& kept) {
  kernels::Backend& backend = pass.backend;
  const WindowedPass& windowed = *pass.windowed;
  const WindowedActivations& work = kept.windowed;
  const GlobalActivations& global = kept.global;
  const kernels::Index width = pass.width(), rows = pass.tokens(), globals = windowed.global_rows();
  float* const sums = kept.log_sum_exp != nullptr ? kept.log_sum_exp : work.sums;
  const kernels::Rows context{kept.context, width};
  const kernels::ConstRows queries{kept.qkv, 3 * width};
  local_forward(pass, layer, kept, sums);
  if (globals == 0) return;

  backend.gather_rows(kept.qkv, work.rows, global.of_keys, globals, 3 * width);
  const kernels::Rows second{work.second, width};
  backend.attention_forward(
      of_layer(windowed.global_keys[0], DropoutSite::global_key_probabilities, pass, layer),
      by_column(queries, global.of_keys, 3 * width, width, width), second, work.second_sums);
  backend.merge_attention({context, sums}, {second, work.second_sums}, context, sums, rows,
                          pass.config.num_attention_heads, pass.config.head_size());

  backend.linear_forward(input, tensors.global_key_value, global.key_value, rows);
  backend.gather_rows(input, work.rows, work.gathered, globals, width);
  backend.linear_forward(work.gathered, tensors.global_query, global.query, globals);
  rotate_globals(pass, kept, global.query, global.key_value, false);
  backend.attention_forward(
      of_layer(windowed.global_queries[0], DropoutSite::global_query_probabilities, pass, layer),
      by_column({global.query, width}, global.key_value, 2 * width, 0, width), {global.context, width},
      global.log_sum_exp);
  backend.scatter_add_rows(global.context, work.rows, kept.context, globals, width);
}

void windowed_attention_backward(const PassContext& pass, std::int64_t layer, const AttentionTensors& tensors,
                                 const AttentionTensors& gradients, kernels::ConstValues input,
                                 const AttentionActivations& kept, kernels::ConstValues dcontext,
                                 kernels::Values dqkv) {
  kernels::Backend& backend = pass.backend;
  const WindowedPass& windowed = *pass.windowed;
  const WindowedActivations& work = kept.windowed;
  const GlobalActivations& global = kept.global;
  const kernels::Index width = pass.width(), rows = pass.tokens(), globals = windowed.global_rows();
  const kernels::ConstRows context{kept.context, width}, dout{dcontext, width};
  const kernels::ConstRows queries{kept.qkv, 3 * width};
  const kernels::Rows dq{dqkv, 3 * width};
  local_backward(pass, layer, kept, dcontext, dqkv);
  if (globals == 0) return;

  // Global keys of the local queries: their gradients go back to the rows that they were gathered from.
  const kernels::ElementType type = dqkv.type();
  backend.zero(work.dof_keys.data(), static_cast<std::size_t>(globals * 3 * width) * kernels::size_of(type));
  backend.attention_backward(
      of_layer(windowed.global_keys[0], DropoutSite::global_key_probabilities, pass, layer),
      by_column(queries, global.of_keys, 3 * width, width, width), context, kept.log_sum_exp, dout,
      {{work.second, width}, {work.dof_keys + width, 3 * width}, {work.dof_keys + 2 * width, 3 * width}});
  backend.add_rows({work.second, width}, dq, rows, width);
  backend.scatter_add_rows(work.dof_keys, work.rows, dqkv, globals, 3 * width);

  // Global queries. Of rows that fill their blocks nothing is asked: zeros.
  backend.gather_rows(dcontext, work.rows, work.dcontext, globals, width);
  backend.attention_backward(
      of_layer(windowed.global_queries[0], DropoutSite::global_query_probabilities, pass, layer),
      by_column({global.query, width}, global.key_value, 2 * width, 0, width), {global.context, width},
      global.log_sum_exp, {work.dcontext, width},
      {{work.dquery, width}, {work.dkey_value, 2 * width}, {work.dkey_value + width, 2 * width}});
  rotate_globals(pass, kept, work.dquery, work.dkey_value, true);
  backend.gather_rows(input, work.rows, work.gathered, globals, width);
  backend.linear_backward_weight(work.dquery, work.gathered, tensors.global_query, gradients.global_query,
                                 globals);
  backend.linear_backward_weight(work.dkey_value, input, tensors.global_key_value, gradients.global_key_value,
                                 rows);
}

void windowed_input_backward(const PassContext& pass, const AttentionTensors& tensors,
                             const AttentionActivations& kept, kernels::Values dinput) {
  const WindowedActivations& work = kept.windowed;
  const kernels::Index globals = pass.windowed->global_rows();
  if (globals == 0) return;
  pass.backend.linear_backward_input(work.dkey_value, tensors.global_key_value, dinput, pass.tokens(), true);
  pass.backend.linear_backward_input(work.dquery, tensors.global_query, work.gathered, globals, false);
  pass.backend.scatter_add_rows(work.gathered, work.rows, dinput, globals, pass.width());
}

}  // namespace bigbird
