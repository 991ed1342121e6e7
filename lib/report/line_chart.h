// Curves over numbers of any size, with round ticks: losses over steps, rates over time. For pages, whose
// colours and text they take (html_page.h), in the light and in the dark.
#pragma once

#include <cstddef>
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
};

struct LineChart {
  std::string title, x_label;
  std::vector<ChartLine> lines;
  bool logarithmic = false;  // y; values above 0 alone
  std::string y_label = {};  // of shares of shares, where the title does not say it
  bool unit_square = false;  // both axes from 0 to 1 and equally long: ROC and precision-recall curves
  bool diagonal = false;     // in a unit square
  bool from_zero = false;    // y
};

// An <svg> element. A line of very many points is drawn by the lowest and the highest of each stretch.
std::string line_chart_svg(const LineChart& chart);

// Round numbers that lie in [low, high], about `wanted` of them: multiples of 1, 2 or 5 times a power of ten.
std::vector<double> round_ticks(double low, double high, int wanted);
// "12,000", "3e-05", "0.25".
std::string tick_text(double value);

}  // namespace bigbird
