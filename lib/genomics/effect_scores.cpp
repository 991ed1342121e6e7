// Variant scores; see effect_scores.h.
#include "lib/genomics/effect_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "lib/core/unicode.h"

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

std::vector<std::string> column_ids(const std::vector<std::string>& names) {
  std::vector<std::string> ids;
  std::set<std::string> taken;
  for (std::string id : names) {
    std::replace_if(
        id.begin(), id.end(), [](char letter) { return !may_stand_in_id(letter); }, '_');
    std::string free = id;
    for (int number = 2; !taken.insert(lower_ascii(free)).second; ++number)
      free = id + "_" + std::to_string(number);
    ids.push_back(free);
  }
  return ids;
}

std::vector<ProfileGroup> profile_groups(const std::vector<Profile>& profiles) {
  std::vector<ProfileGroup> groups;
  for (std::size_t profile = 0; profile < profiles.size(); ++profile) {
    const std::string& name = profiles[profile].group;
    auto found =
        std::find_if(groups.begin(), groups.end(), [&](const ProfileGroup& g) { return g.name == name; });
    if (found == groups.end()) {
      groups.push_back({name, "", {}});
      found = groups.end() - 1;
    }
    found->profiles.push_back(profile);
  }
  if (groups.size() < 2) groups.clear();
  std::vector<std::string> names;
  for (const ProfileGroup& group : groups) names.push_back(group.name == "." ? "OTHER" : group.name);
  const std::vector<std::string> ids = column_ids(names);
  for (std::size_t i = 0; i < groups.size(); ++i) groups[i].id = ids[i];
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

namespace {

// E. W. Myers, "An O(ND) difference algorithm and its variations", Algorithmica 1 (1986): the shortest edit
// script without the script itself.
// Tokens to delete and to insert, at least, to turn one sequence into the other.
std::int64_t edit_distance(std::span<const std::int32_t> before, std::span<const std::int32_t> after) {
  const auto rows = static_cast<std::int64_t>(before.size());
  const auto columns = static_cast<std::int64_t>(after.size());
  // furthest[k]: the furthest row on diagonal row - column = k that so many edits reach.
  std::vector<std::int64_t> places(static_cast<std::size_t>(2 * (rows + columns) + 3), 0);
  const auto furthest = [&](std::int64_t diagonal) -> std::int64_t& {
    return places[static_cast<std::size_t>(diagonal + rows + columns + 1)];
  };
  for (std::int64_t edits = 0;; ++edits) {
    for (std::int64_t diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const bool insert =
          diagonal == -edits || (diagonal != edits && furthest(diagonal - 1) < furthest(diagonal + 1));
      std::int64_t row = insert ? furthest(diagonal + 1) : furthest(diagonal - 1) + 1;
      while (row < rows && row - diagonal < columns &&
             before[static_cast<std::size_t>(row)] == after[static_cast<std::size_t>(row - diagonal)]) {
        ++row;
      }
      furthest(diagonal) = row;
      if (row >= rows && row - diagonal >= columns) return edits;
    }
  }
}

}  // namespace

double changed_token_share(std::span<const std::int32_t> before, std::span<const std::int32_t> after) {
  const std::size_t longer = std::max(before.size(), after.size());
  if (longer == 0) return 0;
  // Every token that is not common is one edit.
  const double edits = static_cast<double>(edit_distance(before, after));
  const double common = (static_cast<double>(before.size() + after.size()) - edits) / 2;
  return 1 - common / static_cast<double>(longer);
}

}  // namespace bigbird
