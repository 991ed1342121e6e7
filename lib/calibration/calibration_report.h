// What measuring a calibration leaves: tables of the methods, of their reliability curves and of the outputs,
// and lines to read.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lib/calibration/calibration_run.h"
#include "lib/inference/model_task.h"

namespace bigbird {

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
