// Whatever a verb has written, as a report: which kind of file or folder a path is decides what is shown of
// it.
#pragma once

#include <string>
#include <vector>

#include "lib/report/report.h"
#include "lib/report/report_sections.h"

namespace bigbird {

// What a report takes, as help and hints say it; docs/reports.md has a row for each.
inline constexpr const char* report_kinds =
    "run folders, predictions with labels, evaluations (JSON), tables of profiles, tables of evaluations and "
    "calibrations, scored variants, scans and their calls, folders of shards, pictures (SVG)";

// Runs first, which share their charts; then the other inputs in their order. Error{bad_input} naming what is
// no output of a verb that a report knows, or is damaged.
Report make_report(const std::vector<std::string>& inputs, const ReportOptions& options,
                   const AllelePicture& picture);

}  // namespace bigbird
