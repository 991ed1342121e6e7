// Reliability diagrams: the observed fraction of positives over the mean probability of each bin, a line for
// each method of calibration. What is calibrated lies on the diagonal.
#pragma once

#include <string>
#include <vector>

#include "lib/calibration/calibration_run.h"

namespace bigbird {

// Two panels: bins of equal width, and of equal count. Bins without examples are passed over.
std::string reliability_svg(const std::string& title, const std::vector<MeasuredMethod>& measured);

}  // namespace bigbird
