// Calibrating chromatin models; see calibrate.h.
#include "lib/genomics/chromatin/calibrate.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>

#include "lib/core/error.h"
#include "lib/core/progress.h"
#include "lib/core/rng.h"
#include "lib/genomics/chromatin/predict.h"

namespace bigbird {

void require_profiles(const SequenceScorer& scorer, const ChromatinDataset& data) {
  const FinetunedModel& model = scorer.model();
  model.require_task("chromatin");
  if (model.config().problem_type != ProblemType::multi_label) {
    throw_bad_input(model.path() + ": gives no probability for each label by itself",
                    "take a model of `bigbird chromatin finetune`");
  }
  if (data.profiles() != scorer.profiles()) {
    throw_bad_input(data.folder() + ": other profiles than the model's",
                    "take the data set that the model was made with");
  }
}

std::vector<std::uint32_t> calibration_rows(const ChromatinDataset& data, Split split, std::uint64_t most,
                                            std::uint64_t seed) {
  std::vector<std::uint32_t> rows = data.rows(split);
  if (most == 0 || rows.size() <= most) return rows;
  const RandomPermutation order(seed, Purpose::calibration_sample, static_cast<std::uint64_t>(split),
                                rows.size());
  std::vector<std::uint32_t> chosen;
  for (std::uint64_t i = 0; i < most; ++i) chosen.push_back(rows[static_cast<std::size_t>(order(i))]);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

LabelledScores score_labelled_bins(SequenceScorer& scorer, const ChromatinDataset& data,
                                   const std::vector<std::uint32_t>& rows, double max_n) {
  if (rows.empty()) throw_bad_input(data.folder() + ": no bins to score", "choose a split that has bins");
  LabelledScores side;
  side.outputs = scorer.outputs();
  side.scores.reserve(rows.size() * side.outputs);
  const std::unique_ptr<PredictionTargets> targets = dataset_targets(data, rows, scorer.window());
  Progress progress("chromatin calibrate", rows.size(), "windows");
  std::size_t next = 0;
  predict_chromatin(*targets, scorer, max_n, progress,
                    [&](const PredictedRow&, const SequenceScores* scores) {
                      const std::uint32_t row = rows[next++];
                      if (scores == nullptr) {
                        ++side.left_out;
                        return;
                      }
                      for (std::size_t k = 0; k < side.outputs; ++k) {
                        side.scores.push_back(scores->mean(k));
                        side.labels.push_back(data.labels().at(row, k) ? 1 : 0);
                      }
                    });
  if (side.windows() == 0) {
    throw_bad_input(data.folder() + ": no window could be scored", message("see `max_n`"));
  }
  return side;
}

CalibrationChoices chromatin_choices(const ModelConfig& config) {
  CalibrationChoices choices;
  choices.correction.shift = -std::log(config.positive_weight);
  return choices;
}

}  // namespace bigbird
