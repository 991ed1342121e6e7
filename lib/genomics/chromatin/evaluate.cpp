// Computes the scores of chromatin predictions; see evaluate.h.
#include "lib/genomics/chromatin/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/progress.h"

namespace bigbird {
namespace {

constexpr double undefined_score = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t block_bytes = std::size_t{64} << 20;
constexpr std::size_t rows_per_task = 4096;

using Points = std::vector<std::pair<double, double>>;

// Keeps a point when it lies a step away from the last one kept, and the last point.
class Thinned {
 public:
  Thinned(Points& points, double step) : points_(points), step_(step) {}
  void add(double x, double y, bool last) {
    if (!last && !points_.empty() && std::abs(x - points_.back().first) < step_ &&
        std::abs(y - points_.back().second) < step_) {
      return;
    }
    points_.emplace_back(x, y);
  }

 private:
  Points& points_;
  double step_;
};

void draw_curves(std::span<const double> positives, std::span<const double> negatives, double step,
                 ProfileScores& scores) {
  const std::vector<CurvePoint> curve = ranked_curve(positives, negatives);
  Thinned roc(scores.roc, step);
  Thinned precision_recall(scores.precision_recall, step);
  roc.add(0, 0, false);
  for (std::size_t i = 0; i < curve.size(); ++i) {
    const bool last = i + 1 == curve.size();
    const double found = static_cast<double>(curve[i].true_positives);
    const double wrong = static_cast<double>(curve[i].false_positives);
    const double recall = found / static_cast<double>(positives.size());
    roc.add(wrong / static_cast<double>(negatives.size()), recall, last);
    precision_recall.add(recall, found / (found + wrong), last);
  }
}

double median(std::vector<double> values) {
  if (values.empty()) return undefined_score;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

double mean(const std::vector<double>& values) {
  if (values.empty()) return undefined_score;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

GroupScores score_group(const std::string& group, const std::vector<Profile>& profiles,
                        const std::vector<ProfileScores>& scores, bool all) {
  GroupScores result;
  result.group = group;
  std::vector<double> auroc, auprc, share;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    if (!all && profiles[i].group != group) continue;
    ++result.profiles;
    if (!scores[i].scored()) continue;
    const RankMetrics& ranks = scores[i].ranks;
    auroc.push_back(ranks.auroc);
    auprc.push_back(ranks.auprc);
    share.push_back(static_cast<double>(ranks.positives) /
                    static_cast<double>(ranks.positives + ranks.negatives));
  }
  result.scored = auroc.size();
  result.median_auroc = median(auroc);
  result.mean_auroc = mean(auroc);
  result.min_auroc = auroc.empty() ? undefined_score : *std::min_element(auroc.begin(), auroc.end());
  result.max_auroc = auroc.empty() ? undefined_score : *std::max_element(auroc.begin(), auroc.end());
  result.median_auprc = median(auprc);
  result.mean_auprc = mean(auprc);
  result.median_share = median(share);
  return result;
}

// Rows to be scored: of the predictions and of the labels, side by side.
struct Pairs {
  std::vector<std::uint32_t> predictions;
  std::vector<std::uint32_t> labels;
  std::size_t missing = 0;
};

[[noreturn]] void not_finite(const PredictionMatrix& predictions, std::size_t row, std::size_t column) {
  throw_bad_input(fmt::format("{}: row {}, profile {}: not a finite number", predictions.path(), row, column),
                  "rows and profiles count from 0; a bin without predictions has NaN in every column");
}

Pairs pair_rows(const PredictionMatrix& predictions, const ChromatinLabels& labels) {
  const std::vector<std::uint32_t> rows = labels.rows_of(predictions);
  std::vector<double> first(rows.size());
  predictions.gather(0, 1, rows, rows.size(), first.data());
  Pairs pairs;
  std::vector<double> whole(predictions.columns());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!std::isnan(first[i])) {
      pairs.predictions.push_back(rows[i]);
      pairs.labels.push_back(labels.rows()[i]);
      continue;
    }
    predictions.gather(0, whole.size(), std::span(&rows[i], 1), 1, whole.data());
    if (!std::all_of(whole.begin(), whole.end(), [](double score) { return std::isnan(score); })) {
      not_finite(predictions, rows[i], 0);
    }
    ++pairs.missing;
  }
  if (pairs.predictions.empty()) {
    throw_bad_input(fmt::format("{}: every row is NaN", predictions.path()), "no bin was predicted");
  }
  return pairs;
}

}  // namespace

std::vector<GroupScores> score_groups(const std::vector<Profile>& profiles,
                                      const std::vector<ProfileScores>& scores) {
  std::vector<GroupScores> groups;
  for (const Profile& profile : profiles) {
    const auto same = [&](const GroupScores& group) { return group.group == profile.group; };
    if (std::none_of(groups.begin(), groups.end(), same)) {
      groups.push_back(score_group(profile.group, profiles, scores, false));
    }
  }
  groups.push_back(score_group("all", profiles, scores, true));
  return groups;
}

ChromatinScores score_chromatin(const std::string& name, const PredictionMatrix& predictions,
                                const ChromatinLabels& labels, double curve_step) {
  const Pairs pairs = pair_rows(predictions, labels);
  const std::size_t rows = pairs.predictions.size();
  const std::size_t columns = predictions.columns();
  const std::size_t width = std::clamp<std::size_t>(block_bytes / (rows * sizeof(double)), 1, columns);
  ChromatinScores result{name, predictions.path(), rows, pairs.missing, {}, {}};
  result.profiles.resize(columns);

  struct Scratch {
    std::vector<double> positives, negatives;
  };
  std::vector<Scratch> scratch(static_cast<std::size_t>(kernels::thread_count()));
  std::vector<double> block(width * rows);
  Progress progress("evaluate", columns, "profiles");
  for (std::size_t begin = 0; begin < columns; begin += width) {
    throw_if_cancelled();
    const std::size_t end = std::min(begin + width, columns);
    kernels::parallel_for((rows + rows_per_task - 1) / rows_per_task, [&](std::size_t task) {
      const std::size_t first = task * rows_per_task;
      const std::size_t count = std::min(rows_per_task, rows - first);
      predictions.gather(begin, end, std::span(pairs.predictions).subspan(first, count), rows,
                         block.data() + first);
    });
    kernels::parallel_for_worker(end - begin, [&](std::size_t task, int worker) {
      Scratch& own = scratch[static_cast<std::size_t>(worker)];
      own.positives.clear();
      own.negatives.clear();
      const std::size_t profile = begin + task;
      const double* values = block.data() + task * rows;
      for (std::size_t i = 0; i < rows; ++i) {
        if (!std::isfinite(values[i])) not_finite(predictions, pairs.predictions[i], profile);
        (labels.at(pairs.labels[i], profile) ? own.positives : own.negatives).push_back(values[i]);
      }
      ProfileScores& scores = result.profiles[profile];
      scores.ranks = rank_metrics(own.positives, own.negatives);
      if (curve_step > 0 && scores.scored()) draw_curves(own.positives, own.negatives, curve_step, scores);
    });
    progress.advance(end - begin);
  }
  result.groups = score_groups(labels.profiles(), result.profiles);
  return result;
}

}  // namespace bigbird
