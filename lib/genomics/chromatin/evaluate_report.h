// The scores of chromatin predictions as files: a JSON summary, a table with a row per profile, lines to
// read.
#pragma once

#include <string>
#include <vector>

#include "lib/genomics/chromatin/evaluate.h"

namespace bigbird {

// {"evaluations": [{"name", "predictions", "rows", "missing", "groups": {"TF": {"profiles", "scored",
// "median_auroc", ...}, ..., "all": {...}}, "undefined": [{"index", "name", "positives", "negatives"}]}],
// "provenance"}. Numbers without a value are null; `provenance_json` is left out when empty.
std::string chromatin_scores_json(const std::vector<ChromatinScores>& evaluations,
                                  const std::vector<Profile>& profiles, const std::string& provenance_json);

// "#index name group positives auroc auprc negatives share_positive predictions", a row per profile and set
// of predictions; "." where a profile is not scored. Whole or not at all; "-" is stdout.
void write_profile_scores(const std::string& path, const std::vector<ChromatinScores>& evaluations,
                          const std::vector<Profile>& profiles, const std::vector<std::string>& comments);

// What a person wants to know at the end: a line per group, and the profiles that are not scored by name.
std::vector<std::string> describe_chromatin_scores(const ChromatinScores& scores,
                                                   const std::vector<Profile>& profiles);

}  // namespace bigbird
