// The host's side of the backward pass of attention: workspace and the choice of the kernels; see
// attention.h.
#include <stdexcept>

#include "kernels/cuda/attention.h"
#include "kernels/cuda/attention_backward.h"
#include "kernels/cuda/attention_launch.h"

namespace bigbird::kernels::cuda {

void attention_backward(const AttentionCall& call, const QueryKeyValue& inputs, ConstRows out,
                        const float* log_sum_exp, ConstRows dout, const QueryKeyValueGradients& gradients,
                        bool deterministic) {
  const AttentionBatch& batch = call.batch;
  if (batch.sequences == 0) return;
  if (call.prepared.query_slots() > call.workspace.query_slots ||
      call.prepared.key_slots() > call.workspace.key_slots) {
    throw std::logic_error("attention workspace is too small");
  }
  auto arguments = common_arguments<AttentionBackwardArguments>(call, inputs);
  arguments.query_pieces = call.prepared.query_pieces();
  arguments.query_cuts = call.prepared.query_cuts();
  arguments.key_pieces = call.prepared.key_pieces();
  arguments.key_cuts = call.prepared.key_cuts();
  arguments.out = out;
  arguments.dout = dout;
  arguments.log_sum_exp = log_sum_exp;
  arguments.dq = gradients.q;
  arguments.dk = gradients.k;
  arguments.dv = gradients.v;
  arguments.heads = batch.heads;
  arguments.deterministic = deterministic || batch.causal || batch.key_offsets != nullptr;
  arguments.output_products = workspace_part(call, call.workspace.output_products);
  arguments.partial_keys = workspace_part(call, call.workspace.partial_keys);
  arguments.query_gradients = workspace_part(call, call.workspace.query_gradients);
  for_head_size(batch.head_size, [&](auto head_size) {
    launch_attention_backward<head_size()>(arguments, attention_tile_rows(batch.block_size), call.stream);
  });
}

}  // namespace bigbird::kernels::cuda
