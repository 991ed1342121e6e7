// See text_steps.h.
#include "lib/inference/text_steps.h"

#include "lib/inference/causal_steps.h"
#include "lib/inference/text_passes.h"
#include "lib/model/network/model.h"
#include "lib/model/plans/causal_keys.h"

namespace bigbird {

bool keeps_keys(const ModelConfig& config) {
  return has_causal_keys(config.attention) && !has_dynamic_spans(config);
}

BatchLimits limits_of_steps(const ModelConfig& config, const CausalLimits& limits) {
  if (!keeps_keys(config)) return limits_of_passes(config, limits);
  const std::int64_t block = config.block_size;
  return {.tokens = block, .sequences = 1, .masked_tokens = 0, .longest = block};
}

std::vector<MemoryRow> plan_step_memory(const ModelConfig& config, const CausalLimits& limits,
                                        const kernels::Backend& backend) {
  return keeps_keys(config) ? plan_causal_memory(config, limits, backend)
                            : plan_pass_memory(config, limits, backend);
}

std::unique_ptr<TextSteps> make_text_steps(Model& model, const CausalLimits& limits) {
  if (keeps_keys(model.config())) return std::make_unique<CausalSteps>(model, limits);
  return std::make_unique<TextPasses>(model, limits);
}

}  // namespace bigbird
