// The optimizer over the parameter arena: AdamW in its two published variants, with decay groups from the
// layout, and Adafactor. Their state is on the device.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/ranks/slice_sums.h"
#include "lib/model/network/host_values.h"
#include "lib/model/network/layout.h"
#include "lib/training/schedule.h"

namespace bigbird {

enum class OptimizerVariant {
  google,  // google-research/bigbird: no bias correction, epsilon 1e-6
  torch,   // torch.optim.AdamW: bias correction, epsilon 1e-8
  // Shazeer and Stern (2018), as google-research/bigbird trains models that write: no first moment, means of
  // rows and columns in place of the second, updates relative to the size of their tensor.
  adafactor,
};

std::string name_of(OptimizerVariant variant);
// Error{usage} listing the names.
OptimizerVariant parse_optimizer_variant(const std::string& name);

struct OptimizerOptions {
  OptimizerVariant variant = OptimizerVariant::google;
  // Of AdamW; Adafactor has none of the four.
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

// What an optimizer keeps of one tensor of the layout: its name in checkpoints ("exp_avg_sq.NAME"), its
// shape, and its place in the one array that the state is.
struct OptimizerState {
  std::string name;
  std::vector<std::int64_t> shape;
  std::int64_t offset = 0;
  std::int64_t count = 0;
};

// AdamW: first moments (exp_avg), then second ones (exp_avg_sq), of every tensor. Adafactor, named as
// transformers does: means of the rows and of the columns of a matrix (exp_avg_sq_row, exp_avg_sq_col),
// squares of a vector (exp_avg_sq).
std::vector<OptimizerState> optimizer_state(const ParameterLayout& layout, OptimizerVariant variant);

// What an Optimizer takes of its backend: the numbers of its state, of a rank of `ranks`, and beside them,
// for an update, bytes.
struct OptimizerMemory {
  std::int64_t state = 0;
  std::size_t scratch = 0;
  std::size_t bytes() const { return static_cast<std::size_t>(state) * sizeof(float) + scratch; }
};
OptimizerMemory optimizer_memory(const ParameterLayout& layout, OptimizerVariant variant,
                                 const kernels::Backend& backend, int ranks = 1);

// Owns its state (device memory, zero at first). Of several ranks each has the moments of its own slice of
// the parameters, updates that, and gets the others' from them (ZeRO-1, Rajbhandari et al. 2020, section
// 5.1); Adafactor, whose state is small and whose updates need whole tensors, runs on every rank alike.
class Optimizer {
 public:
  // `ranks`: those that share the update, referred to; null: this process alone.
  Optimizer(kernels::Backend& backend, const ParameterLayout& layout, const OptimizerOptions& options,
            kernels::Ranks* ranks = nullptr);
  ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // One update in place, collective. parameters and gradients are device arenas of layout.count() floats, the
  // gradients those of this rank's part of the batch, which are summed over the ranks here: of several, what
  // they hold afterwards is of use where slices().own() says. `update` is 1 for the first update of the run.
  // Returns the norm of the summed gradients before clipping; when that is not finite, no parameter was
  // changed.
  double update(float* parameters, float* gradients, double learning_rate, std::uint64_t update_number);
  kernels::SliceSums& slices() { return slices_; }

  // The state, part by part, to read without a copy where it is in the program's memory and this process has
  // all of it. Collective; on other ranks than 0 it may be empty.
  const std::vector<OptimizerState>& state() const { return state_; }
  HostValues state_to_read();
  // And back: of a sliced state what belongs to this rank is taken.
  void upload_state(const OptimizerState& part, const std::vector<float>& values);

 private:
  // Whether this rank has a slice of the state, not all.
  bool sliced() const;
  // Numbers of each half of AdamW's state here.
  std::int64_t half() const;

  kernels::Backend& backend_;
  OptimizerOptions options_;
  std::int64_t count_ = 0;
  kernels::SliceSums slices_;
  struct Group {
    double rate = 1.0;  // fraction of the learning rate
    std::vector<kernels::ParameterRun> runs;
  };
  std::vector<Group> groups_;                      // of AdamW
  std::vector<kernels::AdafactorTensor> tensors_;  // of Adafactor
  std::vector<OptimizerState> state_;
  OptimizerMemory memory_;
  float* values_ = nullptr;  // the state, then the scratch
};

}  // namespace bigbird
