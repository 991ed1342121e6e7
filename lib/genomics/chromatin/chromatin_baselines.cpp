// See chromatin_baselines.h.
#include "lib/genomics/chromatin/chromatin_baselines.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/core/progress.h"
#include "lib/genomics/kmers.h"
#include "lib/genomics/logistic_regression.h"
#include "lib/inference/windows.h"
#include "lib/metrics/metrics.h"

namespace bigbird {
namespace {

constexpr std::size_t windows_at_once = 256;  // read, then counted by all threads
constexpr std::size_t profiles_to_choose_by = 16;
// Of hundreds of fits whose ranks alone count.
constexpr double loose_tolerance = 1e-4;
constexpr int fewer_steps = 100;

// Features of windows, as the baselines see them.
struct BaselineWindow {
  std::uint32_t row = 0;
  bool missing = false;
  double gc = 0;
  std::vector<KmerValue> kmers;
};

// Calls each(window) for every row, in order.
void for_each_window(const ChromatinDataset& data, std::span<const std::uint32_t> rows, bool kmers,
                     double max_n, const std::string& task,
                     const std::function<void(BaselineWindow&)>& each) {
  Fasta fasta = data.fasta().clone();
  std::vector<KmerFeatures> features(static_cast<std::size_t>(kernels::thread_count()), KmerFeatures(true));
  std::vector<std::string> sequences(windows_at_once);
  std::vector<BaselineWindow> windows(windows_at_once);
  Progress progress(task, rows.size(), "windows");
  for (std::size_t first = 0; first < rows.size(); first += windows_at_once) {
    throw_if_cancelled();
    const std::size_t count = std::min(windows_at_once, rows.size() - first);
    for (std::size_t i = 0; i < count; ++i) sequences[i] = data.window_sequence(fasta, rows[first + i]);
    kernels::parallel_for_worker(count, [&](std::size_t i, int worker) {
      BaselineWindow& window = windows[i];
      window.row = rows[first + i];
      window.missing = share_of_n(sequences[i]) > max_n;
      if (window.missing) return;
      window.gc = share_of_gc(sequences[i]);
      if (kmers) features[static_cast<std::size_t>(worker)].of(sequences[i], window.kmers);
    });
    for (std::size_t i = 0; i < count; ++i) each(windows[i]);
    progress.advance(count);
  }
}

struct BaselineBins {
  std::vector<std::uint32_t> rows;
  std::vector<double> gc;
  SparseRows kmers;
  std::size_t of = 0;  // bins of the split

  std::vector<std::uint8_t> labels(const ChromatinDataset& data, std::size_t profile) const {
    std::vector<std::uint8_t> result;
    for (const std::uint32_t row : rows) result.push_back(data.labels().at(row, profile) ? 1 : 0);
    return result;
  }
};

BaselineBins read_baseline_bins(const ChromatinDataset& data, Split split, std::uint64_t most,
                                const ChromatinBaselineOptions& options) {
  BaselineBins bins;
  bins.of = data.rows(split).size();
  bins.kmers.features = KmerFeatures(true).count();
  const std::vector<std::uint32_t> rows = calibration_rows(data, split, most, options.seed);
  for_each_window(data, rows, options.kmers, options.max_n, fmt::format("bins of {}", split_side_name(split)),
                  [&](BaselineWindow& window) {
                    if (window.missing) return;
                    bins.rows.push_back(window.row);
                    bins.gc.push_back(window.gc);
                    if (options.kmers) bins.kmers.add(window.kmers);
                  });
  return bins;
}

// 1 or -1 for each profile; 0 where the labels are all alike.
double side_of_gc(const std::vector<double>& gc, const std::vector<std::uint8_t>& labels) {
  std::vector<double> positives, negatives;
  for (std::size_t i = 0; i < gc.size(); ++i) (labels[i] == 1 ? positives : negatives).push_back(gc[i]);
  if (positives.empty() || negatives.empty()) return 0;
  return rank_metrics(positives, negatives).auroc < 0.5 ? -1 : 1;
}

std::vector<LogisticModel> fit_profiles(const ChromatinDataset& data, const BaselineBins& train,
                                        const std::vector<std::size_t>& profiles,
                                        std::span<const double> penalties, const std::string& task) {
  std::vector<std::vector<std::uint8_t>> labels;
  std::vector<LogisticTask> tasks;
  for (const std::size_t profile : profiles) labels.push_back(train.labels(data, profile));
  for (const std::vector<std::uint8_t>& of_profile : labels) {
    for (const double l2 : penalties) tasks.push_back({of_profile, l2});
  }
  LogisticOptions fit;
  fit.tolerance = loose_tolerance;
  fit.most_steps = fewer_steps;
  fit.progress = task;
  return fit_logistic(train.kmers, tasks, fit);
}

// The penalty, and whether valid bins chose it.
std::pair<double, bool> choose_penalty(const ChromatinDataset& data, const BaselineBins& train,
                                       const ChromatinBaselineOptions& options) {
  const BaselineBins valid = read_baseline_bins(data, Split::valid, (options.most_bins + 3) / 4, options);
  if (valid.rows.empty()) return {usual_logistic_penalty, false};
  const std::size_t all = data.profiles().size(), some = std::min(all, profiles_to_choose_by);
  std::vector<std::size_t> profiles;
  for (std::size_t i = 0; i < some; ++i) profiles.push_back(i * all / some);
  const std::span<const double> penalties(logistic_penalties);
  const std::vector<LogisticModel> models =
      fit_profiles(data, train, profiles, penalties, "6-mers, penalties");
  std::vector<double> losses(penalties.size());
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    const std::vector<std::uint8_t> labels = valid.labels(data, profiles[i]);
    for (std::size_t k = 0; k < penalties.size(); ++k)
      losses[k] += log_loss(models[i * penalties.size() + k], valid.kmers, labels);
  }
  return {
      penalties[static_cast<std::size_t>(std::min_element(losses.begin(), losses.end()) - losses.begin())],
      true};
}

}  // namespace

std::vector<ChromatinScores> score_chromatin_baselines(const ChromatinDataset& data,
                                                       const ChromatinLabels& labels,
                                                       const ChromatinBaselineOptions& options) {
  const std::size_t profiles = data.profiles().size();
  const BaselineBins train = read_baseline_bins(data, Split::train, options.most_bins, options);
  std::vector<LogisticModel> models;
  std::pair<double, bool> penalty;
  if (options.kmers) {
    if (train.rows.empty())
      throw_bad_input(data.folder() + ": no bins to fit 6-mers to", "build it with bins of split train");
    penalty = choose_penalty(data, train, options);
    std::vector<std::size_t> all(profiles);
    for (std::size_t k = 0; k < profiles; ++k) all[k] = k;
    models = fit_profiles(data, train, all, {&penalty.first, 1}, "6-mers");
  }

  std::vector<std::uint32_t> rows;
  std::vector<double> gc;
  std::vector<std::vector<float>> kmers(models.size());
  for_each_window(data, labels.rows(), options.kmers, options.max_n, "baselines",
                  [&](BaselineWindow& window) {
                    if (window.missing) return;
                    rows.push_back(window.row);
                    gc.push_back(window.gc);
                    kernels::parallel_for(models.size(), [&](std::size_t k) {
                      kmers[k].push_back(static_cast<float>(models[k].logit(window.kmers)));
                    });
                  });
  const std::size_t missing = labels.rows().size() - rows.size();
  std::vector<ChromatinScores> sets;
  sets.push_back(score_columns({"gc", "fraction of G and C"}, rows, missing, labels,
                               [&](std::size_t profile, std::span<double> scores) {
                                 double side = side_of_gc(train.gc, train.labels(data, profile));
                                 if (side == 0) {
                                   BaselineBins here;
                                   here.rows = rows;
                                   side = side_of_gc(gc, here.labels(data, profile));
                                 }
                                 for (std::size_t i = 0; i < scores.size(); ++i)
                                   scores[i] = (side < 0 ? -1 : 1) * gc[i];
                               }));
  if (!options.kmers) return sets;
  const std::string made =
      fmt::format("logistic regression on 6-mers, {} of {} training bins, L2 {:g}{}", train.rows.size(),
                  train.of, penalty.first, penalty.second ? " by valid bins" : "");
  log_info("kmers: " + made);
  sets.push_back(score_columns({"kmers", made}, rows, missing, labels,
                               [&](std::size_t profile, std::span<double> scores) {
                                 std::copy(kmers[profile].begin(), kmers[profile].end(), scores.begin());
                               }));
  return sets;
}

}  // namespace bigbird
