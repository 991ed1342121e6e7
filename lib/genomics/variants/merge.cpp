// Merging shards of scored variants; see run.h.
#include "lib/genomics/variants/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/ordered_map.h"
#include "lib/genomics/variants/score_writers.h"
#include "lib/io/files/file.h"
#include "lib/io/files/output_set.h"
#include "lib/io/genome/indexed_table.h"
#include "lib/io/genome/vcf.h"
#include "lib/parts/merge.h"

namespace bigbird {
namespace {

struct ShardOutput {
  std::string path;
  std::string prefix;  // of its further files
  VariantSummary summary;
  VariantShard shard;  // of the summary
};

std::string summary_path(const std::string& prefix) {
  return prefix + ".summary.json";
}

// Of an output of any format; nothing where no summary lies beside it.
std::optional<std::string> prefix_of(const std::string& output) {
  for (const VariantFormat format : {VariantFormat::vcf, VariantFormat::npy, VariantFormat::h5}) {
    const std::string prefix = variant_prefix(format, output);
    if (file_exists(summary_path(prefix))) return prefix;
  }
  return std::nullopt;
}

ShardOutput open_shard(const std::string& path) {
  const std::optional<std::string> prefix = prefix_of(path);
  if (!prefix) {
    throw_bad_input(summary_path(path) + ": there is no summary of this shard",
                    "the files that `bigbird variants` writes next to the output of a shard belong to it");
  }
  const VariantSummary summary = read_variant_summary(summary_path(*prefix));
  if (!summary.shard) {
    throw_bad_input(path + ": the output of a whole run, no shard",
                    message("give what runs with `shard` I/N wrote"));
  }
  for (const WrittenScores& file : summary.scores) require_unchanged(*prefix + file.suffix, file.digest);
  return {path, *prefix, summary, *summary.shard};
}

// What the scores of all shards depend on, and what to say of two that differ in it.
std::vector<std::pair<std::string, std::string>> same_settings(const std::string& run) {
  const auto json = nlohmann::basic_json<OrderedMap>::parse(run);
  std::vector<std::pair<std::string, std::string>> same;
  for (const auto& [name, value] : json.items()) {
    same.emplace_back(name == "version"  ? "versions of bigbird differ"
                      : name == "models" ? "models differ"
                      : name.starts_with("reference")
                          ? "genomes differ"
                          : fmt::format("options differ ({})", setting_name(name)),
                      name + " " + json_text(value));
  }
  return same;
}

// In the order of the run, all of one run and complete.
std::vector<ShardOutput> open_shards(const std::vector<std::string>& paths) {
  std::vector<ShardOutput> opened;
  std::vector<ShardFacts> facts;
  for (const std::string& path : paths) {
    const VariantSummary& summary = opened.emplace_back(open_shard(path)).summary;
    ShardFacts& of = facts.emplace_back(ShardFacts{path, opened.back().shard.shard, {}});
    of.same = {
        {"made from different records", fmt::format("{} {}", summary.input_records, summary.input_digest)},
        {"types of output differ", summary.format},
        {"sizes of chunks differ", std::to_string(summary.chunk)}};
    for (auto& setting : same_settings(summary.run)) of.same.push_back(std::move(setting));
    of.same.emplace_back("command lines differ", summary.provenance);
  }
  std::vector<ShardOutput> shards;
  std::uint64_t chunks = 0;
  for (const std::size_t i : order_of_shards(facts)) {
    chunks += opened[i].shard.rows.size();
    shards.push_back(std::move(opened[i]));
  }
  const VariantSummary& first = shards.front().summary;
  require_every_chunk(summary_path(shards.front().prefix), first.input_records, first.chunk, chunks);
  return shards;
}

// Records of a chunk of the input: all chunks but the last are full.
std::uint64_t records_of_chunk(const VariantSummary& summary, std::uint64_t chunk) {
  return std::min(summary.chunk, summary.input_records - chunk * summary.chunk);
}

void merge_vcf(const std::vector<ShardOutput>& shards, const std::string& output, VcfType type) {
  std::vector<std::unique_ptr<VcfReader>> readers;
  std::vector<std::size_t> chunks_of;
  std::vector<std::string> names;
  for (const ShardOutput& shard : shards) {
    readers.push_back(std::make_unique<VcfReader>(shard.path));
    readers.back()->rest();
    chunks_of.push_back(shard.shard.rows.size());
    names.push_back(summary_path(shard.prefix));
  }
  VcfWriter writer(output, type, *readers.front(), {}, {}, {});
  VcfRecord record;
  for_each_chunk_in_turn(chunks_of, names, [&](std::size_t shard, std::size_t within) {
    const std::uint64_t chunk = within * shards.size() + shard;
    for (std::uint64_t i = 0; i < records_of_chunk(shards[shard].summary, chunk); ++i) {
      if (!readers[shard]->next(record)) refuse_other_length(shards[shard].path, "fewer records");
      writer.write(record, {});
    }
    readers[shard]->rest();
  });
  for (std::size_t shard = 0; shard < shards.size(); ++shard) {
    if (readers[shard]->next(record)) refuse_other_length(shards[shard].path, "more records");
    readers[shard]->rest();
  }
  writer.close();
}

// The shards' files at prefix + `suffix`, with the rows of their tables.
std::vector<ChunkedTable> tables_beside(const std::vector<ShardOutput>& shards, const std::string& suffix) {
  std::vector<ChunkedTable> tables;
  for (const ShardOutput& shard : shards) tables.push_back({shard.prefix + suffix, shard.shard.rows});
  return tables;
}

std::vector<ChunkedTable> skipped_tables(const std::vector<ShardOutput>& shards) {
  std::vector<ChunkedTable> tables;
  for (const ShardOutput& shard : shards) {
    tables.push_back({shard.prefix + ".skipped.tsv", shard.shard.skipped_rows});
  }
  return tables;
}

void merge_variant_matrices(const std::vector<ShardOutput>& shards, const std::string& prefix) {
  for (const std::string& name : matrix_names(5)) {
    if (!file_exists(matrix_path(shards.front().prefix, name))) continue;  // no background
    merge_matrices(tables_beside(shards, matrix_path("", name)), matrix_path(prefix, name));
  }
  merge_tables(tables_beside(shards, ".rows.tsv"), RowNumbers::anew, prefix + ".rows.tsv");
}

void merge_scores(const std::vector<ShardOutput>& shards, VariantFormat format, const std::string& output) {
  switch (format) {
    case VariantFormat::vcf:
      return merge_vcf(shards, output, VcfType::text);
    case VariantFormat::vcf_gz:
      return merge_vcf(shards, output, VcfType::bgzf);
    case VariantFormat::bcf:
      return merge_vcf(shards, output, VcfType::bcf);
    case VariantFormat::tsv:
      return merge_tables(tables_beside(shards, ""), RowNumbers::keep, output);
    case VariantFormat::npy:
      return merge_variant_matrices(shards, variant_prefix(format, output));
    case VariantFormat::h5: {
      const std::string prefix = variant_prefix(format, output);
      merge_score_hdf5(tables_beside(shards, ".h5"), prefix + ".h5");
      merge_tables(tables_beside(shards, ".rows.tsv"), RowNumbers::anew, prefix + ".rows.tsv");
      return;
    }
  }
}

// The counts of all shards.
VariantSummary merged_summary(const std::vector<ShardOutput>& shards) {
  VariantSummary merged = shards.front().summary;
  merged.shard.reset();
  merged.scores.clear();
  merged.tally = {};
  merged.cost = ScoringCost();
  for (const ShardOutput& shard : shards) {
    merged.tally.add(shard.summary.tally);
    // Of a shard that does not tell, what all of them took is not known.
    if (!shard.summary.cost) merged.cost.reset();
    if (merged.cost) merged.cost->add(*shard.summary.cost);
  }
  const VariantTally& tally = merged.tally;
  if (tally.records != merged.input_records) {
    throw_bad_input(
        fmt::format("the shards hold {} records, the input had {}", tally.records, merged.input_records),
        "run the shards again, all with the same options");
  }
  if (tally.scored == 0 && tally.alleles > 0) {
    throw_bad_input(fmt::format("none of {} alleles was scored ({})", tally.alleles, tally.skipped.text()));
  }
  return merged;
}

}  // namespace

bool has_variant_summary(const std::string& output) {
  return prefix_of(output).has_value();
}

VariantSummary merge_variants(const VariantMergeOptions& options) {
  const std::vector<ShardOutput> shards = open_shards(options.shards);
  const VariantFormat format = variant_format(shards.front().summary.format, options.output);
  if (options.write_index) require_indexable(format, options.output);
  VariantSummary merged = merged_summary(shards);
  const std::string report = report_prefix(options.report, format, options.output);
  const bool background = format == VariantFormat::h5
                              ? has_evalues(shards.front().prefix + ".h5")
                              : file_exists(matrix_path(shards.front().prefix, "evalue"));
  const std::vector<std::string> files = score_files(format, options.output, background ? 5 : 4);
  OutputSet outputs({});
  for (const std::string& file : files) outputs.add({"", file});
  if (!report.empty()) {
    for (const std::string& file : {report + ".skipped.tsv", summary_path(report)}) outputs.add({"", file});
  }
  merge_scores(shards, format, options.output);
  if (!report.empty()) {
    add_digests(outputs, files, variant_prefix(format, options.output), merged);
    merge_tables(skipped_tables(shards), RowNumbers::keep, report + ".skipped.tsv");
    write_text_atomic(summary_path(report), summary_json(merged));
  }
  outputs.commit();
  if (options.write_index) write_variant_index(options.output);
  return merged;
}

}  // namespace bigbird
