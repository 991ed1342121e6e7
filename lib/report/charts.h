// Charts for pages (html_page.h), whose colours and text they take, in the light and in the dark: curves over
// numbers of any size with round ticks, horizontal bars with names at the left and numbers at the right,
// tables of counts as shaded cells, and how often values lie where.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bigbird {

struct ChartLine {
  std::string legend;
  std::vector<std::pair<double, double>> points;  // by x; values that are not finite are left out
  bool marked = false;                            // a dot at every point: of few points
  bool steps = false;                             // y holds from a point up to the next one: of histograms
  std::string source = {};                        // the path it is of, where one chart has several sources
  std::string role = {};                          // what it is of its source: "training"
  bool faint = false;                             // behind the others
  bool derived = false;                           // a smoothed copy of another line: for the eye alone
  std::vector<double> counts = {};                // examples of each point, drawn as the areas of its dots
};

struct LineChart {
  std::string title, x_label;
  std::vector<ChartLine> lines;
  bool logarithmic = false;  // y; values above 0 alone
  std::string y_label = {};  // of shares of shares, where the title does not say it
  bool unit_square = false;  // both axes from 0 to 1 and equally long: ROC and precision-recall curves
  bool diagonal = false;     // in a unit square
  bool from_zero = false;    // y
  bool bars = false;         // of histograms: the bins of several kinds beside each other, filled
  std::optional<double> x_mark = {};  // a dashed line there: chance
  std::string x_mark_name = {};
};

// An <svg> element. A line of very many points is drawn by the lowest and the highest of each stretch.
std::string line_chart_svg(const LineChart& chart);

// The mean over the points around each, a smoothed copy of a noisy line; its ends have fewer. `width` points,
// odd.
ChartLine smoothed(const ChartLine& line, std::size_t width);

// Round numbers that lie in [low, high], about `wanted` of them: multiples of 1, 2 or 5 times a power of ten.
std::vector<double> round_ticks(double low, double high, int wanted);
// "12,000", "3e-05", "0.25".
std::string tick_text(double value);
// The same of neighbouring ticks, with as many digits as tell them apart.
std::vector<std::string> tick_texts(const std::vector<double>& ticks);

struct Bar {
  std::string name;
  double value = 0;
  std::optional<std::pair<double, double>> interval;  // drawn as a line over the bar's end
  std::string note = {};                              // behind the number; the bar has another colour then
};

struct BarChart {
  std::string title, x_label;
  std::vector<Bar> bars;            // values that are not finite have no bar, and "no value" in its place
  std::optional<double> x_high;     // the axis ends there; else at the largest value
  std::optional<double> mark = {};  // a dashed line there: chance, a plan
  std::string mark_name = {};
};

// An <svg> element; as many bars as there are, from the top.
std::string bar_chart_svg(const BarChart& chart);

struct MatrixChart {
  std::string title;
  std::vector<std::string> names;    // of rows and columns
  std::vector<std::int64_t> counts;  // [names, names]: rows are labels, columns predictions
};

// An <svg> element. A cell is as dark as its fraction of its row.
std::string matrix_chart_svg(const MatrixChart& chart);

// Values of one kind: "promoters", "others".
struct HistogramValues {
  std::string name;
  std::vector<double> values;       // those that are not finite are left out
  std::vector<double> counts = {};  // how often each of them stands; empty: once
};

// One chart of several kinds over the same `bins` bins of equal width from the lowest to the highest value of
// all; a line's y is the number of values in the bin, or with `shares` its share of its kind (of kinds that
// differ much in number). The last bin holds its upper end.
// `from`: the range of the bins reaches at least down, or up, to there.
LineChart histogram(const std::string& title, const std::string& x_label,
                    const std::vector<HistogramValues>& kinds, bool shares, std::size_t bins = 50,
                    std::optional<double> from = {});

}  // namespace bigbird
