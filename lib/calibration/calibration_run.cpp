// Fits and measures calibrations; see calibration_run.h.
#include "lib/calibration/calibration_run.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/rng.h"
#include "lib/io/files/file.h"
#include "lib/io/tables/tsv.h"

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

std::string number(double value) {
  return std::isnan(value) ? missing_field : fmt::format("{:.9g}", value);
}

void add_scores(std::vector<std::string>& row, const CalibrationScores& scores) {
  for (const double value :
       {scores.ece_equal_width, scores.ece_equal_count, scores.log_loss, scores.brier, scores.auroc})
    row.push_back(number(value));
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

void write_calibration_table(const std::string& path, const std::vector<MeasuredMethod>& measured,
                             const std::string& measured_on, const std::vector<std::string>& comments) {
  OutputStream out(path);
  TsvWriter table(out,
                  {"method", "ece", "ece_equal_count", "log_loss", "brier", "auroc", "examples", "positives",
                   "measured_on"},
                  comments);
  for (const MeasuredMethod& method : measured) {
    const CalibrationScores& scores = method.pooled.scores;
    std::vector<std::string> row = {name_of(method.method)};
    add_scores(row, scores);
    row.push_back(std::to_string(scores.examples()));
    row.push_back(std::to_string(scores.positives));
    row.push_back(measured_on);
    table.row(row);
  }
  out.close();
}

void write_reliability_curves(const std::string& path, const std::vector<MeasuredMethod>& measured,
                              const std::vector<std::string>& comments) {
  OutputStream out(path);
  TsvWriter table(out, {"method", "bins", "bin", "lower", "upper", "n", "mean_predicted", "observed"},
                  comments);
  for (const MeasuredMethod& method : measured) {
    const auto write = [&](const char* bins, const std::vector<ReliabilityBin>& curve) {
      for (std::size_t i = 0; i < curve.size(); ++i) {
        const ReliabilityBin& bin = curve[i];
        table.row({name_of(method.method), bins, std::to_string(i + 1), number(bin.lower), number(bin.upper),
                   std::to_string(bin.examples), number(bin.predicted), number(bin.observed)});
      }
    };
    write("equal_width", method.pooled.equal_width);
    write("equal_count", method.pooled.equal_count);
  }
  out.close();
}

void write_calibration_of_profiles(const std::string& path, const std::vector<MeasuredMethod>& measured,
                                   const std::vector<Profile>& profiles,
                                   const std::vector<OutputCalibration>& outputs,
                                   const std::vector<std::string>& comments) {
  OutputStream out(path);
  TsvWriter table(out,
                  {"index", "name", "group", "method", "fitted", "positives", "negatives", "ece",
                   "ece_equal_count", "log_loss", "brier", "auroc"},
                  comments);
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    for (const MeasuredMethod& method : measured) {
      const CalibrationScores& scores = method.outputs[i];
      std::vector<std::string> row = {std::to_string(i),
                                      profiles[i].name,
                                      text_field(profiles[i].group),
                                      name_of(method.method),
                                      outputs[i].fitted() ? "1" : "0",
                                      std::to_string(scores.positives),
                                      std::to_string(scores.negatives)};
      add_scores(row, scores);
      table.row(row);
    }
  }
  out.close();
}

std::vector<std::string> describe_calibration(const std::vector<OutputCalibration>& outputs,
                                              const std::vector<Profile>& profiles) {
  constexpr std::size_t named = 20;
  std::size_t left = 0, falling = 0;
  std::string names;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].platt && outputs[i].platt->slope < 0) ++falling;
    if (outputs[i].fitted() || ++left > named) continue;
    names += fmt::format("{}{} {} (no {})", left == 1 ? "" : ", ", i, profiles[i].name,
                         outputs[i].positives == 0 ? "positive" : "negative");
  }
  if (left > named) names += fmt::format(" and {} more", left - named);
  std::vector<std::string> lines;
  if (left > 0) lines.push_back("not fitted, prior correction replaces platt and isotonic: " + names);
  if (falling > 0) {
    lines.push_back(fmt::format(
        "{} of {} outputs have a Platt curve that falls: their scores order the windows the wrong way round",
        falling, outputs.size()));
  }
  return lines;
}

}  // namespace bigbird
