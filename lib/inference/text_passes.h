// A model that reads left to right and whose attention is not known token by token: a text is passed over
// again for every token that is asked of, alone, with the logits of its last token. Of a model with a memory
// (attention_recurrent.h) the text is a stream that is read in segments of CausalLimits::length tokens, the
// last of them perhaps shorter: what it remembers of whole segments is kept, and only the last one is passed
// over again.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lib/inference/text_steps.h"

namespace bigbird {

// As limits_of_steps() and plan_step_memory() (text_steps.h).
BatchLimits limits_of_passes(const ModelConfig& config, const CausalLimits& limits);
std::vector<MemoryRow> plan_pass_memory(const ModelConfig& config, const CausalLimits& limits,
                                        const kernels::Backend& backend);

class TextPasses : public TextSteps {
 public:
  // As make_text_steps().
  TextPasses(Model& model, const CausalLimits& limits);
  ~TextPasses() override;

  void begin() override;
  void read(std::span<const ReadText> texts) override;
  std::span<const float> logits() override;
  TopTokens top(std::int64_t count) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace bigbird
