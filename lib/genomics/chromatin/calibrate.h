// `bigbird chromatin calibrate`: a chromatin model's scores of bins that it was not trained on, and the
// calibration that comes of them.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/calibration/calibration_run.h"
#include "lib/genomics/chromatin/dataset.h"
#include "lib/inference/sequence_scorer.h"

namespace bigbird {

// Error{bad_input} naming the model: no probabilities for each label by itself, other profiles than the data.
void require_profiles(const SequenceScorer& scorer, const ChromatinDataset& data);

// The bins of a split; of more than `most` (0: all) a random choice by the seed. Ascending.
std::vector<std::uint32_t> calibration_rows(const ChromatinDataset& data, Split split, std::uint64_t most,
                                            std::uint64_t seed);

// Scores the bins of `rows` as chromatin predict does. Error{bad_input} where there are none, or none could
// be scored.
LabelledScores score_labelled_bins(SequenceScorer& scorer, const ChromatinDataset& data,
                                   const std::vector<std::uint32_t>& rows, double max_n);

// Prior correction by the weight of positives that the model was trained with (config.json). The fractions of
// the training split are taken to be those of the bins that are predicted.
CalibrationChoices chromatin_choices(const ModelConfig& config);

}  // namespace bigbird
