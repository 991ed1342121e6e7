// lib/text/classify holds classes of texts, and GLUE: examples, fine-tuning, prediction, evaluation. What a
// text gets is a function of the text and the model only.
//
// How good predicted classes, labels or numbers are, against their gold labels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/io/text/labelled_texts.h"
#include "lib/metrics/class_metrics.h"
#include "lib/text/classify/predict.h"

namespace bigbird {

// Gold labels beside what was predicted, row by row.
struct ScoredTexts {
  ProblemType problem = ProblemType::single_label;
  ClassNames classes;                                        // of regression none
  std::vector<int> labels, predicted;                        // one class
  std::vector<std::vector<bool>> gold_sets, predicted_sets;  // [rows][classes], several labels
  std::vector<double> values, predicted_values;              // regression
  InputTally inputs;  // of the model's; all 0 where predictions were read
  std::size_t rows() const;
};

// A label is predicted where its value is at least this.
inline constexpr double label_threshold = 0.5;

// Gold rows through the model. `labels`: what the data call the classes, in the order of the model's outputs;
// empty: as the model does. Error{bad_input} for a label that is none of them; Error{usage} for another
// number of labels than the model has classes, or for any where it gives numbers.
ScoredTexts score_texts(const TextRows& gold, TextClassifier& classifier,
                        const std::vector<std::string>& labels = {});

// Gold rows beside the table that `text classify predict` wrote (columns id and label, with lists of labels
// those of the classes, "p.NAME"; of numbers score), found by id; classes are the names that occur on either
// side. Error{bad_input}: a gold row without a prediction, an id twice, a file without the columns;
// predictions of unknown ids are counted in a warning, and so are rows whose label is none of the classes of
// the table. `labels` as above, in the order of the columns p.NAME.
ScoredTexts read_scored_texts(const TextRows& gold, const std::string& predictions,
                              const std::vector<std::string>& labels = {});

// Classes: accuracy, micro_f1 (which is accuracy where every text has one class), macro_f1, mcc, the fraction
// of the largest class ("majority"), for each class precision, recall, f1 and support, and the confusion
// table. Several labels: micro and macro F1, the fraction of rows that are right in every label. Regression:
// pearson, spearmanr, mse. `provenance_json` is put in as it is when not empty.
std::string text_metrics_json(const ScoredTexts& scored, const std::string& provenance_json);

// "#class precision recall f1 support" and the confusion table, as TSV. Error{bad_input} but for classes.
std::string class_table_tsv(const ScoredTexts& scored);

}  // namespace bigbird
