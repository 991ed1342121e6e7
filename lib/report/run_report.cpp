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
#include "lib/report/labels.h"
#include "lib/report/shown_numbers.h"
#include "lib/training/run_folder.h"

namespace bigbird {
namespace {

constexpr const char* planned_peak = "peak to expect";  // as memory.tsv has it
constexpr const char* used_most = "used at the most";

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
// memory. The plan's peak is a mark, and use beyond it has another colour.
struct RunMemory {
  std::vector<BarChart> charts;
  ReportFacts facts;
  std::vector<std::string> warnings;
};

void compare_with_plan(RunMemory& memory) {
  for (BarChart& chart : memory.charts) {
    if (!chart.mark) continue;
    for (Bar& bar : chart.bars) {
      if (bar.name != used_most || !(bar.value > *chart.mark)) continue;
      bar.note = percent_text(bar.value / *chart.mark - 1) + " above the plan";
      memory.warnings.push_back(fmt::format(
          "{}: {} MiB were used, {} above the {} MiB that were planned.", chart.title,
          three_digits(bar.value), percent_text(bar.value / *chart.mark - 1), three_digits(*chart.mark)));
    }
  }
}

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
    if (name == planned_peak) {
      memory.charts.back().mark = mib;
      memory.charts.back().mark_name = "plan";
    }
    if (name == planned_peak || name == used_most)
      memory.facts.emplace_back(place + ", " + name, fmt::format("{} MiB", mib));
    if (name != "limit") memory.charts.back().bars.push_back({name, mib, {}});
  }
  compare_with_plan(memory);
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
  return fmt::format("{} after update {:.0f}", found->second, found->first);
}

ReportFacts facts_of(const Run& run) {
  ReportFacts facts;
  const auto loss = run.train.points.find("loss"), valid = run.valid.points.find("loss");
  if (loss != run.train.points.end()) facts.emplace_back("training loss, last", at_step(loss->second, false));
  if (valid != run.valid.points.end()) {
    facts.emplace_back("validation loss, last", at_step(valid->second, false));
    facts.emplace_back("validation loss, lowest", at_step(valid->second, true));
  }
  if (const auto speed = run.train.points.find("tokens_per_second"); speed != run.train.points.end()) {
    std::vector<double> speeds;
    for (const auto& [step, value] : speed->second) speeds.push_back(value);
    facts.emplace_back("tokens a second, median", fmt::format("{}", median(speeds)));
  }
  if (const auto share = run.train.points.find("mfu"); share != run.train.points.end()) {
    std::vector<double> shares;
    for (const auto& [step, value] : share->second) shares.push_back(value);
    facts.emplace_back("share of the peak, median", fmt::format("{} %", 100 * median(shares)));
  }
  if (run.state) {
    facts.emplace_back("tokens", tick_text(static_cast<double>(run.state->tokens)));
    facts.emplace_back("time", fmt::format("{} min", run.state->seconds / 60));
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

// Columns whose values span powers of ten, and those that are shown in another unit.
bool is_logarithmic(const std::string& column) {
  return column == "grad_norm";
}
double unit_of(const std::string& column) {
  return column == "model_flops_per_second" ? 1e9 : 1;  // GFLOP/s
}

// A line of so many updates is drawn with the mean around each.
constexpr std::size_t smoothed_from = 30;

bool is_charted(const std::string& column) {
  return column != "step" && column != "tokens" && column != "seconds";
}

LineChart chart_of(const std::vector<Run>& runs, const std::string& column) {
  LineChart chart;
  chart.title = label_of(column);
  chart.x_label = "updates";
  chart.logarithmic = is_logarithmic(column);
  const bool noisy = column != "lr";
  for (const Run& run : runs) {
    const auto add = [&](const Metrics& metrics, const char* role, bool marked) {
      const auto found = metrics.points.find(column);
      if (found == metrics.points.end()) return;
      const std::string name = runs.size() > 1 ? run.name + ", " : "";
      ChartLine line{name + role, found->second, marked, false, run.name, role};
      for (auto& [step, value] : line.points) value /= unit_of(column);
      line.faint = noisy && !marked && line.points.size() >= smoothed_from;
      chart.lines.push_back(line);
      if (!line.faint) return;
      const std::size_t width = std::max<std::size_t>(5, line.points.size() / 25 * 2 + 1);
      line.faint = false;
      chart.lines.push_back(smoothed(line, width));
      chart.lines.back().legend += fmt::format(", mean of {} rows", width);
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

// One that is worse than the best before it by more than this share of it.
constexpr double much_worse = 0.01;

FirstScreen first_screen_of(const Run& run) {
  FirstScreen screen;
  screen.asked = asked_of_lines(run.provenance, run.path);
  const auto loss = run.train.points.find("loss"), valid = run.valid.points.find("loss");
  std::optional<double> updates, last_loss;
  if (loss != run.train.points.end()) {
    updates = loss->second.back().first;
    last_loss = loss->second.back().second;
    screen.general.emplace_back("updates", *updates);
    screen.general.emplace_back("training loss", *last_loss);
    screen.figures.push_back(
        {"training loss, last", three_digits(*last_loss),
         fmt::format("after update {:.0f}; first {}", *updates, three_digits(loss->second.front().second))});
    screen.outcome = fmt::format("training loss {} after {} updates", three_digits(*last_loss),
                                 count_text(static_cast<std::uint64_t>(*updates)));
    if (!std::isfinite(*last_loss))
      screen.warnings.emplace_back("The last training loss is not a finite number.");
  }
  if (valid != run.valid.points.end()) {
    const double last = valid->second.back().second;
    const auto best = std::min_element(valid->second.begin(), valid->second.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    screen.general.emplace_back("validation loss", last);
    screen.figures.push_back(
        {"validation loss, last", three_digits(last),
         fmt::format("lowest {} after update {:.0f}", three_digits(best->second), best->first)});
    screen.outcome = fmt::format("validation loss {} after {} updates", three_digits(last),
                                 count_text(static_cast<std::uint64_t>(valid->second.back().first)));
    if (last > best->second + much_worse * std::abs(best->second)) {
      screen.warnings.push_back(
          fmt::format("The last validation loss, {}, is worse than the lowest, {} after update {:.0f}.",
                      three_digits(last), three_digits(best->second), best->first));
    }
  }
  if (const auto speed = run.train.points.find("tokens_per_second"); speed != run.train.points.end()) {
    std::vector<double> speeds;
    for (const auto& [step, value] : speed->second) speeds.push_back(value);
    screen.general.emplace_back("tokens a second", median(speeds));
    KeyFigure figure{"tokens a second, median", three_digits(median(speeds))};
    if (run.state) figure.beside = run.state->device + ", " + run.state->precision;
    screen.figures.push_back(std::move(figure));
  }
  if (run.state) screen.general.emplace_back("tokens", static_cast<double>(run.state->tokens));
  for (const std::string& warning : run.memory.warnings) screen.warnings.push_back(warning);
  if (!std::filesystem::exists(run.path + "/final")) screen.warnings.emplace_back("The run has not ended.");
  return screen;
}

// A row for each of several runs.
ReportTable comparison(const std::vector<Run>& runs) {
  ReportTable table{
      "", {"run", "updates", "training loss", "validation loss", "lowest", "tokens a second"}, {}, false};
  for (const Run& run : runs) {
    std::vector<std::string> cells = {run.name, "", "", "", "", ""};
    const auto last = [](const Metrics& metrics, const char* column) {
      const auto found = metrics.points.find(column);
      return found == metrics.points.end() ? std::string() : fmt::format("{}", found->second.back().second);
    };
    cells[2] = last(run.train, "loss");
    cells[3] = last(run.valid, "loss");
    if (const auto loss = run.train.points.find("loss"); loss != run.train.points.end())
      cells[1] = fmt::format("{:.0f}", loss->second.back().first);
    if (const auto valid = run.valid.points.find("loss"); valid != run.valid.points.end()) {
      double lowest = valid->second.front().second;
      for (const auto& [step, value] : valid->second) lowest = std::min(lowest, value);
      cells[4] = fmt::format("{}", lowest);
    }
    if (const auto speed = run.train.points.find("tokens_per_second"); speed != run.train.points.end()) {
      std::vector<double> speeds;
      for (const auto& [step, value] : speed->second) speeds.push_back(value);
      cells[5] = fmt::format("{}", median(speeds));
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

}  // namespace

bool is_run_folder(const std::string& path) {
  return std::filesystem::exists(path + "/metrics.tsv") || std::filesystem::exists(path + "/rates.tsv");
}

std::vector<ReportSection> run_sections(const std::vector<std::string>& paths) {
  const std::vector<Run> runs = read_runs(paths);
  ReportCharts charts;
  for (const std::string& column : charted_columns(runs)) charts.emplace_back(chart_of(runs, column));
  std::vector<ReportSection> sections;
  if (runs.size() > 1) sections = {{"", "run", {comparison(runs), charts}}};
  for (const Run& run : runs) {
    ReportSection section{run.name, "run", {}};
    section.first = first_screen_of(run);
    section.add(facts_of(run));
    ReportCharts own;
    if (runs.size() == 1) own = charts;
    for (const BarChart& memory : run.memory.charts) own.emplace_back(memory);
    if (!own.empty()) section.add(std::move(own));
    if (!run.valid.rows.empty())
      section.add(ReportTable{"validations", labels_of(run.valid.columns), run.valid.rows,
                              run.valid.rows.size() > 20});
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
