// The host's side of the backward pass of attention: workspace and the choice of the kernels; see
// attention.h.
#include <stdexcept>

#include "kernels/cuda/attention.h"
#include "kernels/cuda/attention_backward.h"

namespace bigbird::kernels::cuda {

void attention_backward(const AttentionCall& call, ConstRows q, ConstRows k, ConstRows v, ConstRows out,
                        const float* log_sum_exp, ConstRows dout, Rows dq, Rows dk, Rows dv,
                        bool deterministic) {
  const AttentionBatch& batch = call.batch;
  if (batch.sequences == 0) return;
  if (call.place.query_slots() > call.workspace.query_slots ||
      call.place.key_slots() > call.workspace.key_slots) {
    throw std::logic_error("attention workspace is too small");
  }
  const auto part = [&call](std::size_t offset) {
    return reinterpret_cast<float*>(static_cast<std::byte*>(call.workspace_memory) + offset);
  };
  AttentionBackwardArguments arguments;
  arguments.view = call.place.view();
  arguments.query_pieces = call.place.query_pieces();
  arguments.query_cuts = call.place.query_cuts();
  arguments.key_pieces = call.place.key_pieces();
  arguments.key_cuts = call.place.key_cuts();
  arguments.q = q;
  arguments.k = k;
  arguments.v = v;
  arguments.out = out;
  arguments.dout = dout;
  arguments.log_sum_exp = log_sum_exp;
  arguments.dq = dq;
  arguments.dk = dk;
  arguments.dv = dv;
  arguments.tokens = batch.token_offsets[batch.sequences];
  arguments.heads = batch.heads;
  arguments.scale = batch.scale;
  arguments.exact = call.products == FloatProducts::fp32;
  arguments.deterministic = deterministic;
  arguments.output_products = part(call.workspace.output_products);
  arguments.partial_rows = part(call.workspace.partial_rows);
  arguments.partial_keys = part(call.workspace.partial_keys);
  arguments.query_gradients = part(call.workspace.query_gradients);
  arguments.drop_probability = batch.drop_probability;
  arguments.dropout_seed = batch.dropout_seed;
  arguments.dropout_stream = batch.dropout_stream;
  const std::int32_t tile_rows = attention_tile_rows(batch.block_size);
  switch (batch.head_size) {
    case 32:
      return launch_attention_backward<32>(arguments, tile_rows, call.stream);
    case 64:
      return launch_attention_backward<64>(arguments, tile_rows, call.stream);
    case 128:
      return launch_attention_backward<128>(arguments, tile_rows, call.stream);
    default:
      throw std::logic_error(attention_refusal(batch.head_size, batch.block_size));
  }
}

}  // namespace bigbird::kernels::cuda
