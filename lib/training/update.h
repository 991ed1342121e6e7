// One update of the weights: its micro-batches (slots) forward and backward, the gradients summed over slots
// and ranks in one order (kernels/ranks/slice_sums.h), and the optimizer.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kernels/ranks/slice_sums.h"
#include "lib/model/label_smoothing.h"
#include "lib/model/network/model_operations.h"
#include "lib/training/optimizer.h"
#include "lib/training/schedule.h"
#include "lib/training/training_task.h"

namespace bigbird {

struct UpdateOptions {
  Schedule schedule;
  std::uint64_t seed = 1;    // of dropout
  LabelSmoothing smoothing;  // of a decoder's loss
  bool debug_nan = false;
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
