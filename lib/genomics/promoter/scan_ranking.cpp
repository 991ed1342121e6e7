// See scan_ranking.h.
#include "lib/genomics/promoter/scan_ranking.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <tuple>
#include <utility>

#include "lib/metrics/metrics.h"

namespace bigbird {
namespace {

constexpr double no_ranking = std::numeric_limits<double>::quiet_NaN();
constexpr double any_score = -std::numeric_limits<double>::infinity();

bool lies_before(const PromoterCall& call, const KnownTss& site, std::int64_t distance) {
  return std::tuple(call.contig, call.tss) < std::tuple(site.contig, site.tss + distance);
}

}  // namespace

CallRanking rank_calls(std::span<const PromoterCall> calls, std::span<const KnownTss> tss,
                       std::int64_t within, const LeftOutBase& left_out) {
  const auto counts = [&](std::size_t contig, std::int64_t base) {
    return !left_out || !left_out(contig, base);
  };
  std::vector<PromoterCall> placed(calls.begin(), calls.end());
  std::sort(placed.begin(), placed.end(), [](const PromoterCall& a, const PromoterCall& b) {
    return std::tie(a.contig, a.tss) < std::tie(b.contig, b.tss);
  });
  // A TSS is found from the highest score of the calls near it downwards.
  std::vector<double> found_from;
  std::vector<bool> confirmed(placed.size(), false);
  std::size_t sites = 0;  // that count
  for (const KnownTss& site : tss) {
    auto call = std::lower_bound(
        placed.begin(), placed.end(), site,
        [&](const PromoterCall& each, const KnownTss& wanted) { return lies_before(each, wanted, -within); });
    double highest = any_score;
    for (; call != placed.end() && lies_before(*call, site, within + 1); ++call) {
      highest = std::max(highest, call->score);
      confirmed[static_cast<std::size_t>(call - placed.begin())] = true;
    }
    if (!counts(site.contig, site.tss)) continue;
    ++sites;
    if (highest > any_score) found_from.push_back(highest);
  }
  std::sort(found_from.begin(), found_from.end(), std::greater<>());
  std::vector<std::pair<double, bool>> ranked;
  for (std::size_t i = 0; i < placed.size(); ++i) {
    if (counts(placed[i].contig, placed[i].tss)) ranked.emplace_back(placed[i].score, confirmed[i]);
  }
  std::sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first > b.first; });

  const auto all = static_cast<double>(sites);
  CallRanking result;
  result.calls = static_cast<std::int64_t>(ranked.size());
  result.recall = sites == 0 ? no_ranking : static_cast<double>(found_from.size()) / all;
  result.precision_at_recall_50 = result.threshold_at_recall_50 = no_ranking;
  result.best_f1 = result.precision_at_best_f1 = result.recall_at_best_f1 = result.threshold_at_best_f1 =
      no_ranking;
  if (sites == 0) return result;
  std::size_t found = 0, right = 0;
  double best = 0;
  bool half = false;
  for (std::size_t i = 0; i < ranked.size();) {
    const double threshold = ranked[i].first;
    for (; i < ranked.size() && ranked[i].first == threshold; ++i) right += ranked[i].second ? 1u : 0u;
    while (found < found_from.size() && found_from[found] >= threshold) ++found;
    const double precision = static_cast<double>(right) / static_cast<double>(i);
    const double recall = static_cast<double>(found) / all;
    if (!half && 2 * found >= sites) {
      half = true;
      result.precision_at_recall_50 = precision;
      result.threshold_at_recall_50 = threshold;
      result.calls_at_recall_50 = static_cast<std::int64_t>(i);
    }
    if (found == 0) continue;
    const double f1 = 2 * precision * recall / (precision + recall);
    if (f1 > best) {
      best = f1;
      result.best_f1 = f1;
      result.precision_at_best_f1 = precision;
      result.recall_at_best_f1 = recall;
      result.threshold_at_best_f1 = threshold;
    }
  }
  return result;
}

PositionRanking::PositionRanking(std::string by, std::int64_t merge_distance, std::int64_t step,
                                 LeftOutBase left_out)
    : by_(std::move(by)),
      left_out_(std::move(left_out)),
      finder_(any_score, merge_distance, step, [this](const PromoterCall& call) { calls_.push_back(call); }) {
}

void PositionRanking::add(const PromoterCall& scored, bool near) {
  if (!left_out_ || !left_out_(scored.contig, scored.tss))
    (near ? near_ : far_).push_back(static_cast<float>(scored.score));
  finder_.add(scored);
}

ScanRanking PositionRanking::close(std::span<const KnownTss> tss, std::int64_t within) {
  finder_.finish();
  ScanRanking result;
  result.by = by_;
  result.positions = static_cast<std::int64_t>(near_.size() + far_.size());
  result.near = static_cast<std::int64_t>(near_.size());
  std::vector<double> near(near_.begin(), near_.end()), far(far_.begin(), far_.end());
  const RankMetrics ranks = rank_metrics(near, far);
  result.average_precision = ranks.auprc;
  result.auroc = ranks.auroc;
  result.calls = rank_calls(calls_, tss, within, left_out_);
  return result;
}

}  // namespace bigbird
