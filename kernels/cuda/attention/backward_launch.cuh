// Launches of attention's backward pass, in order: sums of dout * out, the passes of backward.cuh, and the
// sums of cut lists.
#pragma once

#include "kernels/cuda/attention/backward.cuh"
#include "kernels/cuda/attention/launch.h"

namespace bigbird::kernels::cuda {

template <class Element, int depth, int rows, bool dropping, bool paired>
void launch_backward_kernels(const AttentionBackwardArguments& a, Stream stream) {
  using Queries = AttentionBackward<Element, depth, rows, BackwardPass::queries, dropping, paired>;
  using Keys = AttentionBackward<Element, depth, rows, BackwardPass::keys, dropping, paired>;
  const BackwardMatrices<Element> of = backward_matrices<Element>(a, depth);
  launch_output_products<Element, depth>(a, stream);
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
    launch_query_sums<depth, rows, paired>(of, a, stream);
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
  launch_key_sums<depth, rows>(of, a, stream);
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
