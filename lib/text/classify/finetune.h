// Fine-tuning a pretrained encoder into a classifier of texts, or of pairs of texts (BigBird appendix E.4):
// from options to RUN/final, which transformers loads too.
#pragma once

#include <optional>
#include <string>

#include "kernels/backend.h"
#include "lib/text/classify/training_texts.h"
#include "lib/text/text_settings.h"
#include "lib/training/run_options.h"
#include "lib/training/trainer.h"

namespace bigbird {

// The paper's settings for long documents (table 14), with the length of the model.
RunOptions text_classification_defaults(Recipe recipe = Recipe::standard);

struct TextFinetuneOptions : RunOptions {
  TextFinetuneOptions() : RunOptions(text_classification_defaults()) {}

  WantedLabels labels;
  TextEncodingOptions encoding;
  bool second_type = false;  // TextSettings::second_type
  std::string glue_task;     // of a GLUE run, its name; else empty
  // Of the steps, where `warmup` is not given; not given either: default_warmup().
  std::optional<double> warmup_share;
};

// Inputs are cut at `length` tokens, said and counted; each is padded to its own multiple of the block size,
// so that nothing depends on its neighbours. The folders get text.json, and the classes as id2label. Errors
// as run_training(), read_training_texts() and ModelFolder; {bad_input} for a model of DNA.
TrainingSummary text_finetune(const TextFinetuneOptions& options, const TextRows& train,
                              const std::optional<TextRows>& valid, kernels::Backend& backend);

}  // namespace bigbird
