// lib/text/classify holds classes of texts, and GLUE: examples, fine-tuning, prediction, evaluation. What a
// text gets is a function of the text and the model only.
//
// Probabilities of texts under a fine-tuned classifier, streamed in order: what `text classify predict`,
// `evaluate` and the GLUE verbs stand on. What comes out of a text is a function of the text and the model
// alone: not of batch, threads or neighbours.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/backend.h"
#include "lib/inference/sequence_runner.h"
#include "lib/io/text/labelled_texts.h"
#include "lib/model/folder/model_folder.h"
#include "lib/text/classify/training_texts.h"
#include "lib/text/text_settings.h"

namespace bigbird {

struct TextClassifierOptions {
  std::string model;        // folder with a classification head and a tokenizer of text
  std::int64_t length = 0;  // most tokens of an input; 0: what the model was trained with, else what it takes
  BatchSize batch;
};

class TextClassifier {
 public:
  // Error{bad_input}: as ModelFolder, for a model of DNA or without the head, for text.json of another task.
  // Error{usage}: a length below 3, or beyond what the model takes.
  TextClassifier(const TextClassifierOptions& options, kernels::Backend& backend);

  const ModelFolder& folder() const { return folder_; }
  const TextSettings& settings() const { return settings_; }
  std::int64_t length() const { return length_; }
  ProblemType problem() const { return folder_.config().problem_type; }
  // In the order of the outputs; LABEL_0, LABEL_1 ... where config.json names none. Of regression one,
  // "score".
  const std::vector<std::string>& names() const { return names_; }

  // Safe to call from many threads at once.
  EncodedInput encode(std::string_view text, std::optional<std::string_view> pair,
                      UnknownTally* unknown = nullptr) const;
  // `done` is called once, in the order of the calls of add, now or later. Values [outputs]: softmax of the
  // classes, the sigmoid of each label (several labels, or a single output), the number itself (regression),
  // as transformers' text-classification pipeline gives them. Error{runtime} where a logit is not finite.
  void add(EncodedInput input, std::function<void(std::span<const double>)> done);
  void finish();

 private:
  ModelFolder folder_;
  TextSettings settings_;
  std::int64_t length_ = 0;
  std::vector<std::string> names_;
  std::unique_ptr<SequenceRunner> runner_;
};

// The output of the highest value, the first of equals.
std::size_t best_output(std::span<const double> values);

// All rows of a source through the classifier, in order, encoded on all threads; tallies what was seen. The
// rows handed on are without their texts.
InputTally classify_texts(const NextText& next, TextClassifier& classifier,
                          const std::function<void(const LabelledText&, std::span<const double>)>& row);

}  // namespace bigbird
