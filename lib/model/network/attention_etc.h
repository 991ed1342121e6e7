// Attention of BigBird-ETC (Ainslie et al. 2020, section 2; google-research/etcmodel; AttentionPattern::etc).
// A layer has two inputs, T long and G global rows, which are one matrix [T + G, C], long rows first. Each
// query has one softmax over the keys of its own input and of the other one: of two calls or three, whose
// parts are merged.
//
//   long query     long tokens within the radius, of its segment      labels by distance
//                  random blocks beyond it, where there are any       labels by distance
//                  all global tokens                                  labels by links
//   global query   all global tokens                                  labels by distance, and of other parts
//                  all long tokens (hard: those that it is linked to) labels by links
//
// Pairs never meet across examples. Each input has an output projection, a LayerNorm and two tables of labels
// of its own.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "lib/model/network/decoder.h"
#include "lib/model/network/encoder.h"
#include "lib/model/network/memory.h"
#include "lib/model/network/pass_context.h"
#include "lib/model/network/tensors.h"

namespace bigbird {

// [*, C] that a token is projected to: its query, keys and values.
std::int64_t projections_of_a_token(const ModelConfig& config);
// Global rows of such batches at most, together and of one sequence; 0 without a second input.
std::int64_t most_second_rows(const ModelConfig& config, const BatchLimits& limits);
std::int64_t most_second_rows_of_one(const ModelConfig& config, const BatchLimits& limits);

// Error{bad_input} for ids and types of global tokens that the model does not know, for more of them than a
// sequence may have; Error{runtime} where the two inputs do not agree, or exceed the limits.
void check_globals(const Batch& batch, const ModelConfig& config, const BatchLimits& limits,
                   bool whole_blocks);

// Rows of one input, or of both.
struct SideRows {
  kernels::Index first = 0;
  kernels::Index count = 0;
};

// Block lists beside those of the window; a plan lives as long as the cache.
class EtcPlans {
 public:
  explicit EtcPlans(const ModelConfig& config) : globals(config.num_attention_heads), config_(config) {}
  // Of `blocks` blocks, the first `own` of which have real tokens: the others have no list.
  const BlockPlan& random(std::int64_t layer, std::int64_t blocks, std::int64_t own);
  DecoderPlans globals;

 private:
  ModelConfig config_;
  std::map<std::array<std::int64_t, 3>, std::unique_ptr<BlockPlan>> random_;
};

// The host's side of one pass. It stays where it is as long as its calls are used.
struct EtcPass {
  std::array<SideRows, 2> sides = {};  // long, global
  kernels::PairRule window;            // of long queries over long keys
  kernels::PairRule beyond;            // of long queries over random blocks
  kernels::PairRule among_globals;
  std::array<kernels::PairRule, 2> across;  // by the input of the queries
  // [layer][input of the queries]; none without labels.
  std::vector<std::array<kernels::RelativeTerm, 2>> near, far;  // labels by distance, by links
  std::vector<AttentionRun> global_run;                         // [1] global queries over global keys
  std::vector<AttentionRun> across_runs;                        // [2] by the input of the queries
  std::vector<AttentionRun> random_runs;                        // [layer]; none without random blocks
};

// Slots that these calls of all layers take together.
kernels::Index etc_slots(const ModelConfig& config);

// The pass of a batch; `runs` are the calls of long queries over long keys, which get their rules and labels.
void etc_pass(const ModelConfig& config, const Batch& batch, bool training, const std::uint64_t* dropout_seed,
              EtcPlans& plans, kernels::Index first_slot, const EtcActivations& kept,
              const std::vector<LayerTensors>& layers, std::vector<std::vector<AttentionRun>>& runs,
              EtcPass& pass);
// What of it the calls of a pass depend on (pass_key).
void add_to_key(const EtcPass& pass, const Batch& batch, const std::function<void(std::int64_t)>& add);
void etc_stage(const PassContext& pass, const EtcActivations& kept);

// The attention half of a layer, as attention_layer_forward() and attention_layer_backward() of encoder.h.
void etc_attention_layer_forward(const PassContext& pass, std::int64_t layer, const LayerTensors& tensors,
                                 kernels::ConstValues input, const AttentionActivations& kept);
void etc_attention_layer_backward(const PassContext& pass, std::int64_t layer, const LayerTensors& tensors,
                                  const LayerTensors& gradients, kernels::ConstValues input,
                                  const AttentionActivations& kept, const BackwardWorkspace& work);

// The other half: one feed-forward part for all rows, or one for each input.
void etc_feed_forward_forward(const PassContext& pass, std::int64_t layer, const LayerTensors& tensors,
                              kernels::ConstValues input, const FeedForwardActivations& kept);
void etc_feed_forward_backward(const PassContext& pass, std::int64_t layer, const LayerTensors& tensors,
                               const LayerTensors& gradients, kernels::ConstValues input,
                               const FeedForwardActivations& kept, const BackwardWorkspace& work);

}  // namespace bigbird
