// Fine-tuning a pretrained encoder into a promoter classifier: from options to RUN/final (BigBird appendix
// F.2).
#pragma once

#include <optional>
#include <string>

#include "kernels/backend.h"
#include "lib/genomics/promoter/labelled_sequences.h"
#include "lib/genomics/promoter/negatives.h"
#include "lib/training/run_options.h"
#include "lib/training/trainer.h"

namespace bigbird {

struct PromoterFinetuneOptions : RunOptions {
  PromoterFinetuneOptions() : RunOptions(finetuning_defaults()) {}

  // A folder with a train and a valid side (labelled_sequences.h), of `promoter build` or one's own; or,
  // instead, the sides themselves: `valid` may be left out.
  std::string data;
  LabelledSource train;
  LabelledSource valid;

  // In place of the negatives of the training side, but for those that `promoter build` took from the genome:
  // one of every promoter (class 1), anew in each epoch (negatives.h); `train` may then be a FASTA of
  // class 1 alone. Validation keeps its own.
  std::optional<NegativeKind> fresh_negatives;
  // What the head reads; without it that of the model, of a fresh head its first token (HeadForm::bigbird).
  std::optional<HeadPooling> pooling;
};

// Softmax cross entropy over the classes of the data, at least two; for two it is the paper's binary cross
// entropy on the difference of the logits. Sequences that the validation side shares with the training side,
// on either strand, are counted in a warning. The model folders get window.json, where the data's manifest
// tells the window, and profiles.tsv. Errors: {bad_input} example files, model and tokenizer that do not
// belong together, an output folder that holds a run; {usage} options out of range or other than those of the
// run that is resumed; {environment} too little memory; {interrupted} after a signal, with everything saved.
TrainingSummary promoter_finetune(const PromoterFinetuneOptions& options, kernels::Backend& backend);

}  // namespace bigbird
