// What a change of sequence does to predicted probabilities: DeepSEA's variant scores. A model that was
// fine-tuned with positives weighted by 8, as chromatin models are, gives probabilities whose log odds are
// about ln 8 too high: differences and log fold changes are of such uncalibrated probabilities.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lib/inference/model_task.h"

namespace bigbird {

// Of one profile. logFC = log2(odds of ALT) - log2(odds of REF), odds = p / (1 - p + 1e-12).
struct Effect {
  double reference = 0;    // probability with REF
  double alternative = 0;  // probability with ALT
  double difference = 0;   // alternative - reference
  double log_fold_change = 0;
};

// From one probability for each strand (of an ensemble: the mean over its models on that strand), in the same
// order. Difference and log fold change are taken on each strand and then averaged, as are the probabilities.
// A probability of exactly 0 counts as the smallest normal double: its logarithm is finite.
Effect effect_of(std::span<const double> reference, std::span<const double> alternative);

// |logFC * diff|, in the precision in which it is written and compared with a background.
float effect_size(float difference, float log_fold_change);

// E-values of 0 stand for "none of the background is larger".
inline constexpr double smallest_e_value = 1e-6;

// Names as parts of the names of columns and of INFO fields: letters, digits and "_" only, any other sign is
// "_". No two are alike in lower case, as tables have them: what would be the second of a name ends in _2.
std::vector<std::string> column_ids(const std::vector<std::string>& names);

// Profiles of one group ("TF", "DHS", "HM").
struct ProfileGroup {
  std::string name;  // as profiles.tsv has it
  std::string id;    // column_ids
  std::vector<std::size_t> profiles;
};
// In the order of their first profiles. Profiles without a group (".") make one called OTHER where others
// have one; none when there are fewer than two groups.
std::vector<ProfileGroup> profile_groups(const std::vector<Profile>& profiles);

// The change of largest size in a group, with its sign; of equals the first profile.
struct GroupSummary {
  float difference = 0;
  std::int32_t difference_profile = -1;
  float log_fold_change = 0;
  std::int32_t log_fold_change_profile = -1;
};
GroupSummary summarize_group(const ProfileGroup& group, std::span<const float> differences,
                             std::span<const float> log_fold_changes);

// DeepSEA's functional significance: exp(mean of ln E over the profiles + mean of ln E over the conservation
// features), the product of two geometric means; without such features the first mean alone.
double functional_score(std::span<const double> e_values, std::span<const double> conservation = {});

// How many tokens a variant changes: byte-pair encoding re-segments around it.
// 1 - (tokens of a longest common subsequence) / (tokens of the longer sequence): 0 for equal sequences, 1
// where no token is common. A window that an indel moves along keeps its tokens. 0 when both are empty.
double changed_token_share(std::span<const std::int32_t> before, std::span<const std::int32_t> after);

}  // namespace bigbird
