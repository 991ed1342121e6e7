// A report as MultiQC's custom content; see report.h. Keys are those of MultiQC's documentation, "Custom
// content": one JSON object a file, whose plot_type says what `data` holds.
#include "lib/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "lib/core/json_text.h"
#include "lib/core/ordered_map.h"
#include "lib/io/files/file.h"

namespace bigbird {
namespace {

namespace fs = std::filesystem;

// Suffixes of what verbs write, the outermost first.
constexpr std::array<std::string_view, 16> suffixes = {
    ".shards", ".gz", ".zst",      ".vcf", ".bcf", ".tsv", ".csv", ".json",
    ".jsonl",  ".bw", ".bedgraph", ".bed", ".npy", ".h5",  ".svg", ".txt"};

std::string without_suffixes(std::string name) {
  for (const std::string_view suffix : suffixes) {
    if (name.size() > suffix.size() && name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  }
  return name;
}

// MultiQC (fn_clean_exts of its config_defaults.yaml, 1.35) cuts a name where one of these stands, at the end
// or not, and at words behind a dot (".bam", ".log").
constexpr std::array<std::string_view, 21> cut_words = {
    "_tophat",     "_star_aligned", "_fastqc",   "_counts",     "_slamdunk", "_bismark",  "_peaks",
    "_duprate",    "_vep",          "_NanoStat", "_gopeaks",    "_overall",  "_coverage", "_Summary",
    "_mapq_table", "_strand_table", "_isize",    "_dup_report", "_cv_table", "_qual",     "_trimmer"};

// The same without what MultiQC cuts at: dots that are not of a number, and the "_" of these words.
std::string uncut(std::string name) {
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool number = i + 1 < name.size() && std::isdigit(static_cast<unsigned char>(name[i + 1])) != 0;
    if (name[i] == '.' && !number) name[i] = '_';
    const std::string_view rest = std::string_view(name).substr(i);
    const auto begins = [&](std::string_view word) { return rest.starts_with(word); };
    if (std::any_of(cut_words.begin(), cut_words.end(), begins)) name[i] = ' ';
  }
  return name;
}

std::vector<std::string> parts_of(const fs::path& path) {
  std::vector<std::string> parts;
  for (const fs::path& part : path.relative_path()) {
    if (!part.empty() && part != ".") parts.push_back(part.string());
  }
  return parts;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string name;
  for (const std::string& part : parts) {
    if (!name.empty()) name += ' ';
    name += uncut(part);
  }
  return multiqc_text(name);
}

std::string sample_name(const std::string& path, bool whole) {
  std::error_code ignored;
  const fs::path here = fs::current_path(ignored);
  const fs::path absolute = (here / path).lexically_normal();
  std::vector<std::string> parts = parts_of(absolute);
  if (parts.empty()) return multiqc_text(path);
  if (whole) return joined(parts);
  const std::vector<std::string> above = parts_of(here);
  const bool below = parts.size() > above.size() && std::equal(above.begin(), above.end(), parts.begin());
  if (below) {
    const std::size_t kept = std::min(parts.size(), std::max<std::size_t>(parts.size() - above.size(), 2));
    parts.erase(parts.begin(), parts.end() - static_cast<std::ptrdiff_t>(kept));
  }
  parts.back() = without_suffixes(std::move(parts.back()));
  return joined(parts);
}

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
    add_general(section, sample);
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

  // Columns of the table at the head of MultiQC's report. All that its kind can have are declared in each
  // file: where files of one name come from several folders, the last one's count.
  void add_general(const ReportSection& section, const std::string& sample) {
    Json row = Json::object();
    for (const auto& [name, value] : section.first.general) {
      if (std::isfinite(value)) row[identifier(name)] = value;
    }
    if (row.empty()) return;
    const std::string id = "bigbird_" + identifier(section.kind) + "_general";
    Json& json = files_[id];
    if (json.is_null()) {
      Json columns = Json::array();
      for (const std::string& name : general_columns(section.kind)) {
        columns.push_back({{identifier(name),
                            {{"title", multiqc_text(name)},
                             {"description", "bigbird " + section.kind + ": " + multiqc_text(name)},
                             {"format", general_format(name)}}}});
      }
      json = {{"id", id},
              {"plot_type", "generalstats"},
              {"pconfig", std::move(columns)},
              {"data", Json::object()}};
    }
    json["data"][sample] = std::move(row);
  }

  // Counts are whole; MultiQC groups their digits.
  static const char* general_format(const std::string& name) {
    constexpr std::array<std::string_view, 10> counts = {
        "tokens",  "updates", "tokens a second",  "examples", "profiles",
        "skipped", "calls",   "positions scored", "shards",   "whole"};
    const bool whole =
        name == "alleles scored" || std::find(counts.begin(), counts.end(), name) != counts.end();
    return whole ? "{:,.0f}" : "{:.3g}";
  }

  void add_lines(const ReportSection& section, const LineChart& chart) {
    Json lines = Json::object();
    for (const ChartLine& line : chart.lines) {
      if (line.derived) continue;
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

std::string multiqc_text(const std::string& text) {
  std::string plain;
  for (const char letter : text) {
    switch (letter) {
      case '<':
        plain += "\u2039";
        break;
      case '>':
        plain += "\u203A";
        break;
      case '&':
        plain += "\uFF06";
        break;
      case '"':
        plain += "\u201D";
        break;
      case '\'':
        plain += "\u2019";
        break;
      default:
        plain += std::iscntrl(static_cast<unsigned char>(letter)) != 0 ? ' ' : letter;
    }
  }
  return plain;
}

std::map<std::string, std::string> sample_names(const std::vector<std::string>& paths) {
  std::map<std::string, std::string> names;
  std::map<std::string, int> uses;
  for (const std::string& path : paths) {
    if (const auto [entry, is_new] = names.emplace(path, sample_name(path, false)); is_new) {
      ++uses[entry->second];
    }
  }
  for (auto& [path, name] : names) {
    if (uses[name] > 1) name = sample_name(path, true);
  }
  return names;
}

std::map<std::string, std::string> multiqc_files(const Report& report, const std::string& folder) {
  Files files(sample_names(sources_of(report)));
  for (const ReportSection& section : report.sections) files.add(section);
  return files.text(folder);
}

}  // namespace bigbird
