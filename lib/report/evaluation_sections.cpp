// Predictions with labels, reliability curves and other tables of evaluations in a report.
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
#include "lib/report/labels.h"
#include "lib/report/report_inputs.h"
#include "lib/report/shown_numbers.h"
#include "lib/report/svg_text.h"

namespace bigbird {
namespace {

constexpr std::size_t reliability_bins = 15;
constexpr double most_without_score = 0.1;  // share of a table's examples without a word

std::string number(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "no value";
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
  chart.y_label = "share of positives";
  chart.unit_square = chart.diagonal = true;
  const CalibrationMeasure measure = measure_calibration(positives, negatives, {}, reliability_bins);
  ChartLine line{"predictions", {}, true, false};
  std::int64_t fewest = 0, most = 0;
  for (const ReliabilityBin& bin : measure.equal_count) {
    line.points.emplace_back(bin.predicted, bin.observed);
    line.counts.push_back(static_cast<double>(bin.examples));
    fewest = line.counts.size() == 1 ? bin.examples : std::min(fewest, bin.examples);
    most = std::max(most, bin.examples);
  }
  chart.x_label = fmt::format("mean score of a bin of {} examples",
                              fewest == most ? std::to_string(most) : fmt::format("{} to {}", fewest, most));
  chart.lines.push_back(std::move(line));
  return chart;
}

void first_of_two_classes(FirstScreen& screen, const BinaryMetrics& metrics, double share, double threshold) {
  screen.outcome = fmt::format("AUROC {}, F1 {}", three_digits(metrics.auroc), three_digits(metrics.f1));
  screen.figures = {
      {"AUROC", three_digits(metrics.auroc), "chance 0.5"},
      {"AUPRC", three_digits(metrics.auprc), "chance " + three_digits(share) + ", the share of positives"},
      {fmt::format("F1 at threshold {:g}", threshold), three_digits(metrics.f1),
       fmt::format("precision {}, recall {}", three_digits(metrics.precision),
                   three_digits(metrics.recall))}};
  screen.general = {{"examples", static_cast<double>(metrics.examples())},
                    {"AUROC", metrics.auroc},
                    {"AUPRC", metrics.auprc},
                    {"F1", metrics.f1}};
  if (metrics.tp + metrics.fp == 0) {
    screen.warnings.push_back(
        fmt::format("No example is predicted to be positive at threshold {:g}.", threshold));
  } else {
    warn_of_precision(screen, metrics.precision, "examples that are predicted to be positive");
  }
  if (metrics.auroc < 0.5) screen.warnings.emplace_back("AUROC is below 0.5: chance does better.");
}

void add_two_classes(ReportSection& section, const LabelledPredictions& predictions, double threshold) {
  const BinaryMetrics metrics = binary_metrics(predictions.labels, predictions.scores, threshold);
  std::vector<double> positives, negatives;
  for (std::size_t i = 0; i < predictions.labels.size(); ++i)
    (predictions.labels[i] == 1 ? positives : negatives).push_back(predictions.scores[i]);
  first_of_two_classes(section.first, metrics,
                       static_cast<double>(positives.size()) / static_cast<double>(metrics.examples()),
                       threshold);
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
  section.first.outcome = "accuracy " + three_digits(metrics.accuracy);
  section.first.figures = {{"accuracy", three_digits(metrics.accuracy)},
                           {"macro F1", three_digits(metrics.macro_f1)},
                           {"MCC", three_digits(metrics.mcc), "chance 0"}};
  section.first.general = {{"examples", static_cast<double>(metrics.examples)},
                           {"accuracy", metrics.accuracy}};
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
    if (comment.rfind(prefix, 0) != 0 || equals == std::string::npos) continue;
    const std::string key = comment.substr(prefix.size(), equals - prefix.size()),
                      value = comment.substr(equals + 1);
    const std::size_t colon = value.find(':');
    if (key == "input" && colon != std::string::npos) {
      facts.emplace_back(label_of(value.substr(0, colon)), value.substr(colon + 1));
    } else {
      facts.emplace_back(label_of(key), value);
    }
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
  const std::vector<std::string> comments = TsvReader(path).comments();
  section.first.asked = asked_of_lines(comments, path);
  const auto left_out = static_cast<double>(predictions.left_out);
  if (left_out > most_without_score * (left_out + static_cast<double>(predictions.labels.size())))
    section.first.warnings.push_back(fmt::format("Examples without a score: {}.", predictions.left_out));
  ReportFacts facts = provenance_facts(comments);
  if (!predictions.negatives.empty()) facts.insert(facts.begin(), {"negatives", predictions.negatives});
  if (predictions.left_out > 0)
    facts.insert(facts.begin(), {"without a score", std::to_string(predictions.left_out)});
  section.add(std::move(facts));
  return section;
}

ReportSection reliability_section(const std::string& path) {
  ReportSection section{path, "calibration", {}};
  TsvReader reader(path);
  const std::size_t method = reader.column("method"), bins = reader.column("bins"),
                    predicted = reader.column("mean_predicted"), observed = reader.column("observed");
  const bool counted = reader.has_column("n");
  const std::size_t examples = counted ? reader.column("n") : 0;
  ReportTable table{"bins", labels_of(reader.columns()), {}, true};
  section.first = {asked_of_lines(reader.comments(), path), "reliability curves"};
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
    if (counted) chart.lines.back().counts.push_back(parse_number(fields[examples], reader.where(), "n"));
  }
  ReportCharts drawn;
  for (auto& [name, chart] : charts) {
    chart.title = "reliability, bins of " + name;
    std::replace(chart.title.begin(), chart.title.end(), '_', ' ');
    chart.x_label = counted ? "mean probability; areas of dots: examples of the bin" : "mean probability";
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
  ReportTable table{"", labels_of(reader.columns()), {}, false};
  BarChart bars{label_of(measure), "", {}, {}};
  if (measure == "auroc") {
    bars.mark = 0.5;
    bars.mark_name = "chance";
  }
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
  section.first.asked = asked_of_lines(reader.comments(), path);
  const bool low_is_good = measure == "ece";
  const Bar* best = nullptr;
  for (const Bar& bar : bars.bars) {
    if (!std::isfinite(bar.value)) continue;
    if (best == nullptr || (low_is_good ? bar.value < best->value : bar.value > best->value)) best = &bar;
  }
  if (best != nullptr) {
    section.first.outcome =
        fmt::format("{} {} {}{}{}", low_is_good ? "lowest" : "highest", bars.title, three_digits(best->value),
                    best->name.empty() ? "" : " of ", best->name);
  }
  table.folded = table.rows.size() > 40;
  section.add(ReportCharts{std::move(bars)});
  section.add(std::move(table));
  section.add(provenance_facts(reader.comments()));
  return section;
}

}  // namespace bigbird
