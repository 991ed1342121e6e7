// Calibrating promoter models; see calibrate.h.
#include "lib/genomics/promoter/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>

#include "lib/core/error.h"
#include "lib/genomics/promoter/predict.h"

namespace bigbird {

void require_two_classes(const SequenceScorer& scorer) {
  require_classes(scorer);
  if (classes_of(scorer) == 2) return;
  throw_bad_input(fmt::format("{}: has {} classes, calibrated are models of two", scorer.model().path(),
                              classes_of(scorer)),
                  "a promoter model has class 1 for promoters and class 0 for all else");
}

LabelledScores score_labelled_windows(SequenceScorer& scorer, const LabelledSource& source, double max_n) {
  LabelledScores side;
  const std::unique_ptr<WindowReader> windows = read_labelled_windows(source);
  predict_promoters(
      scorer, *windows, max_n, [&](const Window& window, std::span<const double> probabilities) {
        if (window.label > 1) {
          throw_bad_input(fmt::format("{}: example {} has label {}", source.path, window.id, window.label),
                          "labels are 1 for promoters, else 0");
        }
        if (probabilities.empty()) {
          ++side.left_out;
          return;
        }
        side.scores.push_back(probabilities.front());
        side.labels.push_back(static_cast<std::uint8_t>(window.label));
      });
  if (side.windows() == 0) throw_bad_input(source.path + ": no windows", "give windows of both classes");
  const auto positives = static_cast<std::size_t>(std::count(side.labels.begin(), side.labels.end(), 1));
  if (positives == 0 || positives == side.windows()) {
    throw_bad_input(fmt::format("{}: all {} windows are of class {}", source.path, side.windows(),
                                positives == 0 ? 0 : 1),
                    "calibration needs windows of both classes; of a FASTA, its negatives too");
  }
  return side;
}

CalibrationChoices promoter_choices(const LabelledScores& side, std::optional<double> prior,
                                    double train_prior) {
  const auto check = [](const char* name, double share) {
    if (share > 0 && share < 1) return;
    throw_usage(fmt::format("{} {}: must lie between 0 and 1", setting_name(name), share));
  };
  check("train_prior", train_prior);
  if (prior) check("prior", *prior);
  const double there = static_cast<double>(std::count(side.labels.begin(), side.labels.end(), 1)) /
                       static_cast<double>(side.windows());
  const double wanted = prior.value_or(there);
  CalibrationChoices choices;
  choices.correction = {logit(wanted) - logit(train_prior), prior ? logit(wanted) - logit(there) : 0};
  choices.prior = prior;
  return choices;
}

}  // namespace bigbird
