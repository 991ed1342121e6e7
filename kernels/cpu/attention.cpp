// Attention over block plans. Forward: a task is one query block of one head. Backward: a task is one head of
// one sequence, because dk and dv of a head are sums over all its query blocks and must have one order; so it
// keeps at most sequences x heads threads busy.
#include <algorithm>
#include <cstring>

#include "kernels/cpu/attention_heads.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/partition.h"

namespace bigbird::kernels {

namespace {

// `pairs`: of this head, where the batch has a rule or a term.
AttentionHead view_of(const AttentionBatch& batch, Index sequence, Index head, const QueryKeyValue& inputs,
                      const HeadPairs* pairs) {
  const auto& [q, k, v] = inputs;
  const Index first = batch.token_offsets[sequence], first_key = key_offsets_of(batch)[sequence];
  const Index column = head * batch.head_size;
  const Index tokens = batch.token_offsets[batch.sequences], keys = key_offsets_of(batch)[batch.sequences];
  const BlockPlanView& plan = *batch.plans[sequence];
  AttentionHead view;
  const ConstValues of_q = q.data + (first * q.stride + column);
  const ConstValues of_k = k.data + (first_key * k.stride + column);
  const ConstValues of_v = v.data + (first_key * v.stride + column);
  if (of_q.type() == ElementType::fp32) {
    view.q = floats(of_q);
    view.k = floats(of_k);
    view.v = floats(of_v);
  } else {
    view.narrow_q = of_q.as<bf16>();
    view.narrow_k = of_k.as<bf16>();
    view.narrow_v = of_v.as<bf16>();
  }
  view.q_stride = q.stride;
  view.k_stride = k.stride;
  view.v_stride = v.stride;
  view.head_size = batch.head_size;
  view.block_size = batch.block_size;
  view.blocks = plan.blocks;
  view.key_count = key_count_of(plan);
  view.causal = batch.causal;
  view.query_origin = query_start_of(batch, sequence);
  if (batch.rule != nullptr || batch.relative != nullptr) view.pairs = pairs;
  view.rows = batch.token_offsets[sequence + 1] - first;
  view.length = batch.lengths[sequence];
  view.query_length = batch.query_lengths != nullptr ? batch.query_lengths[sequence] : view.length;
  view.row_offsets = plan.row_offsets + head * plan.blocks;
  view.key_blocks = plan.key_blocks;
  view.scale = batch.scale;
  view.drop_probability = batch.drop_probability;
  view.dropout_seed = batch.drop_probability > 0 ? *batch.dropout_seed : 0;
  view.dropout_site = batch.dropout_site;
  view.dropout_first = static_cast<std::uint64_t>((head * tokens + first) * keys + first_key);
  view.dropout_row = static_cast<std::uint64_t>(keys);
  return view;
}

// Of the forward pass.
Index query_blocks_of(const AttentionBatch& batch, Index sequence) {
  const Index blocks = batch.plans[sequence]->blocks;
  return batch.wanted_blocks > 0 ? std::min(batch.wanted_blocks, blocks) : blocks;
}

// Heads that are copied and worked on together in the forward pass: enough tasks for many threads.
Index heads_in_group(Index blocks) {
  return std::max<Index>(1, 256 / std::max<Index>(1, blocks));
}

// Whether a thread can take whole heads: enough of them that none waits for the last one. Then their keys and
// values stay in its cache, and the threads meet once instead of twice for every sequence.
bool heads_are_tasks(const AttentionBatch& batch) {
  constexpr Index tasks_of_a_thread = 6;
  return batch.sequences * batch.heads >= tasks_of_a_thread * thread_count();
}

// body(sequence, head, worker) for every head of `count` sequences, each a task.
template <typename Body>
void parallel_for_heads(const AttentionBatch& batch, Index first, Index count, const Body& body) {
  parallel_for_worker(static_cast<std::size_t>(count * batch.heads), [&](std::size_t task, int worker) {
    body(first + static_cast<Index>(task) / batch.heads, static_cast<Index>(task) % batch.heads, worker);
  });
}
template <typename Body>
void parallel_for_heads(const AttentionBatch& batch, const Body& body) {
  parallel_for_heads(batch, 0, batch.sequences, body);
}

// The queries of a head from a block on, as block 0; `q` and `narrow_q` stay where they are.
AttentionHead from_block(AttentionHead view, Index block) {
  const Index before = block * view.block_size;
  view.row_offsets += block;
  view.query_origin += before;
  view.rows -= before;
  view.query_length -= before;
  view.dropout_first += static_cast<std::uint64_t>(before) * view.dropout_row;
  return view;
}

// One block of a head whose queries, keys and values may be bf16: the backward pass reads and writes floats,
// which a block has in the first-level cache.
struct BlockOfHead {
  const Level& level;
  const QueryKeyValue& inputs;
  Index first;   // row of the block
  Index column;  // of the head
  Index rows;    // to convert
  float* room;   // 2 x rows of a block

  const float* widened(const ConstRows& from, Index head_size, float* to) const {
    take_rows(level, from, first, column, rows, head_size, to);
    return to;
  }
  // The block alone, as block 0 of keys.
  AttentionHead of_keys(AttentionHead view, Index block) const {
    view.length = std::min(view.length - block * view.block_size, view.block_size);
    view.k = widened(inputs.k, view.head_size, room);
    view.v = widened(inputs.v, view.head_size, room + view.block_size * view.head_size);
    view.k_stride = view.v_stride = view.head_size;
    return view;
  }
  // The block alone, as block 0 of queries.
  AttentionHead of_queries(AttentionHead view, Index block) const {
    view.q = widened(inputs.q, view.head_size, room);
    view.q_stride = view.head_size;
    return from_block(view, block);
  }
};

// Of a block's rows, in whole cache lines.
Index block_floats(Index block_size, Index head_size) {
  return pieces(block_size * head_size, line_floats) * line_floats;
}

// What the backward pass in fp32 copies of a head: keys, values and their gradients; of bf16 numbers queries,
// outputs, and the gradients of both besides.
constexpr Index backward_copies = 4, backward_copies_narrow = 8;

// A thread's share of the scratch of attention_backward_bf16(), in floats and whole cache lines.
struct BackwardRoom {
  Index rows;    // queries, gradients and outputs of a block, or its keys and values
  Index block;   // what the kernel wants
  Index packed;  // from one block of keys and values to the next, as the kernels have it
  Index keys;    // of a head, gradients of keys or values
  Index all;

  BackwardRoom(const Bf16AttentionBackward& kernels, Index block_size, Index head_size, Index blocks)
      : rows(4 * block_floats(block_size, head_size)),
        block(pieces(kernels.scratch(block_size, head_size), line_floats) * line_floats),
        packed(kernels.packed_bytes(block_size, head_size) / Index{sizeof(float)}),
        keys(blocks * block_floats(block_size, head_size)),
        all(rows + block + pieces(blocks * packed, line_floats) * line_floats + 2 * keys) {}
};

// The last block is as long as the first when it is global: it comes second, so that no thread is left with
// it.
Index block_in_order(Index order, Index blocks) {
  return order == 0 ? 0 : (order == 1 ? blocks - 1 : order - 1);
}

Index most_blocks_of(const AttentionBatch& batch) {
  Index most = 0;
  for (Index s = 0; s < batch.sequences; ++s) most = std::max(most, batch.plans[s]->blocks);
  return most;
}
Index most_key_blocks_of(const AttentionBatch& batch) {
  Index most = 0;
  for (Index s = 0; s < batch.sequences; ++s) most = std::max(most, key_count_of(*batch.plans[s]));
  return most;
}

// Rows of the longest sequence, by their offsets.
Index longest_of(const Index* offsets, Index sequences) {
  Index longest = 0;
  for (Index s = 0; s < sequences; ++s) longest = std::max(longest, offsets[s + 1] - offsets[s]);
  return longest;
}
Index most_key_rows_of(const AttentionBatch& batch) {
  return longest_of(key_offsets_of(batch), batch.sequences);
}

}  // namespace

std::size_t CpuBackend::scratch_bytes(const AttentionLimits& limits) const {
  if (limits.features > 0)
    return static_cast<std::size_t>(feature_attention_floats(level_, limits)) * sizeof(float);
  if (limits.cluster > 0)
    return static_cast<std::size_t>(cluster_attention_floats(level_, limits)) * sizeof(float);
  if (limits.clusters > 0) {  // beside which other heads have plans
    AttentionLimits others = limits;
    others.clusters = 0;
    const Index floats = routed_attention_floats(level_, limits);
    return std::max(scratch_bytes(others), static_cast<std::size_t>(floats) * sizeof(float));
  }
  const Index block_size = limits.block_size, head_size = limits.head_size;
  const Index blocks = pieces(limits.longest, block_size);
  const Index head_floats = blocks * block_size * head_size;
  const Index together = std::max<Index>(heads_in_group(blocks), thread_count());  // heads that are packed
  const bool narrow = element_type() == ElementType::bf16;
  const Index labels = thread_count() * label_floats(level_, block_size, head_size, limits.labels);
  const Index forward =
      together * 2 * head_floats +
      thread_count() * (level_.attention_forward_scratch(block_size, head_size) + line_floats +
                        (narrow ? 2 * block_floats(block_size, head_size) : 0));
  Index packed = 0;
  if (attention_is_packed(block_size)) {
    const Index parts = precision_ == Precision::bf16 ? 1 : 3;
    packed =
        together * blocks * packed_attention_->packed_bytes(block_size, head_size, parts) /
            Index{sizeof(float)} +
        thread_count() * (packed_scratch(block_size, head_size, parts) + block_floats(block_size, head_size));
  }
  const Index backward =
      thread_count() * ((narrow ? backward_copies_narrow : backward_copies) * head_floats +
                        level_.attention_backward_scratch(block_size, head_size) + 2 * line_floats);
  Index backward_bf16 = 0;
  if (bf16_ != nullptr) {
    backward_bf16 =
        thread_count() * BackwardRoom(bf16_->attention_backward, block_size, head_size, blocks).all;
  }
  const Index tables = limits.labels > 0 ? limits.heads * LabelTables::floats(limits.labels, head_size) : 0;
  const Index of_labels =
      limits.training ? LabelGradients::floats(limits.sequences, limits.heads, limits.labels, head_size) : 0;
  return static_cast<std::size_t>(std::max({forward, packed, backward, backward_bf16}) + labels + tables +
                                  of_labels) *
         sizeof(float);
}

bool CpuBackend::attention_is_packed(Index block_size) const {
  return packed_attention_ != nullptr && block_size % packed_attention_->block_multiple == 0;
}

// Of one thread, in whole cache lines: the packed blocks lie behind it.
Index CpuBackend::packed_scratch(Index block_size, Index head_size, Index parts) const {
  return pieces(packed_attention_->forward_scratch(block_size, head_size, parts), line_floats) * line_floats;
}

// As attention_forward below; keys and values are not copied but packed.
void CpuBackend::attention_forward_packed(const AttentionBatch& batch, const QueryKeyValue& inputs, Rows out,
                                          float* log_sum_exp) {
  const Index parts = precision_ == Precision::bf16 ? 1 : 3;
  const Index tokens = batch.token_offsets[batch.sequences];
  const Index head_size = batch.head_size;
  const bool narrow = inputs.q.data.type() == ElementType::bf16;
  const Index block_size = batch.block_size, room = narrow ? block_floats(block_size, head_size) : 0;
  const Index of_labels = label_floats(level_, block_size, head_size, labels_of(batch));
  const Index scratch_size = packed_scratch(block_size, head_size, parts) + room + of_labels;
  const Index packed_floats =
      packed_attention_->packed_bytes(batch.block_size, head_size, parts) / Index{sizeof(float)};
  const Index most_blocks = most_key_blocks_of(batch);
  const bool whole_heads = heads_are_tasks(batch);
  const Index most_heads =
      whole_heads ? thread_count() : std::min(batch.heads, heads_in_group(most_blocks_of(batch)));
  const Index tables_at = scratch_size * thread_count();
  float* const scratch =
      scratch_.reserve(tables_at + LabelTables::floats(batch) + most_heads * most_blocks * packed_floats);
  const LabelTables tables(batch, scratch + tables_at);
  float* const packed = scratch + tables_at + LabelTables::floats(batch);

  const auto pack_block = [&](Index sequence, Index head, Index block, float* to) {
    const AttentionHead view = view_of(batch, sequence, head, inputs, nullptr);
    packed_attention_->pack_block(view, block, parts, to);
  };
  const auto forward_block = [&](Index sequence, Index head, Index block, const float* of_head, int worker) {
    const Index start = batch.token_offsets[sequence], column = head * head_size;
    float* const sums = log_sum_exp != nullptr ? log_sum_exp + head * tokens + start : nullptr;
    float* const own = scratch + scratch_size * worker;
    const HeadPairs pairs = pairs_of(batch, tables, sequence, head, own + scratch_size - of_labels);
    const AttentionHead view = view_of(batch, sequence, head, inputs, &pairs);
    if (!narrow) {
      packed_attention_->forward_block(view, of_head, parts, block,
                                       floats(out.data) + start * out.stride + column, out.stride, sums, own);
      return;
    }
    const Index before = block * block_size, rows = std::min(block_size, view.rows - before);
    AttentionHead part = from_block(view, block);
    part.narrow_q += before * part.q_stride;
    float* const result = own + scratch_size - of_labels - room;
    packed_attention_->forward_block(part, of_head, parts, 0, result, head_size,
                                     sums != nullptr ? sums + before : nullptr, own);
    put_rows(level_, result, head_size, out, start + before, column, rows);
  };

  if (whole_heads) {
    parallel_for_heads(batch, [&](Index sequence, Index head, int worker) {
      const Index blocks = key_count_of(*batch.plans[sequence]);
      float* const own = packed + worker * most_blocks * packed_floats;
      for (Index block = 0; block < blocks; ++block)
        pack_block(sequence, head, block, own + block * packed_floats);
      for (Index block = 0; block < query_blocks_of(batch, sequence); ++block)
        forward_block(sequence, head, block, own, worker);
    });
    return;
  }
  for (Index sequence = 0; sequence < batch.sequences; ++sequence) {
    const Index blocks = key_count_of(*batch.plans[sequence]), wanted = query_blocks_of(batch, sequence);
    for (Index first_head = 0; first_head < batch.heads; first_head += most_heads) {
      const Index heads = std::min(most_heads, batch.heads - first_head);
      parallel_for(static_cast<std::size_t>(heads * blocks), [&](std::size_t task) {
        const Index head = static_cast<Index>(task) / blocks, block = static_cast<Index>(task) % blocks;
        pack_block(sequence, first_head + head, block, packed + static_cast<Index>(task) * packed_floats);
      });
      parallel_for_worker(static_cast<std::size_t>(heads * wanted), [&](std::size_t task, int worker) {
        // Head by head: its packed keys and values are about as large as the second-level cache.
        const Index head = static_cast<Index>(task) / wanted;
        const Index block = block_in_order(static_cast<Index>(task) % wanted, wanted);
        forward_block(sequence, first_head + head, block, packed + head * blocks * packed_floats, worker);
      });
    }
  }
}

void CpuBackend::attention_forward(const AttentionBatch& batch, const QueryKeyValue& inputs, Rows out,
                                   float* log_sum_exp) {
  if (attention_is_packed(batch.block_size)) {
    return attention_forward_packed(batch, inputs, out, log_sum_exp);
  }
  const Index tokens = batch.token_offsets[batch.sequences];
  const Index head_size = batch.head_size, block_size = batch.block_size;
  const bool narrow = inputs.q.data.type() == ElementType::bf16;
  const Index room = narrow ? 2 * block_floats(block_size, head_size) : 0;  // queries, and what comes out
  const Index block_scratch =
      pieces(level_.attention_forward_scratch(block_size, head_size), line_floats) * line_floats;
  const Index of_labels = label_floats(level_, block_size, head_size, labels_of(batch));
  const Index scratch_size = block_scratch + room + of_labels;
  const Index longest = most_key_rows_of(batch);
  const bool whole_heads = heads_are_tasks(batch);
  const Index most_heads =
      whole_heads ? thread_count() : std::min(batch.heads, heads_in_group(most_blocks_of(batch)));
  const Index tables_at = scratch_size * thread_count();
  float* const scratch =
      scratch_.reserve(tables_at + LabelTables::floats(batch) + most_heads * 2 * longest * head_size);
  const LabelTables tables(batch, scratch + tables_at);
  float* const packed = scratch + tables_at + LabelTables::floats(batch);

  const auto forward_block = [&](Index sequence, Index head, Index block, const float* keys, int worker) {
    const Index start = batch.token_offsets[sequence], column = head * head_size;
    float* const own = scratch + scratch_size * worker;
    const HeadPairs pairs = pairs_of(batch, tables, sequence, head, own + scratch_size - of_labels);
    AttentionHead view = view_of(batch, sequence, head, inputs, &pairs);
    view.k = keys;
    view.v = keys + view.length * head_size;
    view.k_stride = view.v_stride = head_size;
    float* const sums = log_sum_exp != nullptr ? log_sum_exp + head * tokens + start : nullptr;
    if (!narrow) {
      level_.attention_forward_block(view, block, floats(out.data) + start * out.stride + column, out.stride,
                                     sums, own);
      return;
    }
    const Index before = block * block_size, rows = std::min(block_size, view.rows - before);
    float* const queries = own + block_scratch;
    float* const result = queries + room / 2;
    take_rows(level_, inputs.q, start + before, column, rows, head_size, queries);
    AttentionHead part = from_block(view, block);
    part.q = queries;
    part.q_stride = head_size;
    level_.attention_forward_block(part, 0, result, head_size, sums != nullptr ? sums + before : nullptr,
                                   own);
    put_rows(level_, result, head_size, out, start + before, column, rows);
  };

  if (whole_heads) {
    parallel_for_heads(batch, [&](Index sequence, Index head, int worker) {
      const Index first_key = key_offsets_of(batch)[sequence], length = batch.lengths[sequence];
      float* const keys = packed + worker * 2 * longest * head_size;
      take_rows(level_, inputs.k, first_key, head * head_size, length, head_size, keys);
      take_rows(level_, inputs.v, first_key, head * head_size, length, head_size, keys + length * head_size);
      for (Index block = 0; block < query_blocks_of(batch, sequence); ++block)
        forward_block(sequence, head, block, keys, worker);
    });
    return;
  }
  for (Index sequence = 0; sequence < batch.sequences; ++sequence) {
    const Index first_key = key_offsets_of(batch)[sequence], blocks = query_blocks_of(batch, sequence);
    const Index length = batch.lengths[sequence];
    const Index head_floats = length * head_size;
    for (Index first_head = 0; first_head < batch.heads; first_head += most_heads) {
      const Index heads = std::min(most_heads, batch.heads - first_head);
      parallel_pieces(length, block_size, [&](Index first, Index rows) {
        for (Index head = 0; head < heads; ++head) {
          const Index column = (first_head + head) * head_size;
          float* const to = packed + head * 2 * head_floats + first * head_size;
          take_rows(level_, inputs.k, first_key + first, column, rows, head_size, to);
          take_rows(level_, inputs.v, first_key + first, column, rows, head_size, to + head_floats);
        }
      });
      parallel_for_worker(static_cast<std::size_t>(heads * blocks), [&](std::size_t task, int worker) {
        const Index head = static_cast<Index>(task) % heads;
        const Index block = block_in_order(static_cast<Index>(task) / heads, blocks);
        forward_block(sequence, first_head + head, block, packed + head * 2 * head_floats, worker);
      });
    }
  }
}

void CpuBackend::attention_backward(const AttentionBatch& batch, const QueryKeyValue& inputs, ConstRows out,
                                    const float* log_sum_exp, ConstRows dout,
                                    const QueryKeyValueGradients& gradients) {
  if (bf16_ != nullptr) {
    return attention_backward_bf16(batch, inputs, out, log_sum_exp, dout, gradients);
  }
  const Index tokens = batch.token_offsets[batch.sequences];
  const Index head_size = batch.head_size;
  const bool narrow =
      inputs.q.data.type() == ElementType::bf16;  // then of all that the kernel reads or writes
  const Index most_floats =
      std::max(most_key_rows_of(batch), longest_of(batch.token_offsets, batch.sequences)) * head_size;
  const Index copies = (narrow ? backward_copies_narrow : backward_copies) * most_floats;
  const Index of_labels = label_floats(level_, batch.block_size, head_size, labels_of(batch));
  const Index block_scratch =
      pieces(level_.attention_backward_scratch(batch.block_size, head_size), line_floats) * line_floats;
  const Index scratch_size = of_labels + block_scratch + pieces(copies, line_floats) * line_floats;
  const Index tables_at = scratch_size * thread_count();
  float* const scratch =
      scratch_.reserve(tables_at + LabelTables::floats(batch) + LabelGradients::floats(batch));
  const LabelTables tables(batch, scratch + tables_at);
  const LabelGradients label_gradients(batch, scratch + tables_at + LabelTables::floats(batch));
  const auto backward_head = [&](Index group, Index sequence, Index head, int worker) {
    const Index start = batch.token_offsets[sequence], first_key = key_offsets_of(batch)[sequence];
    const Index key_rows = key_offsets_of(batch)[sequence + 1] - first_key;
    const Index column = head * head_size;
    float* const of_thread = scratch + scratch_size * worker;
    float* const own = of_thread + of_labels + block_scratch;  // copies of rows
    const auto copy = [&](Index number) { return own + number * most_floats; };
    const auto taken = [&](const ConstRows& from, Index first, Index rows, Index number) {
      take_rows(level_, from, first, column, rows, head_size, copy(number));
      return copy(number);
    };
    HeadPairs pairs = pairs_of(batch, tables, sequence, head, of_thread);
    pairs.label_gradients = label_gradients.begin(sequence - group, head);
    put_span_gradients(batch, gradients.relative, sequence, head, pairs);
    AttentionHead view = view_of(batch, sequence, head, inputs, &pairs);
    view.k = taken(inputs.k, first_key, view.length, 0);
    view.v = taken(inputs.v, first_key, view.length, 1);
    view.k_stride = view.v_stride = head_size;
    AttentionHeadGradients of_head;
    of_head.log_sum_exp = log_sum_exp + head * tokens + start;
    of_head.dk = copy(2);
    of_head.dv = copy(3);
    of_head.dk_stride = of_head.dv_stride = head_size;
    if (narrow) {
      view.q = taken(inputs.q, start, view.rows, 4);
      of_head.out = taken(out, start, view.rows, 5);
      of_head.dout = taken(dout, start, view.rows, 6);
      of_head.dq = copy(7);
      view.q_stride = of_head.out_stride = of_head.dout_stride = of_head.dq_stride = head_size;
    } else {
      of_head.out = floats(out.data) + start * out.stride + column;
      of_head.dout = floats(dout.data) + start * dout.stride + column;
      of_head.dq = floats(gradients.q.data) + start * gradients.q.stride + column;
      of_head.out_stride = out.stride;
      of_head.dout_stride = dout.stride;
      of_head.dq_stride = gradients.q.stride;
    }
    level_.attention_backward_head(view, of_head, of_thread + of_labels);
    if (narrow) put_rows(level_, of_head.dq, head_size, gradients.q, start, column, view.rows);
    put_rows(level_, of_head.dk, head_size, gradients.k, first_key, column, key_rows);
    put_rows(level_, of_head.dv, head_size, gradients.v, first_key, column, key_rows);
  };
  label_gradients.for_groups(gradients.relative, [&](Index first, Index count) {
    parallel_for_heads(batch, first, count, [&](Index sequence, Index head, int worker) {
      backward_head(first, sequence, head, worker);
    });
  });
}

// As above; a query block, or a block of keys and values, is widened where it is not of floats.
void CpuBackend::attention_backward_bf16(const AttentionBatch& batch, const QueryKeyValue& inputs,
                                         ConstRows out, const float* log_sum_exp, ConstRows dout,
                                         const QueryKeyValueGradients& gradients) {
  const Bf16AttentionBackward& kernels = bf16_->attention_backward;
  const Index tokens = batch.token_offsets[batch.sequences];
  const Index block_size = batch.block_size, head_size = batch.head_size;
  const BackwardRoom size(kernels, block_size, head_size, most_key_blocks_of(batch));
  const Index of_labels = label_floats(level_, block_size, head_size, labels_of(batch));
  const Index of_thread = size.all + of_labels;
  const Index tables_at = of_thread * thread_count();
  float* const scratch =
      scratch_.reserve(tables_at + LabelTables::floats(batch) + LabelGradients::floats(batch));
  const LabelTables tables(batch, scratch + tables_at);
  const LabelGradients label_gradients(batch, scratch + tables_at + LabelTables::floats(batch));
  const auto backward_head = [&](Index group, Index sequence, Index head, int worker) {
    const Index start = batch.token_offsets[sequence], column = head * head_size;
    const Index first_key = key_offsets_of(batch)[sequence];
    const Index key_rows = key_offsets_of(batch)[sequence + 1] - first_key;
    float* const room = scratch + of_thread * worker;
    HeadPairs pairs = pairs_of(batch, tables, sequence, head, room + size.all);
    pairs.label_gradients = label_gradients.begin(sequence - group, head);
    put_span_gradients(batch, gradients.relative, sequence, head, pairs);
    const AttentionHead view = view_of(batch, sequence, head, inputs, &pairs);
    float* const own = room + size.rows;
    float* const packed = own + size.block;
    float* const dk = packed + size.all - size.rows - size.block - 2 * size.keys;
    float* const dv = dk + size.keys;
    const auto part_of = [&](Index first, Index block, Index rows) {
      return BlockOfHead{level_, inputs, first + block * block_size, column, rows, room};
    };
    for (Index block = 0; block < view.key_count; ++block) {
      const Index keys = std::clamp<Index>(view.length - block * block_size, 0, block_size);
      kernels.pack_block(part_of(first_key, block, keys).of_keys(view, block), packed + block * size.packed);
    }
    std::fill(dk, dk + key_rows * head_size, 0.0f);
    std::fill(dv, dv + key_rows * head_size, 0.0f);
    for (Index block = 0; block < view.blocks; ++block) {
      const Index before = block * block_size, rows = std::min(block_size, view.rows - before);
      const Index queries = std::clamp<Index>(view.query_length - before, 0, rows);
      const BlockOfHead part = part_of(start, block, queries);
      const Index apart = block_size * head_size;
      AttentionHeadGradients of_head;
      of_head.out = part.widened(out, head_size, room + apart);
      of_head.dout = part.widened(dout, head_size, room + 2 * apart);
      of_head.log_sum_exp = log_sum_exp + head * tokens + start + before;
      of_head.dq = room + 3 * apart;
      of_head.dk = dk;
      of_head.dv = dv;
      of_head.out_stride = of_head.dout_stride = head_size;
      of_head.dq_stride = of_head.dk_stride = of_head.dv_stride = head_size;
      kernels.block(part.of_queries(view, block), of_head, packed, own);
      put_rows(level_, of_head.dq, head_size, gradients.q, start + before, column, rows);
    }
    put_rows(level_, dk, head_size, gradients.k, first_key, column, key_rows);
    put_rows(level_, dv, head_size, gradients.v, first_key, column, key_rows);
  };
  label_gradients.for_groups(gradients.relative, [&](Index first, Index count) {
    parallel_for_heads(batch, first, count, [&](Index sequence, Index head, int worker) {
      backward_head(first, sequence, head, worker);
    });
  });
}

void CpuBackend::prepare_attention(const AttentionBatch&) {}  // the batch is read where it lies

}  // namespace bigbird::kernels
