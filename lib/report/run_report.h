// Runs of training in a report: what they were, how far they came, and curves of everything that metrics.tsv
// and valid.tsv hold (run_sections in report_sections.h). Several runs share their charts.
#pragma once

#include <string>

namespace bigbird {

// Whether a folder is a run's: it holds metrics.tsv, or rates.tsv beside the runs of several learning rates.
bool is_run_folder(const std::string& path);

}  // namespace bigbird
