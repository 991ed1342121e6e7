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
#include "lib/core/ordered_map.h"
#include "lib/io/files/file.h"
#include "lib/io/genome/bed.h"
#include "lib/io/genome/track.h"
#include "lib/io/tables/tsv.h"
#include "lib/report/charts.h"
#include "lib/report/report_inputs.h"

namespace bigbird {
namespace {

using Json = nlohmann::basic_json<OrderedMap>;

// The scores of every `step`th base, which is where scores were computed: of each interval of the track, its
// score and how many such bases it has.
HistogramValues track_scores(const std::string& path, std::int64_t step) {
  HistogramValues scores{"positions", {}, {}};
  const auto add = [&scores](double score, std::int64_t count) {
    if (count == 0 || !std::isfinite(score)) return;
    scores.values.push_back(score);
    scores.counts.push_back(static_cast<double>(count));
  };
  if (has_suffix(path, ".bw")) {
    const std::unique_ptr<TrackReader> reader = open_bigwig(path);
    for (std::size_t contig = 0; contig < reader->contigs().size(); ++contig) {
      reader->for_each(contig, 0, reader->contigs()[contig].length,
                       [&](std::int64_t first, std::int64_t last, float value) {
                         const std::int64_t first_scored = first / step + (first % step != 0 ? 1 : 0);
                         add(value, (last - 1) / step + 1 - first_scored);
                       });
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
    if (begin < 0 || end <= begin)
      throw_bad_input(fmt::format("{}: from {} to {} is no interval", lines.where(), begin, end),
                      "give a track of `promoter scan`");
    add(parse_number(fields[3], lines.where(), "score"), std::max<std::int64_t>(1, (end - begin) / step));
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

// The model beside the fraction of G and C, and beside 6-mers where they were fitted.
ReportTable ranking_table(const Json& scores) {
  ReportTable table{"positions near a TSS and calls by rank, whatever the threshold",
                    {"by", "average precision of positions", "AUROC", "precision of calls at a recall of 0.5",
                     "best F1 of calls"},
                    {},
                    false};
  for (const auto& [by, numbers] : scores.items()) {
    std::string name = by == "gc" ? "fraction of G and C" : by == "kmers" ? "6-mers" : by;
    if (const auto side = numbers.find("promoters_have"); side != numbers.end())
      name += fmt::format(" ({} near TSS)", text_of(*side));
    std::vector<std::string> cells = {name};
    for (const char* key : {"average_precision", "auroc", "precision_at_recall_50", "best_f1"}) {
      const Json& value = numbers.at(key);
      cells.push_back(value.is_number() ? fmt::format("{:.4f}", value.get<double>()) : text_of(value));
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
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
    const bool whole = json.at("step").is_number_integer();
    const std::int64_t step = whole ? json.at("step").get<std::int64_t>() : 0;
    if (step < 1) throw_bad_input(summary_path + ": its step is no number from 1", "write it anew");
    ReportCharts charts = {histogram("scores of positions", "score", {track_scores(path, step)}, false)};
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
      if (const auto ranking = evaluation->find("ranking"); ranking != evaluation->end())
        section.add(ranking_table(*ranking));
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
