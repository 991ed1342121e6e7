// Draws reliability curves; see reliability_svg.h.
#include "lib/report/reliability_svg.h"

#include <fmt/format.h>

#include <cstddef>

#include "lib/report/curves_svg.h"

namespace bigbird {

std::string reliability_svg(const std::string& title, const std::vector<MeasuredMethod>& measured) {
  const char* x_label = "mean probability of the bin";
  const char* y_label = "observed share of positives";
  std::vector<PlotPanel> panels = {{"Bins of equal width", x_label, y_label, true, {}},
                                   {"Bins of equal count", x_label, y_label, true, {}}};
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const auto add = [&](PlotPanel& panel, const std::vector<ReliabilityBin>& bins, double error) {
      PlotLine line;
      line.legend = fmt::format("{}, calibration error {:.4f}", name_of(measured[i].method), error);
      line.colour = i;
      for (const ReliabilityBin& bin : bins) {
        if (bin.examples > 0) line.points.emplace_back(bin.predicted, bin.observed);
      }
      panel.lines.push_back(std::move(line));
    };
    const CalibrationMeasure& pooled = measured[i].pooled;
    add(panels[0], pooled.equal_width, pooled.scores.ece_equal_width);
    add(panels[1], pooled.equal_count, pooled.scores.ece_equal_count);
  }
  return curves_svg(title, panels);
}

}  // namespace bigbird
