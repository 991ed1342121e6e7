// What becomes of rows that a full memory has no place for (Compressive Transformer, Rae et al. 2019,
// sections 3.1 and 3.2; AttentionPattern::compressive). A layer remembers [compressed; memory]: at most n_cm
// and n_m rows, of which queries see all as in attention_recurrent.h, by distances in rows. A segment of n_s
// tokens pushes the oldest rows out of [memory; segment], those over n_m. Windows of c of them become a row
// each, floor(rows / c), which go behind the compressed ones; the oldest of these are dropped over n_cm.
// Rows that fill no window are dropped: what a stream remembers depends on nothing but its own segments.
//
//   mean, max   of the window, column by column
//   conv        W [C, c C] of the window, and a bias
//   dilated     three such products over rows 1, 2 and 4 apart, the last of every window alone: output j of
//               one reads rows s j + s - 1 - (c - 1 - t) d, t < c, zeros before the first; s is 1, 1 and c
//   most-used   the floor(rows / c) rows with the largest mean weight over queries and heads in this pass, in
//               their order, of equal ones the older
//
// conv and dilated learn from the attention reconstruction loss alone: of a sequence the sum over layers of
//
//   mean((A(h, old) - A(h, f(old)))^2),  A(h, x) = softmax((h Wq)(x Wk)^T / sqrt(D)) (x Wv) by head,
//
// with the layer's input h, and f the only thing that gets a gradient. A mean over sequences is minimised;
// one that compresses nothing counts with 0. No gradient goes through what is remembered.
//
// Rows are compressed in the pass that pushes them out, before any update, so that it does not matter which
// rank runs it.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/model/network/losses.h"
#include "lib/model/network/memory.h"
#include "lib/model/network/pass_context.h"
#include "lib/model/network/tensors.h"

namespace bigbird {

class RecurrentPlans;  // attention_recurrent.h, as the next
struct RecurrentSegment;

// What a segment does to what its stream remembers.
struct MemoryStep {
  std::int64_t compressed = 0;        // rows before it
  std::int64_t plain = 0;             // rows before it
  std::int64_t pushed = 0;            // rows of memory and segment that leave
  std::int64_t fresh = 0;             // rows that they become
  std::int64_t compressed_after = 0;  // of which the last min(fresh, n_cm) are fresh
  std::int64_t plain_after = 0;
};
// remembered: rows of both memories together. A memory is full before anything is compressed.
MemoryStep memory_step(const ModelConfig& config, std::int64_t remembered, std::int64_t length);

// Whether a pass takes the weights of keys out of a backward pass of its attention: of most-used, and for
// ModelOptions::key_weights.
bool weighs_keys(const ModelConfig& config, const ModelOptions& options);
// Whether sequences are padded to whole blocks even where a device asks for none: of a stem, and of backward
// passes of attention, which ask for them.
bool always_pads(const ModelConfig& config, const ModelOptions& options);
// Calls of attention for the reconstruction.
kernels::Index compressive_slots(const ModelConfig& config);

CompressiveActivations plan_compressive(Arena& arena, const ModelConfig& config, const BatchLimits& limits,
                                        bool training);
// Brings what no pass changes to the device. Error{usage} where it cannot compute such a model.
void fill_compressive(kernels::Backend& backend, const ModelConfig& config,
                      const CompressiveActivations& kept);

// A sequence of a pass whose memory pushes rows out.
struct PushedRows {
  std::size_t segment = 0;        // its number in the pass
  std::int64_t first_old = 0;     // among the layer's rows of keys
  std::int64_t pushed = 0;        // as MemoryStep has them, and the next
  std::int64_t fresh = 0;         // 1 or more
  std::int64_t first_source = 0;  // where its rows lie among those of all such sequences
  std::int64_t first_fresh = 0;
  std::int64_t first_query = 0, queries = 0, length = 0;  // with padding; and without
  std::int64_t first_old_key = 0, old_keys = 0;
  std::int64_t first_fresh_key = 0, fresh_keys = 0;
};

// The host's side of one pass.
struct CompressivePass {
  std::vector<PushedRows> pushed;
  std::int64_t sources = 0, fresh = 0, queries = 0, old_keys = 0, fresh_keys = 0;  // of all
  std::vector<AttentionRun> wanted, made;  // [1] in training of a learned compression
};
CompressivePass compressive_pass(const ModelConfig& config, const std::vector<RecurrentSegment>& segments,
                                 bool training, RecurrentPlans& plans, kernels::Index first_slot);

// Behind a layer's attention: what its memory pushes out is compressed, and in training compared.
void compressive_forward(const PassContext& pass, std::int64_t layer, const AttentionTensors& tensors,
                         kernels::ConstValues input, const AttentionActivations& kept);
// Gradients of the layer's compression. kept.recurrent.rows are the layer's.
void compressive_backward(const PassContext& pass, std::int64_t layer, const AttentionTensors& tensors,
                          const AttentionTensors& gradients, kernels::ConstValues input,
                          const AttentionActivations& kept);
// What streams remember of the layer from now on. kept.rows are the layer's.
void compressive_remember(const PassContext& pass, std::int64_t layer, const RecurrentActivations& kept);

// Brings to the device what the gradient of the loss, of a sequence, is multiplied by.
void bring_compression_scale(kernels::Backend& backend, const CompressivePass& pass, std::int64_t width,
                             float scale, const CompressiveActivations& kept);
// Of a pass in training, else nothing.
LossTerm compression_loss(const PassContext& pass, const CompressiveActivations& kept);

}  // namespace bigbird
