// AdamW over the parameter arena: moments on the device, decay groups from the layout, the two published
// variants.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/model/network/host_values.h"
#include "lib/model/network/layout.h"
#include "lib/training/schedule.h"

namespace bigbird {

enum class OptimizerVariant {
  google,  // google-research/bigbird: no bias correction, epsilon 1e-6
  torch,   // torch.optim.AdamW: bias correction, epsilon 1e-8
};

std::string name_of(OptimizerVariant variant);
// Error{usage} listing the names.
OptimizerVariant parse_optimizer_variant(const std::string& name);

struct OptimizerOptions {
  OptimizerVariant variant = OptimizerVariant::google;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 0.0;  // 0: the variant's own
  // Decoupled; for tensors of the decay group only (TensorSpec::decay: not biases, not LayerNorm). One quirk
  // of the Google program is not repeated: its name filter misses the LayerNorm of the MLM head, which it
  // therefore decays.
  double weight_decay = 0.01;
  double clip_norm = 0.0;  // 0: no clipping (neither published program clips)
  // Rates by depth, as ELECTRA and BEiT have them in fine-tuning: what follows the encoder has the whole
  // rate, each layer below `layer_decay` times that of the layer above it, the embeddings once more. 1: all
  // alike.
  double layer_decay = 1.0;
  bool freeze_positions = false;  // the tables of positions stay as they are
};

// The options that decide the updates, "learning_rate" -> text: what must not change when a run goes on.
std::map<std::string, std::string> update_identity(const Schedule& schedule, const OptimizerOptions& options);

// Owns both moments (device memory, zero at first).
class Optimizer {
 public:
  Optimizer(kernels::Backend& backend, const ParameterLayout& layout, const OptimizerOptions& options);
  ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // One update in place. parameters and gradients are device arenas of layout.count() floats; update is 1 for
  // the first update of the run (bias correction). Returns the norm of the gradients before clipping; when
  // that is not finite, nothing was changed.
  double update(float* parameters, const float* gradients, double learning_rate, std::uint64_t update_number);

  // First and second moments, on the host and back (checkpoints).
  void download(std::vector<float>& first, std::vector<float>& second) const;
  // The same to read, without a copy where they are in the program's memory.
  HostValues first_to_read() const;
  HostValues second_to_read() const;
  void upload_first(std::int64_t offset, const std::vector<float>& values);
  void upload_second(std::int64_t offset, const std::vector<float>& values);

 private:
  kernels::Backend& backend_;
  OptimizerOptions options_;
  std::int64_t count_ = 0;
  struct Group {
    double rate = 1.0;  // share of the learning rate
    std::vector<kernels::ParameterRun> runs;
  };
  std::vector<Group> groups_;
  float* first_ = nullptr;
  float* second_ = nullptr;
};

}  // namespace bigbird
