// Calibrating a model by scored and labelled windows: the fit of every output, and how well calibrated the
// scores are before and after, measured on windows that were not fitted on, as tables and lines to read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/calibration/calibration.h"
#include "lib/inference/model_task.h"
#include "lib/metrics/calibration_measure.h"

namespace bigbird {

// Scores of one side of a data set, 8 bytes each.
struct LabelledScores {
  std::size_t outputs = 1;
  std::vector<double> scores;        // [windows, outputs], last fastest
  std::vector<std::uint8_t> labels;  // 0 or 1, of the same shape
  std::size_t left_out = 0;          // windows that were not scored
  std::size_t windows() const { return labels.size() / outputs; }
};

struct CalibrationChoices {
  PriorCorrection correction;
  // Errors are measured as if this fraction of the windows were positive; not given: as they are.
  std::optional<double> prior;
  std::size_t bins = 15;   // of the calibration error
  std::uint64_t seed = 1;  // of the folds
};

// Each output by itself.
std::vector<OutputCalibration> fit_calibrations(const LabelledScores& side,
                                                const CalibrationChoices& choices);

struct MeasuredMethod {
  CalibrationMethod method = CalibrationMethod::none;
  CalibrationMeasure pooled;               // over windows and outputs
  std::vector<CalibrationScores> outputs;  // of each output
};

// Every method, on a side that the fit has not seen.
std::vector<MeasuredMethod> measure_calibrations(const LabelledScores& side,
                                                 const std::vector<OutputCalibration>& outputs,
                                                 const CalibrationChoices& choices);

inline constexpr std::size_t calibration_folds = 5;
// The fold of each window, a function of the seed and the window's number; folds of equal size.
std::vector<std::size_t> calibration_fold_of(std::size_t windows, std::uint64_t seed);
// Every method where there is no other side: each fold under the fit of the others.
std::vector<MeasuredMethod> cross_measure_calibrations(const LabelledScores& side,
                                                       const CalibrationChoices& choices);

// "#method ece ece_equal_count log_loss brier auroc examples positives measured_on", a row for each method;
// `measured_on` says of what: "test", "valid, 5-fold". "." for AUROC without both classes; "-" is stdout.
void write_calibration_table(const std::string& path, const std::vector<MeasuredMethod>& measured,
                             const std::string& measured_on, const std::vector<std::string>& comments);

// "#method bins bin lower upper n mean_predicted observed": the reliability curves, over bins of equal_width
// and then of equal_count, numbered from 1. "." for the means of a bin without examples.
void write_reliability_curves(const std::string& path, const std::vector<MeasuredMethod>& measured,
                              const std::vector<std::string>& comments);

// "#index name group method fitted positives negatives ece ece_equal_count log_loss brier auroc", a row for
// each output and method; fitted is 0 for outputs that were left with prior correction.
void write_calibration_of_profiles(const std::string& path, const std::vector<MeasuredMethod>& measured,
                                   const std::vector<Profile>& profiles,
                                   const std::vector<OutputCalibration>& outputs,
                                   const std::vector<std::string>& comments);

// What a person wants to know: outputs that were not fitted, some by name; those whose Platt curve falls,
// where a higher score means a lower probability.
std::vector<std::string> describe_calibration(const std::vector<OutputCalibration>& outputs,
                                              const std::vector<Profile>& profiles);

}  // namespace bigbird
