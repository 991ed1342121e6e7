// The files of a scan; see scan_files.h.
#include "lib/genomics/promoter/scan_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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

template <typename Json>
void to_json(Json& json, const Region& region) {
  json = Json::array({region.contig, region.begin, region.end});
}
template <typename Json>
void from_json(const Json& json, Region& region) {
  json.at(0).get_to(region.contig);
  json.at(1).get_to(region.begin);
  json.at(2).get_to(region.end);
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
  fields("excluded", facts.excluded);
  fields("has_kmers", facts.has_kmers);
  fields("promoters_have", facts.promoters_have);
  fields("comments", facts.comments);
  fields("provenance", facts.provenance);
}

namespace {

using Json = nlohmann::basic_json<OrderedMap>;

Json defined_or_null(double value) {
  return std::isnan(value) ? Json() : Json(value);
}

Json evaluation_json(const CallEvaluation& evaluation) {
  return {{"tss", evaluation.tss},
          {"tss_found", evaluation.found},
          {"recall", defined_or_null(evaluation.recall())},
          {"calls", evaluation.calls},
          {"calls_confirmed", evaluation.confirmed},
          {"precision", defined_or_null(evaluation.precision())}};
}

Json ranking_json(const ScanRanking& ranking) {
  const CallRanking& calls = ranking.calls;
  Json json;
  json["average_precision"] = defined_or_null(ranking.average_precision);
  json["auroc"] = defined_or_null(ranking.auroc);
  json["positions"] = ranking.positions;
  json["positions_near_tss"] = ranking.near;
  json["precision_at_recall_50"] = defined_or_null(calls.precision_at_recall_50);
  json["threshold_at_recall_50"] = defined_or_null(calls.threshold_at_recall_50);
  json["calls_at_recall_50"] = calls.calls_at_recall_50;
  json["best_f1"] = defined_or_null(calls.best_f1);
  json["precision_at_best_f1"] = defined_or_null(calls.precision_at_best_f1);
  json["recall_at_best_f1"] = defined_or_null(calls.recall_at_best_f1);
  json["threshold_at_best_f1"] = defined_or_null(calls.threshold_at_best_f1);
  json["calls"] = calls.calls;
  json["recall"] = defined_or_null(calls.recall);
  if (!ranking.promoters_have.empty()) json["promoters_have"] = ranking.promoters_have;
  return json;
}

// Thresholds are shares again.
ScanRanking turned(ScanRanking ranking) {
  ranking.calls.threshold_at_recall_50 *= -1;
  ranking.calls.threshold_at_best_f1 *= -1;
  return ranking;
}

}  // namespace

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
  std::vector<std::vector<IntervalSet::Interval>> excluded(facts_.contigs.size());
  for (const Region& region : facts_.excluded) {
    if (region.contig < excluded.size()) excluded[region.contig].push_back({region.begin, region.end});
  }
  for (auto& intervals : excluded) excluded_.emplace_back(std::move(intervals));
  const TrackFormat format = track_format(paths_.output);
  tracks_.push_back(make_track_writer(paths_.output, format, facts_.contigs, facts_.comments));
  if (facts_.per_strand) {
    for (const char* strand : {"plus", "minus"}) {
      tracks_.push_back(make_track_writer(strand_track_path(paths_.output, strand), format, facts_.contigs,
                                          facts_.comments));
    }
  }
  if (facts_.has_tss) {
    const auto left_out = [this](std::size_t contig, std::int64_t base) {
      return is_excluded_base(excluded_, contig, base);
    };
    const auto ranking = [&](const char* by) {
      return std::make_unique<PositionRanking>(by, facts_.merge_distance, facts_.step, left_out);
    };
    by_model_ = ranking("model");
    if (facts_.promoters_have != "less") by_more_gc_ = ranking("gc");
    if (facts_.promoters_have != "more") by_less_gc_ = ranking("gc");
    if (facts_.has_kmers) by_kmers_ = ranking("kmers");
  }
  if (paths_.calls.empty()) return;
  calls_out_ = std::make_unique<OutputStream>(paths_.calls);
  for (const std::string& comment : facts_.comments) calls_out_->write("##" + comment + "\n");
}

void ScanFiles::write(const ScannedChunk& chunk) {
  summary_.add(chunk);
  if (chunk.baselines.size() != (facts_.has_tss ? chunk.positions.size() : 0))
    throw_bad_input(paths_.output + ": a part is of another scan", "run the shards again");
  for (std::size_t i = 0; i < chunk.positions.size(); ++i)
    write(chunk.positions[i], facts_.has_tss ? &chunk.baselines[i] : nullptr);
}

void ScanFiles::write(const ScannedPosition& scored, const ScannedBaselines* baselines) {
  const PromoterCall call = call_of(scored);
  const std::size_t contig = call.contig;
  if (contig >= facts_.contigs.size())
    throw_bad_input(paths_.output + ": scores of a contig that is not there", "run the shards again");
  ++summary_.scored;
  tracks_[0]->add(contig, scored.position, scored.end, static_cast<float>(call.score));
  for (std::size_t strand = 0; strand + 1 < tracks_.size(); ++strand) {
    const double value = strand == 0 ? scored.plus : scored.minus;
    if (!std::isnan(value))
      tracks_[strand + 1]->add(contig, scored.position, scored.end, static_cast<float>(value));
  }
  finder_.add(call);
  bool near = false;
  const KnownTss nearest{contig, scored.position - facts_.within, '+'};
  for (auto site = std::lower_bound(facts_.tss.begin(), facts_.tss.end(), nearest);
       site != facts_.tss.end() && site->contig == contig && site->tss <= scored.position + facts_.within;
       ++site) {
    near_score_[static_cast<std::size_t>(site - facts_.tss.begin())] = true;
    near = true;
  }
  if (baselines == nullptr) return;
  by_model_->add(call, near);
  const auto add = [&](PositionRanking* ranking, double plus, double minus) {
    if (ranking == nullptr) return;
    const bool is_minus = std::isnan(plus) || minus > plus;
    ranking->add({contig, scored.position, scored.end, is_minus ? '-' : '+', is_minus ? minus : plus}, near);
  };
  add(by_more_gc_.get(), baselines->gc_plus, baselines->gc_minus);
  add(by_less_gc_.get(), -baselines->gc_plus, -baselines->gc_minus);
  add(by_kmers_.get(), baselines->kmers_plus, baselines->kmers_minus);
}

// Where nothing was fitted, G and C get the side that does better here.
void ScanFiles::rank() {
  const auto ranked = [&](PositionRanking& ranking) { return ranking.close(facts_.tss, facts_.within); };
  summary_.rankings.push_back(ranked(*by_model_));
  std::optional<ScanRanking> gc;
  if (by_more_gc_) {
    gc = ranked(*by_more_gc_);
    gc->promoters_have = "more";
  }
  if (by_less_gc_) {
    ScanRanking less = turned(ranked(*by_less_gc_));
    less.promoters_have = "less";
    if (!gc || less.average_precision > gc->average_precision) gc = std::move(less);
  }
  summary_.rankings.push_back(std::move(*gc));
  if (by_kmers_) summary_.rankings.push_back(ranked(*by_kmers_));
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
    summary_.any_strand = evaluate_calls(calls_, facts_.tss, facts_.within, false, excluded_);
    summary_.same_strand = evaluate_calls(calls_, facts_.tss, facts_.within, true, excluded_);
    summary_.by_threshold =
        evaluate_thresholds(calls_, facts_.tss, facts_.threshold, facts_.within, false, excluded_);
    for (std::size_t i = 0; i < facts_.tss.size(); ++i) {
      const bool left_out = is_excluded_base(excluded_, facts_.tss[i].contig, facts_.tss[i].tss);
      summary_.tss_excluded += left_out ? 1 : 0;
      summary_.tss_unscored += !left_out && !near_score_[i] ? 1 : 0;
    }
    summary_.calls_excluded = summary_.calls - summary_.any_strand->calls;
    rank();
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
                          {"tss_excluded", summary_.tss_excluded},
                          {"calls_excluded", summary_.calls_excluded},
                          {"any_strand", evaluation_json(*summary_.any_strand)},
                          {"same_strand", evaluation_json(summary_.same_strand)},
                          {"by_threshold", Json::array()}};
    for (const CallsAtThreshold& at : summary_.by_threshold) {
      Json row = {{"threshold", at.threshold}};
      row.update(evaluation_json(at.evaluation));
      json["evaluation"]["by_threshold"].push_back(std::move(row));
    }
    for (const ScanRanking& ranking : summary_.rankings)
      json["evaluation"]["ranking"][ranking.by] = ranking_json(ranking);
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
