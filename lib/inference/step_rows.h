// Rows of which each is one token of a text: what the layers of a stack do with them in a step, for a decoder
// (decoder_steps.h) and for a model that reads left to right (causal_steps.h). In inference alone, so that
// nothing is kept. Attention is the caller's, whose keys and values are of rows that were read before.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/types.h"
#include "lib/model/config.h"
#include "lib/model/network/memory.h"
#include "lib/model/network/tensors.h"
#include "lib/model/network/top_tokens.h"

namespace bigbird {

struct StepRowMemory {
  std::int32_t* ids = nullptr;        // [rows]
  std::int32_t* types = nullptr;      // [rows], zeros; null of a stack without types
  std::int32_t* positions = nullptr;  // [rows]
  kernels::Values state;              // [rows, C], as the next three
  kernels::Values norm;
  kernels::Values context;  // what attention gives
  kernels::Values branch;
  kernels::Values inner;               // [rows, F]
  float* logits = nullptr;             // [asked rows, V]
  float* top_values = nullptr;         // [asked rows, most_top_tokens]
  std::int32_t* top_tokens = nullptr;  // the same
};
// Logits are asked for of `asked` of the rows.
StepRowMemory plan_step_rows(Arena& arena, const ModelConfig& config, std::int64_t rows, std::int64_t asked);

// A product's outputs from `first` on: queries, or keys and values, of one that has all three.
LinearTensors outputs_of(const LinearTensors& layer, kernels::Index first, kernels::Index count);

class StepRows {
 public:
  // config is the stack's (decoder_config() of a decoder). All three outlive this.
  StepRows(kernels::Backend& backend, const ModelConfig& config, const StepRowMemory& memory);
  StepRows(const StepRows&) = delete;
  StepRows& operator=(const StepRows&) = delete;

  // state = what ids and positions stand for.
  void embed(const EmbeddingTensors& tensors, kernels::Index rows);
  // What a branch reads: the state, in pre-LN its LayerNorm.
  kernels::ConstValues branch_input(const NormTensors& norm, kernels::Index rows);
  // state += product(input), in post-LN with a LayerNorm behind it.
  void join(kernels::ConstValues input, const LinearTensors& product, const NormTensors& norm,
            kernels::Index rows);
  void feed_forward(const FeedForwardTensors& tensors, kernels::Index rows);
  // Of the first rows of `state`, [rows, C]: a final LayerNorm where the stack has one, and the logits.
  void predict(kernels::ConstValues state, const NormTensors& final_norm, const LinearTensors& output,
               kernels::Index rows);

  // In place of a product: logits [rows, V] that were computed elsewhere.
  void take_logits(const std::vector<float>& logits, kernels::Index rows);

  // Of the last predict() or take_logits() and valid until the next, in the program's memory: all logits
  // [rows, V], or of each row the `count` (1 to most_top_tokens and at most V) best, which are found on the
  // device. Error{runtime} for another count.
  std::span<const float> logits();
  TopTokens top(std::int64_t count);

 private:
  kernels::Backend& backend_;
  const ModelConfig& config_;
  const StepRowMemory& held_;
  kernels::Index asked_ = 0;
  // Of a device with memory of its own.
  std::vector<float> on_host_, values_on_host_;
  std::vector<std::int32_t> tokens_on_host_;
};

}  // namespace bigbird
