// Draws curves; see charts.h.
#include "lib/report/charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lib/report/svg_text.h"

namespace bigbird {
namespace {

constexpr double chart_width = 640, plot_low = 182;  // of most charts
constexpr double plot_square = 330;                  // of the plot of a unit square
constexpr double plot_left = 66, plot_right = 12, plot_top = 30, plot_below = 28;  // around the plot
constexpr std::size_t most_points = 1200;                                          // of a line
constexpr std::size_t line_classes = 6;  // classes line-0 ... of the page

// Where the plot lies in the picture.
struct Frame {
  explicit Frame(const LineChart& chart)
      : width(chart.unit_square ? plot_left + plot_square + plot_right : chart_width),
        bottom(plot_top + (chart.unit_square ? plot_square : plot_low)) {}
  double width;
  double bottom;
};

using Points = std::vector<std::pair<double, double>>;

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void take(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
};

Points drawable(const ChartLine& line, bool logarithmic) {
  Points points;
  for (const auto& [x, y] : line.points) {
    if (std::isfinite(x) && std::isfinite(y) && (!logarithmic || y > 0))
      points.emplace_back(x, logarithmic ? std::log10(y) : y);
  }
  if (points.size() <= most_points) return points;
  Points fewer;
  const std::size_t stretch = (2 * points.size() + most_points - 1) / most_points;
  for (std::size_t begin = 0; begin < points.size(); begin += stretch) {
    const auto first = points.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto end = points.begin() + static_cast<std::ptrdiff_t>(std::min(begin + stretch, points.size()));
    auto [low, high] =
        std::minmax_element(first, end, [](const auto& a, const auto& b) { return a.second < b.second; });
    if (high < low) std::swap(low, high);
    fewer.push_back(*low);
    if (low != high) fewer.push_back(*high);
  }
  return fewer;
}

// A little room above and below; a constant lies in the middle.
Range with_room(Range range) {
  const double span = range.high - range.low;
  const double room = span > 0 ? 0.05 * span : std::max(std::abs(range.high), 1e-12) * 0.5;
  return {range.low - room, range.high + room};
}

// Values in a range, which is of their logarithms where the chart is.
std::vector<double> value_ticks(const Range& range, bool logarithmic) {
  if (!logarithmic) return round_ticks(range.low, range.high, 5);
  std::vector<double> ticks;
  for (double power = std::floor(range.low); power <= range.high; ++power) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double at = power + std::log10(factor);
      const bool wanted = range.high - range.low < 3 || factor == 1.0;
      if (wanted && at >= range.low && at <= range.high) ticks.push_back(factor * std::pow(10.0, power));
    }
  }
  return ticks.size() > 1 ? ticks : round_ticks(std::pow(10.0, range.low), std::pow(10.0, range.high), 4);
}

// The names of several lines, under the plot, in as many rows as they need.
class Legend {
 public:
  Legend(const LineChart& chart, const Frame& frame) {
    if (chart.lines.size() < 2) return;
    double x = plot_left;
    rows_ = 1;
    for (std::size_t i = 0; i < chart.lines.size(); ++i) {
      const double needed = 36 + letter * static_cast<double>(chart.lines[i].legend.size());
      if (x > plot_left && x + needed > frame.width) {
        x = plot_left;
        ++rows_;
      }
      const double y = frame.bottom + (chart.unit_square ? 36 : 20) + row_height * rows_;
      svg_ += fmt::format(
          "<path class=\"line line-{0}\" d=\"M{1:.1f} {2} h18\"/><text class=\"tick\" x=\"{3:.1f}\" "
          "y=\"{4}\">{5}</text>\n",
          i % line_classes, x, y - 4, x + 23, y, svg_escaped(chart.lines[i].legend));
      x += needed;
    }
  }
  // Beside what a chart without one has.
  double room() const { return row_height * rows_; }
  const std::string& svg() const { return svg_; }

 private:
  static constexpr double letter = 6.2, row_height = 17;
  int rows_ = 0;
  std::string svg_;
};

}  // namespace

std::vector<double> round_ticks(double low, double high, int wanted) {
  const double rough = (high - low) / wanted;
  if (!(rough > 0) || !std::isfinite(rough)) return {low};
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (factor * power >= rough) step = factor * power;
  }
  std::vector<double> ticks;
  for (double count = std::ceil(low / step - 1e-9); count * step <= high + 1e-9 * step; ++count)
    ticks.push_back(count * step);
  return ticks;
}

std::string tick_text(double value) {
  if (value == 0) return "0";
  const double size = std::abs(value);
  if (size >= 1e7 || size < 1e-3) return fmt::format("{:g}", value);
  if (size < 1000) return fmt::format("{:.4g}", value);
  const std::string digits = fmt::format("{:.0f}", size);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return (value < 0 ? "-" : "") + text;
}

std::string line_chart_svg(const LineChart& chart) {
  std::vector<Points> lines;
  Range x_range, y_range;
  for (const ChartLine& line : chart.lines) {
    lines.push_back(drawable(line, chart.logarithmic));
    for (const auto& [x, y] : lines.back()) {
      x_range.take(x);
      y_range.take(y);
    }
  }
  const Frame frame(chart);
  const double width = frame.width, plot_bottom = frame.bottom;
  const Legend legend(chart, frame);
  const double full_height = plot_bottom + plot_below + (chart.unit_square ? 16 : 0) + legend.room();
  std::string svg =
      fmt::format("<svg class=\"chart{}\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n",
                  chart.unit_square ? " square" : "", width, full_height, svg_escaped(chart.title));
  svg +=
      fmt::format("<text class=\"title\" x=\"{}\" y=\"18\">{}</text>\n", plot_left, svg_escaped(chart.title));
  if (x_range.empty()) return svg + "<text class=\"tick\" x=\"66\" y=\"60\">no numbers</text>\n</svg>\n";
  if (x_range.low == x_range.high) x_range = with_room(x_range);
  if (chart.from_zero) {
    y_range.take(0);
    if (y_range.high == 0) y_range.high = 1;
  }
  y_range = with_room(y_range);
  if (chart.from_zero) y_range.low = std::max(y_range.low, 0.0);
  if (chart.unit_square) x_range = y_range = {0, 1};
  const auto at_x = [&](double x) {
    return plot_left + (x - x_range.low) / (x_range.high - x_range.low) * (width - plot_left - plot_right);
  };
  const auto at_y = [&](double y) {
    return plot_bottom - (y - y_range.low) / (y_range.high - y_range.low) * (plot_bottom - plot_top);
  };
  for (const double tick : round_ticks(x_range.low, x_range.high, 6)) {
    svg += fmt::format(
        "<path class=\"grid\" d=\"M{0:.1f} {1} V{2}\"/><text class=\"tick\" x=\"{0:.1f}\" y=\"{3}\" "
        "text-anchor=\"middle\">{4}</text>\n",
        at_x(tick), plot_top, plot_bottom, plot_bottom + 16, tick_text(tick));
  }
  for (const double tick : value_ticks(y_range, chart.logarithmic)) {
    const double y = at_y(chart.logarithmic ? std::log10(tick) : tick);
    svg += fmt::format(
        "<path class=\"grid\" d=\"M{0} {1:.1f} H{2}\"/><text class=\"tick\" x=\"{3}\" y=\"{4:.1f}\" "
        "text-anchor=\"end\">{5}</text>\n",
        plot_left, y, width - plot_right, plot_left - 6, y + 4, tick_text(tick));
  }
  // Beside the title where there is room for it, else under the axis.
  svg +=
      fmt::format("<text class=\"tick\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n",
                  width - plot_right, chart.unit_square ? plot_bottom + 32 : 18, svg_escaped(chart.x_label));
  if (!chart.y_label.empty()) {
    svg += fmt::format(
        "<text class=\"tick\" transform=\"translate(14 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
        (plot_top + plot_bottom) / 2, svg_escaped(chart.y_label));
  }
  if (chart.diagonal)
    svg += fmt::format("<path class=\"guess\" d=\"M{} {} L{} {}\"/>\n", plot_left, plot_bottom,
                       width - plot_right, plot_top);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string path;
    for (const auto& [x, y] : lines[i]) {
      if (path.empty()) {
        path = fmt::format("M{:.1f} {:.1f}", at_x(x), at_y(y));
      } else if (chart.lines[i].steps) {
        path += fmt::format(" H{:.1f} V{:.1f}", at_x(x), at_y(y));
      } else {
        path += fmt::format(" L{:.1f} {:.1f}", at_x(x), at_y(y));
      }
    }
    svg += fmt::format("<path class=\"line line-{}\" d=\"{}\"/>\n", i % line_classes, path);
    for (const auto& [x, y] : lines[i]) {
      if (!chart.lines[i].marked && lines[i].size() > 1) break;
      svg += fmt::format("<circle class=\"dot line-{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\"/>\n",
                         i % line_classes, at_x(x), at_y(y));
    }
  }
  return svg + legend.svg() + "</svg>\n";
}

}  // namespace bigbird
