// Variant scores; see effect_scores.h.
#include "lib/tasks/effect_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace bigbird {
namespace {

constexpr double odds_guard = 1e-12;

double log2_odds(double probability) {
  const double p = std::max(probability, std::numeric_limits<double>::min());
  return std::log2(p / (1 - p + odds_guard));
}

bool may_stand_in_id(char letter) {
  return (letter >= 'A' && letter <= 'Z') || (letter >= 'a' && letter <= 'z') ||
         (letter >= '0' && letter <= '9') || letter == '_';
}

}  // namespace

Effect effect_of(std::span<const double> reference, std::span<const double> alternative) {
  Effect effect;
  for (std::size_t strand = 0; strand < reference.size(); ++strand) {
    effect.reference += reference[strand];
    effect.alternative += alternative[strand];
    effect.difference += alternative[strand] - reference[strand];
    effect.log_fold_change += log2_odds(alternative[strand]) - log2_odds(reference[strand]);
  }
  const double strands = static_cast<double>(reference.size());
  effect.reference /= strands;
  effect.alternative /= strands;
  effect.difference /= strands;
  effect.log_fold_change /= strands;
  return effect;
}

float effect_size(float difference, float log_fold_change) {
  return static_cast<float>(std::abs(static_cast<double>(difference) * static_cast<double>(log_fold_change)));
}

std::vector<ProfileGroup> profile_groups(const std::vector<Profile>& profiles) {
  std::vector<ProfileGroup> groups;
  for (std::size_t profile = 0; profile < profiles.size(); ++profile) {
    const std::string& name = profiles[profile].group;
    auto found =
        std::find_if(groups.begin(), groups.end(), [&](const ProfileGroup& g) { return g.name == name; });
    if (found == groups.end()) {
      std::string id = name == "." ? "OTHER" : name;
      std::replace_if(
          id.begin(), id.end(), [](char letter) { return !may_stand_in_id(letter); }, '_');
      const auto taken = [&](const std::string& text) {
        return std::any_of(groups.begin(), groups.end(), [&](const ProfileGroup& g) { return g.id == text; });
      };
      std::string free = id;
      for (int number = 2; taken(free); ++number) free = id + "_" + std::to_string(number);
      groups.push_back({name, free, {}});
      found = groups.end() - 1;
    }
    found->profiles.push_back(profile);
  }
  if (groups.size() < 2) groups.clear();
  return groups;
}

GroupSummary summarize_group(const ProfileGroup& group, std::span<const float> differences,
                             std::span<const float> log_fold_changes) {
  GroupSummary summary;
  for (const std::size_t profile : group.profiles) {
    const auto index = static_cast<std::int32_t>(profile);
    if (summary.difference_profile < 0 || std::abs(differences[profile]) > std::abs(summary.difference)) {
      summary.difference = differences[profile];
      summary.difference_profile = index;
    }
    if (summary.log_fold_change_profile < 0 ||
        std::abs(log_fold_changes[profile]) > std::abs(summary.log_fold_change)) {
      summary.log_fold_change = log_fold_changes[profile];
      summary.log_fold_change_profile = index;
    }
  }
  return summary;
}

double functional_score(std::span<const double> e_values, std::span<const double> conservation) {
  double exponent = 0;
  for (const std::span<const double> part : {e_values, conservation}) {
    double sum = 0;
    for (const double value : part) sum += std::log(value);
    if (!part.empty()) exponent += sum / static_cast<double>(part.size());
  }
  return std::exp(exponent);
}

}  // namespace bigbird
