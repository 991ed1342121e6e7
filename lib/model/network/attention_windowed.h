// Attention in a window of tokens, with global tokens (Beltagy et al. 2020, section 3;
// AttentionPattern::longformer). A token sees the tokens of its window and, each once, all global ones, by
// one softmax over both groups of keys. A global token sees all, and is its own system: queries, keys and
// values by projections of their own. In some heads the window has every m-th token, and of the strided
// Sparse Transformer (Child et al. 2019, section 4.3; AttentionPattern::sparse_strided) heads see every l-th
// token beside or in place of their band: both are residue classes (residue_classes.h). Which heads see what
// is local_groups() of lib/model/plans/token_pairs.h.
//
// Global tokens are gathered: matrices [G, ...] hold, sequence by sequence, its global tokens and, where
// whole blocks are wanted, other tokens of it behind them, which no one asks for. To the window's rule a
// global query has no key, so that its row of the context is zeros until what it saw of all is added.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/model/network/decoder.h"
#include "lib/model/network/memory.h"
#include "lib/model/network/pass_context.h"
#include "lib/model/network/residue_classes.h"
#include "lib/model/network/tensors.h"
#include "lib/model/plans/token_pairs.h"

namespace bigbird {

// Whether a model's attention is computed here.
bool has_windows(const ModelConfig& config);
// The steps of its residue classes, over all layers, each once.
std::vector<std::int64_t> class_steps(const ModelConfig& config);

// Lists of blocks beside those of the windows.
struct WindowPlans {
  explicit WindowPlans(std::int64_t heads) : globals(heads) {}
  DecoderPlans globals;
  ResidueClassPlans classes;
};

// The host's side of one pass.
struct WindowedPass {
  std::vector<std::int32_t> rows;                     // [G] numbers in the batch, distinct
  std::vector<std::int64_t> offsets{0};               // [B + 1] into them
  std::vector<std::uint8_t> hidden;                   // [T] 1 for a global token
  std::vector<std::int32_t> query_groups;             // [T] the same: no key has that number
  std::vector<kernels::PairRule> rules;               // of every layer's window
  kernels::PairRule of_globals;                       // of local queries over global keys
  std::vector<AttentionRun> global_keys;              // [1] all queries over global keys; none without any
  std::vector<AttentionRun> global_queries;           // [1] global queries over all keys
  std::vector<LocalGroups> groups;                    // of every layer
  std::vector<ResidueClasses> classes;                // of every one of class_steps()
  std::vector<std::size_t> class_of_layer;            // into them
  std::vector<kernels::PairRule> class_rules;         // of every layer
  std::vector<std::vector<AttentionRun>> class_runs;  // [layer][1], or none where no head has classes

  kernels::Index global_rows() const { return offsets.back(); }
};

// Slots of calls beside those in windows: over global tokens of all layers together, over residue classes of
// each.
kernels::Index windowed_slots(const ModelConfig& config);

// Global tokens of a sequence, counted from its first: those that the batch names, else those of the rule.
std::vector<std::int64_t> global_tokens(const ModelConfig& config, const Batch& batch, std::size_t sequence);
// Rows that global tokens of such batches take at most.
std::int64_t most_global_rows(const ModelConfig& config, const BatchLimits& limits);

// Of batches of so many tokens, `globals` rows of most_global_rows(); all null of other models.
WindowedActivations plan_windows(Arena& arena, const ModelConfig& config, std::int64_t tokens,
                                 std::int64_t globals, bool training);

// The pass of a batch; `runs` are its calls in the window, which get their rules. The result must stay where
// it is as long as the runs are used. plans: of as many heads as the config has.
void windowed_pass(const ModelConfig& config, const Batch& batch, bool whole_blocks, bool training,
                   const std::uint64_t* dropout_seed, WindowPlans& plans, kernels::Index first_slot,
                   const WindowedActivations& kept, std::vector<std::vector<AttentionRun>>& runs,
                   WindowedPass& pass);
void windowed_stage(const PassContext& pass, const WindowedActivations& kept);

// kept.context [T, C] of kept.qkv, which is there. input [T, C]: what the projections read.
void windowed_attention_forward(const PassContext& pass, std::int64_t layer, const AttentionTensors& tensors,
                                kernels::ConstValues input, const AttentionActivations& kept);
// dqkv [T, 3C] of dcontext [T, C]; adds the gradients of the projections of global tokens, and, after
// windowed_input_backward(), theirs to the gradient of the input.
void windowed_attention_backward(const PassContext& pass, std::int64_t layer, const AttentionTensors& tensors,
                                 const AttentionTensors& gradients, kernels::ConstValues input,
                                 const AttentionActivations& kept, kernels::ConstValues dcontext,
                                 kernels::Values dqkv);
void windowed_input_backward(const PassContext& pass, const AttentionTensors& tensors,
                             const AttentionActivations& kept, kernels::Values dinput);

}  // namespace bigbird
