// Writes what was measured; see calibration_report.h.
#include "lib/calibration/calibration_report.h"

#include <fmt/format.h>

#include <cmath>

#include "lib/io/files/file.h"
#include "lib/io/tables/tsv.h"

namespace bigbird {
namespace {

std::string number(double value) {
  return std::isnan(value) ? std::string(".") : fmt::format("{:.9g}", value);
}

void add_scores(std::vector<std::string>& row, const CalibrationScores& scores) {
  for (const double value :
       {scores.ece_equal_width, scores.ece_equal_count, scores.log_loss, scores.brier, scores.auroc})
    row.push_back(number(value));
}

}  // namespace

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
                                      profiles[i].group,
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
  if (left > 0) lines.push_back("not fitted, prior correction stands for platt and isotonic: " + names);
  if (falling > 0) {
    lines.push_back(fmt::format(
        "{} of {} outputs have a Platt curve that falls: their scores order the windows the wrong way round",
        falling, outputs.size()));
  }
  return lines;
}

}  // namespace bigbird
