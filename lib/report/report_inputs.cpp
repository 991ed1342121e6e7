// Inputs of a report; see report_inputs.h.
#include "lib/report/report_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/io/files/file.h"
#include "lib/io/genome/vcf.h"
#include "lib/io/tables/tsv.h"
#include "lib/report/labels.h"
#include "lib/report/shown_numbers.h"

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
  if (vcf_type_of(path) || has_suffix(path, ".npy") || has_suffix(path, ".h5"))
    refuse(path, "no " + path + ".summary.json next to it");
  return table_of(path, options);
}

// Whether an evaluation's provenance names these predictions, by the path or by the last part of it.
bool is_of(const ReportSection& evaluation, const std::string& predictions) {
  const std::string name = fs::path(predictions).filename().string();
  for (const ReportElement& element : evaluation.elements) {
    const auto* facts = std::get_if<ReportFacts>(&element);
    if (facts == nullptr) continue;
    for (const auto& [role, path] : *facts) {
      if (role == "predictions" && fs::path(path).filename().string() == name) return true;
    }
  }
  return false;
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

// The lead is the first section that has key figures; of several runs, none of them.
void add_first_screen(Report& report, std::size_t runs) {
  const std::vector<ReportSection>& sections = report.sections;
  if (runs > 1) {
    report.lead = sections.size();
    report.title = fmt::format("{} training runs", runs);
    const ReportSection* best = nullptr;
    double lowest = 0;
    for (const ReportSection& section : sections) {
      for (const auto& [name, value] : section.first.general) {
        if (section.kind != "run" || name != "validation loss") continue;
        if (best == nullptr || value < lowest) best = &section, lowest = value;
      }
    }
    if (best != nullptr)
      report.title += fmt::format(": lowest validation loss {} of {}", three_digits(lowest), best->name);
    return;
  }
  const auto found = std::find_if(sections.begin(), sections.end(), [](const ReportSection& section) {
    return !section.first.figures.empty();
  });
  report.lead = found == sections.end() ? 0 : static_cast<std::size_t>(found - sections.begin());
  const ReportSection& lead = sections.at(report.lead);
  report.title = headline_of(lead.first);
  if (report.title.empty()) report.title = lead.name;
  const std::string written = written_at(lead.name);
  report.written = lead.name + (written.empty() ? "" : ", written " + written);
}

// What an evaluation says of predictions that are on the page themselves stands there once: its facts of the
// same name and value, and the confusion of the same counts.
void leave_out_repeats(std::vector<ReportSection>& sections) {
  const auto predictions = std::find_if(sections.begin(), sections.end(), [](const ReportSection& section) {
    return section.kind == "predictions";
  });
  if (predictions == sections.end()) return;
  ReportFacts told;
  std::vector<std::vector<std::int64_t>> counts;
  for (const ReportElement& element : predictions->elements) {
    if (const auto* facts = std::get_if<ReportFacts>(&element))
      told.insert(told.end(), facts->begin(), facts->end());
    if (const auto* charts = std::get_if<ReportCharts>(&element)) {
      for (const ReportChart& chart : *charts) {
        if (const auto* matrix = std::get_if<MatrixChart>(&chart)) counts.push_back(matrix->counts);
      }
    }
  }
  for (ReportSection& section : sections) {
    if (section.kind != "evaluation" || !is_of(section, predictions->name)) continue;
    std::size_t repeated = 0;
    for (ReportElement& element : section.elements) {
      if (auto* facts = std::get_if<ReportFacts>(&element)) {
        repeated += std::erase_if(*facts, [&](const auto& fact) {
          return std::any_of(told.begin(), told.end(), [&](const auto& other) {
            return other.first == fact.first && shown_cell(other.second) == shown_cell(fact.second);
          });
        });
      }
      if (auto* charts = std::get_if<ReportCharts>(&element)) {
        repeated += std::erase_if(*charts, [&](const ReportChart& chart) {
          const auto* matrix = std::get_if<MatrixChart>(&chart);
          return matrix != nullptr && std::find(counts.begin(), counts.end(), matrix->counts) != counts.end();
        });
      }
    }
    if (repeated == 0) continue;
    // Its key figures and warnings are those of the predictions, which stand first.
    std::erase_if(section.first.figures, [](const KeyFigure& figure) {
      return figure.beside.find(set_name("gc")) == std::string::npos;
    });
    for (const std::string& warning : predictions->first.warnings)
      std::erase(section.first.warnings, warning);
    section.elements.insert(section.elements.begin(),
                            ReportText{"What the part of the predictions has is left out here."});
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
  const std::size_t run_count =
      report.sections.size() > 1 ? report.sections.size() - 1 : report.sections.size();
  for (ReportSection& section : others) report.sections.push_back(std::move(section));
  leave_out_repeats(report.sections);
  add_first_screen(report, runs.empty() ? 0 : run_count);
  return report;
}

}  // namespace bigbird
