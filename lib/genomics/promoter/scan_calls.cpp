// See scan_calls.h.
#include "lib/genomics/promoter/scan_calls.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace bigbird {

CallFinder::CallFinder(double threshold, std::int64_t merge_distance, std::int64_t step,
                       std::function<void(const PromoterCall&)> found)
    : threshold_(threshold), merge_distance_(merge_distance), step_(step), found_(std::move(found)) {}

void CallFinder::add(const PromoterCall& scored) {
  const bool neighbour = plateau_ && plateau_->contig == scored.contig && scored.tss == last_ + step_;
  if (neighbour && scored.score == plateau_->score) {
    last_ = scored.tss;
    return;
  }
  if (!neighbour || scored.score < plateau_->score) close_plateau();
  rising_ = !neighbour || scored.score > plateau_->score;
  plateau_ = scored;
  last_ = scored.tss;
}

void CallFinder::close_plateau() {
  if (!plateau_ || !rising_ || plateau_->score < threshold_) return;
  if (!crowd_.empty() &&
      (crowd_.back().contig != plateau_->contig || plateau_->tss - crowd_.back().tss > merge_distance_)) {
    close_crowd();
  }
  crowd_.push_back(*plateau_);
}

void CallFinder::close_crowd() {
  std::sort(crowd_.begin(), crowd_.end(), [](const PromoterCall& a, const PromoterCall& b) {
    return std::tie(b.score, a.tss) < std::tie(a.score, b.tss);
  });
  std::map<std::int64_t, PromoterCall> kept;  // by place
  for (const PromoterCall& call : crowd_) {
    const auto next = kept.lower_bound(call.tss - merge_distance_);
    if (next == kept.end() || next->first > call.tss + merge_distance_) kept.emplace(call.tss, call);
  }
  crowd_.clear();
  for (const auto& [place, call] : kept) found_(call);
}

void CallFinder::finish() {
  close_plateau();
  plateau_.reset();
  close_crowd();
}

namespace {

double share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? std::numeric_limits<double>::quiet_NaN()
                    : static_cast<double>(part) / static_cast<double>(whole);
}

// Places on one contig (and strand), ascending.
using Places = std::map<std::pair<std::size_t, char>, std::vector<std::int64_t>>;

bool any_near(const Places& places, std::size_t contig, char strand, std::int64_t at, std::int64_t within) {
  const auto list = places.find({contig, strand});
  if (list == places.end()) return false;
  const auto next = std::lower_bound(list->second.begin(), list->second.end(), at - within);
  return next != list->second.end() && *next <= at + within;
}

}  // namespace

bool is_excluded_base(std::span<const IntervalSet> excluded, std::size_t contig, std::int64_t base) {
  return contig < excluded.size() && excluded[contig].overlap(base, base + 1) > 0;
}

double CallEvaluation::recall() const {
  return share(found, tss);
}

double CallEvaluation::precision() const {
  return share(confirmed, calls);
}

CallEvaluation evaluate_calls(std::span<const PromoterCall> calls, std::span<const KnownTss> tss,
                              std::int64_t within, bool same_strand, std::span<const IntervalSet> excluded) {
  const auto key = [&](char strand) { return same_strand ? strand : '.'; };
  std::vector<KnownTss> sites(tss.begin(), tss.end());
  std::sort(sites.begin(), sites.end());
  sites.erase(std::unique(sites.begin(), sites.end()), sites.end());
  Places called, known;
  for (const PromoterCall& call : calls) called[{call.contig, key(call.strand)}].push_back(call.tss);
  for (const KnownTss& site : sites) known[{site.contig, key(site.strand)}].push_back(site.tss);
  for (Places* places : {&called, &known}) {
    for (auto& [contig, list] : *places) std::sort(list.begin(), list.end());
  }
  CallEvaluation result;
  for (const KnownTss& site : sites) {
    if (is_excluded_base(excluded, site.contig, site.tss)) continue;
    ++result.tss;
    result.found += any_near(called, site.contig, key(site.strand), site.tss, within) ? 1 : 0;
  }
  for (const PromoterCall& call : calls) {
    if (is_excluded_base(excluded, call.contig, call.tss)) continue;
    ++result.calls;
    result.confirmed += any_near(known, call.contig, key(call.strand), call.tss, within) ? 1 : 0;
  }
  return result;
}

std::vector<CallsAtThreshold> evaluate_thresholds(std::span<const PromoterCall> calls,
                                                  std::span<const KnownTss> tss, double threshold,
                                                  std::int64_t within, bool same_strand,
                                                  std::span<const IntervalSet> excluded) {
  std::vector<double> thresholds = {threshold};
  for (int twentieth = 1; twentieth < 20; ++twentieth) thresholds.push_back(twentieth / 20.0);
  for (const double near_one : {0.98, 0.99, 0.995, 0.999}) thresholds.push_back(near_one);
  std::vector<CallsAtThreshold> result;
  std::vector<PromoterCall> reached(calls.begin(), calls.end());
  for (const double bound : thresholds) {
    if (bound < threshold || (bound == threshold && !result.empty())) continue;
    std::erase_if(reached, [&](const PromoterCall& call) { return call.score < bound; });
    result.push_back({bound, evaluate_calls(reached, tss, within, same_strand, excluded)});
  }
  return result;
}

}  // namespace bigbird
