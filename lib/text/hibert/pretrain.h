// Pretraining of HIBERT: sentences of documents are masked, and a decoder writes them (Zhang et al. 2019,
// section 3.2), from options to RUN/final.
#pragma once

#include <string>

#include "kernels/backend.h"
#include "lib/io/text/summary_pairs.h"
#include "lib/model/config.h"
#include "lib/model/label_smoothing.h"
#include "lib/training/run_options.h"
#include "lib/training/trainer.h"

namespace bigbird {

// Adam, a warm-up, then the inverse square root of the step.
RunOptions hibert_pretraining_defaults();

// The architecture of a fresh model of such sizes; its vocabulary and special pieces are still the
// tokenizer's.
ModelConfig hibert_architecture(ModelConfig sizes);

struct HibertPretrainOptions : RunOptions {
  HibertPretrainOptions() : RunOptions(hibert_pretraining_defaults()) {}

  std::string train, valid;  // files of documents; no validation where `valid` is empty
  SummaryPairOptions pairs;  // of both
  std::string tokenizer;     // folder; with `init` it may be empty: that of the model
  ModelConfig config;        // of a fresh model: hibert_architecture()
  LabelSmoothing smoothing;  // of updates; validation has the plain loss
};

// A sample is a document; which of its sentences are masked is a function of (seed, draw). Documents are held
// in memory. Errors as run_training() and read_sentence_documents(); {bad_input} for a tokenizer of DNA or
// without a mask piece, and an `init` that is no HIBERT that writes sentences.
TrainingSummary hibert_pretrain(const HibertPretrainOptions& options, kernels::Backend& backend);

}  // namespace bigbird
