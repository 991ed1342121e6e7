// One update of the weights: its micro-batches (slots), made ahead of it, forward and backward, the gradients
// summed over slots and ranks in one order (kernels/ranks/slice_sums.h), and the optimizer.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/ranks/slice_sums.h"
#include "lib/model/label_smoothing.h"
#include "lib/model/network/batch.h"
#include "lib/model/network/model_operations.h"
#include "lib/training/optimizer.h"
#include "lib/training/training_task.h"

namespace bigbird {

class Model;
struct ForwardOptions;

// Makes the batches of the next update while the device works on those of this one.
class BatchPrefetcher {
 public:
  using Make = std::function<std::vector<Batch>(std::uint64_t)>;
  // make(step) for any step below `steps`; called on another thread when `ahead`, never twice at a time.
  BatchPrefetcher(Make make, std::uint64_t steps, bool ahead)
      : make_(std::move(make)), steps_(steps), ahead_(ahead) {}

  // make(step), or what it threw. Steps are asked for in order.
  std::vector<Batch> take(std::uint64_t step);

 private:
  Make make_;
  std::uint64_t steps_;
  bool ahead_;
  std::uint64_t next_step_ = 0;
  std::future<std::vector<Batch>> next_;  // of next_step_; its destructor waits
};

// Where NaN and infinity come from: what RunOptions::debug_nan says about an update that was refused.

// Runs the batch again, with the same dropout, and names the first place in the order of a call whose output
// is not finite: "the embeddings", "layer 3 of 12", "the head". Names the first parameter tensor that is not
// finite beside it, if there is one.
std::string first_output_not_finite(Model& model, const Batch& batch, const ForwardOptions& options);

// The first tensor in the order of a backward pass whose gradient is not finite, with how many values:
// "gradient of bert.encoder.layer.1.output.dense.weight (3 of 4096 values)". Empty: there is none.
std::string first_gradient_not_finite(const Model& model);

struct UpdateOptions {
  Schedule schedule;
  std::uint64_t seed = 1;    // of dropout
  LabelSmoothing smoothing;  // of a decoder's loss
  bool debug_nan = false;
  kernels::IndexRange streams;  // of the own slots (TrainingTask::streams)
};

struct Update {
  LossSums sums;
  std::uint64_t tokens = 0;  // real ones
  double operations = 0;     // of the model's products, forward and backward (model_operations.h)
  double gradient_norm = 0;
  double learning_rate = 0;
  // Why the weights are as before: "the loss of part 2 of 4". Empty for an update that was made.
  std::string not_finite;
  std::string first_bad;  // with debug_nan: where it comes from
};

// Owns the gradients that wait for their other half. Everything in an Update is the same on all ranks, and
// for any number of them.
class Updater {
 public:
  // `slots` of a whole update; the ranks are those of the optimizer.
  Updater(Model& model, Optimizer& optimizer, kernels::Index slots, const UpdateOptions& options);

  // Of this rank.
  const kernels::IndexRange& own_slots() const { return own_; }
  // Update `step`, 0 the first; `take` gives the batches of the own slots. Nothing when a stop was asked for,
  // of whichever rank: the weights are then as before. Several ranks ask at the beginning alone; one process
  // before every micro-batch.
  std::optional<Update> update(std::uint64_t step, const std::function<std::vector<Batch>()>& take);

 private:
  std::optional<LossScale> agree_on_scale(const std::vector<Batch>& batches);

  Model& model_;
  Optimizer& optimizer_;
  kernels::Ranks& ranks_;
  UpdateOptions options_;
  kernels::Index slots_;
  kernels::IndexRange own_;
  kernels::SlotSums sums_;
  ModelOperations operations_;
};

}  // namespace bigbird
