// Draws a confusion table; see confusion_svg.h.
#include "lib/report/confusion_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/unicode.h"
#include "lib/report/svg_text.h"

namespace bigbird {
namespace {

constexpr std::size_t most_confused_classes = 100;
constexpr std::size_t most_class_letters = 24;  // of a class's name
constexpr int confusion_cell = 44;
constexpr int confusion_title_room = 72;
constexpr int class_letter = 7;  // width of one, at the size that is used

}  // namespace

std::string confusion_svg(const ScoredTexts& scored) {
  if (scored.problem != ProblemType::single_label || scored.classes.size() > most_confused_classes) {
    throw_bad_input(fmt::format("a confusion table is drawn of one class each, of at most {} classes",
                                most_confused_classes),
                    "leave the picture away");
  }
  const ClassMetrics metrics = class_metrics(scored.labels, scored.predicted, scored.classes.size());
  std::vector<std::string> names;
  std::size_t longest = 1;
  for (const std::string& name : scored.classes.names()) {
    names.push_back(svg_shortened(name, most_class_letters));
    longest = std::max(longest, count_code_points(names.back()));
  }
  const int classes = static_cast<int>(names.size());
  const int label_room = 24 + class_letter * static_cast<int>(longest);
  const int width = label_room + confusion_cell * classes + 24,
            height = confusion_title_room + confusion_cell * classes + label_room;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n"
      "<text x=\"16\" y=\"26\" font-size=\"15\">{2} texts, accuracy {3:.4f}</text>\n"
      "<text x=\"16\" y=\"46\" fill=\"#555\">rows: gold class; columns: predicted; shade: share of the row</text>\n",
      width, height, metrics.examples, metrics.accuracy);
  for (std::size_t row = 0; row < metrics.classes; ++row) {
    const int y = confusion_title_room + confusion_cell * static_cast<int>(row);
    svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n", label_room - 8,
                       y + confusion_cell / 2 + 4, svg_escaped(names[row]));
    std::int64_t support = 0;
    for (std::size_t column = 0; column < metrics.classes; ++column)
      support += metrics.confusion[row * metrics.classes + column];
    for (std::size_t column = 0; column < metrics.classes; ++column) {
      const std::int64_t count = metrics.confusion[row * metrics.classes + column];
      const double share = support == 0 ? 0 : static_cast<double>(count) / static_cast<double>(support);
      const int x = label_room + confusion_cell * static_cast<int>(column);
      svg += fmt::format(
          "<rect x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{2}\" fill=\"#0072b2\" fill-opacity=\"{3:.3f}\" "
          "stroke=\"#ccc\"/>\n",
          x, y, confusion_cell, share);
      if (count > 0) {
        svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"{}\">{}</text>\n",
                           x + confusion_cell / 2, y + confusion_cell / 2 + 4,
                           share > 0.55 ? "white" : "#222", count);
      }
    }
  }
  const int below = confusion_title_room + confusion_cell * classes + 12;
  for (std::size_t column = 0; column < metrics.classes; ++column) {
    const int x = label_room + confusion_cell * static_cast<int>(column) + confusion_cell / 2 + 4;
    svg += fmt::format("<text transform=\"translate({} {}) rotate(-90)\" text-anchor=\"end\">{}</text>\n", x,
                       below, svg_escaped(names[column]));
  }
  return svg + "</svg>\n";
}

}  // namespace bigbird
