// Fine-tuning a classifier over token sequences: the task behind `promoter finetune` and `text classify
// finetune`. What it has learned is run by sequence_scorer.h and text/classify/classifier.h.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/tasks/finetuning.h"
#include "lib/tasks/windows.h"
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

struct EncodedWindows {
  std::vector<ClassifiedSequence> sequences;
  std::int64_t longest = 0;    // tokens, special ones included
  std::int64_t shortened = 0;  // how many did not fit max_tokens
  std::int64_t classes = 0;    // the highest label plus one
};

// Reads and encodes labelled windows; `seen`, where given, is called with each. Error{bad_input}, beginning
// with `where`, for no windows, and for windows without a label.
EncodedWindows encode_labelled_windows(WindowReader& windows, const std::string& where,
                                       const Tokenizer& tokenizer, std::int64_t max_tokens,
                                       const std::function<void(const Window&)>& seen = {});

// What a draw is in place of the training sequence; nothing: the sequence itself. May be called from another
// thread than validate().
using RemakeSequence = std::function<std::optional<ClassifiedSequence>(const Draw&)>;
// All are referred to and must outlive the task.
SampleTask classification_task(const RunOptions& options, const ModelConfig& config,
                               const std::vector<ClassifiedSequence>& train,
                               const std::vector<ClassifiedSequence>& valid, RemakeSequence remake = {});

}  // namespace bigbird
