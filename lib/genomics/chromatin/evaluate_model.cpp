// Predicts the bins that are to be evaluated; see evaluate_model.h.
#include "lib/genomics/chromatin/evaluate_model.h"

#include <fmt/format.h>

#include <limits>
#include <memory>
#include <utility>

#include "lib/core/error.h"
#include "lib/genomics/chromatin/predict.h"

namespace bigbird {

std::vector<NamedPredictions> predict_for_evaluation(const ChromatinDataset& data, std::optional<Split> split,
                                                     SequenceScorer& scorer, double max_n) {
  const std::size_t outputs = scorer.outputs();
  if (outputs != data.profiles().size()) {
    throw_bad_input(fmt::format("{}: {} profiles, but the model has {} outputs", data.folder(),
                                data.profiles().size(), outputs),
                    "evaluate a model on the data set that it was fine-tuned on, or one with its profiles");
  }
  const bool both_strands = scorer.strands() == 2;
  const bool ensemble = scorer.models() > 1;
  std::vector<float> single, both, all;
  const std::unique_ptr<PredictionTargets> targets = dataset_targets(data, split, scorer.window());
  Progress progress("chromatin evaluate", 0, "windows");
  predict_chromatin(
      *targets, scorer, max_n, progress, [&](const PredictedRow&, const SequenceScores* scores) {
        for (std::size_t k = 0; k < outputs; ++k) {
          constexpr double missing = std::numeric_limits<double>::quiet_NaN();
          const double forward = scores == nullptr ? missing : scores->at(0, 0, k);
          single.push_back(static_cast<float>(forward));
          if (both_strands) {
            both.push_back(
                static_cast<float>(scores == nullptr ? missing : (forward + scores->at(0, 1, k)) / 2));
          }
          if (ensemble) all.push_back(static_cast<float>(scores == nullptr ? missing : scores->mean(k)));
        }
      });
  if (single.empty()) throw_bad_input(fmt::format("{}: no bins to score", data.folder()));
  std::vector<NamedPredictions> predictions;
  predictions.push_back({"single", {"single", std::move(single), outputs}});
  if (both_strands) predictions.push_back({"rc", {"rc", std::move(both), outputs}});
  if (ensemble) predictions.push_back({"ensemble", {"ensemble", std::move(all), outputs}});
  return predictions;
}

}  // namespace bigbird
