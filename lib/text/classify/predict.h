// Probabilities of texts under a fine-tuned classifier, streamed in order: what `text classify predict`,
// `evaluate` and the GLUE verbs stand on. What comes out of a text is a function of the text and the model
// alone: not of batch, threads or neighbours. And what `text classify predict` does: a file of texts in, a
// table or JSON Lines of their classes out, in the order of the file, in chunks
// (lib/parts/chunked_outputs.h).
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
#include "lib/model_folder/model_folder.h"
#include "lib/parts/chunked_outputs.h"
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

enum class PredictionForm { tsv, jsonl };

// Lines of an output. A table has the columns id, label, score and p.CLASS for every class; of one number id
// and score; several labels stand as "a,b", none as NA. JSON Lines have the same with the classes as members
// of "scores", and several labels as a list, none as an empty one.
class PredictionRows {
 public:
  // The classifier outlives the rows.
  PredictionRows(const TextClassifier& classifier, PredictionForm form)
      : classifier_(classifier), form_(form) {}

  // "##" and each comment, and the names of the columns; of JSON Lines nothing.
  std::string head(const std::vector<std::string>& comments) const;
  // `values` as TextClassifier::add gives them.
  std::string row(const std::string& id, std::span<const double> values) const;

 private:
  bool is_number() const;

  const TextClassifier& classifier_;
  PredictionForm form_;
};

struct TextPredictionOptions {
  std::string input;
  LabelledTextOptions columns;
  std::string output;  // "-": stdout
  PredictionForm form = PredictionForm::tsv;
  std::vector<std::string> comments;                        // lines of provenance without "##"
  kernels::Precision precision = kernels::Precision::fp32;  // of the classifier's backend
  ChunkedWork work;
};

// The tally of the texts that were run now: without those of other shards and those that were finished
// before. Error{bad_input} as LabelledTexts, ChunkedOutputs, and for an input without texts.
InputTally predict_texts(const TextPredictionOptions& options, TextClassifier& classifier);

}  // namespace bigbird
