// `bigbird promoter calibrate`: a promoter model's scores of labelled windows that it was not trained on, and
// the calibration that comes of them.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/calibration/calibration_file.h"
#include "lib/calibration/calibration_run.h"
#include "lib/genomics/promoter/labelled_sequences.h"
#include "lib/inference/sequence_scorer.h"

namespace bigbird {

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
