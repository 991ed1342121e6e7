// Puts scored profiles into panels; see chromatin_curves.h.
#include "lib/report/chromatin_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include "lib/core/error.h"
#include "lib/report/curves_svg.h"

namespace bigbird {
namespace {

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
