// One call of a model as its layers see it: the batch, the block plans and the dropout streams.
#pragma once

#include <cstdint>

#include "kernels/backend.h"
#include "lib/model/batch.h"
#include "lib/model/block_plan.h"
#include "lib/model/config.h"

namespace bigbird {

// Where dropout happens (specification 2.1). The numbers are part of what a seed means: never renumber, only
// append.
enum class DropoutSite : std::uint64_t {
  embeddings = 1,
  attention_probabilities = 2,  // full attention only
  attention_output = 3,
  feed_forward_output = 4,
  classifier_input = 5,
  classifier_inner = 6,
  question_input = 7,
  question_output = 8,
};

struct Call {
  kernels::Backend& backend;
  const ModelConfig& config;
  PlanCache& plans;
  const Batch& batch;                           // host
  bool training = false;                        // dropout on
  const std::uint64_t* dropout_seed = nullptr;  // device

  std::int64_t tokens() const { return batch.tokens(); }
  std::int64_t width() const { return config.hidden_size; }
  float epsilon() const { return static_cast<float>(config.layer_norm_eps); }

  // The stream of a site: one per (site, layer, part); parts are runs of sequences, see attention.cpp.
  static std::uint64_t stream(DropoutSite site, std::int64_t layer, std::int64_t part = 0) {
    return static_cast<std::uint64_t>(site) << 56 | static_cast<std::uint64_t>(layer) << 32 |
           static_cast<std::uint64_t>(part);
  }
  kernels::Dropout dropout(DropoutSite site, std::int64_t layer) const {
    return {training ? static_cast<float>(config.hidden_dropout_prob) : 0.0f, dropout_seed,
            stream(site, layer)};
  }
  kernels::Dropout classifier_dropout(DropoutSite site) const {
    const double probability =
        config.classifier_dropout < 0 ? config.hidden_dropout_prob : config.classifier_dropout;
    return {training ? static_cast<float>(probability) : 0.0f, dropout_seed, stream(site, 0)};
  }
};

}  // namespace bigbird
