// manifest.json of a promoter data set; see build.h.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "lib/core/json_text.h"
#include "lib/core/ordered_map.h"
#include "lib/genomics/promoter/build.h"

namespace bigbird {
namespace {

using Json = nlohmann::basic_json<OrderedMap>;

Json genomic_json(const PromoterBuildOptions& options, const GenomicNegativeSummary& genomic) {
  Json json = {{"min_distance", negative_distance(options)}, {"gc_tolerance", options.gc_tolerance}};
  if (options.gc_tolerance < 1) {
    for (std::size_t step = 0; step < gc_steps.size(); ++step) {
      json["gc_matched"][fmt::format("within {:g}", options.gc_tolerance * gc_steps[step])] =
          genomic.by_gc_step[step];
    }
    json["gc_matched"]["closest drawn"] = genomic.by_gc_step[gc_steps.size()];
  }
  json["mean_gc_difference"] = genomic.mean_gc_difference;
  json["overlapping_another_negative"] = genomic.overlapping;
  json["left_out_for_want_of_room"] = genomic.without_room;
  json["left_out_as_of_another_side"] = genomic.elsewhere;
  return json;
}

Json hard_json(const PromoterBuildOptions& options, const HardNegativeSummary& hard) {
  return {{"model", options.hard_negatives},
          {"step", options.hard_step},
          {"bases_scanned", hard.bases},
          {"calls", hard.calls},
          {"near_a_tss", hard.near_tss},
          {"of_a_known_sequence", hard.known},
          {"taken", hard.taken},
          {"lowest_score", hard.lowest_score}};
}

Json negatives_json(const PromoterBuildOptions& options, const PromoterBuildSummary& summary) {
  const auto any = [&](NegativeKind kind) { return negatives_of(options.negatives, kind) > 0; };
  Json json = {{"kind", negative_plan_name(options.negatives)}};
  for (const NegativesOfKind& of : options.negatives)
    json["per_promoter"][negative_kind_name(of.kind)] = of.count;
  if (any(NegativeKind::random) || any(NegativeKind::permute)) {
    json["blocks"] = negative_blocks;
    json["blocks_changed"] = negative_blocks_changed;
  }
  if (any(NegativeKind::genomic)) json.update(genomic_json(options, summary.genomic));
  if (summary.hard) json["hard"] = hard_json(options, *summary.hard);
  return json;
}

Json leaks_json(const LeakReport& report) {
  Json json = {{"examples_checked", report.examples}};
  for (std::size_t kind = 0; kind < leak_kinds; ++kind) {
    json[leak_name(static_cast<Leak>(kind))] = report.counts[kind];
  }
  return json;
}

Json side_json(const SideCounts& counts) {
  return {{"positives", counts.promoters}, {"negatives", counts.negatives}, {"prior", counts.prior()}};
}

}  // namespace

std::string promoter_manifest(const PromoterBuildOptions& options, const PromoterBuildSummary& summary) {
  const SideCounts all = summary.all();
  Json json;
  json["tss"] = options.tss;
  json["reference"] = options.fasta;
  if (!options.chain.empty()) json["lift"] = options.chain;
  json["window"] = {{"left", options.left},
                    {"right", options.right},
                    {"length", options.left + options.right},
                    {"tss_offset", options.left},
                    {"coordinates", "0-based half-open; sequences on the sense strand"}};
  json["max_n"] = options.max_n;
  if (!options.exclude.empty()) json["exclude"] = options.exclude;
  if (!options.chromosomes.empty()) json["chromosomes"] = options.chromosomes;
  json["negatives"] = negatives_json(options, summary);
  json["split"] = split_name(options.split);
  if (!options.sides.valid.empty()) json["sides"]["valid"] = options.sides.valid;
  if (!options.sides.test.empty()) json["sides"]["test"] = options.sides.test;
  json["joined"] = options.join;
  json["groups"] = summary.groups;
  json["seed"] = options.seed;
  json["counts"] = {{"rows", summary.rows},
                    {"positives", all.promoters},
                    {"negatives", all.negatives},
                    {"prior", all.prior()},
                    {"dropped", summary.dropped.total()}};
  json["dropped"] = Json::object();
  for (const auto& [reason, count] : summary.dropped) json["dropped"][reason] = count;
  for (std::size_t fold = 0; fold < summary.sides.size(); ++fold) {
    Json sides;
    for (const char* side : {"train", "valid", "test"}) {
      const auto found = summary.sides[fold].find(side);
      sides[side] = side_json(found == summary.sides[fold].end() ? SideCounts{} : found->second);
    }
    sides["leaks"] = leaks_json(summary.leaks[fold]);
    json["splits"].push_back(sides);
  }
  if (options.with_provenance) json["provenance"] = Json::parse(provenance_json(options.provenance));
  return json_text(json, 2) + "\n";
}

}  // namespace bigbird
