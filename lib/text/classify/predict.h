// A file of texts in, a table or JSON Lines of their classes out, in the order of the file: what `text
// classify predict` does. In chunks (lib/parts/chunked_outputs.h).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/io/text/labelled_texts.h"
#include "lib/parts/chunked_outputs.h"
#include "lib/text/classify/classifier.h"

namespace bigbird {

enum class PredictionForm { tsv, jsonl };

// Lines of an output. A table has the columns id, label, score and p.CLASS for every class; of one number id
// and score; several labels stand as "a,b", none as ".". JSON Lines have the same with the classes as members
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
