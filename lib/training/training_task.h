// What a training run asks of the task that it trains: the batches of its updates, and those of its
// validation, each a function of their number alone, so that a run resumes anywhere and any rank makes what
// is its own.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/ranks/ranks.h"
#include "kernels/ranks/slice_sums.h"
#include "lib/model/network/batch.h"
#include "lib/model/network/losses.h"
#include "lib/training/run_options.h"

namespace bigbird {

class Model;

class TrainingTask {
 public:
  virtual ~TrainingTask() = default;

  // Micro-batches (slots) of every update: 1, 2, ...
  virtual kernels::Index slots() const = 0;
  // Those of update `step` (0, 1, ...) that are asked for, in order. May be called beside validate(), on
  // another thread.
  virtual std::vector<Batch> batches(std::uint64_t step, kernels::IndexRange slots) const = 0;

  // Of a task whose sequences are streams (Batch::places): those of these slots, whose memory is of the one
  // who has them.
  virtual kernels::IndexRange streams(kernels::IndexRange) const { return {}; }

  std::vector<Batch> whole_update(std::uint64_t step) const { return batches(step, {0, slots()}); }

  // Batches of the validation set; 0: there is none.
  virtual std::uint64_t validation_batches() const { return 0; }
  virtual Batch validation_batch(std::uint64_t) const { return {}; }
  // Losses on the validation set; nothing where there is none. Collective: each rank takes every count()-th
  // batch, and all have the sums, which are taken in the order of the batches. Of one process a stop that was
  // asked for is Error{interrupted}; several go on to the end.
  virtual std::optional<LossSums> validate(Model& model, kernels::Ranks& ranks) const;

 protected:
  // Collective: the sums of so many parts, in their order. Part n is of rank n % count(), which has
  // LossSums::numbers() of its parts end to end; every rank gives as many numbers.
  static LossSums sum_in_order(kernels::Ranks& ranks, const std::vector<double>& mine, std::uint64_t parts);
};

// A task of samples: micro-batches are consecutive draws of the run, and validation takes its samples in
// order, as many at a time.
class SampleTask : public TrainingTask {
 public:
  // The batch of `count` draws (of training, numbered from the first update on) or samples (of validation)
  // from `first` on.
  using MakeBatch = std::function<Batch(std::uint64_t first, std::uint64_t count)>;
  // The options are referred to and must outlive the task.
  SampleTask(const RunOptions& options, MakeBatch train, std::uint64_t valid_samples, MakeBatch valid)
      : options_(options),
        train_(std::move(train)),
        valid_samples_(valid_samples),
        valid_(std::move(valid)) {}

  kernels::Index slots() const override { return slots_of_update(options_); }
  std::vector<Batch> batches(std::uint64_t step, kernels::IndexRange slots) const override;
  std::uint64_t validation_batches() const override;
  Batch validation_batch(std::uint64_t number) const override;

 private:
  const RunOptions& options_;
  MakeBatch train_;
  std::uint64_t valid_samples_;
  MakeBatch valid_;
};

}  // namespace bigbird
