// lib/inference holds models that compute for tasks: sequences in ragged batches, one runner for all, both
// strands, several models, windows of DNA, vectors, masked tokens, tokens one at a time, exact calls. A
// result never depends on batch, threads or neighbours.
//
// A model that reads left to right, with the keys and values of every layer kept: a token more of a text
// costs one token, and its logits are those of Model::forward() over the whole text.
//
// Of a model with a memory (attention_recurrent.h) logits are those of a stream that is read in segments of
// one token: each sees the M inputs of a layer that came before it. Keys and values of these stay what they
// were, since labels of distances take the place of positions; no other rows are kept, so that a text of any
// length takes memory for M.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lib/inference/text_steps.h"

namespace bigbird {

// As plan_step_memory() (text_steps.h).
std::vector<MemoryRow> plan_causal_memory(const ModelConfig& config, const CausalLimits& limits,
                                          const kernels::Backend& backend);

class CausalSteps : public TextSteps {
 public:
  // As make_text_steps(). Error{runtime} for attention that is not known token by token (CausalKeys).
  CausalSteps(Model& model, const CausalLimits& limits);
  ~CausalSteps() override;

  void begin() override;
  void read(std::span<const ReadText> texts) override;
  std::span<const float> logits() override;
  TopTokens top(std::int64_t count) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace bigbird
