// Whatever a verb has written, as a report: which kind of file or folder a path is decides what is shown of
// it, and what each kind becomes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lib/report/report.h"

namespace bigbird {

struct ReportOptions {
  double threshold = 0.5;      // of predictions: from here on positive
  std::size_t strongest = 50;  // variants and calls that are listed
};

// How the scores of a file were made, as its summary tells.
struct ScoredWindows {
  std::string strands;       // as parse_strands takes them; empty: not known
  std::int64_t length = 0;   // bp
  std::int64_t offset = -1;  // of the allele in its window; -1: not known
  bool alone = true;         // not on a grid, and no mean over shifted windows
  std::string passes;        // of a language model, as --lm-passes takes them; empty: of another
};

// An allele of a report's list of the strongest.
struct StrongAllele {
  std::string chrom;
  std::int64_t position = 0;  // 0-based
  std::string ref;
  std::string alt;
  std::string profile;  // that changes most, by its label; empty: not known
  ScoredWindows windows = {};
};
// A picture of where an allele stands; empty: there are none.
using AllelePicture = std::function<ReportPicture(const StrongAllele&)>;

// Error{bad_input} naming the file and the place, of each of them.

// Run folders, which share their charts.
std::vector<ReportSection> run_sections(const std::vector<std::string>& runs);
// Any JSON that a verb writes: numbers as facts, lists of objects as tables, confusions and measures by group
// as charts.
ReportSection json_section(const std::string& path);
// Predictions with labels, as `promoter evaluate` takes them: ROC, precision and recall, reliability, scores
// by class; of more than two classes F1 by class; the confusion.
ReportSection predictions_section(const std::string& path, const ReportOptions& options);
// AUROC and AUPRC of every chromatin profile.
ReportSection profiles_section(const std::string& path);
// Reliability curves, and the errors of calibration methods.
ReportSection reliability_section(const std::string& path);
// Any other table of a verb: its rows, and bars of `measure` (a column) by the columns before it that are
// text.
ReportSection table_section(const std::string& path, const std::string& measure);
// Scored variants with PATH.summary.json and PATH.skipped.tsv beside them.
ReportSection variants_section(const std::string& path, const ReportOptions& options,
                               const AllelePicture& picture);
// A scan's track, of which PATH.summary.json tells; called promoters.
ReportSection scan_section(const std::string& path);
ReportSection calls_section(const std::string& path, const ReportOptions& options);
// The folder of a job in shards, with a log of each.
ReportSection shards_section(const std::string& path);
// A picture that a verb has drawn.
ReportSection picture_section(const std::string& path);

// What the ## lines of a table say of how it was made, as facts.
ReportFacts provenance_facts(const std::vector<std::string>& comments);

// Whether a folder is a run's: it holds metrics.tsv, or rates.tsv beside the runs of several learning rates.
bool is_run_folder(const std::string& path);

// What a report takes, as help and hints say it; docs/reports.md has a row for each.
inline constexpr const char* report_kinds =
    "run folders, predictions with labels, evaluations (JSON), tables of profiles, tables of evaluations and "
    "calibrations, scored variants, scans and their calls, folders of shards, pictures (SVG)";

// Runs first, which share their charts; then the other inputs in their order. Error{bad_input} naming what is
// no output of a verb that a report knows, or is damaged.
Report make_report(const std::vector<std::string>& inputs, const ReportOptions& options,
                   const AllelePicture& picture);

}  // namespace bigbird
