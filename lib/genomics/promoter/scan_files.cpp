// The files of a scan; see scan_files.h.
#include "lib/genomics/promoter/scan_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/ordered_map.h"
#include "lib/io/files/output_set.h"
#include "lib/io/genome/bed.h"
#include "lib/parts/chunk_bytes.h"
#include "lib/parts/chunked_numbers.h"
#include "lib/parts/json_fields.h"

namespace bigbird {

template <typename Json>
void to_json(Json& json, const KnownTss& site) {
  json = Json::array({site.contig, site.tss, std::string(1, site.strand)});
}
template <typename Json>
void from_json(const Json& json, KnownTss& site) {
  json.at(0).get_to(site.contig);
  json.at(1).get_to(site.tss);
  site.strand = json.at(2).template get<std::string>() == "-" ? '-' : '+';
}

template <typename Fields>
void pass_fields(Fields& fields, ScanFacts& facts) {
  fields("contigs", facts.contigs);
  fields("positions", facts.positions);
  fields("step", facts.step);
  fields("left", facts.left);
  fields("right", facts.right);
  fields("strands", facts.strands);
  fields("max_n", facts.max_n);
  fields("per_strand", facts.per_strand);
  fields("threshold", facts.threshold);
  fields("merge_distance", facts.merge_distance);
  fields("has_tss", facts.has_tss);
  fields("tss", facts.tss);
  fields("tss_outside", facts.tss_outside);
  fields("within", facts.within);
  fields("comments", facts.comments);
  fields("provenance", facts.provenance);
}

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

using Json = nlohmann::basic_json<OrderedMap>;

Json evaluation_json(const CallEvaluation& evaluation) {
  const auto defined = [](double value) { return std::isnan(value) ? Json() : Json(value); };
  return {{"tss", evaluation.tss},
          {"tss_found", evaluation.found},
          {"recall", defined(evaluation.recall())},
          {"calls", evaluation.calls},
          {"calls_confirmed", evaluation.confirmed},
          {"precision", defined(evaluation.precision())}};
}

}  // namespace

double CallEvaluation::recall() const {
  return share(found, tss);
}

double CallEvaluation::precision() const {
  return share(confirmed, calls);
}

CallEvaluation evaluate_calls(std::span<const PromoterCall> calls, std::span<const KnownTss> tss,
                              std::int64_t within, bool same_strand) {
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
  result.tss = static_cast<std::int64_t>(sites.size());
  result.calls = static_cast<std::int64_t>(calls.size());
  for (const KnownTss& site : sites) {
    result.found += any_near(called, site.contig, key(site.strand), site.tss, within) ? 1 : 0;
  }
  for (const PromoterCall& call : calls) {
    result.confirmed += any_near(known, call.contig, key(call.strand), call.tss, within) ? 1 : 0;
  }
  return result;
}

std::vector<CallsAtThreshold> evaluate_thresholds(std::span<const PromoterCall> calls,
                                                  std::span<const KnownTss> tss, double threshold,
                                                  std::int64_t within, bool same_strand) {
  std::vector<double> thresholds = {threshold};
  for (int twentieth = 1; twentieth < 20; ++twentieth) thresholds.push_back(twentieth / 20.0);
  for (const double near_one : {0.98, 0.99, 0.995, 0.999}) thresholds.push_back(near_one);
  std::vector<CallsAtThreshold> result;
  std::vector<PromoterCall> reached(calls.begin(), calls.end());
  for (const double bound : thresholds) {
    if (bound < threshold || (bound == threshold && !result.empty())) continue;
    std::erase_if(reached, [&](const PromoterCall& call) { return call.score < bound; });
    result.push_back({bound, evaluate_calls(reached, tss, within, same_strand)});
  }
  return result;
}

void ScannedWindows::add(const ScannedWindows& other) {
  windows += other.windows;
  beyond_contig += other.beyond_contig;
  n_rich += other.n_rich;
  cut += other.cut;
}

PromoterCall call_of(const ScannedPosition& scored) {
  const bool on_minus = std::isnan(scored.plus) || scored.minus > scored.plus;
  return {static_cast<std::size_t>(scored.contig), scored.position, scored.end, on_minus ? '-' : '+',
          on_minus ? scored.minus : scored.plus};
}

std::string scan_facts_text(const ScanFacts& facts) {
  return text_of_facts<Json>(facts);
}

ScanFiles::ScanFiles(const ScanPaths& paths, const ScanFacts& facts)
    : paths_(paths),
      facts_(facts),
      finder_(facts.threshold, facts.merge_distance, facts.step,
              [this](const PromoterCall& call) { calls_.push_back(call); }),
      near_score_(facts.tss.size(), false) {
  const TrackFormat format = track_format(paths_.output);
  tracks_.push_back(make_track_writer(paths_.output, format, facts_.contigs, facts_.comments));
  if (facts_.per_strand) {
    for (const char* strand : {"plus", "minus"}) {
      tracks_.push_back(make_track_writer(strand_track_path(paths_.output, strand), format, facts_.contigs,
                                          facts_.comments));
    }
  }
  if (paths_.calls.empty()) return;
  calls_out_ = std::make_unique<OutputStream>(paths_.calls);
  for (const std::string& comment : facts_.comments) calls_out_->write("##" + comment + "\n");
}

void ScanFiles::write(const ScannedChunk& chunk) {
  summary_.add(chunk);
  for (const ScannedPosition& scored : chunk.positions) write(scored);
}

void ScanFiles::write(const ScannedPosition& scored) {
  const PromoterCall best = call_of(scored);
  const std::size_t contig = best.contig;
  if (contig >= facts_.contigs.size())
    throw_bad_input(paths_.output + ": scores of a contig that is not there", "run the shards again");
  ++summary_.scored;
  tracks_[0]->add(contig, scored.position, scored.end, static_cast<float>(best.score));
  for (std::size_t strand = 0; strand + 1 < tracks_.size(); ++strand) {
    const double value = strand == 0 ? scored.plus : scored.minus;
    if (!std::isnan(value))
      tracks_[strand + 1]->add(contig, scored.position, scored.end, static_cast<float>(value));
  }
  finder_.add(best);
  const KnownTss nearest{contig, scored.position - facts_.within, '+'};
  for (auto site = std::lower_bound(facts_.tss.begin(), facts_.tss.end(), nearest);
       site != facts_.tss.end() && site->contig == contig && site->tss <= scored.position + facts_.within;
       ++site) {
    near_score_[static_cast<std::size_t>(site - facts_.tss.begin())] = true;
  }
}

PromoterScanSummary ScanFiles::close() {
  finder_.finish();
  summary_.positions = facts_.positions;
  summary_.calls = static_cast<std::int64_t>(calls_.size());
  summary_.tss_outside = facts_.tss_outside;
  if (summary_.windows == 0) {
    throw_bad_input(fmt::format("none of the windows can be scored: {} pass the end of their contig, {} hold "
                                "too many N",
                                summary_.beyond_contig, summary_.n_rich),
                    message("check the region, the window's size and `max_n`"));
  }
  if (facts_.has_tss) {
    summary_.any_strand = evaluate_calls(calls_, facts_.tss, facts_.within, false);
    summary_.same_strand = evaluate_calls(calls_, facts_.tss, facts_.within, true);
    summary_.by_threshold = evaluate_thresholds(calls_, facts_.tss, facts_.threshold, facts_.within, false);
    summary_.tss_unscored = std::count(near_score_.begin(), near_score_.end(), false);
  }
  write_calls();
  for (const auto& track : tracks_) track->close();
  write_summary();
  return summary_;
}

void ScanFiles::write_calls() {
  if (!calls_out_) return;
  std::string line;
  BedRecord record;
  record.columns = 8;
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    const PromoterCall& call = calls_[i];
    record.chrom = facts_.contigs[call.contig].name;
    record.begin = record.thick_begin = call.tss;
    record.end = call.end;
    record.thick_end = call.tss + 1;
    record.name = fmt::format("call{}", i + 1);
    record.score = std::round(call.score * 1000);
    record.strand = call.strand;
    line.clear();
    append_bed_line(line, record);
    calls_out_->write(line);
  }
  calls_out_->close();
}

void ScanFiles::write_summary() const {
  if (paths_.summary.empty()) return;
  Json json;
  json["positions"] = summary_.positions;
  json["positions_scored"] = summary_.scored;
  json["windows_scored"] = summary_.windows;
  json["windows_beyond_contig"] = summary_.beyond_contig;
  json["windows_rich_in_n"] = summary_.n_rich;
  json["windows_cut"] = summary_.cut;
  json["window"] = {{"left", facts_.left}, {"right", facts_.right}};
  json["step"] = facts_.step;
  json["strands"] = facts_.strands;
  json["max_n"] = facts_.max_n;
  json["threshold"] = facts_.threshold;
  json["merge_distance"] = facts_.merge_distance;
  json["calls"] = summary_.calls;
  if (summary_.any_strand) {
    json["evaluation"] = {{"within", facts_.within},
                          {"tss_outside_regions", summary_.tss_outside},
                          {"tss_without_scored_position", summary_.tss_unscored},
                          {"any_strand", evaluation_json(*summary_.any_strand)},
                          {"same_strand", evaluation_json(summary_.same_strand)},
                          {"by_threshold", Json::array()}};
    for (const CallsAtThreshold& at : summary_.by_threshold) {
      Json row = {{"threshold", at.threshold}};
      row.update(evaluation_json(at.evaluation));
      json["evaluation"]["by_threshold"].push_back(std::move(row));
    }
  }
  if (!facts_.provenance.empty()) json["provenance"] = Json::parse(facts_.provenance);
  write_text_atomic(paths_.summary, json_text(json, 2) + "\n");
}

std::vector<std::string> ScanFiles::paths() const {
  std::vector<std::string> paths = {paths_.output};
  if (facts_.per_strand) {
    for (const char* strand : {"plus", "minus"}) paths.push_back(strand_track_path(paths_.output, strand));
  }
  for (const std::string& path : {paths_.calls, paths_.summary}) {
    if (!path.empty()) paths.push_back(path);
  }
  return paths;
}

std::string strand_track_path(const std::string& path, const std::string& strand) {
  const std::size_t name = path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1;
  std::size_t dot = path.rfind('.');
  if (dot != std::string::npos && dot > name && has_suffix(path, ".gz")) dot = path.rfind('.', dot - 1);
  if (dot == std::string::npos || dot <= name) return path + "." + strand;
  return path.substr(0, dot) + "." + strand + path.substr(dot);
}

PromoterScanSummary merge_promoter_scan(const std::vector<std::string>& shards, const ScanPaths& paths) {
  const MergedShards merged(shards);
  ScanFiles files(paths, facts_of_text<ScanFacts, Json>(merged.header().output, shards.front()));
  merged.for_each([&](std::string_view bytes, const std::string& path) {
    files.write(from_chunk_bytes<ScannedChunk>(bytes, path));
  });
  PromoterScanSummary summary;
  close_together(files.paths(), [&] { summary = files.close(); });
  return summary;
}

}  // namespace bigbird
