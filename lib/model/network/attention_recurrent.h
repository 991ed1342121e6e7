// Attention over what came before. A stream is read segment by segment; every layer keeps the last M of its
// inputs, and the queries of a segment see these and the tokens before them, by distances instead of
// positions. Of Transformer-XL (Dai et al. 2019, sections 3.2 and 3.3; AttentionPattern::transformer_xl):
//
//   score = ((q + u).k + (q + v).(W r)) / sqrt(D),  r = [sin(d f_a), cos(d f_a)], f_a = 10000^(-2a/C)
//
// for a key d behind its query, u and v [H, D]. As a kernel's term for labels it is (q + u).k + (q + u).w +
// bias, w = W r and bias = (v - u).w: u is the bias of the product for queries, and the gradient of v - u is
// that of the biases. A memory gets no gradient; the weights of keys and values do over its rows. The term of
// Adaptive-Span, whose layers see no further than they have learned to, is in adaptive_span.h; what
// Compressive Transformer makes of rows that its memory has no place for, in compressive.h.
//
// What streams remember is on the device between passes. Of a model that keeps no activations each layer
// brings it up to date as it has read it. In training it stays until the next pass begins: a backward pass,
// and layers that it runs again, read what the forward pass read.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "lib/model/network/compressive.h"
#include "lib/model/network/losses.h"
#include "lib/model/network/memory.h"
#include "lib/model/network/pass_context.h"
#include "lib/model/network/stream_memory.h"
#include "lib/model/network/tensors.h"

namespace bigbird {

class Spans;          // adaptive_span.h
struct ModelTensors;  // tensors.h

// Slots of the calls of a pass: one that all layers make, or of spans one for each; and those of
// compressive_slots().
kernels::Index recurrent_slots(const ModelConfig& config);

// Rows of keys of such batches at most beside those of tokens, together and of one sequence, and labels; 0 of
// other models. Error{bad_input} where there are more labels than a device tells apart.
std::int64_t most_memory_rows(const ModelConfig& config, const BatchLimits& limits);
std::int64_t most_memory_rows_of_one(const ModelConfig& config, const BatchLimits& limits);
std::int64_t recurrent_labels(const ModelConfig& config, const BatchLimits& limits);

// All null of other models.
RecurrentActivations plan_recurrent(Arena& arena, const ModelConfig& config, const BatchLimits& limits,
                                    const ModelOptions& options);
// Of these what labels are made of: so many, in a pass or in a step of a token (causal_steps.h).
void plan_labels(Arena& arena, const ModelConfig& config, std::int64_t labels, bool training,
                 RecurrentActivations& to);
// Labels that a step meets: distances of all that is remembered.
std::int64_t step_labels(const ModelConfig& config);
// Brings what no pass changes to the device.
void fill_recurrent(kernels::Backend& backend, const ModelConfig& config, const RecurrentActivations& kept);
// Of Transformer-XL: the term of `labels` labels in a layer, weight [labels, C] and bias [labels, H].
void make_labels(kernels::Backend& backend, const ModelConfig& config, const AttentionTensors& tensors,
                 const RecurrentActivations& kept, kernels::Index labels, float* weight, float* bias);

// Error{runtime} where the places of a batch are none of such a model and such limits.
void check_places(const Batch& batch, const ModelConfig& config, const BatchLimits& limits);

// Which key blocks a segment's query blocks see; a plan lives as long as the cache.
class RecurrentPlans {
 public:
  explicit RecurrentPlans(std::int64_t heads) : heads_(heads) {}
  // Of `blocks` query blocks, the first `own` of which have real tokens, over so many key blocks: the first
  // query stands at key row `start`, and sees `before` keys before it, -1: all; of every head, or one for
  // each.
  const BlockPlan& plan(std::int64_t blocks, std::int64_t own, std::int64_t key_blocks,
                        std::int64_t block_size, std::int64_t start, const std::vector<std::int64_t>& before);
  // Before a pass, whose plans live until the next: learned spans never stop making others.
  void drop_old_ones() {
    if (plans_.size() > most_plans) plans_.clear();
  }

 private:
  static constexpr std::size_t most_plans = 1024;
  std::int64_t heads_;
  std::map<std::vector<std::int64_t>, std::unique_ptr<BlockPlan>> plans_;
};

// A sequence of a pass.
struct RecurrentSegment {
  std::int64_t stream = -1;     // -1: none
  std::int64_t first = 0;       // its first row in the batch
  std::int64_t rows = 0;        // with padding
  std::int64_t length = 0;      // real tokens
  std::int64_t remembered = 0;  // rows that its stream remembers
  std::int64_t memory = 0;      // the last of them that are read
  std::int64_t first_key = 0;   // its first row of keys
  std::int64_t key_rows = 0;
};

std::int64_t key_rows_of(const std::vector<RecurrentSegment>& segments);

// What a layer's queries see in a pass.
struct RecurrentKeys {
  std::vector<RecurrentSegment> segments;
  std::vector<std::int64_t> before;  // as RecurrentPlans::plan()
  std::int64_t labels = 0;           // that are met
  kernels::PairRule rule;
  std::vector<AttentionRun> run;  // [1]

  std::int64_t rows() const { return key_rows_of(segments); }
};

// The host's side of one pass. It stays where it is as long as its calls are used.
struct RecurrentPass {
  std::vector<RecurrentSegment> segments;  // with all that is remembered
  const StreamMemory* streams = nullptr;
  bool keeps_at_once = false;                // no backward pass will read what is remembered
  std::vector<RecurrentKeys> keys;           // of all layers alike, or of each
  std::vector<kernels::RelativeTerm> terms;  // of every layer
  CompressivePass compressive;
  KeyWeightListener key_weights;  // perhaps none

  const RecurrentKeys& of(std::int64_t layer) const {
    return keys[keys.size() == 1 ? 0 : static_cast<std::size_t>(layer)];
  }
  std::int64_t labels() const;  // of all layers
};

// The pass of a batch. spans: of a model that has some.
void recurrent_pass(const ModelConfig& config, const Batch& batch, const StreamMemory& streams,
                    bool whole_blocks, bool training, bool keeps_at_once, const std::uint64_t* dropout_seed,
                    RecurrentPlans& plans, kernels::Index first_slot, const Activations& kept,
                    const Spans& spans, RecurrentPass& pass);
// What of it the calls of a pass depend on (pass_key).
void add_to_key(const RecurrentPass& pass, const std::function<void(std::int64_t)>& add);

// Brings the calls of a pass to the device, and what spans are now.
void recurrent_stage(const PassContext& pass, Spans& spans, const RecurrentActivations& kept);
// Before the first layer.
void recurrent_begin(const PassContext& pass, const ModelTensors& tensors, const RecurrentActivations& kept);
// kept.context [T, C] of input [T, C].
void recurrent_attention_forward(const PassContext& pass, std::int64_t layer, const AttentionTensors& tensors,
                                 kernels::ConstValues input, const AttentionActivations& kept);
// [rows of keys] of a layer whose attention has run: the weights that queries gave each, summed over queries
// and heads. Of a model that weighs keys (compressive.h).
std::vector<double> key_weights(const PassContext& pass, std::int64_t layer,
                                const AttentionActivations& kept);
// Of dcontext, the first [T, C] of work.wide, whose rest is scratch; adds to work.gradient, the gradient of
// the input.
void recurrent_attention_backward(const PassContext& pass, std::int64_t layer,
                                  const AttentionTensors& tensors, const AttentionTensors& gradients,
                                  kernels::ConstValues input, const AttentionActivations& kept,
                                  const BackwardWorkspace& work);

// What the losses of spans and of compressions weigh, on the device.
void recurrent_bring_scale(kernels::Backend& backend, const ModelConfig& config, const LossScale& scale,
                           const Spans& spans, const RecurrentPass& pass, const RecurrentActivations& kept);
// These losses of a pass, where the batch has labels of them.
void recurrent_losses(const PassContext& pass, const LabelCounts& labels, const Spans& spans,
                      const RecurrentActivations& kept, ForwardResult& result);

// After the pass: what streams remember from now on. The rows on the device are there already where layers
// keep them at once; else they are made of kept.states, the inputs of the layers. streams: those of the pass.
void recurrent_remember(const PassContext& pass, const Activations& kept, StreamMemory& streams);

}  // namespace bigbird
