// Horizontal bars with their names at the left and their numbers at the right, for pages (html_page.h), whose
// colours and text they take: counts by reason, a measure by group.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bigbird {

struct Bar {
  std::string name;
  double value = 0;
  std::optional<std::pair<double, double>> interval;  // drawn as a line over the bar's end
};

struct BarChart {
  std::string title, x_label;
  std::vector<Bar> bars;         // values that are not finite have no bar, and "no value" in its place
  std::optional<double> x_high;  // the axis ends there; else at the largest value
};

// An <svg> element; as many bars as there are, from the top.
std::string bar_chart_svg(const BarChart& chart);

}  // namespace bigbird
