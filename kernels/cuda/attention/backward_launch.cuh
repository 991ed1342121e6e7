// Launches of attention's backward pass, in order: sums of dout * out, the passes of backward.cuh, and the
// sums of cut lists.
#pragma once

#include "kernels/cuda/attention/backward.cuh"
#include "kernels/cuda/attention/launch.h"

namespace bigbird::kernels::cuda {

template <class Element, int depth, int rows, bool dropping, bool paired>
void launch_backward_kernels(const AttentionBackwardArguments& a, Stream stream) {
  using OutputProducts = AttentionOutputProducts<Element, depth>;
  using Queries = AttentionBackward<Element, depth, rows, BackwardPass::queries, dropping, paired>;
  using Keys = AttentionBackward<Element, depth, rows, BackwardPass::keys, dropping, paired>;
  BackwardMatrices<Element> of{};
  of.q = a.q.data.as<Element>();
  of.k = a.k.data.as<Element>();
  of.v = a.v.data.as<Element>();
  of.dout = a.dout.data.as<Element>();
  of.dq = a.dq.data.as<Element>();
  of.dk = a.dk.data.as<Element>();
  of.dv = a.dv.data.as<Element>();
  of.q_stride = static_cast<std::int32_t>(a.q.stride);
  of.k_stride = static_cast<std::int32_t>(a.k.stride);
  of.v_stride = static_cast<std::int32_t>(a.v.stride);
  of.dout_stride = static_cast<std::int32_t>(a.dout.stride);
  of.dq_stride = a.dq.stride;
  of.dk_stride = a.dk.stride;
  of.dv_stride = a.dv.stride;
  of.log_sum_exp = a.log_sum_exp;
  of.output_products = a.output_products;
  of.partial_rows = a.partial_rows;
  of.partial_keys = a.partial_keys;
  of.query_gradients = a.query_gradients;
  of.tokens = a.tokens;
  of.width = a.heads * depth;
  of.scale = a.scale;
  of.score_scale = a.scale * log2_e;
  of.exact = a.exact;
  of.causal = a.causal;
  of.drop = {a.dropout_seed, a.dropout_site, a.tokens, a.keys, first_kept_word(a.drop_probability)};
  of.kept_factor = 1.0f / (1.0f - a.drop_probability);

  launch(OutputProducts{a.out.data.as<Element>(), of.dout, a.out.stride, of.dout_stride, a.log_sum_exp,
                        a.output_products, a.tokens, static_cast<int>(a.heads),
                        static_cast<int>(a.tokens * a.heads)},
         {.blocks = blocks_for(a.tokens * a.heads, OutputProducts::rows)}, stream);
  if constexpr (paired) {
    if (a.pairs.self_last) mark_lone_queries(a, rows, stream);
  }
  if (paired || a.deterministic) {
    Keys keys{};
    Queries queries{};
    keys.view = queries.view = a.view;
    keys.of = queries.of = of;
    if constexpr (paired) keys.pairs = queries.pairs = a.pairs;
    launch(keys, {.blocks = a.key_pieces, .shared_bytes = Keys::shared_bytes}, stream);
    launch(queries, {.blocks = a.query_pieces, .shared_bytes = Queries::shared_bytes}, stream);
    AttentionBackwardSum<Element, depth, rows, false, paired> sum{};
    sum.view = a.view;
    sum.of = of;
    if constexpr (paired) sum.pairs = a.pairs;
    launch(sum, {.blocks = a.query_cuts}, stream);
  } else if constexpr (!paired) {
    using KeysAddingQueries =
        AttentionBackward<Element, depth, rows, BackwardPass::keys_adding_queries, dropping, false>;
    const Index count = a.tokens * of.width;
    fill_zero(a.query_gradients, static_cast<std::size_t>(count) * sizeof(float), stream);
    KeysAddingQueries keys{};
    keys.view = a.view;
    keys.of = of;
    launch(keys, {.blocks = a.key_pieces, .shared_bytes = KeysAddingQueries::shared_bytes}, stream);
    using QueryGradients = AttentionQueryGradients<Element>;
    launch(QueryGradients{a.query_gradients, of.dq, of.dq_stride, static_cast<unsigned>(count / 4),
                          static_cast<unsigned>(of.width / 4)},
           {.blocks = blocks_for(count, QueryGradients::threads * 4)}, stream);
  }
  AttentionBackwardSum<Element, depth, rows, true, false> sum{};
  sum.view = a.view;
  sum.of = of;
  launch(sum, {.blocks = a.key_cuts, .blocks_y = 2}, stream);
}

template <class Element, int depth, int rows, bool paired>
void launch_backward_kernels(const AttentionBackwardArguments& a, Stream stream) {
  if (a.drop_probability > 0.0f) {
    launch_backward_kernels<Element, depth, rows, true, paired>(a, stream);
  } else {
    launch_backward_kernels<Element, depth, rows, false, paired>(a, stream);
  }
}

template <class Element, int depth, bool paired>
void launch_attention_backward(const AttentionBackwardArguments& a, int tile_rows, Stream stream) {
  if (tile_rows == 64) {
    launch_backward_kernels<Element, depth, 64, paired>(a, stream);
  } else {
    launch_backward_kernels<Element, depth, 16, paired>(a, stream);
  }
}

}  // namespace bigbird::kernels::cuda
