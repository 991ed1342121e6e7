// Class probabilities of windows, streamed: one row a window, in input order, whatever the batch or the
// number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "lib/calibration/calibrated_scores.h"
#include "lib/genomics/promoter/evaluate.h"
#include "lib/genomics/promoter/labelled_sequences.h"
#include "lib/inference/sequence_scorer.h"
#include "lib/inference/windows.h"

namespace bigbird {

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

// The same of labelled windows, with their labels. Error{bad_input} for a label that the models do not have.
LabelledPredictions predict_labelled(SequenceScorer& scorer, const LabelledSource& data, double max_n);

}  // namespace bigbird
