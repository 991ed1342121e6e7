// A report as MultiQC's custom content; see report.h. Keys are those of MultiQC's documentation, "Custom
// content": one JSON object a file, whose plot_type says what `data` holds.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "lib/core/json_text.h"
#include "lib/core/ordered_map.h"
#include "lib/io/files/file.h"
#include "lib/report/report.h"
#include "lib/report/sample_names.h"

namespace bigbird {
namespace {

using Json = nlohmann::basic_json<OrderedMap>;

// Letters, digits and single "_": of files and ids.
std::string identifier(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(letter)) != 0;
    if (plain) {
      result += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    } else if (!result.empty() && result.back() != '_') {
      result += '_';
    }
  }
  while (!result.empty() && result.back() == '_') result.pop_back();
  return result;
}

// MultiQC would cut the name of a sample there.
std::string without_slashes(std::string text) {
  std::replace(text.begin(), text.end(), '/', ' ');
  return text;
}

// A fact that is a number, or begins with one ("0.6931 after step 20").
std::optional<double> leading_number(const std::string& text) {
  std::string digits;
  for (const char letter : text.substr(0, text.find(' '))) {
    if (letter != ',') digits += letter;
  }
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

// What a report has samples of.
std::vector<std::string> sources_of(const Report& report) {
  std::vector<std::string> sources;
  for (const ReportSection& section : report.sections) {
    if (!section.name.empty()) sources.push_back(section.name);
    for (const ReportElement& element : section.elements) {
      const auto* charts = std::get_if<ReportCharts>(&element);
      if (charts == nullptr) continue;
      for (const ReportChart& chart : *charts) {
        const auto* lines = std::get_if<LineChart>(&chart);
        if (lines == nullptr) continue;
        for (const ChartLine& line : lines->lines) {
          if (!line.source.empty()) sources.push_back(line.source);
        }
      }
    }
  }
  return sources;
}

class Files {
 public:
  explicit Files(std::map<std::string, std::string> names) : names_(std::move(names)) {}

  void add(const ReportSection& section) {
    const std::string sample = section.name.empty() ? section.kind : names_.at(section.name);
    for (const ReportElement& element : section.elements) {
      if (const auto* facts = std::get_if<ReportFacts>(&element)) add_facts(section, sample, *facts);
      if (const auto* charts = std::get_if<ReportCharts>(&element)) {
        for (const ReportChart& chart : *charts) {
          if (const auto* lines = std::get_if<LineChart>(&chart)) add_lines(section, *lines);
          if (const auto* bars = std::get_if<BarChart>(&chart)) add_bars(section, sample, *bars);
        }
      }
    }
  }

  // With the samples of other reports that lie in the folder.
  std::map<std::string, std::string> text(const std::string& folder) const {
    std::map<std::string, std::string> files;
    for (const auto& [id, json] : files_) {
      const std::string name = id + "_mqc.json";
      Json whole = json;
      if (const Json others = folder.empty() ? Json() : samples_of(folder + "/" + name); !others.is_null()) {
        whole["data"] = others;
        whole["data"].update(json["data"]);
      }
      files[name] = json_text(whole, 1) + "\n";
    }
    return files;
  }

 private:
  // The data of a file of an earlier report; null where there is none, or it is damaged.
  static Json samples_of(const std::string& path) {
    if (!file_exists(path)) return nullptr;
    const Json old = Json::parse(read_file(path), nullptr, false);
    if (!old.is_object() || !old.contains("data") || !old["data"].is_object()) return nullptr;
    return old["data"];
  }

  Json& file(const ReportSection& section, const std::string& name, const char* plot, Json settings) {
    const std::string id = "bigbird_" + identifier(section.kind) + "_" + identifier(name);
    Json& json = files_[id];
    if (json.is_null()) {
      settings["id"] = id + "_plot";
      settings["title"] = "bigbird: " + multiqc_text(name);
      json = {{"id", id},
              {"parent_id", "bigbird"},
              {"parent_name", "bigbird"},
              {"parent_description", "BigBird models on genomes and text"},
              {"section_name", multiqc_text(name)},
              {"plot_type", plot},
              {"pconfig", std::move(settings)},
              {"data", Json::object()}};
    }
    return json["data"];
  }

  void add_facts(const ReportSection& section, const std::string& sample, const ReportFacts& facts) {
    Json row = Json::object();
    for (const auto& [name, value] : facts) {
      if (const std::optional<double> number = leading_number(value)) row[multiqc_text(name)] = *number;
    }
    if (!row.empty()) file(section, section.kind, "table", Json::object())[sample].update(row);
  }

  void add_lines(const ReportSection& section, const LineChart& chart) {
    Json lines = Json::object();
    for (const ChartLine& line : chart.lines) {
      Json points = Json::array();
      for (const auto& [x, y] : line.points) {
        if (std::isfinite(x) && std::isfinite(y)) points.push_back({x, y});
      }
      if (points.empty()) continue;
      const std::string& source = line.source.empty() ? section.name : line.source;
      const std::string role = without_slashes(multiqc_text(line.role.empty() ? line.legend : line.role));
      lines[source.empty() ? role : names_.at(source) + " " + role] = std::move(points);
    }
    if (lines.empty()) return;
    file(section, chart.title, "linegraph",
         {{"xlab", multiqc_text(chart.x_label)},
          {"ylab", multiqc_text(chart.y_label.empty() ? chart.title : chart.y_label)},
          {"ylog", chart.logarithmic}})
        .update(lines);
  }

  void add_bars(const ReportSection& section, const std::string& sample, const BarChart& chart) {
    Json row = Json::object();
    for (const Bar& bar : chart.bars) {
      if (std::isfinite(bar.value)) row[multiqc_text(bar.name)] = bar.value;
    }
    if (row.empty()) return;
    // Bars that are no parts of a whole stand beside each other.
    Json settings = {{"ylab", multiqc_text(chart.x_label)}};
    if (chart.x_high) settings["stacking"] = "group";
    file(section, chart.title, "bargraph", std::move(settings))[sample] = std::move(row);
  }

  std::map<std::string, std::string> names_;
  std::map<std::string, Json> files_;
};

}  // namespace

std::map<std::string, std::string> multiqc_files(const Report& report, const std::string& folder) {
  Files files(sample_names(sources_of(report)));
  for (const ReportSection& section : report.sections) files.add(section);
  return files.text(folder);
}

}  // namespace bigbird
