// See reversible.h.
#include "lib/model/network/reversible.h"

#include <string>

#include "lib/core/cancel.h"

namespace bigbird {
namespace {

// What a half of a layer adds to a stream.
struct Half {
  kernels::Values branch;
  kernels::Dropout dropout;
};

void add(const PassContext& pass, const Half& half, kernels::Values stream) {
  pass.backend.dropout_add(half.branch, stream, stream, pass.tokens() * pass.width(), half.dropout);
}
void take_away(const PassContext& pass, const Half& half, kernels::Values stream) {
  const kernels::Index count = pass.tokens() * pass.width();
  pass.backend.dropout(half.branch, half.branch, count, half.dropout);
  pass.backend.subtract(half.branch, stream, count);
}

Half attention_half(const PassContext& pass, std::int64_t layer, const LayerTensors& tensors,
                    kernels::ConstValues input, const LayerActivations& kept) {
  attention_branch_forward(pass, layer, tensors.attention, input, kept.attention);
  pass.backend.linear_forward(kept.attention.context, tensors.attention.output, kept.attention.sum,
                              pass.tokens());
  return {kept.attention.sum, pass.dropout(DropoutSite::attention_output, layer)};
}
Half feed_forward_half(const PassContext& pass, std::int64_t layer, const LayerTensors& tensors,
                       kernels::ConstValues input, const LayerActivations& kept) {
  feed_forward_branch_forward(pass, layer, tensors.feed_forward, input, kept.feed_forward);
  return {kept.feed_forward.sum, pass.dropout(pass.feed_forward_site, layer)};
}

// to [T, 2C] = both side by side.
void join(const PassContext& pass, const ReversibleActivations& streams, kernels::Values to) {
  const kernels::Index width = pass.width(), rows = pass.tokens();
  pass.backend.zero(to.data(), static_cast<std::size_t>(2 * rows * width) * kernels::size_of(to.type()));
  pass.backend.add_rows({streams.first, width}, {to, 2 * width}, rows, width);
  pass.backend.add_rows({streams.second, width}, {to + width, 2 * width}, rows, width);
}
// The other way around.
void part(const PassContext& pass, kernels::ConstValues from, const ReversibleActivations& streams) {
  const kernels::Index width = pass.width(), rows = pass.tokens();
  for (const kernels::Values to : {streams.first_gradient, streams.second_gradient})
    pass.backend.zero(to.data(), static_cast<std::size_t>(rows * width) * kernels::size_of(to.type()));
  pass.backend.add_rows({from, 2 * width}, {streams.first_gradient, width}, rows, width);
  pass.backend.add_rows({from + width, 2 * width}, {streams.second_gradient, width}, rows, width);
}

}  // namespace

ReversibleActivations plan_streams(Arena& arena, const ModelConfig& config, std::int64_t tokens,
                                   bool training) {
  const std::string what = "two streams";
  const std::int64_t count = tokens * config.hidden_size;
  ReversibleActivations to;
  to.first = arena.values(what, count);
  to.second = arena.values(what, count);
  to.joined = arena.values(what, 2 * count);
  to.branch = arena.values(what, count);
  if (!training) {
    to.normed = arena.values(what, 2 * count);
    return to;
  }
  to.first_gradient = arena.values(what, count);
  to.second_gradient = arena.values(what, count);
  return to;
}

void reversible_forward(const PassContext& pass, const ModelTensors& tensors, const Activations& kept,
                        const StateListener& on_state) {
  const ReversibleActivations& streams = kept.reversible;
  pass.copy_state(streams.first, streams.second);
  pass.report_state(on_state, 0, streams.second);
  for (std::size_t layer = 0; layer < tensors.layers.size(); ++layer) {
    throw_if_cancelled_anywhere();
    const auto number = static_cast<std::int64_t>(layer);
    add(pass, attention_half(pass, number, tensors.layers[layer], streams.second, kept.layers[layer]),
        streams.first);
    add(pass, feed_forward_half(pass, number, tensors.layers[layer], streams.first, kept.layers[layer]),
        streams.second);
    pass.report_state(on_state, layer + 1, streams.second);
  }
  join(pass, streams, streams.joined);
}

void reversible_backward(const PassContext& given, const ModelTensors& tensors, const ModelTensors& gradients,
                         const Activations& kept) {
  PassContext pass = given;
  pass.again = true;
  const ReversibleActivations& streams = kept.reversible;
  part(pass, kept.workspace.gradient, streams);
  BackwardWorkspace to_first = kept.workspace, to_second = kept.workspace;
  to_first.gradient = to_second.other = streams.second_gradient;
  to_second.gradient = to_first.other = streams.first_gradient;
  for (std::size_t layer = tensors.layers.size(); layer-- > 0;) {
    throw_if_cancelled_anywhere();
    const auto number = static_cast<std::int64_t>(layer);
    const LayerTensors &of = tensors.layers[layer], &to = gradients.layers[layer];
    const LayerActivations& made = kept.layers[layer];
    take_away(pass, feed_forward_half(pass, number, of, streams.first, made), streams.second);
    feed_forward_backward(pass, number, of.feed_forward, to.feed_forward, streams.first, made.feed_forward,
                          to_first);
    take_away(pass, attention_half(pass, number, of, streams.second, made), streams.first);
    attention_layer_backward(pass, number, of.attention, to.attention, streams.second, made.attention, {},
                             to_second);
  }
  pass.copy_state(streams.first_gradient, kept.workspace.gradient);
  pass.backend.add(streams.second_gradient, kept.workspace.gradient, pass.tokens() * pass.width());
}

}  // namespace bigbird
