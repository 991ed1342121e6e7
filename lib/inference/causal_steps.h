// lib/inference holds models that compute for tasks: sequences in ragged batches, one runner for all, both
// strands, several models, windows of DNA, vectors, masked tokens, tokens one at a time, exact calls. A
// result never depends on batch, threads or neighbours.
//
// A model that reads left to right (ModelConfig::causal with the head that predicts the next token), some
// tokens at a time, with the keys and values of every layer kept: a token behind a text costs one token, and
// its logits are those of Model::forward() over the whole text. Texts may begin with one another: rows of a
// beam search, samples of one prompt.
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

#include "kernels/backend.h"
#include "lib/model/config.h"
#include "lib/model/network/model_limits.h"
#include "lib/model/network/top_tokens.h"

namespace bigbird {

class Model;

struct CausalLimits {
  std::int64_t rows = 0;   // tokens that one call reads
  std::int64_t asked = 0;  // texts that one call tells of, at most rows
  // Tokens that are read between two begin(). With a memory: what all texts remember together, and the tokens
  // of a call; more of them move less often.
  std::int64_t cached = 0;
  // Tokens of one text, at most the positions of the model. With a memory texts have any length.
  std::int64_t length = 0;
};

// What CausalSteps takes beside the model, row by row; the same numbers as its allocation.
std::vector<MemoryRow> plan_causal_memory(const ModelConfig& config, const CausalLimits& limits,
                                          const kernels::Backend& backend);

// A text as a call leaves it: one of the texts of the call before (-1: an empty one) with tokens behind it.
struct ReadText {
  std::int32_t parent = -1;
  std::span<const std::int32_t> tokens;  // none: it stays as it is, and nothing is told of it
  bool asked = true;                     // whether logits() and top() tell what may stand behind it
};

class CausalSteps {
 public:
  // model is causal, is built for inference and outlives this. Error{runtime} otherwise, and for attention
  // that is not known token by token (CausalKeys).
  CausalSteps(Model& model, const CausalLimits& limits);
  ~CausalSteps();
  CausalSteps(const CausalSteps&) = delete;
  CausalSteps& operator=(const CausalSteps&) = delete;

  // Forgets all texts.
  void begin();
  // The texts that there are from here on, all others are gone. Error{runtime} beyond the limits.
  void read(std::span<const ReadText> texts);
  // What may stand behind the texts that were asked of in the last call, in their order, valid until the
  // next: all logits [asked, V], or the `count` (1 to most_top_tokens and at most V) best tokens alone.
  std::span<const float> logits();
  TopTokens top(std::int64_t count);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace bigbird
