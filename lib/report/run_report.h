// Runs of training as one page: what they were, how far they came, and curves of everything that metrics.tsv
// and valid.tsv hold. Several runs share their charts.
#pragma once

#include <string>
#include <vector>

namespace bigbird {

// Whether a folder is a run's: it holds metrics.tsv, or rates.tsv beside the runs of several learning rates.
bool is_run_folder(const std::string& path);

// A complete HTML document (html_page.h) of run folders, in their order. A folder of several learning rates
// stands for the run of each. `provenance`: how the page was made, said at its end; may be empty.
// Error{bad_input} naming what is no run, or a table that is damaged.
std::string run_report_html(const std::vector<std::string>& runs, const std::vector<std::string>& provenance);

}  // namespace bigbird
