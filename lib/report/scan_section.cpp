// A promoter scan in a report: what was scored, how scores lie, and how recall and precision go with the
// threshold.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/ordered_map.h"
#include "lib/io/files/file.h"
#include "lib/io/genome/bed.h"
#include "lib/io/genome/track.h"
#include "lib/io/tables/tsv.h"
#include "lib/report/charts.h"
#include "lib/report/labels.h"
#include "lib/report/report_inputs.h"
#include "lib/report/shown_numbers.h"

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
      throw_bad_input(fmt::format("{}: from {} to {} is not an interval", lines.where(), begin, end),
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
    std::string name = by == "gc" ? "fraction of G and C" : set_name(by);
    if (const auto side = numbers.find("promoters_have"); side != numbers.end())
      name += fmt::format(" ({} near TSS)", text_of(*side));
    std::vector<std::string> cells = {name};
    for (const char* key : {"average_precision", "auroc", "precision_at_recall_50", "best_f1"}) {
      const Json& value = numbers.at(key);
      cells.push_back(text_of(value));
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

std::optional<double> scan_number(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

constexpr double most_unscored = 0.1;  // share of windows without a word

FirstScreen first_screen_of(const Json& json, const std::string& path) {
  FirstScreen screen;
  ReportFacts inputs;
  const Json provenance = json.value("provenance", Json::object());
  const std::string genome = provenance.value("reference", std::string());
  for (const Json& input : provenance.value("inputs", Json::array()))
    inputs.emplace_back(input.value("role", std::string()), input.value("path", std::string()));
  screen.asked = asked_of(provenance.value("command", std::string()), inputs, path, genome);
  const auto calls = scan_number(json, "calls"), scored = scan_number(json, "positions_scored"),
             positions = scan_number(json, "positions");
  const auto as_count = [](double value) { return count_text(static_cast<std::uint64_t>(value)); };
  if (scored) screen.general.emplace_back("positions scored", *scored);
  if (calls) {
    screen.general.emplace_back("calls", *calls);
    screen.outcome = as_count(*calls) + " calls";
    if (*calls == 0) screen.warnings.emplace_back("No position reaches the threshold: there are no calls.");
  }
  const Json evaluation = json.value("evaluation", Json::object());
  const Json either = evaluation.value("any_strand", Json::object());
  if (const auto recall = scan_number(either, "recall")) {
    const auto precision = scan_number(either, "precision"), tss = scan_number(either, "tss"),
               found = scan_number(either, "tss_found"), right = scan_number(either, "calls_confirmed");
    const std::string within = fmt::format("within {} bp", evaluation.value("within", std::int64_t{0}));
    screen.figures.push_back({"precision of calls", precision ? three_digits(*precision) : "no calls",
                              right && calls ? fmt::format("{} of {} calls have a TSS {}", as_count(*right),
                                                           as_count(*calls), within)
                                             : within});
    screen.figures.push_back(
        {"recall of TSS", three_digits(*recall),
         tss && found ? fmt::format("{} of {} TSS have a call {}", as_count(*found), as_count(*tss), within)
                      : within});
    screen.general.emplace_back("recall", *recall);
    screen.outcome += fmt::format(", recall {}", three_digits(*recall));
    if (precision) {
      screen.general.emplace_back("precision", *precision);
      screen.outcome += fmt::format(", precision {}", three_digits(*precision));
      warn_of_precision(screen, *precision, "calls");
    }
  }
  const Json ranking = evaluation.value("ranking", Json::object());
  if (const auto average = scan_number(ranking.value("model", Json::object()), "average_precision")) {
    std::vector<Rival> rivals;
    for (const char* name : {"gc", "kmers"})
      rivals.push_back(
          {set_name(name), scan_number(ranking.value(name, Json::object()), "average_precision")});
    add_compared(screen, "average precision", *average, rivals);
    screen.general.emplace_back("average precision", *average);
  }
  if (screen.figures.empty()) {
    if (scored)
      screen.figures.push_back(
          {"positions scored", as_count(*scored), positions ? "of " + as_count(*positions) : ""});
    if (calls) {
      const auto threshold = scan_number(json, "threshold");
      screen.figures.push_back(
          {"calls", as_count(*calls), threshold ? "from " + three_digits(*threshold) + " on" : ""});
    }
  }
  if (scored && positions && *positions - *scored > most_unscored * *positions)
    screen.warnings.push_back(fmt::format("{} of {} positions have no score.", as_count(*positions - *scored),
                                          as_count(*positions)));
  return screen;
}

}  // namespace

ReportSection scan_section(const std::string& path) {
  ReportSection section{path, "scan", {}};
  const std::string summary_path = path + ".summary.json";
  try {
    const Json json = Json::parse(read_file(summary_path));
    ReportFacts facts;
    for (const auto& [key, value] : json.items()) {
      if (value.is_primitive())
        facts.emplace_back(label_of(key == "step" ? "scan.step" : key), text_of(value));
    }
    section.first = first_screen_of(json, path);
    const bool whole = json.at("step").is_number_integer();
    const std::int64_t step = whole ? json.at("step").get<std::int64_t>() : 0;
    if (step < 1) throw_bad_input(summary_path + ": its step is not a number from 1", "write it anew");
    // What was found first, then how scores lie, then what was counted.
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
          if (first) table.columns.push_back(label_of(key));
          cells.push_back(text_of(value));
        }
        table.rows.push_back(std::move(cells));
      }
      section.add(std::move(table));
      if (const auto ranking = evaluation->find("ranking"); ranking != evaluation->end())
        section.add(ranking_table(*ranking));
    }
    section.add(std::move(charts));
    section.add(std::move(facts));
    if (const auto provenance = json.find("provenance"); provenance != json.end()) {
      ReportFacts made;
      for (const auto& [key, value] : provenance->items()) {
        if (value.is_primitive()) made.emplace_back(label_of(key), text_of(value));
      }
      section.add(std::move(made));
    }
  } catch (const nlohmann::json::exception& error) {
    throw_bad_input(fmt::format("{}: no summary of a scan: {}", summary_path, json_problem(error)),
                    "write it anew");
  }
  return section;
}

}  // namespace bigbird
