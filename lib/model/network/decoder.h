// The decoder of a model that writes (HeadType::generation), as a head of the encoder: embeddings of what is
// written so far, layers of causal attention, attention over the encoder's last hidden state and
// feed-forward, the final LayerNorm of pre-LN, and logits against the word table (docs/specification.md 2.6).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "lib/model/config.h"
#include "lib/model/network/batch.h"
#include "lib/model/network/losses.h"
#include "lib/model/network/memory.h"
#include "lib/model/network/pass_context.h"
#include "lib/model/network/tensors.h"
#include "lib/model/plans/block_plan.h"

namespace bigbird {

// The decoder's side of a pass: its sizes, what it reads, and how its attention is called. Made with the
// encoder's, before anything runs (pass_context.h).

// The config that a layer of the decoder sees: the encoder's, with the decoder's layers, heads, inner width
// and positions, and without token types.
ModelConfig decoder_config(const ModelConfig& config);

// Block lists of a decoder, whose attention is never sparse (paper, section 4.1): those that causal attention
// needs, and all. Thread-safe; a plan lives as long as the cache.
class DecoderPlans {
 public:
  explicit DecoderPlans(std::int64_t heads) : heads_(heads) {}
  const BlockPlan& causal(std::int64_t blocks);
  const BlockPlan& cross(std::int64_t query_blocks, std::int64_t key_blocks);

 private:
  const BlockPlan& plan(std::int64_t query_blocks, std::int64_t key_blocks);  // 0 key blocks: causal

  std::int64_t heads_;
  std::mutex mutex_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::unique_ptr<BlockPlan>> plans_;
};

struct DecoderPass {
  ModelConfig config;                                 // decoder_config()
  Batch batch;                                        // the targets; empty when the encoder runs alone
  std::vector<std::vector<AttentionRun>> runs;        // [layer][0], causal
  std::vector<std::vector<AttentionRun>> cross_runs;  // [layer][0], over the rows of the encoder

  bool runs_at_all() const { return batch.sequences() > 0; }
  // As a layer of the decoder sees it, where `encoder` is the encoder's.
  PassContext context(const PassContext& encoder) const;
};

// Which layers a training pass leaves out, those of the encoder first, as masks are drawn; empty: none.
std::vector<std::uint8_t> drawn_layers(const ModelConfig& config, bool training, std::uint64_t seed);

// config is the model's. Every run has a slot of its own from first_slot on.
DecoderPass decoder_pass(const ModelConfig& config, DecoderPlans& plans, const Batch& batch, bool training,
                         const std::uint64_t* dropout_seed, kernels::Index first_slot);

// All of them do nothing when the batch has no targets. hidden [T, C] is the encoder's last hidden state.

// Brings the targets and their labels to the device.
void decoder_stage(const PassContext& pass, const DecoderActivations& kept);
// Fills the decoder's logits and, of a batch with labels, its losses. Where logits are taken in pieces
// (DecoderActivations::logit_rows), they are the last piece's, and `gradients`, unless null, get that of the
// word table here, while the logits are there: decoder_backward() goes on from the last hidden state.
void decoder_forward(const PassContext& pass, const DecoderTensors& tensors, const DecoderTensors* gradients,
                     const Activations& kept, kernels::ConstValues hidden, const StateListener& on_state);
void count_target_labels(const Batch& batch, LabelCounts& labels);
void decoder_result(const PassContext& pass, const DecoderActivations& kept, ForwardResult& result);
// Adds the gradient of hidden to `all`.workspace.gradient. With grad_checkpoint as encoder_backward().
void decoder_backward(const PassContext& pass, const DecoderTensors& tensors, const DecoderTensors& gradients,
                      const Activations& all, bool grad_checkpoint);

}  // namespace bigbird
