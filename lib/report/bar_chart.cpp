// Draws bars; see charts.h.
#include "lib/report/charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lib/core/unicode.h"
#include "lib/report/svg_text.h"

namespace bigbird {
namespace {

constexpr double bars_width = 640, bars_top = 34, bar_row = 22, bar_height = 14, bar_axis_room = 26;
constexpr double bar_numbers = 78;            // of the numbers
constexpr double bar_letter = 6.4;            // width of one, at the size of names
constexpr std::size_t most_bar_letters = 34;  // letters of a name that are shown

}  // namespace

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
  if (chart.x_high) high = *chart.x_high;
  if (high == low) high = low + 1;
  const double left = 14 + bar_letter * static_cast<double>(longest);
  const double bottom = bars_top + bar_row * static_cast<double>(chart.bars.size());
  const auto at = [&](double value) {
    return left + (value - low) / (high - low) * (bars_width - left - bar_numbers);
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
      svg += fmt::format("<rect class=\"bar\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\"/>\n",
                         begin, y, std::max(end - begin, 0.0), bar_height);
    }
    double after = known ? at(std::max(0.0, each.value)) : left;
    if (known && each.interval) {
      svg += fmt::format("<path class=\"range\" d=\"M{:.1f} {:.1f} H{:.1f}\"/>\n", at(each.interval->first),
                         y + bar_height / 2, at(each.interval->second));
      after = std::max(after, at(each.interval->second));
    }
    svg += fmt::format("<text class=\"tick\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", after + 6, y + 11,
                       known ? tick_text(each.value) : "no value");
    y += bar_row;
  }
  return svg + "</svg>\n";
}

}  // namespace bigbird
