// Fine-tuning a model with a decoder on documents and their summaries (paper, section 4.1): from options to
// RUN/final, which transformers loads too.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/finetuning/finetuning.h"
#include "lib/io/text/summary_pairs.h"
#include "lib/model/label_smoothing.h"
#include "lib/text/summarize/encoded_pair.h"
#include "lib/training/run_options.h"
#include "lib/training/trainer.h"

namespace bigbird {

RunOptions summarization_defaults(Recipe recipe = Recipe::standard);

struct SummaryFinetuneOptions : RunOptions {
  SummaryFinetuneOptions() : RunOptions(summarization_defaults()) {}

  std::string train, valid;          // files of pairs; no validation where `valid` is empty
  SummaryPairOptions pairs;          // of both
  std::int64_t target_length = 256;  // most tokens of a summary (table 17)
  bool line_marks = true;            // encoded_pair.h
  LabelSmoothing smoothing;          // of updates; validation has the plain loss
  double layer_drop = -1.0;          // of both stacks; negative: the model's own
};

// Each document is padded to its own multiple of the block size, so that nothing depends on its neighbours.
// The loss is the mean over the tokens of the summaries of -log p, or what label smoothing makes of it.
// Errors as run_training() and SummaryPairs; {bad_input} for a document or summary without a token and a
// summary longer than its document (`skip_bad` counts both and passes over), for no pairs, for a model of DNA
// or without a decoder. RUN/final searches as the folder it began from does, and its text.json says how
// documents were read.
TrainingSummary summary_finetune(const SummaryFinetuneOptions& options, kernels::Backend& backend);

}  // namespace bigbird
