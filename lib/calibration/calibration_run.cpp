// Fits and measures calibrations; see calibration_run.h.
#include "lib/calibration/calibration_run.h"

#include <limits>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/rng.h"

namespace bigbird {
namespace {

constexpr std::size_t no_fold = std::numeric_limits<std::size_t>::max();

// One output's scores and labels, without those of a fold.
struct Column {
  std::vector<double> scores;
  std::vector<std::uint8_t> labels;

  Column(const LabelledScores& side, std::size_t output, const std::vector<std::size_t>& fold_of,
         std::size_t without) {
    for (std::size_t window = 0; window < side.windows(); ++window) {
      if (without != no_fold && fold_of[window] == without) continue;
      scores.push_back(side.scores[window * side.outputs + output]);
      labels.push_back(side.labels[window * side.outputs + output]);
    }
  }
};

std::vector<OutputCalibration> fit(const LabelledScores& side, const PriorCorrection& correction,
                                   const std::vector<std::size_t>& fold_of, std::size_t without) {
  std::vector<OutputCalibration> fitted(side.outputs);
  kernels::parallel_for(side.outputs, [&](std::size_t output) {
    const Column column(side, output, fold_of, without);
    fitted[output] = fit_calibration(column.scores, column.labels, correction);
  });
  return fitted;
}

// Probabilities of the windows of each class.
struct ClassProbabilities {
  std::vector<double> positives;
  std::vector<double> negatives;
};

ClassWeights weights_of(const ClassProbabilities& classes, const CalibrationChoices& choices) {
  if (!choices.prior || classes.positives.empty() || classes.negatives.empty()) return {};
  return weights_for_prior(*choices.prior, static_cast<std::int64_t>(classes.positives.size()),
                           static_cast<std::int64_t>(classes.negatives.size()));
}

// `folds`: the calibrations of every fold, [folds, outputs].
std::vector<MeasuredMethod> measure(const LabelledScores& side,
                                    const std::vector<std::vector<OutputCalibration>>& folds,
                                    const std::vector<std::size_t>& fold_of,
                                    const CalibrationChoices& choices) {
  std::vector<MeasuredMethod> measured;
  for (const CalibrationMethod method : calibration_methods) {
    throw_if_cancelled();
    MeasuredMethod& here = measured.emplace_back(MeasuredMethod{method, {}, {}});
    here.outputs.resize(side.outputs);
    std::vector<ClassProbabilities> of_outputs(side.outputs);
    kernels::parallel_for(side.outputs, [&](std::size_t output) {
      ClassProbabilities& classes = of_outputs[output];
      for (std::size_t window = 0; window < side.windows(); ++window) {
        const std::size_t at = window * side.outputs + output;
        const double probability = folds[fold_of[window]][output].calibrated(method, side.scores[at]);
        (side.labels[at] != 0 ? classes.positives : classes.negatives).push_back(probability);
      }
      here.outputs[output] = measure_calibration(classes.positives, classes.negatives,
                                                 weights_of(classes, choices), choices.bins)
                                 .scores;
    });
    ClassProbabilities all;
    for (ClassProbabilities& classes : of_outputs) {
      all.positives.insert(all.positives.end(), classes.positives.begin(), classes.positives.end());
      all.negatives.insert(all.negatives.end(), classes.negatives.begin(), classes.negatives.end());
      classes = {};
    }
    here.pooled = measure_calibration(all.positives, all.negatives, weights_of(all, choices), choices.bins);
  }
  return measured;
}

}  // namespace

std::vector<OutputCalibration> fit_calibrations(const LabelledScores& side,
                                                const CalibrationChoices& choices) {
  return fit(side, choices.correction, {}, no_fold);
}

std::vector<MeasuredMethod> measure_calibrations(const LabelledScores& side,
                                                 const std::vector<OutputCalibration>& outputs,
                                                 const CalibrationChoices& choices) {
  return measure(side, {outputs}, std::vector<std::size_t>(side.windows(), 0), choices);
}

std::vector<std::size_t> calibration_fold_of(std::size_t windows, std::uint64_t seed) {
  std::vector<std::size_t> folds(windows);
  if (windows == 0) return folds;
  const RandomPermutation place(seed, Purpose::calibration_fold, 0, windows);
  for (std::size_t window = 0; window < windows; ++window)
    folds[window] = static_cast<std::size_t>(place(window) % calibration_folds);
  return folds;
}

std::vector<MeasuredMethod> cross_measure_calibrations(const LabelledScores& side,
                                                       const CalibrationChoices& choices) {
  const std::vector<std::size_t> fold_of = calibration_fold_of(side.windows(), choices.seed);
  std::vector<std::vector<OutputCalibration>> folds;
  for (std::size_t fold = 0; fold < calibration_folds; ++fold)
    folds.push_back(fit(side, choices.correction, fold_of, fold));
  return measure(side, folds, fold_of, choices);
}

}  // namespace bigbird
