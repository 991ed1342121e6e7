// ROC and precision-recall plots of scored chromatin profiles.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "lib/genomics/chromatin/evaluate.h"

namespace bigbird {

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
