// Curves in the unit square, panels side by side: ROC and precision-recall plots, with axes from 0 to 1 and a
// legend under each panel.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace bigbird {

struct PlotLine {
  std::string legend;                             // empty: not in the legend
  std::vector<std::pair<double, double>> points;  // x and y in 0..1, in drawing order
  std::size_t colour = 0;                         // number of a colour; they repeat after eight
  std::size_t dash = 0;                           // 0 solid; three kinds of dashes follow
  bool faint = false;                             // thin and grey, behind the others: one of a fan
  bool steps = false;  // y holds from the point before up to this one (precision over recall)
};

struct PlotPanel {
  std::string title, x_label, y_label;
  bool diagonal = false;  // what guessing gives in a ROC plot
  std::vector<PlotLine> lines;
};

// A complete SVG document.
std::string curves_svg(const std::string& title, const std::vector<PlotPanel>& panels);

}  // namespace bigbird
