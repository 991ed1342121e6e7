// Activation memory, planned: every buffer of a call is a slice of one arena whose size follows from the
// batch limits. The plan that is printed and the pointers that are used come from the same walk over the same
// table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/model/config.h"
#include "lib/model/model.h"

namespace bigbird {

// Hands out 64-byte aligned slices in order. Without a base it only counts, and every slice is null.
class Arena {
 public:
  explicit Arena(std::byte* base) : base_(base) {}

  // `what` is the row of the memory table that the slice counts towards.
  float* floats(const std::string& what, std::int64_t count);
  std::uint64_t* keys(const std::string& what, std::int64_t count);
  std::int32_t* integers(const std::string& what, std::int64_t count);

  std::size_t bytes() const { return used_; }
  const std::vector<MemoryRow>& rows() const { return rows_; }

 private:
  void* slice(const std::string& what, std::size_t bytes);
  std::byte* base_;
  std::size_t used_ = 0;
  std::vector<MemoryRow> rows_;
};

// Statistics of the rows of a LayerNorm, kept for backward.
struct NormState {
  float* mean = nullptr;  // [rows]
  float* rstd = nullptr;  // [rows]
};

// What rotary positions are turned by, shared by all layers; null for absolute positions.
struct RotaryTurns {
  const std::int32_t* positions = nullptr;  // [T]
  float* table = nullptr;                   // [longest sequence, rotary_dim], rotary.h
};

// Post-LN: input -> qkv -> context -> sum -> norm (the output). Pre-LN: input -> norm -> qkv -> context ->
// sum (the output).
struct AttentionActivations {
  float* qkv = nullptr;          // [T, 3C]; query and key after their turn
  float* context = nullptr;      // [T, C]
  float* log_sum_exp = nullptr;  // [H, T]; null in inference
  float* sum = nullptr;          // [T, C]: input + dropout(output product)
  float* norm = nullptr;         // [T, C]
  NormState norm_state;          // null in inference
  RotaryTurns turns;
};

// The same order: input -> inner -> sum -> norm, or input -> norm -> inner -> sum.
struct FeedForwardActivations {
  float* pre = nullptr;    // [T, F] before gelu; null in inference
  float* inner = nullptr;  // [T, F]
  float* sum = nullptr;    // [T, C]
  float* norm = nullptr;   // [T, C]
  NormState norm_state;
};

struct LayerActivations {
  AttentionActivations attention;
  FeedForwardActivations feed_forward;
};

struct EmbeddingActivations {
  std::int32_t* ids = nullptr;        // [T]
  std::int32_t* types = nullptr;      // [T]
  std::int32_t* positions = nullptr;  // [T]
  float* sum = nullptr;               // [T, C] what the LayerNorm reads; null without one
  NormState norm_state;
};

// Masked rows only (M of them).
struct MaskedActivations {
  std::int32_t* rows = nullptr;         // [M]
  std::int32_t* labels = nullptr;       // [M]
  std::int32_t* predictions = nullptr;  // [M]
  float* gathered = nullptr;            // [M, C]
  float* transform_pre = nullptr;       // [M, C]
  float* transform = nullptr;           // [M, C]
  float* norm = nullptr;                // [M, C]
  NormState norm_state;
  float* logits = nullptr;  // [M, V]; backward turns them into their gradient
  float* losses = nullptr;  // [M]
};

struct PooledActivations {
  float* linear = nullptr;  // [B, C] before tanh
  float* pooled = nullptr;  // [B, C]
};

struct ClassificationActivations {
  float* dense_pre = nullptr;  // [B, C] before gelu
  float* dense = nullptr;      // [B, C] after gelu and dropout
};

// Rows are tokens, so that the block works as a layer of the encoder does.
struct QuestionActivations {
  float* input = nullptr;          // [T, C] after dropout
  FeedForwardActivations block;    // sum and norm [T, C]
  float* penalty = nullptr;        // [T]: what is added to the logits of the question
  float* start = nullptr;          // [T] logits; backward turns them into their gradient
  float* end = nullptr;            // [T]
  std::int32_t* labels = nullptr;  // [2B]: starts, then ends
  float* losses = nullptr;         // [2B]
};

// One row per sequence, at its first token.
struct SequenceActivations {
  std::int32_t* rows = nullptr;         // [B]
  std::int32_t* labels = nullptr;       // [B]
  std::int32_t* predictions = nullptr;  // [B]
  float* gathered = nullptr;            // [B, C]; classification: after dropout
  float* logits = nullptr;              // [B, classes]; backward turns them into their gradient
  float* targets = nullptr;             // [B, classes]; multi-label and regression only
  float* losses = nullptr;              // [B]
};

// Gradients on their way down; training only.
struct BackwardWorkspace {
  float* stream = nullptr;  // [T, C]: gradient of a layer's output, then of its input
  float* branch = nullptr;  // [T, C]
  float* wide = nullptr;    // [T, max(F, 4C)]
};

// What changes from call to call and is read on the device, so that recorded work can run again.
struct Cells {
  std::uint64_t* dropout_seed = nullptr;
  float* mlm_scale = nullptr;
  float* sequence_scale = nullptr;
  float* start_scale = nullptr;
  float* end_scale = nullptr;
};

struct Activations {
  Cells cells;
  EmbeddingActivations embeddings;
  RotaryTurns turns;
  std::vector<float*> states;  // [L + 1]: the input of every layer, then the output of the last
  std::vector<LayerActivations> layers;
  float* final_norm = nullptr;  // [T, C]; null without a final LayerNorm
  NormState final_norm_state;
  SequenceActivations sequence;
  MaskedActivations masked;  // each filled for the heads that have it
  PooledActivations pooled;
  ClassificationActivations classification;
  QuestionActivations question;
  BackwardWorkspace workspace;

  // What the heads read.
  const float* last_hidden_state() const { return final_norm != nullptr ? final_norm : states.back(); }
};

Activations plan_activations(Arena& arena, const ModelConfig& config, const BatchLimits& limits,
                             const ModelOptions& options);

}  // namespace bigbird
