// manifest.json of a folder of promoter examples; see build.h.
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "lib/core/json_text.h"
#include "lib/core/ordered_map.h"
#include "lib/genomics/promoter/build.h"

namespace bigbird {
namespace {

using Json = nlohmann::basic_json<OrderedMap>;

Json negatives_json(const PromoterBuildOptions& options, const PromoterBuildSummary& summary) {
  const auto any = [&](std::initializer_list<NegativeKind> kinds) {
    return std::find_first_of(options.negatives.begin(), options.negatives.end(), kinds.begin(),
                              kinds.end()) != options.negatives.end();
  };
  Json json = {{"kind", negative_kinds_name(options.negatives)}};
  if (any({NegativeKind::random, NegativeKind::permute})) {
    json["blocks"] = negative_blocks;
    json["blocks_changed"] = negative_blocks_changed;
  }
  if (any({NegativeKind::genomic})) {
    json["min_distance"] = options.min_distance;
    json["gc_tolerance"] = options.gc_tolerance;
    for (std::size_t step = 0; step < gc_steps.size(); ++step) {
      json["gc_matched"][fmt::format("within {:g}", options.gc_tolerance * gc_steps[step])] =
          summary.genomic.by_gc_step[step];
    }
    json["gc_matched"]["closest drawn"] = summary.genomic.by_gc_step[gc_steps.size()];
    json["mean_gc_difference"] = summary.genomic.mean_gc_difference;
    json["overlapping_another_negative"] = summary.genomic.overlapping;
  }
  return json;
}

Json leaks_json(const LeakReport& report) {
  Json json = {{"examples_checked", report.examples}};
  for (std::size_t kind = 0; kind < leak_kinds; ++kind) {
    json[leak_name(static_cast<Leak>(kind))] = report.counts[kind];
  }
  return json;
}

}  // namespace

std::string promoter_manifest(const PromoterBuildOptions& options, const PromoterBuildSummary& summary) {
  const auto kinds = static_cast<std::int64_t>(options.negatives.size());
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
  json["negatives"] = negatives_json(options, summary);
  json["split"] = split_name(options.split);
  json["joined"] = options.join;
  json["groups"] = summary.groups;
  json["seed"] = options.seed;
  json["counts"] = {{"rows", summary.rows},
                    {"positives", summary.promoters},
                    {"negatives", summary.promoters * kinds},
                    {"dropped", summary.dropped.total()}};
  json["dropped"] = Json::object();
  for (const auto& [reason, count] : summary.dropped) json["dropped"][reason] = count;
  for (std::size_t fold = 0; fold < summary.sides.size(); ++fold) {
    Json sides;
    for (const char* side : {"train", "valid", "test"}) {
      const auto found = summary.sides[fold].find(side);
      const std::int64_t count = found == summary.sides[fold].end() ? 0 : found->second;
      sides[side] = {{"positives", count}, {"negatives", count * kinds}};
    }
    sides["leaks"] = leaks_json(summary.leaks[fold]);
    json["splits"].push_back(sides);
  }
  if (options.with_provenance) json["provenance"] = Json::parse(provenance_json(options.provenance));
  return json_text(json, 2) + "\n";
}

}  // namespace bigbird
