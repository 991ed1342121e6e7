// See attention_windowed.h.
#include "lib/model/network/attention_windowed.h"

#include <algorithm>
#include <numeric>

#include "lib/model/attention_systems.h"

namespace bigbird {
namespace {

// The rows that global tokens of a sequence take: at least one, since a call wants keys of every sequence.
std::int64_t rows_of_globals(const ModelConfig& config, std::int64_t count, bool whole_blocks) {
  count = std::max<std::int64_t>(count, 1);
  return whole_blocks ? (count + config.block_size - 1) / config.block_size * config.block_size : count;
}

// By the rule: so many first ones.
std::int64_t first_globals(const ModelConfig& config, const Batch& batch, std::size_t sequence) {
  const GlobalTokens rule = longformer_globals(config);
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

}  // namespace

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

std::int64_t most_global_rows(const ModelConfig& config, const BatchLimits& limits) {
  if (config.attention != AttentionPattern::longformer) return 0;
  const GlobalTokens rule = longformer_globals(config);
  if (!rule.any() && limits.global_tokens == 0) return 0;
  const std::int64_t globals = std::max(rule.question ? limits.longest : rule.first, limits.global_tokens);
  return std::min(limits.sequences * rows_of_globals(config, std::min(globals, limits.longest), true),
                  limits.tokens);
}

void windowed_pass(const ModelConfig& config, const Batch& batch, bool whole_blocks, bool training,
                   const std::uint64_t* dropout_seed, DecoderPlans& plans, kernels::Index first_slot,
                   const WindowedActivations& kept, std::vector<std::vector<AttentionRun>>& runs,
                   WindowedPass& pass) {
  pass = {};
  const bool by_rule = longformer_globals(config).any() && batch.sequences() > 0;
  const bool any = batch.global_rows ? !batch.global_rows->empty() : by_rule;
  pass.hidden.assign(batch.ids.size(), 0);
  pass.query_groups.assign(batch.ids.size(), 0);
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    kernels::PairRule rule;
    rule.before = rule.after = longformer_window(config, layer) / 2;
    if (any) {
      rule.hidden = kept.hidden;
      rule.query_groups = kept.query_groups;
      rule.key_groups = kept.key_groups;
    }
    pass.rules.push_back(rule);
  }
  for (std::size_t layer = 0; layer < runs.size(); ++layer) {
    for (AttentionRun& run : runs[layer]) run.set_rule(&pass.rules[layer]);
  }
  if (!any) return;
  pass.of_globals.query_groups = kept.query_groups;
  pass.of_globals.key_groups = kept.key_groups;
  kernels::AttentionBatch call = attention_call(config);
  if (training && config.attention_probs_dropout_prob > 0) {
    call.drop_probability = static_cast<float>(config.attention_probs_dropout_prob);
    call.dropout_seed = dropout_seed;
  }
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

void windowed_stage(const PassContext& pass, const WindowedActivations& kept) {
  const WindowedPass& windowed = *pass.windowed;
  if (windowed.global_rows() == 0) return;
  const auto upload = [&](auto* to, const auto& from) {
    pass.backend.upload(to, from.data(), from.size() * sizeof from[0]);
  };
  upload(kept.rows, windowed.rows);
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
  for (const AttentionRun& run : pass.runs[static_cast<std::size_t>(layer)])
    backend.attention_forward(run.call(), by_column(queries, kept.qkv, 3 * width, width, width), context,
                              sums);
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
  for (const AttentionRun& run : pass.runs[static_cast<std::size_t>(layer)]) {
    backend.attention_backward(run.call(), by_column(queries, kept.qkv, 3 * width, width, width), context,
                               kept.log_sum_exp, dout,
                               {dq, {dqkv + width, 3 * width}, {dqkv + 2 * width, 3 * width}});
  }
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
