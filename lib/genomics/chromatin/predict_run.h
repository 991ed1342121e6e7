// `bigbird chromatin predict`: predictions for all targets of an input into files, chunk by chunk, so that
// shards share the input and a run that was stopped goes on; and the files of all shards as those of one run.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lib/calibration/calibrated_scores.h"
#include "lib/genomics/chromatin/predict.h"
#include "lib/genomics/chromatin/predict_output.h"
#include "lib/inference/model_task.h"
#include "lib/inference/sequence_scorer.h"
#include "lib/parts/parts.h"

namespace bigbird {

struct ChromatinPredictOptions {
  std::string input;   // file of the targets, for messages and to know it again; "-": stdin; may be a folder
  std::string output;  // file, folder of several tracks, or "-"
  PredictionFormat format = PredictionFormat::tsv;
  PredictionColumns columns;
  double max_n = 0.5;
  // Beside OUT.npy, of all models: OUT.single.npy (first model, forward strand) and OUT.rc.npy (first model,
  // both strands; where both are read).
  bool variants = false;
  std::vector<std::string> comments;  // provenance, without "##"
  ChunkedWork work;
};

// Errors: as the targets; Error{bad_input} where there is nothing to predict, or no window could be scored (a
// shard may be without one: the merge looks at all of them). Every matrix has the means that `calibrated`
// gives.
PredictionCounts run_chromatin_predict(const ChromatinPredictOptions& options, PredictionTargets& targets,
                                       SequenceScorer& scorer, const CalibratedScores& calibrated);

// The kind of such a run's shards (shard_file.h).
inline constexpr const char* chromatin_predict_kind = "chromatin predict";
// The files of one run at `output`, in the format of the run.
PredictionCounts merge_chromatin_predictions(const std::vector<std::string>& shards,
                                             const std::string& output);

}  // namespace bigbird
