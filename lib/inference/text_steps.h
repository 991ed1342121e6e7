// Texts of a model that reads left to right (ModelConfig::causal with the head that predicts the next token),
// some tokens at a time. Texts may begin with one another: rows of a beam search, samples of one prompt.
//
// Where attention is known token by token, keys and values of every layer are kept and a token costs one
// token (CausalSteps, causal_steps.h). Of all other systems a text is passed over again for every token that
// is asked of (TextPasses, text_passes.h).
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
  // of a call; more of them move less often. Passes have none.
  std::int64_t cached = 0;
  // Tokens of one text, at most the positions of the model. With a memory texts have any length: of passes it
  // is that of a segment then, else nothing.
  std::int64_t length = 0;
};

// A text as a call leaves it: one of the texts of the call before (-1: an empty one) with more tokens.
struct ReadText {
  std::int32_t parent = -1;
  std::span<const std::int32_t> tokens;  // none: it stays as it is, and nothing is told of it
  bool asked = true;                     // whether logits() and top() tell what may come after it
};

class TextSteps {
 public:
  TextSteps() = default;
  virtual ~TextSteps() = default;
  TextSteps(const TextSteps&) = delete;
  TextSteps& operator=(const TextSteps&) = delete;

  // Forgets all texts.
  virtual void begin() = 0;
  // The texts that there are from here on, all others are gone. Error{runtime} beyond the limits.
  virtual void read(std::span<const ReadText> texts) = 0;
  // What may come after the texts that were asked of in the last call, in their order, valid until the next:
  // all logits [asked, V], or only the `count` (1 to most_top_tokens and at most V) best tokens.
  virtual std::span<const float> logits() = 0;
  virtual TopTokens top(std::int64_t count) = 0;
};

// Whether CausalSteps knows the model's attention.
bool keeps_keys(const ModelConfig& config);
// The batches that a model for such steps is made for.
BatchLimits limits_of_steps(const ModelConfig& config, const CausalLimits& limits);
// What steps take beside that model, row by row; the same numbers as their allocation.
std::vector<MemoryRow> plan_step_memory(const ModelConfig& config, const CausalLimits& limits,
                                        const kernels::Backend& backend);
// model is causal, is built for inference, with limits_of_steps(), and outlives what is made. Error{runtime}
// otherwise.
std::unique_ptr<TextSteps> make_text_steps(Model& model, const CausalLimits& limits);

}  // namespace bigbird
