// Computes the scores of chromatin predictions; see evaluate.h.
#include "lib/genomics/chromatin/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <utility>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/ordered_map.h"
#include "lib/core/progress.h"
#include "lib/core/rng.h"
#include "lib/genomics/chromatin/predict.h"
#include "lib/io/files/file.h"
#include "lib/io/tables/tsv.h"

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

using Json = nlohmann::basic_json<OrderedMap>;

Json defined(double value) {
  return std::isnan(value) ? Json() : Json(value);
}

Json group_json(const GroupScores& group) {
  Json json;
  json["profiles"] = group.profiles;
  json["scored"] = group.scored;
  json["median_auroc"] = defined(group.median_auroc);
  json["mean_auroc"] = defined(group.mean_auroc);
  json["min_auroc"] = defined(group.min_auroc);
  json["max_auroc"] = defined(group.max_auroc);
  json["median_auprc"] = defined(group.median_auprc);
  json["mean_auprc"] = defined(group.mean_auprc);
  json["median_share_positive"] = defined(group.median_share);
  return json;
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

ChromatinScores score_columns(std::pair<std::string, std::string> set, std::span<const std::uint32_t> rows,
                              std::size_t missing, const ChromatinLabels& labels,
                              const std::function<void(std::size_t, std::span<double>)>& column) {
  if (rows.empty()) throw_bad_input(labels.path() + ": no window could be scored", message("see `max_n`"));
  ChromatinScores result{std::move(set.first), std::move(set.second), rows.size(), missing, {}, {}};
  result.profiles.resize(labels.profiles().size());
  kernels::parallel_for(result.profiles.size(), [&](std::size_t profile) {
    std::vector<double> scores(rows.size()), positives, negatives;
    column(profile, scores);
    for (std::size_t i = 0; i < rows.size(); ++i)
      (labels.at(rows[i], profile) ? positives : negatives).push_back(scores[i]);
    result.profiles[profile].ranks = rank_metrics(positives, negatives);
  });
  result.groups = score_groups(labels.profiles(), result.profiles);
  return result;
}

std::vector<NamedPredictions> predict_for_evaluation(const ChromatinDataset& data, std::optional<Split> split,
                                                     SequenceScorer& scorer, double max_n) {
  const std::size_t outputs = scorer.outputs();
  if (outputs != data.profiles().size()) {
    throw_bad_input(fmt::format("{}: {} profiles, but the model has {} outputs", data.folder(),
                                data.profiles().size(), outputs),
                    "evaluate a model on the data set that it was fine-tuned on, or one with its profiles");
  }
  const bool both_strands = scorer.strands() == 2;
  const bool ensemble = scorer.models() > 1;
  std::vector<float> single, both, all;
  const std::unique_ptr<PredictionTargets> targets = dataset_targets(data, split, scorer.window());
  Progress progress("chromatin evaluate", 0, "windows");
  predict_chromatin(
      *targets, scorer, max_n, progress, [&](const PredictedRow&, const SequenceScores* scores) {
        for (std::size_t k = 0; k < outputs; ++k) {
          constexpr double missing = std::numeric_limits<double>::quiet_NaN();
          const double forward = scores == nullptr ? missing : scores->at(0, 0, k);
          single.push_back(static_cast<float>(forward));
          if (both_strands) {
            both.push_back(
                static_cast<float>(scores == nullptr ? missing : (forward + scores->at(0, 1, k)) / 2));
          }
          if (ensemble) all.push_back(static_cast<float>(scores == nullptr ? missing : scores->mean(k)));
        }
      });
  if (single.empty()) throw_bad_input(fmt::format("{}: no bins to score", data.folder()));
  std::vector<NamedPredictions> predictions;
  predictions.push_back({"single", {"single", std::move(single), outputs}});
  if (both_strands) predictions.push_back({"rc", {"rc", std::move(both), outputs}});
  if (ensemble) predictions.push_back({"ensemble", {"ensemble", std::move(all), outputs}});
  return predictions;
}

std::string chromatin_scores_json(const std::vector<ChromatinScores>& evaluations,
                                  const std::vector<Profile>& profiles, const std::string& provenance_json,
                                  std::optional<std::size_t> excluded) {
  Json json;
  json["evaluations"] = Json::array();
  for (const ChromatinScores& scores : evaluations) {
    Json evaluation;
    evaluation["name"] = scores.name;
    evaluation["predictions"] = scores.predictions;
    evaluation["rows"] = scores.rows;
    evaluation["missing"] = scores.missing;
    for (const GroupScores& group : scores.groups) evaluation["groups"][group.group] = group_json(group);
    evaluation["undefined"] = Json::array();
    for (std::size_t i = 0; i < profiles.size(); ++i) {
      const ProfileScores& profile = scores.profiles[i];
      if (profile.scored()) continue;
      evaluation["undefined"].push_back({{"index", i},
                                         {"name", profiles[i].name},
                                         {"positives", profile.ranks.positives},
                                         {"negatives", profile.ranks.negatives}});
    }
    json["evaluations"].push_back(std::move(evaluation));
  }
  if (excluded) json["excluded"] = *excluded;
  if (!provenance_json.empty()) json["provenance"] = Json::parse(provenance_json);
  return json_text(json, 2) + "\n";
}

void write_profile_scores(const std::string& path, const std::vector<ChromatinScores>& evaluations,
                          const std::vector<Profile>& profiles, const std::vector<std::string>& comments) {
  OutputStream out(path);
  TsvWriter table(
      out,
      {"index", "name", "group", "positives", "auroc", "auprc", "negatives", "share_positive", "predictions"},
      comments);
  for (const ChromatinScores& scores : evaluations) {
    for (std::size_t i = 0; i < profiles.size(); ++i) {
      const ProfileScores& profile = scores.profiles[i];
      const RankMetrics& ranks = profile.ranks;
      const auto number = [&](double value) {
        return profile.scored() ? fmt::format("{}", value) : missing_field;
      };
      const double share =
          static_cast<double>(ranks.positives) / static_cast<double>(ranks.positives + ranks.negatives);
      table.row({fmt::format("{}", i), profiles[i].name, text_field(profiles[i].group),
                 fmt::format("{}", ranks.positives), number(ranks.auroc), number(ranks.auprc),
                 fmt::format("{}", ranks.negatives), fmt::format("{:.6g}", share), text_field(scores.name)});
    }
  }
  out.close();
}

std::vector<std::string> describe_chromatin_scores(const ChromatinScores& scores,
                                                   const std::vector<Profile>& profiles) {
  std::vector<std::string> lines;
  const std::string name = scores.name.empty() ? "" : scores.name + ": ";
  if (scores.missing > 0) {
    lines.push_back(fmt::format("{}{} of {} bins have no predictions and are left out", name, scores.missing,
                                scores.missing + scores.rows));
  }
  std::string left_out;
  std::size_t count = 0;
  constexpr std::size_t named = 20;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    if (scores.profiles[i].scored()) continue;
    if (++count > named) continue;
    left_out += fmt::format("{}{} {} (no {})", count == 1 ? "" : ", ", i, profiles[i].name,
                            scores.profiles[i].ranks.positives == 0 ? "positive" : "negative");
  }
  if (count > named) left_out += fmt::format(" and {} more", count - named);
  if (count > 0) lines.push_back(fmt::format("{}not scored: {}", name, left_out));
  for (const GroupScores& group : scores.groups) {
    if (group.scored == 0) {
      lines.push_back(fmt::format("{}{}: none of {} profiles is scored", name, group.group, group.profiles));
      continue;
    }
    lines.push_back(fmt::format(
        "{}{}: {} of {} profiles, median AUROC {:.4f}, mean {:.4f}, median AUPRC {:.4f}", name, group.group,
        group.scored, group.profiles, group.median_auroc, group.mean_auroc, group.median_auprc));
  }
  return lines;
}

void require_profiles(const SequenceScorer& scorer, const ChromatinDataset& data) {
  const FinetunedModel& model = scorer.model();
  model.require_task("chromatin");
  if (model.config().problem_type != ProblemType::multi_label) {
    throw_bad_input(model.path() + ": gives no probability for each label by itself",
                    "take a model of `bigbird chromatin finetune`");
  }
  if (data.profiles() != scorer.profiles()) {
    throw_bad_input(data.folder() + ": other profiles than the model's",
                    "take the data set that the model was made with");
  }
}

std::vector<std::uint32_t> calibration_rows(const ChromatinDataset& data, Split split, std::uint64_t most,
                                            std::uint64_t seed) {
  std::vector<std::uint32_t> rows = data.rows(split);
  if (most == 0 || rows.size() <= most) return rows;
  const RandomPermutation order(seed, Purpose::calibration_sample, static_cast<std::uint64_t>(split),
                                rows.size());
  std::vector<std::uint32_t> chosen;
  for (std::uint64_t i = 0; i < most; ++i) chosen.push_back(rows[static_cast<std::size_t>(order(i))]);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

LabelledScores score_labelled_bins(SequenceScorer& scorer, const ChromatinDataset& data,
                                   const std::vector<std::uint32_t>& rows, double max_n) {
  if (rows.empty()) throw_bad_input(data.folder() + ": no bins to score", "choose a split that has bins");
  LabelledScores side;
  side.outputs = scorer.outputs();
  side.scores.reserve(rows.size() * side.outputs);
  const std::unique_ptr<PredictionTargets> targets = dataset_targets(data, rows, scorer.window());
  Progress progress("chromatin calibrate", rows.size(), "windows");
  std::size_t next = 0;
  predict_chromatin(*targets, scorer, max_n, progress,
                    [&](const PredictedRow&, const SequenceScores* scores) {
                      const std::uint32_t row = rows[next++];
                      if (scores == nullptr) {
                        ++side.left_out;
                        return;
                      }
                      for (std::size_t k = 0; k < side.outputs; ++k) {
                        side.scores.push_back(scores->mean(k));
                        side.labels.push_back(data.labels().at(row, k) ? 1 : 0);
                      }
                    });
  if (side.windows() == 0) {
    throw_bad_input(data.folder() + ": no window could be scored", message("see `max_n`"));
  }
  return side;
}

CalibrationChoices chromatin_choices(const ModelConfig& config) {
  CalibrationChoices choices;
  choices.correction.shift = -std::log(config.positive_weight);
  return choices;
}

}  // namespace bigbird
