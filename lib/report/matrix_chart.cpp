// Draws a table of counts; see charts.h.
#include "lib/report/charts.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/core/unicode.h"
#include "lib/report/svg_text.h"

namespace bigbird {
namespace {

constexpr double matrix_width = 640, matrix_top = 78;
constexpr double matrix_letter = 6.4;            // width of one
constexpr std::size_t most_matrix_letters = 18;  // letters of a name that are shown

}  // namespace

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

}  // namespace bigbird
