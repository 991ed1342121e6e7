// Inputs of a report; see report_inputs.h.
#include "lib/report/report_inputs.h"

#include <fmt/format.h>

#include <filesystem>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/io/files/file.h"
#include "lib/io/tables/tsv.h"

namespace bigbird {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw_bad_input(fmt::format("{}: {}", path, why), fmt::format("a report takes: {}", report_kinds));
}

// By the columns of its header.
ReportSection table_of(const std::string& path, const ReportOptions& options) {
  const TsvReader reader(path);
  const auto has = [&](const char* column) { return reader.has_column(column); };
  if (has("label") && (has("score") || has("p0"))) return predictions_section(path, options);
  if (has("index") && has("auroc") && has("auprc")) return profiles_section(path);
  if (has("method") && has("mean_predicted") && has("observed")) return reliability_section(path);
  for (const char* measure : {"ece", "auroc", "spearman", "f1", "rouge1", "rougeL"}) {
    if (has(measure)) return table_section(path, measure);
  }
  refuse(path, "a table of which a report knows nothing to show");
}

ReportSection section_of(const std::string& path, const ReportOptions& options,
                         const AllelePicture& picture) {
  if (!fs::exists(path)) throw_bad_input(path + ": no such file or folder", "check the path");
  refuse_stream(path, "a report knows its inputs by their names, and reads them more than once");
  if (fs::is_directory(path)) return shards_section(path);
  if (has_suffix(path, ".svg")) return picture_section(path);
  if (has_suffix(path, ".json") || has_suffix(path, ".json.gz")) return json_section(path);
  const bool is_track =
      has_suffix(path, ".bw") || has_suffix(path, ".bedgraph") || has_suffix(path, ".bedgraph.gz");
  const bool told = fs::exists(path + ".summary.json");
  if (is_track) {
    if (!told) refuse(path, "a track without " + path + ".summary.json");
    return scan_section(path);
  }
  if (told) return variants_section(path, options, picture);
  if (has_suffix(path, ".bed") || has_suffix(path, ".bed.gz")) return calls_section(path, options);
  for (const char* suffix : {".vcf", ".vcf.gz", ".bcf", ".npy", ".h5"}) {
    if (has_suffix(path, suffix)) refuse(path, "no " + path + ".summary.json beside it");
  }
  return table_of(path, options);
}

// JSON whose fields are of other types than verbs write.
ReportSection checked_section(const std::string& path, const ReportOptions& options,
                              const AllelePicture& picture) {
  try {
    return section_of(path, options, picture);
  } catch (const std::exception& error) {
    if (!is_json_problem(error)) throw;
    throw_bad_input(fmt::format("{}: {}", path, json_problem(error)),
                    "give the file as a verb has written it");
  }
}

}  // namespace

ReportSection picture_section(const std::string& path) {
  const std::string svg = read_file(path);
  if (svg.find("<svg") == std::string::npos) refuse(path, "no SVG");
  return {path, "picture", {ReportCharts{ReportPicture{fs::path(path).filename().string(), svg}}}};
}

Report make_report(const std::vector<std::string>& inputs, const ReportOptions& options,
                   const AllelePicture& picture) {
  Report report;
  std::vector<std::string> runs;
  std::vector<ReportSection> others;
  for (std::string path : inputs) {
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    if (is_run_folder(path)) {
      runs.push_back(path);
    } else {
      others.push_back(checked_section(path, options, picture));
    }
  }
  if (!runs.empty()) report.sections = run_sections(runs);
  const std::size_t run_count = report.sections.size();
  for (ReportSection& section : others) report.sections.push_back(std::move(section));
  if (others.empty()) {
    report.title = runs.size() == 1 && run_count <= 2 ? "Training run " + runs.front()
                                                      : fmt::format("{} training runs", run_count - 1);
  } else if (others.size() == 1 && runs.empty()) {
    report.title = report.sections.front().name;
  } else {
    report.title = fmt::format("{} results", inputs.size());
  }
  return report;
}

}  // namespace bigbird
