// Scores of predicted chromatin profiles against their labels: per profile AUROC (mean ranks for ties) and
// AUPRC (average precision), and per group their medians and means, over the profiles that have both a
// positive and a negative bin. Columns are processed in blocks: whatever the number of threads, a block of
// about 64 MB is in memory beside the predictions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/genomics/chromatin/evaluate_input.h"
#include "lib/metrics/metrics.h"

namespace bigbird {

struct ProfileScores {
  RankMetrics ranks;
  // Points of the two curves, thinned, when they were asked for: {false positive rate, recall} and {recall,
  // precision}; from the highest score down.
  std::vector<std::pair<double, double>> roc;
  std::vector<std::pair<double, double>> precision_recall;
  // Without both classes AUROC says nothing, and the profile enters no median and no mean.
  bool scored() const { return ranks.positives > 0 && ranks.negatives > 0; }
};

struct GroupScores {
  std::string group;  // of the profiles; "all" for all of them
  std::size_t profiles = 0;
  std::size_t scored = 0;  // without any, the numbers below are NaN
  double median_auroc = 0, mean_auroc = 0, min_auroc = 0, max_auroc = 0;
  double median_auprc = 0, mean_auprc = 0;
  double median_share = 0;  // of positives among the bins
};

struct ChromatinScores {
  std::string name;         // of this set of predictions: "single", "rc", "ensemble"; may be empty
  std::string predictions;  // the file
  std::size_t rows = 0;     // bins that were scored
  std::size_t missing = 0;  // bins that were left out: every one of their predictions is NaN
  std::vector<ProfileScores> profiles;
  std::vector<GroupScores> groups;  // in the order of the profiles; "all" last
};

// `curve_step`: neighbouring points of a curve are at least this far apart on an axis; 0 for no curves.
// Error{bad_input} naming row and column for a score that is not finite in a row that has finite ones, and
// when every row is missing.
ChromatinScores score_chromatin(const std::string& name, const PredictionMatrix& predictions,
                                const ChromatinLabels& labels, double curve_step);

// Groups in the order in which the profiles name them, then "all".
std::vector<GroupScores> score_groups(const std::vector<Profile>& profiles,
                                      const std::vector<ProfileScores>& scores);

}  // namespace bigbird
