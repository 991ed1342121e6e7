// Predictions with labels, scores of profiles, and reliability curves in a report.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "lib/core/error.h"
#include "lib/genomics/promoter/predict.h"
#include "lib/io/tables/tsv.h"
#include "lib/metrics/calibration_measure.h"
#include "lib/metrics/class_metrics.h"
#include "lib/metrics/metrics.h"
#include "lib/report/charts.h"
#include "lib/report/report_inputs.h"
#include "lib/report/svg_text.h"

namespace bigbird {
namespace {

constexpr std::size_t reliability_bins = 15;
constexpr std::size_t extremes = 15;  // profiles that are listed from each end

std::string number(double value) {
  return std::isfinite(value) ? fmt::format("{:.6g}", value) : "no value";
}

// ROC and precision-recall curves, every point of them.
ReportCharts rank_curves(const std::vector<double>& positives, const std::vector<double>& negatives) {
  LineChart roc, ranks;
  roc.title = "ROC";
  roc.x_label = "false positive rate";
  roc.y_label = "recall";
  roc.diagonal = true;
  ranks.title = "precision and recall";
  ranks.x_label = "recall";
  ranks.y_label = "precision";
  roc.unit_square = ranks.unit_square = true;
  ChartLine roc_line{"predictions", {{0, 0}}, false, false}, rank_line{"predictions", {}, false, false};
  const auto all_positives = static_cast<double>(positives.size()),
             all_negatives = static_cast<double>(negatives.size());
  for (const CurvePoint& point : ranked_curve(positives, negatives)) {
    const auto found = static_cast<double>(point.true_positives),
               wrong = static_cast<double>(point.false_positives);
    roc_line.points.emplace_back(wrong / all_negatives, found / all_positives);
    // Precision is a step function of recall, as average precision sums it.
    const double precision = found / (found + wrong);
    rank_line.points.emplace_back(rank_line.points.empty() ? 0 : rank_line.points.back().first, precision);
    rank_line.points.emplace_back(found / all_positives, precision);
  }
  roc.lines.push_back(std::move(roc_line));
  ranks.lines.push_back(std::move(rank_line));
  return {std::move(roc), std::move(ranks)};
}

LineChart reliability(std::vector<double> positives, std::vector<double> negatives) {
  LineChart chart;
  chart.title = "reliability";
  chart.x_label = "mean score of a bin (equal counts)";
  chart.y_label = "share of positives";
  chart.unit_square = chart.diagonal = true;
  const CalibrationMeasure measure = measure_calibration(positives, negatives, {}, reliability_bins);
  ChartLine line{"predictions", {}, true, false};
  for (const ReliabilityBin& bin : measure.equal_count) line.points.emplace_back(bin.predicted, bin.observed);
  chart.lines.push_back(std::move(line));
  return chart;
}

void add_two_classes(ReportSection& section, const LabelledPredictions& predictions, double threshold) {
  const BinaryMetrics metrics = binary_metrics(predictions.labels, predictions.scores, threshold);
  std::vector<double> positives, negatives;
  for (std::size_t i = 0; i < predictions.labels.size(); ++i)
    (predictions.labels[i] == 1 ? positives : negatives).push_back(predictions.scores[i]);
  section.add(ReportFacts{{"examples", std::to_string(metrics.examples())},
                          {"positives", std::to_string(positives.size())},
                          {"AUROC", number(metrics.auroc)},
                          {"AUPRC", number(metrics.auprc)},
                          {"threshold", number(threshold)},
                          {"precision", number(metrics.precision)},
                          {"recall", number(metrics.recall)},
                          {"F1", number(metrics.f1)},
                          {"MCC", number(metrics.mcc)}});
  ReportCharts charts;
  if (!positives.empty() && !negatives.empty()) {
    rank_metrics(positives, negatives);
    charts = rank_curves(positives, negatives);
    const bool probabilities = std::min(positives.front(), negatives.front()) >= 0 &&
                               std::max(positives.back(), negatives.back()) <= 1;
    if (probabilities) charts.emplace_back(reliability(positives, negatives));
  }
  charts.emplace_back(MatrixChart{fmt::format("confusion, threshold {:g}", threshold),
                                  {"0", "1"},
                                  {metrics.tn, metrics.fp, metrics.fn, metrics.tp}});
  charts.emplace_back(
      histogram("scores by class", "score", {{"class 1", positives}, {"class 0", negatives}}, true));
  section.add(std::move(charts));
}

void add_more_classes(ReportSection& section, const LabelledPredictions& predictions) {
  std::vector<int> predicted;
  for (std::size_t i = 0; i < predictions.labels.size(); ++i) {
    const auto begin = predictions.scores.begin() + static_cast<std::ptrdiff_t>(i * predictions.classes);
    predicted.push_back(static_cast<int>(
        std::max_element(begin, begin + static_cast<std::ptrdiff_t>(predictions.classes)) - begin));
  }
  const ClassMetrics metrics = class_metrics(predictions.labels, predicted, predictions.classes);
  section.add(ReportFacts{{"examples", std::to_string(metrics.examples)},
                          {"accuracy", number(metrics.accuracy)},
                          {"macro F1", number(metrics.macro_f1)},
                          {"MCC", number(metrics.mcc)}});
  MatrixChart confusion{"confusion", {}, metrics.confusion};
  BarChart bars{"F1 by class", "", {}, 1.0};
  for (std::size_t i = 0; i < metrics.classes; ++i) {
    confusion.names.push_back(std::to_string(i));
    bars.bars.push_back({std::to_string(i), metrics.f1[i], {}});
  }
  section.add(ReportCharts{std::move(confusion), std::move(bars)});
}

}  // namespace

ReportFacts provenance_facts(const std::vector<std::string>& comments) {
  ReportFacts facts;
  for (const std::string& comment : comments) {
    constexpr std::string_view prefix = "bigbird_";
    const std::size_t equals = comment.find('=');
    if (comment.rfind(prefix, 0) == 0 && equals != std::string::npos)
      facts.emplace_back(comment.substr(prefix.size(), equals - prefix.size()), comment.substr(equals + 1));
  }
  return facts;
}

ReportSection predictions_section(const std::string& path, const ReportOptions& options) {
  ReportSection section{path, "predictions", {}};
  const LabelledPredictions predictions = read_labelled_predictions(path);
  if (predictions.classes == 2) {
    add_two_classes(section, predictions, options.threshold);
  } else {
    add_more_classes(section, predictions);
  }
  ReportFacts facts = provenance_facts(TsvReader(path).comments());
  if (!predictions.negatives.empty()) facts.insert(facts.begin(), {"negatives", predictions.negatives});
  if (predictions.left_out > 0)
    facts.insert(facts.begin(), {"without a score", std::to_string(predictions.left_out)});
  section.add(std::move(facts));
  return section;
}

ReportSection profiles_section(const std::string& path) {
  ReportSection section{path, "profiles", {}};
  TsvReader reader(path);
  const std::size_t auroc = reader.column("auroc");
  const bool grouped = reader.has_column("group"), several = reader.has_column("predictions");
  std::vector<std::vector<std::string>> rows;
  std::vector<std::pair<double, std::size_t>> order;  // by AUROC
  std::map<std::string, std::vector<double>> by_group;
  std::vector<std::string> groups;
  std::vector<std::string_view> fields;
  while (reader.next(fields)) {
    rows.emplace_back(fields.begin(), fields.end());
    if (is_missing(fields[auroc])) continue;
    const double value = parse_number(fields[auroc], reader.where(), "auroc");
    if (!std::isfinite(value)) continue;
    order.emplace_back(value, rows.size() - 1);
    std::string group = grouped ? rows.back()[reader.column("group")] : "all";
    if (several && !is_missing(rows.back()[reader.column("predictions")]))
      group += " " + rows.back()[reader.column("predictions")];
    if (by_group.find(group) == by_group.end()) groups.push_back(group);
    by_group[group].push_back(value);
  }
  std::sort(order.begin(), order.end());
  BarChart medians{"median AUROC", "lines: lowest to highest", {}, 1.0};
  std::vector<HistogramValues> kinds;
  for (const std::string& group : groups) {
    std::vector<double>& values = by_group[group];
    std::sort(values.begin(), values.end());
    medians.bars.push_back({group, percentile(values, 0.5), std::pair{values.front(), values.back()}});
    kinds.push_back({group, values});
  }
  section.add(
      ReportFacts{{"rows", std::to_string(rows.size())}, {"with an AUROC", std::to_string(order.size())}});
  section.add(ReportCharts{medians, histogram("AUROC of profiles", "AUROC", kinds, false, 40)});
  const auto list = [&](const std::string& caption, bool best) {
    ReportTable table{caption, reader.columns(), {}, false};
    for (std::size_t i = 0; i < std::min(extremes, order.size()); ++i)
      table.rows.push_back(rows[order[best ? order.size() - 1 - i : i].second]);
    section.add(std::move(table));
  };
  list("highest AUROC", true);
  if (order.size() > extremes) list("lowest AUROC", false);
  if (order.size() > 2 * extremes) section.add(ReportTable{"all", reader.columns(), rows, true});
  section.add(provenance_facts(reader.comments()));
  return section;
}

ReportSection reliability_section(const std::string& path) {
  ReportSection section{path, "calibration", {}};
  TsvReader reader(path);
  const std::size_t method = reader.column("method"), bins = reader.column("bins"),
                    predicted = reader.column("mean_predicted"), observed = reader.column("observed");
  ReportTable table{"bins", reader.columns(), {}, true};
  std::map<std::string, LineChart> charts;
  std::vector<std::string_view> fields;
  while (reader.next(fields)) {
    table.rows.emplace_back(fields.begin(), fields.end());
    LineChart& chart = charts[std::string(fields[bins])];
    const std::string name(fields[method]);
    if (chart.lines.empty() || chart.lines.back().legend != name)
      chart.lines.push_back({name, {}, true, false});
    if (is_missing(fields[predicted]) || is_missing(fields[observed])) continue;
    chart.lines.back().points.emplace_back(parse_number(fields[predicted], reader.where(), "mean_predicted"),
                                           parse_number(fields[observed], reader.where(), "observed"));
  }
  ReportCharts drawn;
  for (auto& [name, chart] : charts) {
    chart.title = "reliability, bins of " + name;
    std::replace(chart.title.begin(), chart.title.end(), '_', ' ');
    chart.x_label = "mean probability";
    chart.y_label = "observed share";
    chart.unit_square = chart.diagonal = true;
    drawn.emplace_back(std::move(chart));
  }
  section.add(std::move(drawn));
  section.add(std::move(table));
  section.add(provenance_facts(reader.comments()));
  return section;
}

ReportSection table_section(const std::string& path, const std::string& measure) {
  ReportSection section{path, "table", {}};
  constexpr std::size_t most_bars = 60;
  TsvReader reader(path);
  const std::size_t value = reader.column(measure);
  ReportTable table{"", reader.columns(), {}, false};
  BarChart bars{measure, "", {}, {}};
  std::vector<std::string_view> fields;
  double highest = 0;
  while (reader.next(fields)) {
    table.rows.emplace_back(fields.begin(), fields.end());
    std::string name;
    for (std::size_t i = 0; i < value; ++i) {
      if (!is_number_text(fields[i])) name += (name.empty() ? "" : " ") + std::string(fields[i]);
    }
    const bool known = !is_missing(fields[value]);
    const double number = known ? parse_number(fields[value], reader.where(), measure)
                                : std::numeric_limits<double>::quiet_NaN();
    if (std::isfinite(number)) highest = std::max(highest, std::abs(number));
    Bar bar{name, number, {}};
    if (measure == "auroc" && reader.has_column("auroc_low") && known) {
      const std::string_view low = fields[reader.column("auroc_low")],
                             high = fields[reader.column("auroc_high")];
      if (!is_missing(low) && !is_missing(high))
        bar.interval = {parse_number(low, reader.where(), "auroc_low"),
                        parse_number(high, reader.where(), "auroc_high")};
    }
    if (bars.bars.size() < most_bars) bars.bars.push_back(std::move(bar));
  }
  if (highest <= 1) bars.x_high = 1.0;
  table.folded = table.rows.size() > 40;
  section.add(ReportCharts{std::move(bars)});
  section.add(std::move(table));
  section.add(provenance_facts(reader.comments()));
  return section;
}

}  // namespace bigbird
