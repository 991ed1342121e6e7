// Scores of predicted chromatin profiles against their labels: per profile AUROC (mean ranks for ties) and
// AUPRC (average precision), and per group their medians and means, over the profiles that have both a
// positive and a negative bin. Columns are processed in blocks: whatever the number of threads, a block of
// about 64 MB is in memory beside the predictions.
//
// And a model's scores of bins that it was not trained on, with the calibration that comes of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/calibration/calibration_run.h"
#include "lib/genomics/chromatin/dataset.h"
#include "lib/genomics/chromatin/evaluate_input.h"
#include "lib/inference/sequence_scorer.h"
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

// The same of scores that come profile by profile: column(profile, scores) fills those of `rows`, rows of the
// stored labels, which `missing` more go without; safe from many threads at once. `set`: its name, and what
// stands for a file. No curves.
ChromatinScores score_columns(std::pair<std::string, std::string> set, std::span<const std::uint32_t> rows,
                              std::size_t missing, const ChromatinLabels& labels,
                              const std::function<void(std::size_t, std::span<double>)>& column);

// Groups in the order in which the profiles name them, then "all".
std::vector<GroupScores> score_groups(const std::vector<Profile>& profiles,
                                      const std::vector<ProfileScores>& scores);

// Predictions that `chromatin evaluate -m` makes for itself: from one pass over the bins, what a single model
// says on the forward strand, what both strands together say, and what all models say.
struct NamedPredictions {
  std::string name;  // single, rc (the reverse complement averaged in), ensemble (the other models too)
  PredictionMatrix scores;
};

// "single", then "rc" when the scorer reads both strands, then "ensemble" when it has several models: float32
// matrices in memory. Windows with a larger fraction of N than `max_n` are rows of NaN. Error{bad_input} when
// the model's window or number of profiles is not the data set's.
std::vector<NamedPredictions> predict_for_evaluation(const ChromatinDataset& data, std::optional<Split> split,
                                                     SequenceScorer& scorer, double max_n);

// {"evaluations": [{"name", "predictions", "rows", "missing", "groups": {"TF": {"profiles", "scored",
// "median_auroc", ...}, ..., "all": {...}}, "undefined": [{"index", "name", "positives", "negatives"}]}],
// "excluded": bins, where some were to be left out, "provenance"}. Numbers without a value are null;
// `provenance_json` is left out when empty.
std::string chromatin_scores_json(const std::vector<ChromatinScores>& evaluations,
                                  const std::vector<Profile>& profiles, const std::string& provenance_json,
                                  std::optional<std::size_t> excluded = {});

// "index name group positives auroc auprc negatives share_positive predictions", a row per profile and set
// of predictions; NA where a profile is not scored. Whole or not at all; "-" is stdout.
void write_profile_scores(const std::string& path, const std::vector<ChromatinScores>& evaluations,
                          const std::vector<Profile>& profiles, const std::vector<std::string>& comments);

// What a person wants to know at the end: a line per group, and the profiles that are not scored by name.
std::vector<std::string> describe_chromatin_scores(const ChromatinScores& scores,
                                                   const std::vector<Profile>& profiles);

// `bigbird chromatin calibrate`.
// Error{bad_input} naming the model: no probabilities for each label by itself, other profiles than the data.
void require_profiles(const SequenceScorer& scorer, const ChromatinDataset& data);

// The bins of a split; of more than `most` (0: all) a random choice by the seed. Ascending.
std::vector<std::uint32_t> calibration_rows(const ChromatinDataset& data, Split split, std::uint64_t most,
                                            std::uint64_t seed);

// Scores the bins of `rows` as chromatin predict does. Error{bad_input} where there are none, or none could
// be scored.
LabelledScores score_labelled_bins(SequenceScorer& scorer, const ChromatinDataset& data,
                                   const std::vector<std::uint32_t>& rows, double max_n);

// Prior correction by the weight of positives that the model was trained with (config.json). The fractions of
// the training split are taken to be those of the bins that are predicted.
CalibrationChoices chromatin_choices(const ModelConfig& config);

}  // namespace bigbird
