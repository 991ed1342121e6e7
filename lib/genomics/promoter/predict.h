// Class probabilities of windows, streamed: one row a window, in input order, whatever the batch or the
// number of threads; those of labelled windows against their labels, and the calibration that comes of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/calibration/calibrated_scores.h"
#include "lib/calibration/calibration_file.h"
#include "lib/calibration/calibration_run.h"
#include "lib/genomics/promoter/labelled_sequences.h"
#include "lib/inference/sequence_scorer.h"
#include "lib/inference/windows.h"
#include "lib/io/genome/excluded_regions.h"

namespace bigbird {

class BaselineEvaluation;

// Error{bad_input} for models that are no classifiers of one label.
void require_classes(const SequenceScorer& scorer);
// Classes of the models: 2 for promoters and their negatives, whose scorer has one output.
std::size_t classes_of(const SequenceScorer& scorer);

// Calls row(window, probabilities) for every window, in order; returns how many there were. `probabilities`
// [scorer.outputs()]: the mean over models and strands; of two classes that of class 1 alone. Windows with a
// larger fraction of N than max_n are not scored: their row has none. Windows with more tokens than a model
// takes are cut at their right end; both are counted, each in one warning.
std::int64_t predict_promoters(SequenceScorer& scorer, WindowReader& windows, double max_n,
                               const std::function<void(const Window&, std::span<const double>)>& row);
// The same with calibrated means.
std::int64_t predict_promoters(SequenceScorer& scorer, const CalibratedScores& calibrated,
                               WindowReader& windows, double max_n,
                               const std::function<void(const Window&, std::span<const double>)>& row);

struct LabelledPredictions {
  std::size_t classes = 2;
  std::vector<int> labels;
  // [examples, classes]; for two classes [examples]: the score of class 1.
  std::vector<double> scores;
  std::string negatives;     // their kind; empty: not known
  std::size_t left_out = 0;  // examples that were not scored: too much N
  std::size_t excluded = 0;  // whose window touches an excluded region
  std::string baselines;     // JSON of promoter_baselines.h; empty: none

  std::size_t examples() const { return labels.size(); }
};

// The same of labelled windows, with their labels; those that touch an excluded region are not scored. Of two
// classes the baselines get every window that is scored, where they are given. Error{bad_input} for a label
// that the models do not have.
LabelledPredictions predict_labelled(SequenceScorer& scorer, const LabelledSource& data, double max_n,
                                     const ExcludedRegions& excluded = {},
                                     BaselineEvaluation* baselines = nullptr);

// A table of `promoter predict`: columns `label` and `score`, or `label` and p0, p1, p2 ... for more classes;
// others are passed over, but with excluded regions chrom, start and end are needed. Rows whose score is "."
// are counted, no more. The kind of the negatives comes from its ## lines. Errors name file and line.
LabelledPredictions read_labelled_predictions(const std::string& path, const ExcludedRegions& excluded = {});

// For two classes the fields of metrics.h with this threshold, for more those of class_metrics.h (the class
// of the highest score is predicted, of equal ones the lowest); then `left_out` and `excluded` where there
// are such, `negatives` where known, `baselines` where there are, and `provenance` where given.
std::string evaluation_json(const LabelledPredictions& predictions, double threshold,
                            const std::string& provenance_json);

// What a ## line of predictions says of the negatives: "negatives=KIND".
std::string negatives_comment(const std::string& kind);

// `bigbird promoter calibrate`.
// Error{bad_input} for a model of more than two classes, and as promoter predict.
void require_two_classes(const SequenceScorer& scorer);

// Scores every window of a file as promoter predict does. Error{bad_input} naming the file: labels other than
// 0 and 1, windows of one class alone.
LabelledScores score_labelled_windows(SequenceScorer& scorer, const LabelledSource& source, double max_n);

// Prior correction goes from the fraction of positives in training (train_prior) to the fraction `prior` that
// is wanted; what is fitted goes from the fraction on the side to the same. Without `prior` the fraction on
// the side is taken. Error{usage} for fractions that do not lie between 0 and 1.
CalibrationChoices promoter_choices(const LabelledScores& side, std::optional<double> prior,
                                    double train_prior);

}  // namespace bigbird
