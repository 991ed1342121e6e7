// Counts of a run over variants; see summary.h.
#include "lib/genomics/variants/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/ordered_map.h"
#include "lib/io/files/file.h"
#include "lib/parts/json_fields.h"

namespace bigbird {
namespace {

using Json = nlohmann::basic_json<OrderedMap>;

// Every flag by itself, for the names under which they are counted.
constexpr std::array<unsigned, 8> all_flags = {flag_ref_mismatch, flag_swapped, flag_edge_padded,
                                               flag_edge_shifted, flag_trimmed, flag_cut,
                                               flag_aligned,      flag_cpg};

// Chunks as the summary holds them: [[rows, skipped rows], ...].
Json chunks_json(const VariantShard& shard) {
  Json chunks = Json::array();
  for (std::size_t chunk = 0; chunk < shard.rows.size(); ++chunk) {
    chunks.push_back({shard.rows[chunk], shard.skipped_rows[chunk]});
  }
  return chunks;
}

VariantShard read_shard(const Json& json) {
  VariantShard shard;
  json.get_to(shard.shard);
  for (const Json& chunk : json.at("chunks")) {
    shard.rows.push_back(chunk.at(0).get<std::uint64_t>());
    shard.skipped_rows.push_back(chunk.at(1).get<std::uint64_t>());
  }
  return shard;
}

// Milliseconds: what is behind them says nothing.
double rounded(double seconds) {
  return std::round(seconds * 1000) / 1000;
}

Json cost_json(const ScoringCost& cost) {
  Json json = {{"scored", cost.scored},
               {"wall_seconds", rounded(cost.wall_seconds)},
               {"cpu_seconds", rounded(cost.cpu_seconds)},
               {"peak_memory_bytes", cost.peak_memory}};
  if (cost.scored > 0 && cost.cpu_seconds > 0) {
    const auto scored = static_cast<double>(cost.scored);
    const double seconds = std::max(rounded(cost.cpu_seconds), 1e-3);
    json["cpu_seconds_per_allele"] = seconds / scored;
    json["alleles_per_core_hour"] = 3600 * scored / seconds;
  }
  return json;
}

ScoringCost read_cost(const Json& json) {
  return {json.at("scored").get<std::uint64_t>(), json.at("wall_seconds").get<double>(),
          json.at("cpu_seconds").get<double>(), json.at("peak_memory_bytes").get<std::uint64_t>()};
}

}  // namespace

std::vector<std::string> skip_reason_names() {
  std::vector<std::string> names;
  for (int reason = 1; reason <= static_cast<int>(SkipReason::filtered); ++reason) {
    names.emplace_back(skip_reason_name(static_cast<SkipReason>(reason)));
  }
  return names;
}

void VariantTally::add(const VcfRecord& record, const std::vector<AlleleResult>& results) {
  ++records;
  alleles += results.size();
  if (!results.empty() && results.front().reason == SkipReason::unknown_contig) {
    ++unknown_contigs[record.chrom];
  }
  for (const AlleleResult& result : results) {
    if (result.reason != SkipReason::none) {
      skipped.add(skip_reason_name(result.reason));
      continue;
    }
    ++scored;
    for (const unsigned flag : all_flags) {
      if ((result.flags & flag) != 0) ++flags[flags_text(flag)];
    }
  }
}

void VariantTally::add(const VariantTally& other) {
  records += other.records;
  alleles += other.alleles;
  scored += other.scored;
  skipped.add(other.skipped);
  for (const auto& [name, count] : other.unknown_contigs) unknown_contigs[name] += count;
  for (const auto& [name, count] : other.flags) flags[name] += count;
  for (const auto& [name, count] : other.baselines) baselines[name] += count;
  passes += other.passes;
  passes_asked += other.passes_asked;
}

void ScoringCost::add(const ScoringCost& other) {
  scored += other.scored;
  wall_seconds += other.wall_seconds;
  cpu_seconds += other.cpu_seconds;
  peak_memory = std::max(peak_memory, other.peak_memory);
}

void VariantTally::count_baselines(const std::vector<std::vector<AlleleResult>>& of_records,
                                   const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::uint64_t& found = baselines[names[i]];  // told even where it stays 0
    for (const std::vector<AlleleResult>& record : of_records) {
      found += static_cast<std::uint64_t>(
          std::count_if(record.begin(), record.end(), [&](const AlleleResult& allele) {
            return i < allele.baselines.size() && !std::isnan(allele.baselines[i]);
          }));
    }
  }
}

std::string summary_json(const VariantSummary& summary) {
  const VariantTally& tally = summary.tally;
  Json json;
  json["records"] = tally.records;
  json["alleles"] = tally.alleles;
  json["scored"] = tally.scored;
  json["skipped"] = tally.skipped.total();
  json["reasons"] = Json::object();
  for (const auto& [reason, count] : tally.skipped) json["reasons"][reason] = count;
  json["unknown_contigs"] = tally.unknown_contigs;
  json["flags"] = tally.flags;
  if (!tally.baselines.empty()) json["baselines"] = tally.baselines;
  json["forward_passes"] = {{"done", tally.passes}, {"saved", tally.passes_asked - tally.passes}};
  json["input"] = {{"records", summary.input_records},
                   {"sha256", summary.input_digest},
                   {"chunk", summary.chunk},
                   {"format", summary.format}};
  if (!summary.input_file.sha256.empty()) json["input"]["file"] = summary.input_file;
  json["run"] = Json::parse(summary.run);
  if (!summary.files.empty()) json["files"] = Json::parse(summary.files);
  if (!summary.scores.empty()) json["scores"] = Json::object();
  for (const WrittenScores& file : summary.scores) json["scores"]["OUT" + file.suffix] = file.digest;
  if (summary.shard) {
    json["shard"] = summary.shard->shard;
    json["shard"]["chunks"] = chunks_json(*summary.shard);
  }
  if (summary.cost) json["cost"] = cost_json(*summary.cost);
  if (!summary.provenance.empty()) json["provenance"] = Json::parse(summary.provenance);
  return json_text(json, 2) + "\n";
}

VariantSummary read_variant_summary(const std::string& path) {
  VariantSummary summary;
  try {
    const Json json = Json::parse(read_file(path));
    VariantTally& tally = summary.tally;
    json.at("records").get_to(tally.records);
    json.at("alleles").get_to(tally.alleles);
    json.at("scored").get_to(tally.scored);
    for (const auto& [reason, count] : json.at("reasons").items()) {
      tally.skipped.add(reason, count.get<std::uint64_t>());
    }
    json.at("unknown_contigs").get_to(tally.unknown_contigs);
    json.at("flags").get_to(tally.flags);
    if (json.contains("baselines")) json.at("baselines").get_to(tally.baselines);
    tally.passes = json.at("forward_passes").at("done").get<std::uint64_t>();
    tally.passes_asked = tally.passes + json.at("forward_passes").at("saved").get<std::uint64_t>();
    const Json& input = json.at("input");
    input.at("records").get_to(summary.input_records);
    input.at("sha256").get_to(summary.input_digest);
    input.at("chunk").get_to(summary.chunk);
    input.at("format").get_to(summary.format);
    if (input.contains("file")) input.at("file").get_to(summary.input_file);
    summary.run = json_text(json.at("run"));
    if (json.contains("files")) summary.files = json_text(json.at("files"));
    if (json.contains("scores")) {
      for (const auto& [name, digest] : json.at("scores").items())
        summary.scores.push_back(
            {name.substr(std::min<std::size_t>(3, name.size())), digest.get<FileDigest>()});
    }
    if (json.contains("cost")) summary.cost = read_cost(json.at("cost"));
    if (json.contains("provenance")) summary.provenance = json_text(json.at("provenance"));
    if (json.contains("shard")) summary.shard = read_shard(json.at("shard"));
  } catch (const Json::exception& error) {
    throw_bad_input(fmt::format("{}: no summary of bigbird variants: {}", path, json_problem(error)),
                    "give what `bigbird variants` wrote next to its output");
  }
  return summary;
}

bool is_whole_run(const std::string& path, const std::string& prefix, const VariantSummary& run) {
  if (run.input_file.sha256.empty() || !file_exists(path)) return false;
  VariantSummary told;
  try {
    told = read_variant_summary(path);
  } catch (const Error&) {
    return false;
  }
  const auto shard = [](const VariantSummary& of) { return of.shard ? of.shard->shard : Shard{0, 0}; };
  // Of the same file other records are another input.
  const auto regions = [](const VariantSummary& of) {
    return of.files.empty() ? Json() : Json::parse(of.files).value("regions", Json());
  };
  const bool same = shard(told).index == shard(run).index && shard(told).count == shard(run).count &&
                    told.chunk == run.chunk && told.format == run.format &&
                    Json::parse(told.run) == Json::parse(run.run) && regions(told) == regions(run) &&
                    told.input_file.sha256 == run.input_file.sha256;
  return same && !told.scores.empty() &&
         std::all_of(told.scores.begin(), told.scores.end(), [&](const WrittenScores& file) {
           return file_has_digest(prefix + file.suffix, file.digest);
         });
}

}  // namespace bigbird
