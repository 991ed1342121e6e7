// See encoder.h.
#include "lib/model/network/encoder.h"

#include <cmath>
#include <cstddef>
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

namespace bigbird {
namespace {

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
  const kernels::ConstValues read = postnorm ? input : kept.norm;
  const kernels::Index inner_width = tensors.output.in;
  if (pass.config.gated_feed_forward) {
    backend.linear_forward(read, tensors.inner, kept.pre, rows);
    backend.gated_activation_forward(kept.pre, kept.inner, rows, inner_width, pass.config.activation);
  } else {
    backend.linear_activation_forward(read, tensors.inner, pass.config.activation, kept.pre, kept.inner,
                                      rows);
  }
  const kernels::Dropout dropout = inner_dropout(pass, layer, inner_width);
  if (dropout.probability > 0) backend.dropout(kept.inner, kept.inner, rows * inner_width, dropout);
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
  const kernels::Activation form = pass.config.activation;
  const kernels::Index inner_width = tensors.output.in, inner_values = rows * inner_width;
  const kernels::Dropout dropout = inner_dropout(pass, layer, inner_width);
  const bool gated = pass.config.gated_feed_forward;
  const auto drop = [&](kernels::Values values) {
    if (dropout.probability > 0) backend.dropout(values, values, inner_values, dropout);
  };
  if (!kept.keeps_inner) {
    if (gated) {
      backend.gated_activation_forward(kept.pre, inner, rows, inner_width, form);
    } else {
      backend.activation_forward(kept.pre, inner, inner_values, form);
    }
    drop(inner);
  }
  backend.linear_backward_weight(branch, inner, tensors.output, output, rows);
  // The gradient of what the first product gave: of a gated part twice as wide, in its place.
  const kernels::Values dpre = gated ? kept.pre : dinner;
  if (gated) {
    backend.linear_backward_input(branch, tensors.output, dinner, rows, false);
    drop(dinner);
    backend.gated_activation_backward(kept.pre, dinner, dpre, rows, inner_width, form);
  } else {
    backend.linear_backward_input_activation(branch, tensors.output, form, kept.pre, dinner, rows);
    drop(dinner);
  }

  backend.linear_backward_weight(dpre, postnorm ? input : kept.norm, tensors.inner, gradients.inner, rows);
  backend.linear_backward_input(dpre, tensors.inner, postnorm ? work.gradient : work.branch, rows, postnorm);
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
