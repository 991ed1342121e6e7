// Runs of training in a report; see report_inputs.h.
#include "lib/io/files/provenance.h"
#include "lib/report/report_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>

#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/io/tables/tsv.h"
#include "lib/training/run_folder.h"

namespace bigbird {
namespace {

using Points = std::vector<std::pair<double, double>>;

// metrics.tsv or valid.tsv: rows as they are written, and every column but the step as points.
struct Metrics {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> comments;
  std::map<std::string, Points> points;
};

Metrics read_metrics(const std::string& path) {
  Metrics metrics;
  if (!std::filesystem::exists(path)) return metrics;
  TsvReader reader(path);
  metrics.columns = reader.columns();
  metrics.comments = reader.comments();
  const std::size_t step = reader.column("step");
  std::vector<std::string_view> fields;
  while (reader.next(fields)) {
    metrics.rows.emplace_back(fields.begin(), fields.end());
    const double at = parse_number(fields[step], reader.where(), "step");
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (i == step || fields[i] == "NA") continue;
      metrics.points[metrics.columns[i]].emplace_back(
          at, parse_number(fields[i], reader.where(), metrics.columns[i]));
    }
  }
  return metrics;
}

// memory.tsv: bars of what each part was planned to take, in MiB, with what was used; a chart for each
// memory.
struct RunMemory {
  std::vector<BarChart> charts;
  ReportFacts facts;
};

RunMemory read_memory(const std::string& path) {
  RunMemory memory;
  if (!std::filesystem::exists(path)) return memory;
  TsvReader reader(path);
  const std::size_t where = reader.column("where"), part = reader.column("part"),
                    bytes = reader.column("bytes");
  std::vector<std::string_view> fields;
  while (reader.next(fields)) {
    const std::string place(fields[where]), name(fields[part]);
    const double mib = parse_number(fields[bytes], reader.where(), "bytes") / (1024.0 * 1024.0);
    if (memory.charts.empty() || memory.charts.back().title != place)
      memory.charts.push_back({place, "MiB", {}, {}});
    if (name == "peak to expect" || name == "used at the most")
      memory.facts.emplace_back(place + ", " + name, fmt::format("{:.1f} MiB", mib));
    if (name != "limit") memory.charts.back().bars.push_back({name, mib, {}});
  }
  return memory;
}

struct Run {
  std::string path, name;
  Metrics train, valid;
  std::optional<TrainState> state;  // of the newest checkpoint
  std::vector<std::vector<std::string>> checkpoints;
  RunMemory memory;
  std::vector<std::string> provenance;  // lines
};

Run read_run(const std::string& path, const std::string& name) {
  Run run{path, name, read_metrics(path + "/metrics.tsv"), read_metrics(path + "/valid.tsv"),
          {},   {},   read_memory(path + "/memory.tsv"),   {}};
  run.provenance =
      run.train.comments.empty() ? read_provenance(path + "/provenance.json") : run.train.comments;
  const RunFolder folder = RunFolder::of_another(path);
  for (const std::uint64_t step : folder.checkpoints()) {
    run.state = read_train_state(folder.checkpoint(step));
    run.checkpoints.push_back({fmt::format("checkpoint-{}", step), std::to_string(run.state->tokens),
                               fmt::format("{:.1f}", run.state->seconds),
                               run.state->valid_loss ? fmt::format("{:.7g}", *run.state->valid_loss) : "NA"});
  }
  return run;
}

// RUN, or of several learning rates each RUN/lr-<rate>.
std::vector<Run> read_runs(const std::vector<std::string>& paths) {
  std::vector<Run> runs;
  for (std::string path : paths) {
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    if (!is_run_folder(path)) {
      throw_bad_input(path + ": no run: it holds no metrics.tsv",
                      "give the folder that a verb that trains was given by -o");
    }
    std::vector<std::string> swept;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      const std::string name = entry.path().filename().string();
      if (name.rfind("lr-", 0) == 0 && is_run_folder(entry.path().string())) swept.push_back(name);
    }
    std::sort(swept.begin(), swept.end());
    if (swept.empty()) runs.push_back(read_run(path, path));
    for (const std::string& name : swept) runs.push_back(read_run(path + "/" + name, path + " " + name));
  }
  return runs;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Name and value of a point.
std::string at_step(const Points& points, bool lowest) {
  const auto found = lowest
                         ? std::min_element(points.begin(), points.end(),
                                            [](const auto& a, const auto& b) { return a.second < b.second; })
                         : std::prev(points.end());
  return fmt::format("{:.5g} after step {:.0f}", found->second, found->first);
}

ReportFacts facts_of(const Run& run) {
  ReportFacts facts;
  const auto loss = run.train.points.find("loss"), valid = run.valid.points.find("loss");
  if (loss != run.train.points.end()) facts.emplace_back("training loss", at_step(loss->second, false));
  if (valid != run.valid.points.end()) {
    facts.emplace_back("validation loss, last", at_step(valid->second, false));
    facts.emplace_back("validation loss, lowest", at_step(valid->second, true));
  }
  if (const auto speed = run.train.points.find("tokens_per_second"); speed != run.train.points.end()) {
    std::vector<double> speeds;
    for (const auto& [step, value] : speed->second) speeds.push_back(value);
    facts.emplace_back("tokens a second, median", tick_text(std::round(median(speeds))));
  }
  if (const auto share = run.train.points.find("mfu"); share != run.train.points.end()) {
    std::vector<double> shares;
    for (const auto& [step, value] : share->second) shares.push_back(value);
    facts.emplace_back("share of the peak, median", fmt::format("{:.1f} %", 100 * median(shares)));
  }
  if (run.state) {
    facts.emplace_back("tokens", tick_text(static_cast<double>(run.state->tokens)));
    facts.emplace_back("time", fmt::format("{:.1f} min", run.state->seconds / 60));
    facts.emplace_back("computed on", run.state->device + ", " + run.state->precision);
  }
  for (const auto& fact : run.memory.facts) facts.push_back(fact);
  const bool finished = std::filesystem::exists(run.path + "/final");
  facts.emplace_back("model", finished ? run.path + "/final" : "the run has not ended");
  for (const std::string& comment : run.provenance) {
    constexpr std::string_view command = "bigbird_command=";
    if (comment.rfind(command, 0) == 0) facts.emplace_back("command", comment.substr(command.size()));
  }
  return facts;
}

// What a column is called, and whether its values span powers of ten.
struct ChartedColumn {
  const char* suffix;
  const char* what;
  bool logarithmic;
};
constexpr ChartedColumn known_columns[] = {{"lr", "learning rate", false},
                                           {"grad_norm", "norm of the gradient", true},
                                           {"tokens_per_second", "tokens a second", false},
                                           {"model_flops_per_second", "model FLOP a second", false},
                                           {"mfu", "share of the peak", false}};

bool is_charted(const std::string& column) {
  return column != "step" && column != "tokens" && column != "seconds";
}

LineChart chart_of(const std::vector<Run>& runs, const std::string& column) {
  LineChart chart;
  chart.title = column;
  chart.x_label = "updates";
  for (const ChartedColumn& known : known_columns) {
    if (column != known.suffix) continue;
    chart.title = known.what;
    chart.logarithmic = known.logarithmic;
  }
  std::replace(chart.title.begin(), chart.title.end(), '_', ' ');
  for (const Run& run : runs) {
    const auto add = [&](const Metrics& metrics, const char* role, bool marked) {
      const auto found = metrics.points.find(column);
      if (found == metrics.points.end()) return;
      const std::string name = runs.size() > 1 ? run.name + ", " : "";
      chart.lines.push_back({name + role, found->second, marked, false, run.name, role});
    };
    add(run.train, "training", false);
    add(run.valid, "validation", true);
  }
  return chart;
}

// Of all runs, in the order in which they come.
std::vector<std::string> charted_columns(const std::vector<Run>& runs) {
  std::vector<std::string> columns;
  for (const Run& run : runs) {
    for (const Metrics* metrics : {&run.train, &run.valid}) {
      for (const std::string& column : metrics->columns) {
        const bool is_new = std::find(columns.begin(), columns.end(), column) == columns.end();
        const bool has_points = metrics->points.find(column) != metrics->points.end();
        if (is_new && has_points && is_charted(column)) columns.push_back(column);
      }
    }
  }
  return columns;
}

}  // namespace

bool is_run_folder(const std::string& path) {
  return std::filesystem::exists(path + "/metrics.tsv") || std::filesystem::exists(path + "/rates.tsv");
}

std::vector<ReportSection> run_sections(const std::vector<std::string>& paths) {
  const std::vector<Run> runs = read_runs(paths);
  std::vector<ReportSection> sections = {{"", "run", {}}};
  ReportCharts charts;
  for (const std::string& column : charted_columns(runs)) charts.emplace_back(chart_of(runs, column));
  sections.front().add(std::move(charts));
  for (const Run& run : runs) {
    ReportSection section{run.name, "run", {facts_of(run)}};
    if (!run.memory.charts.empty())
      section.add(ReportCharts(run.memory.charts.begin(), run.memory.charts.end()));
    if (!run.valid.rows.empty())
      section.add(ReportTable{"validations", run.valid.columns, run.valid.rows, run.valid.rows.size() > 20});
    if (!run.checkpoints.empty())
      section.add(ReportTable{
          "checkpoints", {"folder", "tokens", "seconds", "validation loss"}, run.checkpoints, false});
    const std::string config = run.path + "/config.toml";
    if (std::filesystem::exists(config))
      section.add(ReportListing{"options as resolved (config.toml)", read_file(config)});
    sections.push_back(std::move(section));
  }
  for (const std::string& path : paths) {
    if (std::filesystem::exists(path + "/rates.tsv"))
      sections.back().add(ReportListing{path + "/rates.tsv", read_file(path + "/rates.tsv")});
  }
  return sections;
}

}  // namespace bigbird
