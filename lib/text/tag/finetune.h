// Fine-tuning a pretrained encoder to give a class to each word of a sentence: from options to RUN/final,
// which transformers loads as a ForTokenClassification.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/io/text/tagged_sentences.h"
#include "lib/tokenization/text_encoding.h"
#include "lib/training/run_options.h"
#include "lib/training/trainer.h"

namespace bigbird {

RunOptions tag_defaults(Recipe recipe = Recipe::standard);

struct TagFinetuneOptions : RunOptions {
  TagFinetuneOptions() : RunOptions(tag_defaults()) {}

  std::string train, valid;  // valid: empty for none
  TaggedSentenceOptions sentences;
  std::vector<std::string> classes;    // in the order of the outputs; empty: the labels of `train`, by name
  std::optional<std::size_t> overlap;  // of the windows of long sentences, pieces
  TextEncodingOptions encoding;
};

// A window of a sentence is a sample; each word is learned in one of them, and one without a piece in none. A
// word's class is learned at its first piece. The folders get text.json, and the classes as id2label. Errors
// as run_training(), TaggedSentences and ModelFolder; {bad_input} for a model of DNA, a single class, a label
// of the validation side that is none of them.
TrainingSummary tag_finetune(const TagFinetuneOptions& options, kernels::Backend& backend);

}  // namespace bigbird
