// Fine-tuning HIBERT: every sentence of a document is learned to be of the extract or not (Zhang et al. 2019,
// section 3.3), from options to RUN/final.
#pragma once

#include <string>

#include "kernels/backend.h"
#include "lib/finetuning/finetuning.h"
#include "lib/io/text/summary_pairs.h"
#include "lib/training/run_options.h"
#include "lib/training/trainer.h"

namespace bigbird {

RunOptions hibert_finetuning_defaults();

struct HibertFinetuneOptions : RunOptions {
  HibertFinetuneOptions() : RunOptions(hibert_finetuning_defaults()) {}

  std::string train, valid;  // files of pairs; no validation where `valid` is empty
  SummaryPairOptions pairs;  // of both
};

// Labels are extract_labels() of each document's summary. With `valid` the finished model is scored on it, as
// evaluate_extracts() does, next to the first sentences and the oracle, which is logged; and the number of
// sentences of best ROUGE goes into RUN/final (extraction.json). Errors as run_training() and
// read_sentence_documents(); {bad_input} for an `init` that is no HIBERT.
TrainingSummary hibert_finetune(const HibertFinetuneOptions& options, kernels::Backend& backend);

}  // namespace bigbird
