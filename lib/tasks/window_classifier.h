// Fine-tuning a classifier over token sequences: the task behind `promoter finetune` and `text classify
// finetune`. What it has learned is run by sequence_scorer.h and text/classify/classifier.h.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/tasks/finetuning.h"
#include "lib/training/run_options.h"
#include "lib/training/trainer.h"

namespace bigbird {

// One encoded example: special tokens included, and its class; of several labels, or a number to be learned
// (ProblemType), its targets instead.
struct ClassifiedSequence {
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> types = {};  // empty: all 0
  std::int32_t label = 0;
  std::vector<float> targets = {};  // [num_labels], or empty: there is one class
};

// Every epoch visits every training sequence once, in an order that is a function of (seed, epoch).
class ClassificationTask : public TrainingTask {
 public:
  // What a draw is in place of the training sequence; nothing: the sequence itself. May be called from
  // another thread than validate().
  using Remake = std::function<std::optional<ClassifiedSequence>(const Draw&)>;

  // All are referred to and must outlive the task.
  ClassificationTask(const RunOptions& options, const ModelConfig& config,
                     const std::vector<ClassifiedSequence>& train,
                     const std::vector<ClassifiedSequence>& valid, Remake remake = {});
  kernels::Index slots() const override { return slots_of_update(options_); }
  std::vector<Batch> batches(std::uint64_t step, kernels::IndexRange slots) const override;
  std::uint64_t validation_batches() const override;
  Batch validation_batch(std::uint64_t number) const override;

 private:
  const RunOptions& options_;
  const ModelConfig& config_;
  const std::vector<ClassifiedSequence>& train_;
  const std::vector<ClassifiedSequence>& valid_;
  const Remake remake_;
};

}  // namespace bigbird
