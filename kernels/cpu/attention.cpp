// Attention over block plans. Forward: a task is one query block of one head. Backward: a task is one head of
// one sequence, because dk and dv of a head are sums over all its query blocks and must have one order; so it
// keeps at most sequences x heads threads busy.
#include <algorithm>
#include <cstring>

#include "kernels/cpu/operations.h"
#include "kernels/cpu/partition.h"

namespace bigbird::kernels {

namespace {

AttentionHead view_of(const AttentionBatch& batch, Index sequence, Index head, ConstRows q, ConstRows k,
                      ConstRows v) {
  const Index first = batch.token_offsets[sequence];
  const Index column = head * batch.head_size;
  const Index tokens = batch.token_offsets[batch.sequences];
  const BlockPlanView& plan = *batch.plans[sequence];
  AttentionHead view;
  view.q = q.data + first * q.stride + column;
  view.k = k.data + first * k.stride + column;
  view.v = v.data + first * v.stride + column;
  view.q_stride = q.stride;
  view.k_stride = k.stride;
  view.v_stride = v.stride;
  view.head_size = batch.head_size;
  view.block_size = batch.block_size;
  view.blocks = plan.blocks;
  view.length = batch.lengths[sequence];
  view.row_offsets = plan.row_offsets + head * plan.blocks;
  view.key_blocks = plan.key_blocks;
  view.scale = batch.scale;
  view.drop_probability = batch.drop_probability;
  view.dropout_seed = batch.dropout_seed;
  view.dropout_stream = batch.dropout_stream;
  view.dropout_first = static_cast<std::uint64_t>((head * tokens + first) * tokens + first);
  view.dropout_row = static_cast<std::uint64_t>(tokens);
  return view;
}

}  // namespace

void CpuBackend::attention_forward(const AttentionBatch& batch, ConstRows q, ConstRows k, ConstRows v,
                                   Rows out, float* log_sum_exp) {
  const Index tokens = batch.token_offsets[batch.sequences];
  const Index blocks = tokens / batch.block_size;  // of all sequences
  const Index scratch_size = level_.attention_forward_scratch(batch.block_size, batch.head_size);
  float* const scratch = scratch_.reserve(scratch_size * thread_count());
  parallel_for_worker(static_cast<std::size_t>(batch.heads * blocks), [&](std::size_t task, int worker) {
    const Index head = static_cast<Index>(task) / blocks;
    const Index first_row = static_cast<Index>(task) % blocks * batch.block_size;
    const Index* const after =
        std::upper_bound(batch.token_offsets, batch.token_offsets + batch.sequences + 1, first_row);
    const Index sequence = after - batch.token_offsets - 1;
    const Index start = batch.token_offsets[sequence];
    level_.attention_forward_block(view_of(batch, sequence, head, q, k, v),
                                   (first_row - start) / batch.block_size,
                                   out.data + start * out.stride + head * batch.head_size, out.stride,
                                   log_sum_exp != nullptr ? log_sum_exp + head * tokens + start : nullptr,
                                   scratch + scratch_size * worker);
  });
}

void CpuBackend::attention_backward(const AttentionBatch& batch, ConstRows q, ConstRows k, ConstRows v,
                                    ConstRows out, const float* log_sum_exp, ConstRows dout, Rows dq, Rows dk,
                                    Rows dv) {
  const Index tokens = batch.token_offsets[batch.sequences];
  const Index scratch_size = level_.attention_backward_scratch(batch.block_size, batch.head_size);
  float* const scratch = scratch_.reserve(scratch_size * thread_count());
  parallel_for_worker(static_cast<std::size_t>(batch.sequences * batch.heads),
                      [&](std::size_t task, int worker) {
                        const Index sequence = static_cast<Index>(task) / batch.heads;
                        const Index head = static_cast<Index>(task) % batch.heads;
                        const Index start = batch.token_offsets[sequence];
                        const Index column = head * batch.head_size;
                        AttentionHeadGradients gradients;
                        gradients.out = out.data + start * out.stride + column;
                        gradients.dout = dout.data + start * dout.stride + column;
                        gradients.log_sum_exp = log_sum_exp + head * tokens + start;
                        gradients.dq = dq.data + start * dq.stride + column;
                        gradients.dk = dk.data + start * dk.stride + column;
                        gradients.dv = dv.data + start * dv.stride + column;
                        gradients.out_stride = out.stride;
                        gradients.dout_stride = dout.stride;
                        gradients.dq_stride = dq.stride;
                        gradients.dk_stride = dk.stride;
                        gradients.dv_stride = dv.stride;
                        level_.attention_backward_head(view_of(batch, sequence, head, q, k, v), gradients,
                                                       scratch + scratch_size * worker);
                      });
}

}  // namespace bigbird::kernels
