// Calibrating a model by scored and labelled windows: the fit of every output, and how well calibrated the
// scores are before and after, measured on windows that were not fitted on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "lib/calibration/calibration.h"
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

}  // namespace bigbird
