// See encoder.h.
#include "lib/model/network/encoder.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "lib/core/cancel.h"
#include "lib/model/network/attention_content.h"
#include "lib/model/network/attention_etc.h"
#include "lib/model/network/attention_recurrent.h"
#include "lib/model/network/attention_rows.h"
#include "lib/model/network/attention_windowed.h"
#include "lib/model/network/head_rows.h"
#include "lib/model/network/reversible.h"
#include "lib/model/network/stem.h"

namespace bigbird {
namespace {

// 0.. within every sequence, and within its global tokens. Padding may reach past the table when its size is
// no multiple of the block size: padded rows influence nothing, so they repeat the last position.
std::vector<std::int32_t> positions_of(const ModelConfig& config, const Batch& batch) {
  std::vector<std::int32_t> positions;
  positions.reserve(static_cast<std::size_t>(batch.rows()));
  const std::int64_t last = config.max_position_embeddings - 1;
  for (const auto* offsets : {&batch.token_offsets, &batch.globals.token_offsets}) {
    for (std::size_t s = 0; s + 1 < offsets->size(); ++s) {
      const std::int64_t count = (*offsets)[s + 1] - (*offsets)[s];
      for (std::int64_t i = 0; i < count; ++i)
        positions.push_back(static_cast<std::int32_t>(std::min(i, last)));
    }
  }
  return positions;
}

// Of all rows: the long ones, then the global ones.
std::vector<std::int32_t> of_both(std::vector<std::int32_t> longs, const std::vector<std::int32_t>& globals) {
  longs.insert(longs.end(), globals.begin(), globals.end());
  return longs;
}

// Rows with a LayerNorm and positions of their own among the embeddings: all, or those of each input.
struct EmbeddedRows {
  kernels::Index first = 0, count = 0;
  EmbeddingTensors tensors;
};
std::vector<EmbeddedRows> embedded_rows(const PassContext& pass, const EmbeddingTensors& tensors) {
  const kernels::Index longs = pass.batch.tokens(), globals = pass.batch.globals.tokens();
  std::vector<EmbeddedRows> rows{{0, longs, tensors}};
  if (pass.etc == nullptr) return rows;
  EmbeddingTensors second = tensors;
  second.position = tensors.global_position;
  second.norm = tensors.global_norm;
  rows.push_back({longs, globals, second});
  return rows;
}
kernels::EmbeddingIndices indices_of(const EmbeddedRows& rows, const std::int32_t* ids,
                                     const EmbeddingActivations& kept) {
  return {ids + rows.first, kept.types + rows.first, kept.positions + rows.first, rows.count};
}
NormState state_of(const EmbeddedRows& rows, const NormState& state) {
  if (state.mean == nullptr) return state;
  return {state.mean + rows.first, state.rstd + rows.first};
}

// The ids, with -1 for the pad token: as an input it never teaches its own row (padding_idx in Hugging Face).
// Padding has a gradient at all only where a head looks at every position, as that for questions may; a
// decoder reads pad tokens where labels are to be ignored.
std::vector<std::int32_t> rows_to_update(const ModelConfig& config, const Batch& batch) {
  std::vector<std::int32_t> ids = of_both(batch.ids, batch.globals.ids);
  std::replace(ids.begin(), ids.end(), static_cast<std::int32_t>(config.pad_token_id), -1);
  return ids;
}

// A model with one token type gives it to all tokens: RoBERTa's and Longformer's inputs have none.
std::vector<std::int32_t> types_of(const ModelConfig& config, const Batch& batch) {
  std::vector<std::int32_t> types = of_both(batch.types, batch.globals.types);
  if (config.type_vocab_size <= 1) std::fill(types.begin(), types.end(), 0);
  return types;
}

// Tokens by their keys, those of one key ascending; keys below 0 last.
void append_order(const std::vector<std::int32_t>& keys, std::int64_t key_count,
                  std::vector<std::int32_t>& to) {
  const auto place_of = [&](std::int32_t key) {
    return static_cast<std::size_t>(key < 0 ? key_count : std::int64_t{key});
  };
  std::vector<std::size_t> next(static_cast<std::size_t>(key_count) + 2);
  for (const std::int32_t key : keys) ++next[place_of(key) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  const std::size_t first = to.size();
  to.resize(first + keys.size());
  for (std::size_t token = 0; token < keys.size(); ++token)
    to[first + next[place_of(keys[token])]++] = static_cast<std::int32_t>(token);
}

// Turns query and key of every head within qkv [T, 3C], or query alone within [T, 2C] where it is the key as
// well, or turns their gradients back. Nothing for absolute positions.
void rotate_queries_and_keys(const PassContext& pass, const RotaryTable& rotations, kernels::Values qkv,
                             bool back) {
  if (pass.config.position_type != PositionType::rotary) return;
  const kernels::Index shared = shares_queries(pass.config) ? 1 : 0;
  const kernels::Index heads = (2 - shared) * pass.config.num_attention_heads;  // of query and key
  pass.backend.rotate({qkv, (3 - shared) * pass.width()}, rotary_of(pass.config, rotations, heads),
                      pass.tokens(), back);
}

// The rows of one run in a matrix of `stride` columns, from column `column` on.
kernels::Rows part(kernels::Values matrix, kernels::Index first_row, kernels::Index stride,
                   kernels::Index column) {
  return {matrix + first_row * stride + column, stride};
}

// Query, key and value of one run lie side by side.
kernels::QueryKeyValueGradients parts(kernels::Values qkv, kernels::Index first_row, kernels::Index width) {
  return {part(qkv, first_row, 3 * width, 0), part(qkv, first_row, 3 * width, width),
          part(qkv, first_row, 3 * width, 2 * width)};
}
kernels::QueryKeyValue inputs(kernels::Values qkv, kernels::Index first_row, kernels::Index width) {
  const auto of = parts(qkv, first_row, width);
  return {of.q, of.k, of.v};
}

// The calls of a layer whose attention is a plan alone.
std::span<const AttentionRun> planned_runs(const PassContext& pass, std::int64_t layer) {
  if (pass.windowed != nullptr || pass.lists != nullptr || pass.recurrent != nullptr || content_alone(pass))
    return {};
  return pass.runs[static_cast<std::size_t>(layer)];
}

// Behind the activation of a feed-forward part, and of the last state: of models with a memory alone.
kernels::Dropout inner_dropout(const PassContext& pass, std::int64_t layer, kernels::Index width) {
  kernels::Dropout dropout = pass.dropout(DropoutSite::feed_forward_inner, layer);
  dropout.width = width;
  if (pass.recurrent == nullptr) dropout.probability = 0.0f;
  return dropout;
}
void drop_last_state(const PassContext& pass, kernels::Values state) {
  const kernels::Dropout dropout = pass.dropout(DropoutSite::last_state, 0);
  if (pass.recurrent == nullptr || dropout.probability == 0) return;
  pass.backend.dropout(state, state, pass.rows() * pass.width(), dropout);
}

kernels::ConstValues attention_output(const PassContext& pass, const LayerActivations& kept) {
  return pass.config.norm_type == NormType::postnorm ? kept.attention.norm : kept.attention.sum;
}

void layer_forward(const PassContext& pass, std::int64_t layer, const LayerTensors& tensors,
                   kernels::ConstValues input, const LayerActivations& kept,
                   const HeadRowActivations& head_rows) {
  if (pass.etc != nullptr) {
    etc_attention_layer_forward(pass, layer, tensors, input, kept.attention);
    etc_feed_forward_forward(pass, layer, tensors, kept.attention.norm, kept.feed_forward);
    return;
  }
  attention_layer_forward(pass, layer, tensors.attention, input, kept.attention, head_rows);
  feed_forward_forward(at_head_rows(pass, head_rows), layer, tensors.feed_forward,
                       attention_output(pass, kept), kept.feed_forward);
}

void layer_backward(const PassContext& pass, std::int64_t layer, const LayerTensors& tensors,
                    const LayerTensors& gradients, kernels::ConstValues input, const LayerActivations& kept,
                    const HeadRowActivations& head_rows, const BackwardWorkspace& work) {
  if (pass.etc != nullptr) {
    etc_feed_forward_backward(pass, layer, tensors, gradients, kept.attention.norm, kept.feed_forward, work);
    etc_attention_layer_backward(pass, layer, tensors, gradients, input, kept.attention, work);
    return;
  }
  feed_forward_backward(at_head_rows(pass, head_rows), layer, tensors.feed_forward, gradients.feed_forward,
                        attention_output(pass, kept), kept.feed_forward, work);
  attention_layer_backward(pass, layer, tensors.attention, gradients.attention, input, kept.attention,
                           head_rows, work);
}

}  // namespace

kernels::EmbeddingTables embedding_tables(const ModelConfig& config, const EmbeddingTensors& tensors) {
  kernels::EmbeddingTables tables;
  tables.word = tensors.word;
  tables.type = tensors.type;
  tables.position = tensors.position;
  if (config.rescale_embeddings)
    tables.word_scale = static_cast<float>(std::sqrt(static_cast<double>(config.hidden_size)));
  tables.width = config.hidden_size;
  tables.vocabulary = config.vocab_size;
  tables.types = config.type_vocab_size;
  tables.positions = config.max_position_embeddings;
  return tables;
}

std::vector<std::int32_t> embedding_orders(const ModelConfig& config, const Batch& batch) {
  std::vector<std::int32_t> orders;
  orders.reserve(3 * static_cast<std::size_t>(batch.rows()));
  append_order(rows_to_update(config, batch), config.vocab_size, orders);
  append_order(types_of(config, batch), std::max<std::int64_t>(config.type_vocab_size, 1), orders);
  append_order(positions_of(config, batch), config.max_position_embeddings, orders);
  return orders;
}

void embeddings_stage(const PassContext& pass, const EmbeddingActivations& kept) {
  const auto upload = [&](std::int32_t* to, const std::vector<std::int32_t>& from) {
    pass.backend.upload(to, from.data(), from.size() * sizeof(std::int32_t));
  };
  upload(kept.ids, of_both(pass.batch.ids, pass.batch.globals.ids));
  upload(kept.types, types_of(pass.config, pass.batch));
  upload(kept.positions, positions_of(pass.config, pass.batch));
  if (kept.updated_rows != nullptr) upload(kept.updated_rows, rows_to_update(pass.config, pass.batch));
  if (kept.orders != nullptr)
    upload(kept.orders,
           pass.batch.row_orders.empty() ? embedding_orders(pass.config, pass.batch) : pass.batch.row_orders);
  if (pass.stem != nullptr) stem_stage(pass, kept.stem);
  const std::vector<float>& offsets = pass.batch.embedding_offsets;
  if (!offsets.empty()) {
    pass.backend.upload_values(kept.offsets, offsets.data(), static_cast<kernels::Index>(offsets.size()));
  }
}

void embeddings_forward(const PassContext& pass, const EmbeddingTensors& tensors,
                        const EmbeddingActivations& kept, kernels::Values output) {
  kernels::Backend& backend = pass.backend;
  const kernels::Index rows = pass.embedded(), width = pass.width();
  const EmbeddingNorm norm = pass.config.embedding_norm;
  const kernels::Values sum = norm == EmbeddingNorm::none ? output : kept.sum;
  const std::vector<EmbeddedRows> inputs = embedded_rows(pass, tensors);
  if (pass.stem != nullptr) stem_forward(pass, tensors.stem, kept.stem, sum);
  for (const EmbeddedRows& input : inputs) {
    if (pass.stem != nullptr) break;
    backend.embedding_forward(indices_of(input, kept.ids, kept), embedding_tables(pass.config, input.tensors),
                              sum + input.first * width);
  }
  if (!pass.batch.embedding_offsets.empty()) backend.add(kept.offsets, sum, pass.batch.tokens() * width);
  const kernels::Dropout dropout = pass.dropout(DropoutSite::embeddings, 0);
  const auto drop = [&](kernels::Values values) {
    if (dropout.probability > 0) backend.dropout(values, values, rows * width, dropout);
  };
  if (norm != EmbeddingNorm::before_dropout) drop(sum);
  for (const EmbeddedRows& input : inputs) {
    if (norm == EmbeddingNorm::none) break;
    const kernels::Index first = input.first * width;
    backend.layernorm_forward(sum + first, input.tensors.norm, output + first,
                              state_of(input, kept.norm_state), input.count);
  }
  if (norm == EmbeddingNorm::before_dropout) drop(output);
  if (const kernels::Index spans = pass.batch.span_nodes * width; spans > 0) {
    const kernels::Values nodes = output + rows * width;
    backend.zero(nodes.data(), static_cast<std::size_t>(spans) * kernels::size_of(nodes.type()));
  }
}

void embeddings_backward(const PassContext& pass, const EmbeddingTensors& tensors,
                         const EmbeddingTensors& gradients, const EmbeddingActivations& kept,
                         kernels::Values gradient) {
  kernels::Backend& backend = pass.backend;
  const kernels::Index rows = pass.embedded(), width = pass.width();
  const EmbeddingNorm norm = pass.config.embedding_norm;
  const kernels::Dropout dropout = pass.dropout(DropoutSite::embeddings, 0);
  const auto drop = [&] {
    if (dropout.probability > 0) backend.dropout(gradient, gradient, rows * width, dropout);
  };
  if (norm == EmbeddingNorm::before_dropout) drop();
  const std::vector<EmbeddedRows> inputs = embedded_rows(pass, tensors), to = embedded_rows(pass, gradients);
  for (std::size_t i = 0; norm != EmbeddingNorm::none && i < inputs.size(); ++i) {
    const kernels::Values part = gradient + inputs[i].first * width;
    backend.layernorm_backward({part, kept.sum + inputs[i].first * width,
                                state_of(inputs[i], kept.norm_state), part, inputs[i].count},
                               inputs[i].tensors.norm, to[i].tensors.norm, false);
  }
  if (norm != EmbeddingNorm::before_dropout) drop();
  if (pass.stem != nullptr) return stem_backward(pass, tensors.stem, gradients.stem, kept.stem, gradient);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const EmbeddingTensors& sums = to[i].tensors;
    kernels::EmbeddingIndices indices = indices_of(inputs[i], kept.updated_rows, kept);
    if (kept.orders != nullptr) {
      indices.id_order = kept.orders;
      indices.type_order = kept.orders + rows;
      indices.position_order = kept.orders + 2 * rows;
    }
    backend.embedding_backward(gradient + inputs[i].first * width, indices,
                               embedding_tables(pass.config, inputs[i].tensors),
                               {sums.word, sums.type, sums.position});
  }
}

std::vector<float> rotary_table(const ModelConfig& config, std::int64_t positions) {
  const std::size_t half = static_cast<std::size_t>(config.rotary_dim / 2);
  std::vector<float> frequencies;
  for (std::size_t i = 0; i < half; ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(config.rotary_dim);
    frequencies.push_back(1.0f /
                          static_cast<float>(std::pow(config.rotary_base, static_cast<double>(exponent))));
  }
  std::vector<float> rotations(static_cast<std::size_t>(positions) * 2 * half);
  for (std::size_t position = 0; position < static_cast<std::size_t>(positions); ++position) {
    for (std::size_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(static_cast<float>(position) * frequencies[i]);
      rotations[position * 2 * half + i] = static_cast<float>(std::cos(angle));
      rotations[position * 2 * half + half + i] = static_cast<float>(std::sin(angle));
    }
  }
  return rotations;
}

kernels::Rotary rotary_of(const ModelConfig& config, const RotaryTable& rotations, kernels::Index heads) {
  kernels::Rotary rotary;
  rotary.positions = rotations.positions;
  rotary.rotations = rotations.table;
  rotary.heads = heads;
  rotary.head_size = config.head_size();
  rotary.half = config.rotary_dim / 2;
  return rotary;
}

void fill_rotary_table(kernels::Backend& backend, const ModelConfig& config, std::int64_t positions,
                       const RotaryTable& to) {
  if (to.table == nullptr) return;
  const std::vector<float> rotations = rotary_table(config, positions);
  backend.upload(to.table, rotations.data(), rotations.size() * sizeof(float));
}

void residual_forward(const PassContext& pass, const kernels::Dropout& dropout, const NormTensors& tensors,
                      kernels::ConstValues input, const ResidualActivations& kept) {
  const kernels::Index rows = pass.rows();
  if (pass.config.norm_type == NormType::postnorm) {
    // The sum is read by a way back alone.
    const kernels::Values sum = kept.norm_state.rstd == nullptr ? nullptr : kept.sum;
    pass.backend.dropout_add_layernorm_forward({kept.sum, input, sum, dropout}, tensors, kept.norm,
                                               kept.norm_state, rows);
  } else {
    pass.backend.dropout_add(kept.sum, input, kept.sum, rows * pass.width(), dropout);
  }
}

kernels::ConstValues residual_backward(const PassContext& pass, const kernels::Dropout& dropout,
                                       const NormTensors& tensors, const NormTensors& gradients,
                                       kernels::LinearGradients& output, const ResidualActivations& kept,
                                       const BackwardWorkspace& work) {
  kernels::Backend& backend = pass.backend;
  const kernels::Index rows = pass.rows();
  const kernels::NormBackward norm{work.gradient, kept.sum, kept.norm_state, work.gradient, rows};
  const bool drops = dropout.probability > 0;
  if (pass.config.norm_type == NormType::postnorm) {
    kernels::NormGradients sums = gradients;
    sums.linear_bias = std::exchange(output.bias, nullptr);
    if (drops) {
      backend.layernorm_backward_dropout(norm, tensors, sums, dropout, work.branch);
    } else {
      backend.layernorm_backward(norm, tensors, sums, false);
    }
  } else if (drops) {
    backend.dropout(work.gradient, work.branch, rows * pass.width(), dropout);
  }
  return drops ? work.branch : work.gradient;
}

void attention_branch_forward(const PassContext& pass, std::int64_t layer, const AttentionTensors& tensors,
                              kernels::ConstValues input, const AttentionActivations& kept,
                              const HeadRowActivations& head_rows) {
  kernels::Backend& backend = pass.backend;
  const kernels::Index rows = pass.tokens(), width = pass.width();
  const bool postnorm = pass.config.norm_type == NormType::postnorm;
  if (!postnorm) backend.layernorm_forward(input, tensors.norm, kept.norm, kept.norm_state, rows);
  if (pass.recurrent != nullptr) {
    recurrent_attention_forward(pass, layer, tensors, input, kept);
  } else {
    backend.linear_forward(postnorm ? input : kept.norm, tensors.qkv, kept.qkv, rows);
    rotate_queries_and_keys(pass, kept.rotations, kept.qkv, false);
  }
  if (pass.windowed != nullptr) {
    windowed_attention_forward(pass, layer, tensors, postnorm ? input : kept.norm, kept);
  }
  if (pass.lists != nullptr) rows_attention_forward(pass, tensors, kept);
  content_attention_forward(pass, tensors, kept);
  for (const AttentionRun& run : planned_runs(pass, layer)) {
    const kernels::Index first = run.first_row();
    float* const log_sum_exp =
        kept.log_sum_exp == nullptr ? nullptr : kept.log_sum_exp + pass.config.num_attention_heads * first;
    kernels::AttentionBatch call = run.call();
    // The head reads first tokens alone, and nothing is kept for a way back.
    if (head_rows.tokens != nullptr && log_sum_exp == nullptr && pass.masked_rows == 0)
      call.wanted_blocks = 1;
    backend.attention_forward(call, inputs(kept.qkv, first, width), part(kept.context, first, width, 0),
                              log_sum_exp);
  }
}

void attention_layer_forward(const PassContext& pass, std::int64_t layer, const AttentionTensors& tensors,
                             kernels::ConstValues input, const AttentionActivations& kept,
                             const HeadRowActivations& head_rows) {
  attention_branch_forward(pass, layer, tensors, input, kept, head_rows);
  const PassContext behind = at_head_rows(pass, head_rows);
  kernels::ConstValues context = kept.context;
  if (head_rows.tokens != nullptr) {
    gather_head_rows(pass, head_rows, context, head_rows.context);
    gather_head_rows(pass, head_rows, input, head_rows.input);
    context = head_rows.context;
    input = head_rows.input;
  }
  pass.backend.linear_forward(context, tensors.output, kept.sum, behind.rows());
  residual_forward(behind, behind.dropout(DropoutSite::attention_output, layer), tensors.norm, input,
                   {kept.sum, kept.norm, kept.norm_state});
}

void attention_layer_backward(const PassContext& pass, std::int64_t layer, const AttentionTensors& tensors,
                              const AttentionTensors& gradients, kernels::ConstValues input,
                              const AttentionActivations& kept, const HeadRowActivations& head_rows,
                              const BackwardWorkspace& work) {
  kernels::Backend& backend = pass.backend;
  const kernels::Index rows = pass.tokens(), width = pass.width();
  const bool postnorm = pass.config.norm_type == NormType::postnorm;
  const kernels::Values dcontext = work.wide, dqkv = work.wide + rows * width;

  const PassContext behind = at_head_rows(pass, head_rows);
  kernels::LinearGradients output = gradients.output;
  const kernels::ConstValues branch =
      residual_backward(behind, behind.dropout(DropoutSite::attention_output, layer), tensors.norm,
                        gradients.norm, output, {kept.sum, kept.norm, kept.norm_state}, work);
  const bool all = head_rows.tokens == nullptr;
  backend.linear_backward_weight(branch, all ? kept.context : head_rows.context, tensors.output, output,
                                 behind.rows());
  if (all) {
    backend.linear_backward_input(branch, tensors.output, dcontext, rows, false);
  } else {
    // Made where the gradients of query, key and value come to lie: there is room for three times as many
    // rows, of which those of the stream may be twice as wide.
    const kernels::Values gradient(dqkv.data(), work.gradient.type());
    const kernels::Values some((gradient + behind.rows() * width).data(), dqkv.type());
    backend.linear_backward_input(branch, tensors.output, some, behind.rows(), false);
    backend.copy(gradient.data(), work.gradient.data(),
                 static_cast<std::size_t>(behind.rows() * width) * kernels::size_of(gradient.type()));
    spread_head_rows(pass, head_rows, some, dcontext);
    spread_head_rows(pass, head_rows, gradient, work.gradient);
  }

  if (pass.recurrent != nullptr)
    return recurrent_attention_backward(pass, layer, tensors, gradients, input, kept, work);
  if (pass.windowed != nullptr) {
    windowed_attention_backward(pass, layer, tensors, gradients, postnorm ? input : kept.norm, kept, dcontext,
                                dqkv);
  }
  if (pass.lists != nullptr) rows_attention_backward(pass, tensors, gradients, kept, dcontext, dqkv);
  content_attention_backward(pass, tensors, gradients, kept, dcontext, dqkv);
  for (const AttentionRun& run : planned_runs(pass, layer)) {
    const kernels::Index first = run.first_row();
    backend.attention_backward(run.call(), inputs(kept.qkv, first, width),
                               part(kept.context, first, width, 0),
                               kept.log_sum_exp + pass.config.num_attention_heads * first,
                               part(dcontext, first, width, 0), parts(dqkv, first, width));
  }

  rotate_queries_and_keys(pass, kept.rotations, dqkv, true);
  backend.linear_backward_weight(dqkv, postnorm ? input : kept.norm, tensors.qkv, gradients.qkv, rows);
  const kernels::Values dinput = postnorm ? work.gradient : work.branch;
  backend.linear_backward_input(dqkv, tensors.qkv, dinput, rows, postnorm);
  if (pass.windowed != nullptr) windowed_input_backward(pass, tensors, kept, dinput);
  if (!postnorm) {
    backend.layernorm_backward({work.branch, input, kept.norm_state, work.of_input(), rows}, tensors.norm,
                               gradients.norm, true);
  }
}

void feed_forward_branch_forward(const PassContext& pass, std::int64_t layer,
                                 const FeedForwardTensors& tensors, kernels::ConstValues input,
                                 const FeedForwardActivations& kept) {
  kernels::Backend& backend = pass.backend;
  const kernels::Index rows = pass.rows();
  const bool postnorm = pass.config.norm_type == NormType::postnorm;
  if (!postnorm) backend.layernorm_forward(input, tensors.norm, kept.norm, kept.norm_state, rows);
  backend.linear_activation_forward(postnorm ? input : kept.norm, tensors.inner, pass.config.activation,
                                    kept.pre, kept.inner, rows);
  const kernels::Dropout dropout = inner_dropout(pass, layer, tensors.inner.out);
  if (dropout.probability > 0) backend.dropout(kept.inner, kept.inner, rows * tensors.inner.out, dropout);
  backend.linear_forward(kept.inner, tensors.output, kept.sum, rows);
}

void feed_forward_forward(const PassContext& pass, std::int64_t layer, const FeedForwardTensors& tensors,
                          kernels::ConstValues input, const FeedForwardActivations& kept) {
  feed_forward_branch_forward(pass, layer, tensors, input, kept);
  residual_forward(pass, pass.dropout(pass.feed_forward_site, layer), tensors.norm, input,
                   {kept.sum, kept.norm, kept.norm_state});
}

void feed_forward_backward(const PassContext& pass, std::int64_t layer, const FeedForwardTensors& tensors,
                           const FeedForwardTensors& gradients, kernels::ConstValues input,
                           const FeedForwardActivations& kept, const BackwardWorkspace& work) {
  kernels::Backend& backend = pass.backend;
  const kernels::Index rows = pass.rows();
  const bool postnorm = pass.config.norm_type == NormType::postnorm;
  // What the activation made is made again where it was not kept, in the place that its gradient takes
  // afterwards.
  const kernels::Values dinner = work.wide, inner = kept.keeps_inner ? kept.inner : dinner;

  kernels::LinearGradients output = gradients.output;
  const kernels::ConstValues branch =
      residual_backward(pass, pass.dropout(pass.feed_forward_site, layer), tensors.norm, gradients.norm,
                        output, {kept.sum, kept.norm, kept.norm_state}, work);
  const kernels::Index inner_values = rows * tensors.inner.out;
  const kernels::Dropout dropout = inner_dropout(pass, layer, tensors.inner.out);
  const auto drop = [&](kernels::Values values) {
    if (dropout.probability > 0) backend.dropout(values, values, inner_values, dropout);
  };
  if (!kept.keeps_inner) {
    backend.activation_forward(kept.pre, inner, inner_values, pass.config.activation);
    drop(inner);
  }
  backend.linear_backward_weight(branch, inner, tensors.output, output, rows);
  backend.linear_backward_input_activation(branch, tensors.output, pass.config.activation, kept.pre, dinner,
                                           rows);
  drop(dinner);

  backend.linear_backward_weight(dinner, postnorm ? input : kept.norm, tensors.inner, gradients.inner, rows);
  backend.linear_backward_input(dinner, tensors.inner, postnorm ? work.gradient : work.branch, rows,
                                postnorm);
  if (!postnorm) {
    backend.layernorm_backward({work.branch, input, kept.norm_state, work.of_input(), rows}, tensors.norm,
                               gradients.norm, true);
  }
}

void encoder_forward(const PassContext& pass, const ModelTensors& tensors, const Activations& kept,
                     const StateListener& on_state) {
  const std::size_t layers = tensors.layers.size();
  const PassContext last = at_head_rows(pass, kept.head_rows);
  const auto report = [&](std::size_t state, kernels::ConstValues values) {
    (state < layers ? pass : last).report_state(on_state, state, values);
  };

  const bool reversible = is_reversible(pass.config);
  embeddings_forward(pass, tensors.embeddings, kept.embeddings, kept.states[0]);
  if (pass.recurrent != nullptr) recurrent_begin(pass, tensors, kept.recurrent);
  if (reversible) reversible_forward(pass, tensors, kept, on_state);
  if (!reversible) report(0, kept.states[0]);
  for (std::size_t layer = 0; layer < layers && !reversible; ++layer) {
    throw_if_cancelled_anywhere();
    const bool is_last = layer + 1 == layers;
    if (is_last && last.rows() == 0) return;  // there is nothing that the head reads
    if (pass.drops(static_cast<std::int64_t>(layer))) {
      pass.copy_state(kept.states[layer], kept.states[layer + 1]);
    } else {
      layer_forward(pass, static_cast<std::int64_t>(layer), tensors.layers[layer], kept.states[layer],
                    kept.layers[layer], is_last ? kept.head_rows : HeadRowActivations{});
    }
    report(layer + 1, kept.states[layer + 1]);
  }
  drop_last_state(last, kept.states.back());
  if (pass.config.has_final_norm()) {
    pass.backend.layernorm_forward(kept.states.back(), tensors.final_norm, kept.final_norm,
                                   kept.final_norm_state, last.rows());
  }
}

void encoder_backward(const PassContext& pass, const ModelTensors& tensors, const ModelTensors& gradients,
                      const Activations& kept, bool grad_checkpoint) {
  const std::size_t layers = tensors.layers.size();
  const BackwardWorkspace& work = kept.workspace;
  const PassContext last = at_head_rows(pass, kept.head_rows);
  const kernels::Index last_rows = last.rows();
  if (last_rows == 0) return;
  if (pass.config.has_final_norm()) {
    pass.backend.layernorm_backward(
        {work.gradient, kept.states.back(), kept.final_norm_state, work.gradient, last_rows},
        tensors.final_norm, gradients.final_norm, false);
  }
  drop_last_state(last, work.gradient);
  const bool reversible = is_reversible(pass.config);
  if (reversible) reversible_backward(pass, tensors, gradients, kept);
  for (std::size_t i = reversible ? 0 : layers; i-- > 0;) {
    throw_if_cancelled_anywhere();
    const std::int64_t layer = static_cast<std::int64_t>(i);
    if (pass.drops(layer)) continue;
    if (grad_checkpoint && i + 1 < layers) {
      layer_forward(pass, layer, tensors.layers[i], kept.states[i], kept.layers[i], {});
    }
    layer_backward(pass, layer, tensors.layers[i], gradients.layers[i], kept.states[i], kept.layers[i],
                   i + 1 == layers ? kept.head_rows : HeadRowActivations{}, work);
  }
  embeddings_backward(pass, tensors.embeddings, gradients.embeddings, kept.embeddings, work.gradient);
}

}  // namespace bigbird
