// Draws curves, and puts scored profiles and calibrations into panels; see curves.h.
#include "lib/report/curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <utility>

#include "lib/core/error.h"
#include "lib/report/svg_text.h"

namespace bigbird {
namespace {

constexpr int panel_side = 320;  // of a panel's square
constexpr int panel_left = 64;   // room for the y axis
constexpr int narrow_gap = 40;   // to the next panel, at least
constexpr int panel_top = 76;    // titles
constexpr int panel_axis = 52;   // room for the x axis
constexpr int legend_line = 18;  // a line of the legend
constexpr int curves_margin = 20;

// Told apart by people who see colours differently (Okabe and Ito).
constexpr std::array<const char*, 8> line_colours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                     "#e69f00", "#56b4e9", "#000000", "#8c6d31"};
constexpr std::array<const char*, 4> dashes = {"", "6 3", "2 2", "8 3 2 3"};

class Drawing {
 public:
  std::string draw(const std::string& title, const std::vector<PlotPanel>& panels) {
    std::size_t entries = 0;
    std::size_t letters = 0;
    for (const PlotPanel& panel : panels) {
      entries = std::max(entries, legend_entries(panel));
      for (const PlotLine& line : panel.lines) letters = std::max(letters, line.legend.size());
    }
    // A legend that is wider than its panel pushes the next one away; 6.2 units hold a letter of its size.
    const int gap = std::max(
        narrow_gap, static_cast<int>(6.2 * static_cast<double>(letters)) - panel_side - panel_left + 30);
    const int count = static_cast<int>(panels.size());
    const int width = curves_margin + count * (panel_left + panel_side) + count * gap;
    const int height =
        panel_top + panel_side + panel_axis + static_cast<int>(entries) * legend_line + curves_margin;
    std::string description = "Panels:";
    for (const PlotPanel& panel : panels) {
      description += fmt::format(" {} ({} over {}, {} lines)", panel.title, panel.y_label, panel.x_label,
                                 panel.lines.size());
    }
    svg_ = svg_opening(width, height, title, description) +
           fmt::format("<text x=\"{}\" y=\"28\" font-size=\"15\">{}</text>\n", curves_margin,
                       svg_escaped(title));
    int x = curves_margin + panel_left;
    for (const PlotPanel& panel : panels) {
      draw_panel(panel, x);
      x += panel_side + gap + panel_left;
    }
    return svg_ + "</svg>\n";
  }

 private:
  static std::size_t legend_entries(const PlotPanel& panel) {
    return static_cast<std::size_t>(std::count_if(panel.lines.begin(), panel.lines.end(),
                                                  [](const PlotLine& line) { return !line.legend.empty(); }));
  }

  void text(double x, double y, const char* anchor, int size, const std::string& what) {
    svg_ += fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"{}\" fill=\"#333\">{}</text>\n", x, y,
        anchor, size, svg_escaped(what));
  }

  void draw_panel(const PlotPanel& panel, int x) {
    text(x + panel_side / 2.0, panel_top - 14, "middle", 13, panel.title);
    for (int tick = 0; tick <= 5; ++tick) {
      const double at = panel_side * tick / 5.0;
      const std::string label = fmt::format("{:.1f}", tick / 5.0);
      svg_ +=
          fmt::format("<path d=\"M{0:.1f} {1} v{2} M{3} {4:.1f} h{2}\" stroke=\"#e4e4e4\" fill=\"none\"/>\n",
                      x + at, panel_top, panel_side, x, panel_top + at);
      svg_ += fmt::format("<path d=\"M{0:.1f} {1} v5 M{2} {3:.1f} h-5\" stroke=\"#333\" fill=\"none\"/>\n",
                          x + at, panel_top + panel_side, x, panel_top + at);
      text(x + at, panel_top + panel_side + 18, "middle", 11, label);
      text(x - 9, panel_top + panel_side - at + 4, "end", 11, label);
    }
    if (panel.diagonal) {
      svg_ +=
          fmt::format("<path d=\"M{} {} l{} {}\" stroke=\"#999\" stroke-dasharray=\"4 4\" fill=\"none\"/>\n",
                      x, panel_top + panel_side, panel_side, -panel_side);
    }
    for (const bool faint : {true, false}) {
      for (const PlotLine& line : panel.lines) {
        if (line.faint == faint) draw_line(line, x);
      }
    }
    svg_ +=
        fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#333\"/>\n", x,
                    panel_top, panel_side, panel_side);
    text(x + panel_side / 2.0, panel_top + panel_side + 38, "middle", 12, panel.x_label);
    svg_ += fmt::format(
        "<text transform=\"translate({} {}) rotate(-90)\" text-anchor=\"middle\" font-size=\"12\" "
        "fill=\"#333\">{}</text>\n",
        x - 42, panel_top + panel_side / 2, svg_escaped(panel.y_label));
    draw_legend(panel, x);
  }

  static std::string style(const PlotLine& line) {
    if (line.faint) return "stroke=\"#b8b8b8\" stroke-width=\"0.6\" stroke-opacity=\"0.5\"";
    const char* dash = dashes[line.dash % dashes.size()];
    return fmt::format("stroke=\"{}\" stroke-width=\"1.8\"{}",
                       line_colours[line.colour % line_colours.size()],
                       *dash == '\0' ? std::string() : fmt::format(" stroke-dasharray=\"{}\"", dash));
  }

  void draw_line(const PlotLine& line, int x) {
    if (line.points.empty()) return;
    std::string path;
    for (std::size_t i = 0; i < line.points.size(); ++i) {
      const double px = x + panel_side * line.points[i].first;
      const double py = panel_top + panel_side * (1 - line.points[i].second);
      if (i == 0 && line.steps) {
        path = fmt::format("M{} {:.1f} H{:.1f}", x, py, px);
      } else if (i == 0) {
        path = fmt::format("M{:.1f} {:.1f}", px, py);
      } else if (line.steps) {
        path += fmt::format(" V{:.1f} H{:.1f}", py, px);
      } else {
        path += fmt::format(" L{:.1f} {:.1f}", px, py);
      }
    }
    svg_ += fmt::format("<path d=\"{}\" fill=\"none\" stroke-linejoin=\"round\" {}/>\n", path, style(line));
    const double most = line.counts.empty() ? 0 : *std::max_element(line.counts.begin(), line.counts.end());
    for (std::size_t i = 0; most > 0 && i < std::min(line.points.size(), line.counts.size()); ++i) {
      svg_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" fill=\"white\" {}/>\n",
                          x + panel_side * line.points[i].first,
                          panel_top + panel_side * (1 - line.points[i].second),
                          std::max(1.5, 8 * std::sqrt(line.counts[i] / most)), style(line));
    }
  }

  void draw_legend(const PlotPanel& panel, int x) {
    int y = panel_top + panel_side + panel_axis + 10;
    for (const PlotLine& line : panel.lines) {
      if (line.legend.empty()) continue;
      svg_ += fmt::format("<path d=\"M{} {} h26\" fill=\"none\" {}/>\n", x - 30, y - 4, style(line));
      text(x + 4, y, "start", 11, line.legend);
      y += legend_line;
    }
  }

  std::string svg_;
};

constexpr std::size_t most_of_a_fan = 100;

std::vector<PlotPanel> empty_panels() {
  return {{"ROC", "false positive rate", "recall (true positive rate)", true, {}},
          {"Precision and recall", "recall", "precision", false, {}}};
}

std::vector<std::size_t> scored_of_group(const std::string& group, const ChromatinScores& scores,
                                         const std::vector<Profile>& profiles) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    if (profiles[i].group == group && scores.profiles[i].scored()) found.push_back(i);
  }
  return found;
}

void sort_by_auroc(std::vector<std::size_t>& members, const ChromatinScores& scores) {
  std::stable_sort(members.begin(), members.end(), [&](std::size_t a, std::size_t b) {
    return scores.profiles[a].ranks.auroc < scores.profiles[b].ranks.auroc;
  });
}

std::size_t median_of(std::vector<std::size_t> members, const ChromatinScores& scores) {
  sort_by_auroc(members, scores);
  return members[(members.size() - 1) / 2];
}

// A line of a fan is thin: points closer than this add nothing to it.
std::vector<std::pair<double, double>> coarse(const std::vector<std::pair<double, double>>& points) {
  constexpr double step = 1.0 / 100;
  std::vector<std::pair<double, double>> kept;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const bool near = !kept.empty() && std::abs(points[i].first - kept.back().first) < step &&
                      std::abs(points[i].second - kept.back().second) < step;
    if (!near || i + 1 == points.size()) kept.push_back(points[i]);
  }
  return kept;
}

std::string label(const ChromatinScores& scores, const Profile& profile, std::size_t index) {
  return fmt::format("{}{}{} {} ({})", scores.name, scores.name.empty() ? "" : ": ", index, profile.name,
                     profile.group);
}

void add_line(std::vector<PlotPanel>& panels, const ChromatinScores& scores, const Profile& profile,
              std::size_t index, std::size_t colour, std::size_t dash) {
  const ProfileScores& own = scores.profiles[index];
  const std::string name = label(scores, profile, index);
  panels[0].lines.push_back(
      {fmt::format("{}, AUROC {:.3f}", name, own.ranks.auroc), own.roc, colour, dash, false, false});
  const double share = static_cast<double>(own.ranks.positives) /
                       static_cast<double>(own.ranks.positives + own.ranks.negatives);
  panels[1].lines.push_back({fmt::format("{}, AUPRC {:.3f}, {:.2g} positive", name, own.ranks.auprc, share),
                             own.precision_recall, colour, dash, false, true});
}

// Letters that every file system takes.
std::string file_part(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    const bool plain =
        std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '-' || letter == '+';
    result += plain ? letter : '_';
  }
  return result;
}

}  // namespace

std::string curves_svg(const std::string& title, const std::vector<PlotPanel>& panels) {
  return Drawing().draw(title, panels);
}

std::string reliability_svg(const std::string& title, const std::vector<MeasuredMethod>& measured) {
  const char* x_label = "mean probability of the bin (dots: as large as its examples)";
  const char* y_label = "observed share of positives";
  std::vector<PlotPanel> panels = {{"Bins of equal width", x_label, y_label, true, {}},
                                   {"Bins of equal count", x_label, y_label, true, {}}};
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const auto add = [&](PlotPanel& panel, const std::vector<ReliabilityBin>& bins, double error) {
      PlotLine line;
      line.legend = fmt::format("{}, calibration error {:.4f}", name_of(measured[i].method), error);
      line.colour = i;
      for (const ReliabilityBin& bin : bins) {
        if (bin.examples <= 0) continue;
        line.points.emplace_back(bin.predicted, bin.observed);
        line.counts.push_back(static_cast<double>(bin.examples));
      }
      if (!line.counts.empty()) {
        const auto [fewest, most] = std::minmax_element(line.counts.begin(), line.counts.end());
        line.legend += *fewest == *most ? fmt::format(", bins of {:.0f}", *most)
                                        : fmt::format(", bins of {:.0f} to {:.0f}", *fewest, *most);
      }
      panel.lines.push_back(std::move(line));
    };
    const CalibrationMeasure& pooled = measured[i].pooled;
    add(panels[0], pooled.equal_width, pooled.scores.ece_equal_width);
    add(panels[1], pooled.equal_count, pooled.scores.ece_equal_count);
  }
  return curves_svg(title, panels);
}

std::vector<std::size_t> median_profiles(const ChromatinScores& scores,
                                         const std::vector<Profile>& profiles) {
  std::vector<std::size_t> medians;
  for (const GroupScores& group : scores.groups) {
    const std::vector<std::size_t> members = scored_of_group(group.group, scores, profiles);
    if (!members.empty()) medians.push_back(median_of(members, scores));
  }
  return medians;
}

std::string chromatin_curves_svg(const std::string& title, const std::vector<ChromatinScores>& evaluations,
                                 const std::vector<Profile>& profiles,
                                 const std::vector<std::size_t>& chosen) {
  std::vector<PlotPanel> panels = empty_panels();
  for (std::size_t colour = 0; colour < chosen.size(); ++colour) {
    const std::size_t index = chosen[colour];
    if (index >= profiles.size()) {
      throw_usage(fmt::format("there is no profile {}", index),
                  fmt::format("profiles are numbered from 0 to {}", profiles.size() - 1));
    }
    for (std::size_t set = 0; set < evaluations.size(); ++set) {
      if (!evaluations[set].profiles[index].scored()) {
        throw_usage(fmt::format("profile {} ({}) has no curve", index, profiles[index].name),
                    "its bins are all positive or all negative");
      }
      add_line(panels, evaluations[set], profiles[index], index, colour, set);
    }
  }
  return curves_svg(title, panels);
}

std::string chromatin_fan_svg(const std::string& group, const ChromatinScores& scores,
                              const std::vector<Profile>& profiles) {
  std::vector<PlotPanel> panels = empty_panels();
  std::vector<std::size_t> members = scored_of_group(group, scores, profiles);
  sort_by_auroc(members, scores);
  const std::size_t drawn = std::min(members.size(), most_of_a_fan);
  for (std::size_t i = 0; i < drawn; ++i) {
    const std::size_t place = drawn == 1 ? 0 : i * (members.size() - 1) / (drawn - 1);
    const ProfileScores& own = scores.profiles[members[place]];
    panels[0].lines.push_back({"", coarse(own.roc), 0, 0, true, false});
    panels[1].lines.push_back({"", coarse(own.precision_recall), 0, 0, true, true});
  }
  if (!members.empty()) {
    const std::size_t middle = median_of(members, scores);
    add_line(panels, scores, profiles[middle], middle, 0, 0);
  }
  return curves_svg(fmt::format("{}{}{}: {} of {} profiles, the one with the median AUROC in colour",
                                scores.name, scores.name.empty() ? "" : ", ", group, drawn, members.size()),
                    panels);
}

std::map<std::string, std::string> chromatin_curve_files(const std::vector<ChromatinScores>& evaluations,
                                                         const std::vector<Profile>& profiles,
                                                         const std::vector<std::size_t>& chosen) {
  std::map<std::string, std::string> files;
  files["medians.svg"] =
      chromatin_curves_svg("Profiles with the median AUROC of their group", evaluations, profiles, chosen);
  for (const ChromatinScores& scores : evaluations) {
    for (const GroupScores& group : scores.groups) {
      if (scored_of_group(group.group, scores, profiles).empty()) continue;
      const std::string name = scores.name.empty() ? "" : file_part(scores.name) + ".";
      files[name + file_part(group.group) + ".svg"] = chromatin_fan_svg(group.group, scores, profiles);
    }
  }
  return files;
}

}  // namespace bigbird
