// Scores of promoter predictions, and of classifiers of more classes, against their labels.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace bigbird {

struct LabelledPredictions {
  std::size_t classes = 2;
  std::vector<int> labels;
  // [examples, classes]; for two classes [examples]: the score of class 1.
  std::vector<double> scores;
  std::string negatives;     // their kind; empty: not known
  std::size_t left_out = 0;  // examples that were not scored: too much N

  std::size_t examples() const { return labels.size(); }
};

// A table of `promoter predict`: columns `label` and `score`, or `label` and p0, p1, p2 ... for more classes;
// others are passed over. Rows whose score is "." are counted, no more. The kind of the negatives comes from
// its ## lines. Errors name file and line.
LabelledPredictions read_labelled_predictions(const std::string& path);

// For two classes the fields of metrics.h with this threshold, for more those of class_metrics.h (the class
// of the highest score is predicted, of equal ones the lowest); then `left_out` where there are such,
// `negatives` where known and `provenance` where given.
std::string evaluation_json(const LabelledPredictions& predictions, double threshold,
                            const std::string& provenance_json);

// What a ## line of predictions says of the negatives: "negatives=KIND".
std::string negatives_comment(const std::string& kind);

}  // namespace bigbird
