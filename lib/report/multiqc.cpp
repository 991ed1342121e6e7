// A report as MultiQC's custom content; see report.h. Keys are those of MultiQC's documentation, "Custom
// content": one JSON object a file, whose plot_type says what `data` holds.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "lib/core/json_text.h"
#include "lib/report/report.h"

namespace bigbird {
namespace {

using Json = nlohmann::ordered_json;

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

// MultiQC cuts names of samples at slashes and at the suffixes of files, and would then take two for one: the
// last folder and the file without its suffixes are left of a path.
std::string sample_of(const std::string& path) {
  const std::filesystem::path whole(path);
  std::string name = whole.filename().string();
  if (const std::size_t dot = name.find('.'); dot != std::string::npos && dot > 0) name.resize(dot);
  const std::string folder = whole.parent_path().filename().string();
  return folder.empty() ? name : folder + " " + name;
}

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

class Files {
 public:
  void add(const ReportSection& section) {
    const std::string sample = section.name.empty() ? section.kind : sample_of(section.name);
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

  std::map<std::string, std::string> text() const {
    std::map<std::string, std::string> files;
    for (const auto& [id, json] : files_) files[id + "_mqc.json"] = json_text(json, 1) + "\n";
    return files;
  }

 private:
  Json& file(const ReportSection& section, const std::string& name, const char* plot, Json settings) {
    const std::string id = "bigbird_" + identifier(section.kind) + "_" + identifier(name);
    Json& json = files_[id];
    if (json.is_null()) {
      settings["id"] = id + "_plot";
      settings["title"] = "bigbird: " + name;
      json = {{"id", id},
              {"parent_id", "bigbird"},
              {"parent_name", "bigbird"},
              {"parent_description", "BigBird models on genomes and text"},
              {"section_name", name},
              {"plot_type", plot},
              {"pconfig", std::move(settings)},
              {"data", Json::object()}};
    }
    return json["data"];
  }

  void add_facts(const ReportSection& section, const std::string& sample, const ReportFacts& facts) {
    Json row = Json::object();
    for (const auto& [name, value] : facts) {
      if (const std::optional<double> number = leading_number(value)) row[name] = *number;
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
      lines[without_slashes(section.name.empty() ? line.legend
                                                 : sample_of(section.name) + " " + line.legend)] =
          std::move(points);
    }
    if (lines.empty()) return;
    file(section, chart.title, "linegraph",
         {{"xlab", chart.x_label},
          {"ylab", chart.y_label.empty() ? chart.title : chart.y_label},
          {"ylog", chart.logarithmic}})
        .update(lines);
  }

  void add_bars(const ReportSection& section, const std::string& sample, const BarChart& chart) {
    Json row = Json::object();
    for (const Bar& bar : chart.bars) {
      if (std::isfinite(bar.value)) row[bar.name] = bar.value;
    }
    if (row.empty()) return;
    // Bars that are no parts of a whole stand beside each other.
    Json settings = {{"ylab", chart.x_label}};
    if (chart.x_high) settings["stacking"] = "group";
    file(section, chart.title, "bargraph", std::move(settings))[sample] = std::move(row);
  }

  std::map<std::string, Json> files_;
};

}  // namespace

std::map<std::string, std::string> multiqc_files(const Report& report) {
  Files files;
  for (const ReportSection& section : report.sections) files.add(section);
  return files.text();
}

}  // namespace bigbird
