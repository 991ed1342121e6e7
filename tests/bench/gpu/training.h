// Models of the sizes of BigBird-base with batches of random tokens, and a training step that is repeated.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/model/network/model.h"
#include "lib/training/memory_plan.h"
#include "lib/training/optimizer.h"
#include "tests/bench/gpu/bench.h"

namespace bigbird::bench {

ModelConfig config_of(const Shapes& shapes, HeadType head, std::int64_t longest);
// Random tokens; 15 % of them to be predicted when `with_targets`.
Batch batch_of(const ModelConfig& config, std::int64_t sequences, std::int64_t tokens, bool with_targets,
               std::uint64_t seed);
// Four of them.
std::vector<Batch> batches_of(const ModelConfig& config, std::int64_t sequences, std::int64_t tokens,
                              bool with_targets);
BatchLimits limits_of(const Batch& batch, std::int64_t longest);
void set_initial(Model& model);
// The plan of a training step, which keeps gelu's output where all fits with it: options.keep_activated.
TrainingMemory planned_as_in_a_run(const ModelConfig& config, const BatchLimits& limits,
                                   ModelOptions& options, kernels::Backend& backend);

// Zeroed gradients, forward, backward and AdamW of one batch after another, as a run makes them.
class TrainingSteps {
 public:
  // `limits` are those of the batches.
  TrainingSteps(kernels::Backend& backend, const ModelConfig& config, const BatchLimits& limits,
                const ModelOptions& options, std::vector<Batch> batches);
  void step();
  // Of the last step; std::runtime_error when it is not a number.
  double loss() const;

 private:
  std::vector<Batch> batches_;
  Model model_;
  Optimizer optimizer_;
  std::uint64_t number_ = 0;
  double loss_ = 0;
};

}  // namespace bigbird::bench
