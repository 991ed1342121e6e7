// Draws curves, bars and tables of counts, and counts values by bins; see charts.h.
#include "lib/report/charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lib/core/unicode.h"
#include "lib/report/shown_numbers.h"
#include "lib/report/svg_text.h"

namespace bigbird {
namespace {

constexpr double chart_width = 640, plot_low = 182;  // of most charts
constexpr double plot_square = 330;                  // of the plot of a unit square
constexpr double plot_left = 66, plot_right = 12, plot_top = 30, plot_below = 28;  // around the plot
constexpr std::size_t most_points = 1200;                                          // of a line
constexpr std::size_t most_kinds_beside = 4;  // bars of a histogram's bin; of more kinds, outlines
constexpr std::size_t line_classes = 6;       // classes line-0 ... of the page

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

// A smoothed line has the colour of the one before it, which it is of.
std::size_t colour_of(const LineChart& chart, std::size_t line) {
  std::size_t colour = 0;
  for (std::size_t i = 1; i <= line; ++i) colour += chart.lines[i].derived ? 0U : 1U;
  return colour % line_classes;
}

// The bins of one of `kinds` lines of a histogram: each has its part of the bin's width.
template <typename AtX, typename AtY>
std::string bins_svg(const Points& points, std::size_t kind, std::size_t kinds, const AtX& at_x,
                     const AtY& at_y) {
  std::string svg;
  for (std::size_t i = 1; i + 1 < points.size(); ++i) {
    if (!(points[i].second > 0)) continue;
    const double left = at_x(points[i].first), right = at_x(points[i + 1].first);
    const double gap = std::min(1.0, (right - left) * 0.1);
    const double each = (right - left - gap) / static_cast<double>(kinds);
    svg += fmt::format(
        "<rect class=\"bin line-{}\" x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\"/>\n",
        kind % line_classes, left + gap / 2 + each * static_cast<double>(kind), at_y(points[i].second), each,
        at_y(0) - at_y(points[i].second));
  }
  return svg;
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
          "<path class=\"line line-{0}{1}\" d=\"M{2:.1f} {3} h18\"/><text class=\"tick\" x=\"{4:.1f}\" "
          "y=\"{5}\">{6}</text>\n",
          colour_of(chart, i), chart.lines[i].faint ? " faint" : "", x, y - 4, x + 23, y,
          svg_escaped(chart.lines[i].legend));
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

constexpr double bars_width = 640, bars_top = 40, bar_row = 22, bar_height = 14, bar_axis_room = 26;
constexpr double bar_numbers = 78;            // of the numbers
constexpr double bar_letter = 6.4;            // width of one, at the size of names
constexpr std::size_t most_bar_letters = 34;  // letters of a name that are shown

// Counts as they are, other numbers with three digits.
std::string bar_number(double value) {
  return value == std::round(value) && std::abs(value) < 1e7 ? tick_text(value) : three_digits(value);
}

constexpr double matrix_width = 640, matrix_top = 78;
constexpr double matrix_letter = 6.4;            // width of one
constexpr std::size_t most_matrix_letters = 18;  // letters of a name that are shown

}  // namespace

ChartLine smoothed(const ChartLine& line, std::size_t width) {
  ChartLine mean = line;
  mean.derived = true;
  mean.marked = false;
  mean.counts.clear();
  mean.points.clear();
  for (const auto& point : line.points) {
    if (std::isfinite(point.second)) mean.points.push_back(point);
  }
  const std::size_t reach = width / 2, size = mean.points.size();
  std::vector<double> sums(size + 1, 0);
  for (std::size_t i = 0; i < size; ++i) sums[i + 1] = sums[i] + mean.points[i].second;
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t begin = i < reach ? 0 : i - reach, end = std::min(size, i + reach + 1);
    mean.points[i].second = (sums[end] - sums[begin]) / static_cast<double>(end - begin);
  }
  return mean;
}

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

std::vector<std::string> tick_texts(const std::vector<double>& ticks) {
  std::vector<std::string> texts;
  for (const double tick : ticks) texts.push_back(tick_text(tick));
  for (int digits = 5; digits <= 12; ++digits) {
    if (std::adjacent_find(texts.begin(), texts.end()) == texts.end()) break;
    for (std::size_t i = 0; i < ticks.size(); ++i) texts[i] = fmt::format("{:.{}g}", ticks[i], digits);
  }
  return texts;
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
  const std::vector<double> x_ticks = round_ticks(x_range.low, x_range.high, 6);
  const std::vector<std::string> x_texts = tick_texts(x_ticks);
  for (std::size_t i = 0; i < x_ticks.size(); ++i) {
    svg += fmt::format(
        "<path class=\"grid\" d=\"M{0:.1f} {1} V{2}\"/><text class=\"tick\" x=\"{0:.1f}\" y=\"{3}\" "
        "text-anchor=\"middle\">{4}</text>\n",
        at_x(x_ticks[i]), plot_top, plot_bottom, plot_bottom + 16, x_texts[i]);
  }
  const std::vector<double> y_ticks = value_ticks(y_range, chart.logarithmic);
  const std::vector<std::string> y_texts = tick_texts(y_ticks);
  for (std::size_t i = 0; i < y_ticks.size(); ++i) {
    const double y = at_y(chart.logarithmic ? std::log10(y_ticks[i]) : y_ticks[i]);
    svg += fmt::format(
        "<path class=\"grid\" d=\"M{0} {1:.1f} H{2}\"/><text class=\"tick\" x=\"{3}\" y=\"{4:.1f}\" "
        "text-anchor=\"end\">{5}</text>\n",
        plot_left, y, width - plot_right, plot_left - 6, y + 4, y_texts[i]);
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
  if (chart.x_mark && *chart.x_mark >= x_range.low && *chart.x_mark <= x_range.high) {
    svg += fmt::format(
        "<path class=\"guess\" d=\"M{0:.1f} {1} V{2}\"/><text class=\"tick\" x=\"{3:.1f}\" y=\"{4}\">{5}</text>\n",
        at_x(*chart.x_mark), plot_top, plot_bottom, at_x(*chart.x_mark) + 4, plot_top + 11,
        svg_escaped(chart.x_mark_name));
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (chart.bars) {
      svg += bins_svg(lines[i], i, lines.size(), at_x, at_y);
      continue;
    }
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
    const std::size_t colour = colour_of(chart, i);
    svg += fmt::format("<path class=\"line line-{}{}\" d=\"{}\"/>\n", colour,
                       chart.lines[i].faint ? " faint" : "", path);
    const std::vector<double>& counts = chart.lines[i].counts;
    const double most = counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
    const bool sized = counts.size() == lines[i].size() && most > 0;
    const bool lone = lines[i].size() == 1;
    for (std::size_t point = 0; point < lines[i].size(); ++point) {
      if (!chart.lines[i].marked && !lone) break;
      const auto& [x, y] = lines[i][point];
      const double radius = sized ? std::max(1.5, 7 * std::sqrt(counts[point] / most)) : lone ? 4.5 : 2.5;
      svg += fmt::format("<circle class=\"{} line-{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\"/>\n",
                         lone ? "lone" : "dot", colour, at_x(x), at_y(y), radius);
    }
    if (lone) {
      const auto& [x, y] = lines[i].front();
      const bool right = at_x(x) > width / 2;
      svg += fmt::format("<text class=\"tick\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n",
                         at_x(x) + (right ? -8 : 8), at_y(y) - 8, right ? "end" : "start",
                         three_digits(chart.logarithmic ? std::pow(10.0, y) : y));
    }
  }
  return svg + legend.svg() + "</svg>\n";
}

std::string bar_chart_svg(const BarChart& chart) {
  std::size_t longest = 4;
  double high = 0, low = 0;
  const auto take = [&](double value) {
    if (!std::isfinite(value)) return;
    high = std::max(high, value);
    low = std::min(low, value);
  };
  for (const Bar& each : chart.bars) {
    longest = std::max(longest, count_code_points(svg_shortened(each.name, most_bar_letters)));
    take(each.value);
    if (each.interval) take(each.interval->first), take(each.interval->second);
  }
  if (chart.mark) take(*chart.mark);
  if (chart.x_high) high = *chart.x_high;
  if (high == low) high = low + 1;
  const double left = 14 + bar_letter * static_cast<double>(longest);
  const double bottom = bars_top + bar_row * static_cast<double>(chart.bars.size());
  std::size_t notes = 0;
  for (const Bar& each : chart.bars) notes = std::max(notes, each.note.size());
  const double numbers = bar_numbers + bar_letter * static_cast<double>(notes);
  const auto at = [&](double value) {
    return left + (value - low) / (high - low) * (bars_width - left - numbers);
  };
  std::string svg = fmt::format(
      "<svg class=\"chart\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n"
      "<text class=\"title\" x=\"8\" y=\"18\">{}</text>\n"
      "<text class=\"tick\" x=\"{}\" y=\"18\" text-anchor=\"end\">{}</text>\n",
      bars_width, bottom + bar_axis_room, svg_escaped(chart.title), svg_escaped(chart.title), bars_width - 8,
      svg_escaped(chart.x_label));
  for (const double tick : round_ticks(low, high, 5)) {
    svg += fmt::format(
        "<path class=\"grid\" d=\"M{0:.1f} {1} V{2}\"/><text class=\"tick\" x=\"{0:.1f}\" y=\"{3}\" "
        "text-anchor=\"middle\">{4}</text>\n",
        at(tick), bars_top - 4, bottom, bottom + 15, tick_text(tick));
  }
  double y = bars_top;
  for (const Bar& each : chart.bars) {
    const bool known = std::isfinite(each.value);
    svg += fmt::format("<text class=\"tick\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
                       left - 6, y + 11, svg_escaped(svg_shortened(each.name, most_bar_letters)));
    if (known) {
      const double begin = at(std::min(0.0, each.value)), end = at(std::max(0.0, each.value));
      svg += fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\"/>\n",
                         each.note.empty() ? "bar" : "bar over", begin, y, std::max(end - begin, 0.0),
                         bar_height);
    }
    double after = known ? at(std::max(0.0, each.value)) : left;
    if (known && each.interval) {
      svg += fmt::format("<path class=\"range\" d=\"M{:.1f} {:.1f} H{:.1f}\"/>\n", at(each.interval->first),
                         y + bar_height / 2, at(each.interval->second));
      after = std::max(after, at(each.interval->second));
    }
    svg += fmt::format(
        "<text class=\"tick\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", after + 6, y + 11,
        known ? bar_number(each.value) + svg_escaped(each.note.empty() ? "" : ", " + each.note) : "no value");
    y += bar_row;
  }
  if (chart.mark) {
    svg +=
        fmt::format("<path class=\"guess\" d=\"M{:.1f} {} V{}\"/>\n", at(*chart.mark), bars_top - 4, bottom);
    // At the left of the line where it stands far to the right.
    const bool far = at(*chart.mark) > bars_width / 2;
    svg += fmt::format("<text class=\"tick\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"{}\">{}</text>\n",
                       at(*chart.mark) + (far ? -4 : 4), bars_top - 6, far ? "end" : "start",
                       svg_escaped(chart.mark_name));
  }
  return svg + "</svg>\n";
}

std::string matrix_chart_svg(const MatrixChart& chart) {
  const std::size_t size = chart.names.size();
  std::size_t longest = 8;
  for (const std::string& name : chart.names)
    longest = std::max(longest, count_code_points(svg_shortened(name, most_matrix_letters)));
  const double left = 16 + matrix_letter * static_cast<double>(longest);
  const double cell_width = (matrix_width - left - 8) / static_cast<double>(std::max<std::size_t>(size, 4));
  const double cell_height = std::clamp(cell_width, 16.0, 44.0);
  const double height = matrix_top + cell_height * static_cast<double>(size) + 10;
  std::string svg = fmt::format(
      "<svg class=\"chart\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n"
      "<text class=\"title\" x=\"8\" y=\"18\">{}</text>\n"
      "<text class=\"tick\" x=\"8\" y=\"38\">rows: the label; columns: what was predicted; shade: share of the row"
      "</text>\n",
      matrix_width, height, svg_escaped(chart.title), svg_escaped(chart.title));
  for (std::size_t row = 0; row < size; ++row) {
    const double y = matrix_top + cell_height * static_cast<double>(row);
    const double middle = left + cell_width * (static_cast<double>(row) + 0.5);
    std::int64_t sum = 0;
    for (std::size_t column = 0; column < size; ++column) sum += chart.counts[row * size + column];
    svg += fmt::format(
        "<text class=\"tick\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>"
        "<text class=\"tick\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
        left - 6, y + cell_height / 2 + 4, svg_escaped(svg_shortened(chart.names[row], most_matrix_letters)),
        middle, matrix_top - 8, svg_escaped(svg_shortened(chart.names[row], most_matrix_letters)));
    for (std::size_t column = 0; column < size; ++column) {
      const std::int64_t count = chart.counts[row * size + column];
      const double share = sum > 0 ? static_cast<double>(count) / static_cast<double>(sum) : 0;
      const double x = left + cell_width * static_cast<double>(column);
      svg += fmt::format(
          "<rect class=\"cell\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
          "fill-opacity=\"{:.2f}\"/>",
          x + 1, y + 1, cell_width - 2, cell_height - 2, 0.06 + 0.6 * share);
      svg += fmt::format("<text class=\"tick\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                         x + cell_width / 2, y + cell_height / 2 + 4, count);
    }
  }
  return svg + "</svg>\n";
}

LineChart histogram(const std::string& title, const std::string& x_label,
                    const std::vector<HistogramValues>& kinds, bool shares, std::size_t bins,
                    std::optional<double> from) {
  LineChart chart;
  chart.title = title;
  chart.x_label = x_label;
  chart.y_label = shares ? "share" : "count";
  chart.from_zero = true;
  chart.bars = kinds.size() <= most_kinds_beside;
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const HistogramValues& kind : kinds) {
    for (const double value : kind.values) {
      if (!std::isfinite(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  if (low > high) return chart;
  if (from) {
    low = std::min(low, *from);
    high = std::max(high, *from);
  }
  if (low == high) {
    const double room = std::max(std::abs(low), 1e-6) * 0.5;
    low -= room;
    high += room;
  }
  const double width = (high - low) / static_cast<double>(bins);
  for (const HistogramValues& kind : kinds) {
    std::vector<double> counts(bins, 0);
    double all = 0;
    for (std::size_t i = 0; i < kind.values.size(); ++i) {
      const double value = kind.values[i];
      if (!std::isfinite(value)) continue;
      const double count = kind.counts.empty() ? 1 : kind.counts[i];
      counts[std::min(bins - 1, static_cast<std::size_t>((value - low) / width))] += count;
      all += count;
    }
    ChartLine line{kind.name, {{low, 0}}, false, true};
    for (std::size_t bin = 0; bin < bins; ++bin)
      line.points.emplace_back(low + width * static_cast<double>(bin),
                               shares && all > 0 ? counts[bin] / all : counts[bin]);
    line.points.emplace_back(high, 0);
    chart.lines.push_back(std::move(line));
  }
  return chart;
}

}  // namespace bigbird
