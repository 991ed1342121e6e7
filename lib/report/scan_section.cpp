// A promoter scan in a report: what was scored, how scores lie, and how recall and precision go with the
// threshold.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/io/files/file.h"
#include "lib/io/genome/bed.h"
#include "lib/io/genome/track_reader.h"
#include "lib/io/tables/tsv.h"
#include "lib/report/histogram.h"
#include "lib/report/report_sections.h"

namespace bigbird {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t track_piece = 1 << 20;  // bases of a bigWig that are read at once

// The score of every `step`th base, which is where scores were computed.
std::vector<double> track_scores(const std::string& path, std::int64_t step) {
  std::vector<double> scores;
  if (has_suffix(path, ".bw")) {
    const std::unique_ptr<TrackReader> reader = open_bigwig(path);
    for (std::size_t contig = 0; contig < reader->contigs().size(); ++contig) {
      const std::int64_t length = reader->contigs()[contig].length;
      for (std::int64_t begin = 0; begin < length; begin += track_piece / step * step) {
        const std::int64_t end = std::min(length, begin + track_piece / step * step);
        const std::vector<float> values = reader->values(contig, begin, end);
        for (std::size_t i = 0; i < values.size(); i += static_cast<std::size_t>(step)) {
          if (std::isfinite(values[i])) scores.push_back(static_cast<double>(values[i]));
        }
      }
    }
    return scores;
  }
  LineReader lines(path);
  std::string_view line;
  std::vector<std::string_view> fields;
  while (lines.next(line)) {
    if (is_bed_header(line)) continue;
    split_tabs(line, fields);
    if (fields.size() != 4)
      throw_bad_input(lines.where() + ": not the four columns of a bedGraph",
                      "give a track of `promoter scan`");
    const std::int64_t begin = parse_integer(fields[1], lines.where(), "start"),
                       end = parse_integer(fields[2], lines.where(), "end");
    const double score = parse_number(fields[3], lines.where(), "score");
    const std::int64_t count = std::max<std::int64_t>(1, (end - begin) / step);
    scores.insert(scores.end(), static_cast<std::size_t>(count), score);
  }
  return scores;
}

std::string text_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_null() ? "no value" : json_text(value);
}

LineChart by_threshold(const Json& rows) {
  LineChart chart;
  chart.title = "calls by threshold: recall, precision";
  chart.x_label = "threshold";
  chart.y_label = "share";
  chart.from_zero = true;
  chart.lines = {{"recall", {}, true, false}, {"precision", {}, true, false}};
  for (const Json& row : rows) {
    const double at = row.at("threshold").get<double>();
    if (row.at("recall").is_number()) chart.lines[0].points.emplace_back(at, row["recall"].get<double>());
    if (row.at("precision").is_number())
      chart.lines[1].points.emplace_back(at, row["precision"].get<double>());
  }
  return chart;
}

}  // namespace

ReportSection scan_section(const std::string& path) {
  ReportSection section{path, "scan", {}};
  const std::string summary_path = path + ".summary.json";
  try {
    const Json json = Json::parse(read_file(summary_path));
    ReportFacts facts;
    for (const auto& [key, value] : json.items()) {
      std::string name = key;
      std::replace(name.begin(), name.end(), '_', ' ');
      if (value.is_primitive()) facts.emplace_back(name, text_of(value));
    }
    section.add(std::move(facts));
    const auto step = json.at("step").get<std::int64_t>();
    if (step < 1) throw_bad_input(summary_path + ": a step below 1", "write it anew");
    ReportCharts charts = {
        histogram("scores of positions", "score", {{"positions", track_scores(path, step)}}, false)};
    std::get<LineChart>(charts.back()).y_label = "positions";
    BarChart left_out{"windows left out", "windows", {}, {}};
    for (const auto& [key, name] : {std::pair{"windows_beyond_contig", "beyond their contig"},
                                    {"windows_rich_in_n", "rich in N"},
                                    {"windows_cut", "longer than the model takes"}}) {
      if (json.contains(key)) left_out.bars.push_back({name, json[key].get<double>(), {}});
    }
    charts.emplace_back(std::move(left_out));
    if (const auto evaluation = json.find("evaluation"); evaluation != json.end()) {
      if (evaluation->contains("by_threshold"))
        charts.emplace_back(by_threshold((*evaluation)["by_threshold"]));
      ReportTable table{
          fmt::format("calls and known TSS within {} bp", evaluation->at("within").get<std::int64_t>()),
          {"compared"},
          {},
          false};
      for (const char* kind : {"any_strand", "same_strand"}) {
        if (!evaluation->contains(kind)) continue;
        std::vector<std::string> cells = {std::string(kind) == "any_strand" ? "either strand"
                                                                            : "same strand"};
        const bool first = table.columns.size() == 1;
        for (const auto& [key, value] : (*evaluation)[kind].items()) {
          if (first) table.columns.push_back(key);
          cells.push_back(text_of(value));
        }
        table.rows.push_back(std::move(cells));
      }
      section.add(std::move(charts));
      section.add(std::move(table));
    } else {
      section.add(std::move(charts));
    }
    if (const auto provenance = json.find("provenance"); provenance != json.end()) {
      ReportFacts made;
      for (const auto& [key, value] : provenance->items()) {
        if (value.is_primitive()) made.emplace_back(key, text_of(value));
      }
      section.add(std::move(made));
    }
  } catch (const nlohmann::json::exception& error) {
    throw_bad_input(fmt::format("{}: no summary of a scan: {}", summary_path, json_problem(error)),
                    "write it anew");
  }
  return section;
}

ReportSection calls_section(const std::string& path, const ReportOptions& options) {
  ReportSection section{path, "calls", {}};
  BedReader reader(path);
  std::vector<BedRecord> calls;
  for (BedRecord record; reader.next(record);) calls.push_back(record);
  std::vector<std::pair<std::string, std::size_t>> contigs;
  HistogramValues scores{"calls", {}};
  for (const BedRecord& call : calls) {
    if (contigs.empty() || contigs.back().first != call.chrom) contigs.emplace_back(call.chrom, 0);
    ++contigs.back().second;
    scores.values.push_back(call.score / 1000);
  }
  BarChart by_contig{"calls by contig", "calls", {}, {}};
  constexpr std::size_t most_contigs = 40;
  for (const auto& [name, count] : contigs) {
    if (by_contig.bars.size() < most_contigs)
      by_contig.bars.push_back({name, static_cast<double>(count), {}});
  }
  section.add(ReportFacts{{"calls", std::to_string(calls.size())}});
  if (!calls.empty())
    section.add(ReportCharts{histogram("scores of calls", "score", {scores}, false, 25), by_contig});
  std::stable_sort(calls.begin(), calls.end(),
                   [](const auto& a, const auto& b) { return a.score > b.score; });
  ReportTable table{"", {"chrom", "start", "end", "name", "score", "strand", "TSS"}, {}, false};
  for (std::size_t i = 0; i < std::min(options.strongest, calls.size()); ++i) {
    const BedRecord& call = calls[i];
    table.rows.push_back({call.chrom, std::to_string(call.begin), std::to_string(call.end), call.name,
                          fmt::format("{:g}", call.score), std::string(1, call.strand),
                          std::to_string(call.thick_begin)});
  }
  table.caption = fmt::format("the {} strongest; coordinates as in the BED, from 0", table.rows.size());
  if (!table.rows.empty()) section.add(std::move(table));
  return section;
}

}  // namespace bigbird
