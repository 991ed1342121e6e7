// Curves in the unit square, panels side by side: ROC and precision-recall plots, with axes from 0 to 1 and a
// legend under each panel; those of scored chromatin profiles; and reliability diagrams.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lib/calibration/calibration_run.h"
#include "lib/genomics/chromatin/evaluate.h"

namespace bigbird {

struct PlotLine {
  std::string legend;                             // empty: not in the legend
  std::vector<std::pair<double, double>> points;  // x and y in 0..1, in drawing order
  std::size_t colour = 0;                         // number of a colour; they repeat after eight
  std::size_t dash = 0;                           // 0 solid; three kinds of dashes follow
  bool faint = false;                             // thin and grey, behind the others: one of a fan
  bool steps = false;               // y holds from the point before up to this one (precision over recall)
  std::vector<double> counts = {};  // examples of each point: the areas of its dots; empty: no dots
};

struct PlotPanel {
  std::string title, x_label, y_label;
  bool diagonal = false;  // what guessing gives in a ROC plot
  std::vector<PlotLine> lines;
};

// A complete SVG document.
std::string curves_svg(const std::string& title, const std::vector<PlotPanel>& panels);

// Reliability diagrams: the observed fraction of positives over the mean probability of each bin, a line for
// each method of calibration. What is calibrated lies on the diagonal.
// Two panels: bins of equal width, and of equal count. Bins without examples are passed over.
std::string reliability_svg(const std::string& title, const std::vector<MeasuredMethod>& measured);

// Of every group the profile with the median AUROC (of an even number the lower one of the two in the
// middle), in the order of the groups. Groups without a scored profile are left out.
std::vector<std::size_t> median_profiles(const ChromatinScores& scores, const std::vector<Profile>& profiles);

// One line for each profile of `chosen` and each set of predictions. Error{usage} for a profile that does not
// exist or is not scored.
std::string chromatin_curves_svg(const std::string& title, const std::vector<ChromatinScores>& evaluations,
                                 const std::vector<Profile>& profiles,
                                 const std::vector<std::size_t>& chosen);

// The scored profiles of a group as a fan, the one with the median AUROC in colour. Of more than a hundred, a
// hundred evenly from the lowest to the highest AUROC.
std::string chromatin_fan_svg(const std::string& group, const ChromatinScores& scores,
                              const std::vector<Profile>& profiles);

// A folder of pictures: medians.svg, and NAME.GROUP.svg or GROUP.svg of each set of predictions and group;
// file name -> SVG.
std::map<std::string, std::string> chromatin_curve_files(const std::vector<ChromatinScores>& evaluations,
                                                         const std::vector<Profile>& profiles,
                                                         const std::vector<std::size_t>& chosen);

}  // namespace bigbird
