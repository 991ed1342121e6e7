// Predictions that `chromatin evaluate -m` makes for itself: from one pass over the bins, what a single model
// says on the forward strand, what both strands together say, and what all models say.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "lib/genomics/chromatin/dataset.h"
#include "lib/genomics/chromatin/evaluate_input.h"
#include "lib/inference/sequence_scorer.h"

namespace bigbird {

struct NamedPredictions {
  std::string name;  // single, rc (the reverse complement averaged in), ensemble (the other models too)
  PredictionMatrix scores;
};

// "single", then "rc" when the scorer reads both strands, then "ensemble" when it has several models: float32
// matrices in memory. Windows with a larger fraction of N than `max_n` are rows of NaN. Error{bad_input} when
// the model's window or number of profiles is not the data set's.
std::vector<NamedPredictions> predict_for_evaluation(const ChromatinDataset& data, std::optional<Split> split,
                                                     SequenceScorer& scorer, double max_n);

}  // namespace bigbird
