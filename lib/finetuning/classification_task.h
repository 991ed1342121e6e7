// lib/finetuning holds what every fine-tuning shares: the model that a run starts from, its options, the
// folder that it leaves, and classifiers of token sequences. Readers of examples stay with their tasks.
//
// Fine-tuning a classifier over token sequences: the task behind `promoter finetune` and `text classify
// finetune`. What it has learned is run by sequence_scorer.h and text/classify/predict.h.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/finetuning/finetuning.h"
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

// What a draw is in place of the training sequence; nothing: the sequence itself. May be called from another
// thread than validate().
using RemakeSequence = std::function<std::optional<ClassifiedSequence>(const Draw&)>;
// All are referred to and must outlive the task.
SampleTask classification_task(const RunOptions& options, const ModelConfig& config,
                               const std::vector<ClassifiedSequence>& train,
                               const std::vector<ClassifiedSequence>& valid, RemakeSequence remake = {});

}  // namespace bigbird
