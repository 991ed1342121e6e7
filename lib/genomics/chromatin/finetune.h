// Fine-tuning a pretrained encoder to predict chromatin profiles (BigBird appendix F.3; DeepSEA's task): one
// sigmoid per profile, binary cross entropy with positives weighted.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/backend.h"
#include "lib/genomics/chromatin/finetune_windows.h"
#include "lib/training/run_options.h"
#include "lib/training/trainer.h"

namespace bigbird {

struct ChromatinFinetuneOptions : RunOptions {
  ChromatinFinetuneOptions() : RunOptions(finetuning_defaults()) {}

  std::string data;   // folder of `chromatin build` or `chromatin import-deepsea`
  std::string fasta;  // instead of the genome that the folder names; may be empty
  double positive_weight = 8.0;
  StrandSampling strands = StrandSampling::both;
  // Without a length, that of the longest of so many random training windows is taken.
  std::uint64_t length_windows = 1000;
  std::uint64_t valid_bins = 4000;  // of the validation bins, a random choice by the seed; 0: all
};

// Writes RUN/final with window.json and profiles.tsv beside the weights. Errors: {bad_input} a data set
// without training bins, a model and tokenizer that do not belong together, a classifier of other profiles,
// an output folder that holds a run; {usage} options out of range or other than those of the run that is
// resumed; {environment} too little memory; {interrupted} after a signal, with everything saved.
TrainingSummary chromatin_finetune(const ChromatinFinetuneOptions& options, kernels::Backend& backend);

}  // namespace bigbird
