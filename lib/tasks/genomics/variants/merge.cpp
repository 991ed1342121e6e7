// Merging shards; see merge.h. Chunk c of the input lies in shard c % N: the files are read round robin.
#include "lib/tasks/genomics/variants/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/io/genome/vcf.h"
#include "lib/io/tables/float_rows.h"
#include "lib/io/tables/hdf5.h"
#include "lib/io/tables/npy_matrix.h"
#include "lib/tasks/genomics/variants/sinks.h"

namespace bigbird {
namespace {

constexpr const char* again = "run the shards again, all with the same options";

struct Shard {
  std::string output;
  std::string prefix;  // of its further files
  VariantSummary summary;
  VariantShard place;  // of the summary
};

std::string summary_path(const std::string& prefix) {
  return prefix + ".summary.json";
}

Shard open_shard(const std::string& output) {
  for (const VariantFormat format : {VariantFormat::vcf, VariantFormat::npy, VariantFormat::h5}) {
    const std::string prefix = variant_prefix(format, output);
    if (!file_exists(summary_path(prefix))) continue;
    const VariantSummary summary = read_variant_summary(summary_path(prefix));
    if (!summary.shard) {
      throw_bad_input(output + ": the output of a whole run, no shard", "give what `--shard I/N` wrote");
    }
    return {output, prefix, summary, *summary.shard};
  }
  throw_bad_input(summary_path(output) + ": there is no summary of this shard",
                  "the files that `variants --shard I/N -o OUT` writes beside OUT belong to it");
}

// In order of their numbers, all of one run and complete.
std::vector<Shard> open_shards(const std::vector<std::string>& outputs) {
  std::map<std::uint64_t, Shard> by_index;
  std::uint64_t count = 0;
  for (const std::string& output : outputs) {
    Shard shard = open_shard(output);
    if (by_index.empty()) count = shard.place.count;
    if (!by_index.empty()) {
      const Shard& known = by_index.begin()->second;
      const VariantSummary& first = known.summary;
      const VariantSummary& summary = shard.summary;
      const auto refuse = [&](const std::string& what) {
        throw_bad_input(fmt::format("{} and {}: {}", known.output, output, what), again);
      };
      if (shard.place.count != count) refuse("numbers of shards differ");
      if (summary.input_digest != first.input_digest || summary.input_records != first.input_records) {
        refuse("made from different records");
      }
      if (summary.format != first.format) refuse("types of output differ");
      if (summary.chunk != first.chunk) refuse("sizes of chunks differ");
      if (summary.run != first.run) refuse("models, genomes or options differ");
      if (summary.provenance != first.provenance) refuse("command lines differ");
    }
    const std::uint64_t index = shard.place.index;
    if (!by_index.emplace(index, std::move(shard)).second) {
      throw_bad_input(fmt::format("{}: shard {} of {} is given twice", output, index, count),
                      "give each shard once");
    }
  }
  std::vector<Shard> shards;
  std::string missing;
  for (std::uint64_t index = 1; index <= count; ++index) {
    const auto found = by_index.find(index);
    if (found == by_index.end()) {
      missing += (missing.empty() ? "" : ", ") + std::to_string(index);
    } else {
      shards.push_back(std::move(found->second));
    }
  }
  if (!missing.empty() || shards.size() != by_index.size()) {
    throw_bad_input(fmt::format("the shards are not complete: of {}, {} {} missing", count, missing,
                                missing.find(',') == std::string::npos ? "is" : "are"),
                    "give the outputs of all shards");
  }
  return shards;
}

// Calls take(shard, number of the chunk within the shard, records of the chunk) for every chunk of the input.
void each_chunk(const std::vector<Shard>& shards,
                const std::function<void(std::size_t, std::size_t, std::uint64_t)>& take) {
  const VariantSummary& first = shards.front().summary;
  std::uint64_t left = first.input_records;
  for (std::uint64_t chunk = 0; left > 0; ++chunk) {
    throw_if_cancelled();
    const std::uint64_t records = std::min(left, first.chunk);
    const std::size_t shard = chunk % shards.size();
    const std::size_t within = chunk / shards.size();
    if (within >= shards[shard].place.chunks.size()) {
      throw_bad_input(summary_path(shards[shard].prefix) + ": has too few chunks for the input", again);
    }
    take(shard, within, records);
    left -= records;
  }
}

[[noreturn]] void refuse_length(const std::string& path, const char* what) {
  throw_bad_input(fmt::format("{}: has {} than its summary says", path, what), "run this shard again");
}

void merge_vcf(const std::vector<Shard>& shards, const std::string& output, VcfType type) {
  std::vector<std::unique_ptr<VcfReader>> readers;
  for (const Shard& shard : shards) readers.push_back(std::make_unique<VcfReader>(shard.output));
  VcfWriter writer(output, type, *readers.front(), {}, {}, {});
  VcfRecord record;
  each_chunk(shards, [&](std::size_t shard, std::size_t, std::uint64_t records) {
    for (std::uint64_t i = 0; i < records; ++i) {
      if (!readers[shard]->next(record)) refuse_length(shards[shard].output, "fewer records");
      writer.write(record, {});
    }
  });
  for (std::size_t shard = 0; shard < shards.size(); ++shard) {
    if (readers[shard]->next(record)) refuse_length(shards[shard].output, "more records");
  }
  writer.close();
}

// Lines of the tables PATH(shard), the head of the first and the rows of all; `rows` of each chunk. Rows that
// begin with their number are numbered anew.
void merge_tables(const std::vector<Shard>& shards, const std::function<std::string(const Shard&)>& path,
                  bool skipped, bool numbered, const std::string& output) {
  OutputStream out(output);
  std::vector<std::unique_ptr<LineReader>> tables;
  std::vector<std::string> heads;
  for (const Shard& shard : shards) {
    tables.push_back(std::make_unique<LineReader>(path(shard)));
    std::string head;
    std::string_view line;
    while (tables.back()->next(line)) {
      head += std::string(line) + "\n";
      if (!line.starts_with("##")) break;
    }
    heads.push_back(head);
    if (head != heads.front()) {
      throw_bad_input(fmt::format("{} and {}: their headers differ", tables.front()->path(), path(shard)),
                      again);
    }
  }
  out.write(heads.front());
  std::uint64_t number = 0;
  std::string_view line;
  each_chunk(shards, [&](std::size_t shard, std::size_t within, std::uint64_t) {
    const auto& [rows, skipped_rows] = shards[shard].place.chunks[within];
    const std::uint64_t count = skipped ? skipped_rows : rows;
    for (std::uint64_t i = 0; i < count; ++i) {
      if (!tables[shard]->next(line)) refuse_length(tables[shard]->path(), "fewer rows");
      if (numbered) {
        out.write(std::to_string(number++));
        line.remove_prefix(std::min(line.find('\t'), line.size()));
      }
      out.write(line);
      out.write("\n");
    }
  });
  for (const auto& table : tables) {
    if (table->next(line)) refuse_length(table->path(), "more rows");
  }
  out.close();
}

void merge_npy(const std::vector<Shard>& shards, const std::string& prefix) {
  for (const std::string& name : matrix_names(5)) {
    if (!file_exists(matrix_path(shards.front().prefix, name))) continue;  // no background
    std::vector<NpyMatrix> matrices;
    std::vector<std::size_t> next(shards.size(), 0);
    for (const Shard& shard : shards) matrices.emplace_back(matrix_path(shard.prefix, name));
    const std::size_t columns = matrices.front().columns();
    FloatRowsWriter out(matrix_path(prefix, name), static_cast<std::int64_t>(columns), {});
    std::vector<float> values;
    each_chunk(shards, [&](std::size_t shard, std::size_t within, std::uint64_t) {
      const NpyMatrix& matrix = matrices[shard];
      const std::uint64_t rows = shards[shard].place.chunks[within].first;
      if (next[shard] + rows > matrix.rows() || matrix.columns() != columns) {
        refuse_length(matrix.path(), "fewer rows or other columns");
      }
      values.clear();
      for (std::uint64_t row = 0; row < rows; ++row, ++next[shard]) {
        for (std::size_t column = 0; column < columns; ++column) {
          values.push_back(static_cast<float>(matrix.number(next[shard], column)));
        }
      }
      out.write(values);
    });
    for (std::size_t shard = 0; shard < shards.size(); ++shard) {
      if (next[shard] != matrices[shard].rows()) refuse_length(matrices[shard].path(), "more rows");
    }
    out.commit();
  }
}

}  // namespace

VariantSummary merge_variants(const VariantMergeOptions& options) {
  if (options.shards.empty()) throw_usage("no shard is given");
  const std::vector<Shard> shards = open_shards(options.shards);
  const VariantFormat format = variant_format(shards.front().summary.format, options.output);
  const std::string prefix = variant_prefix(format, options.output);
  const std::string report = !options.report.empty() ? options.report : options.output == "-" ? "" : prefix;

  VariantSummary merged = shards.front().summary;
  merged.shard.reset();
  merged.tally = {};
  for (const Shard& shard : shards) merged.tally.add(shard.summary.tally);
  if (merged.tally.records != merged.input_records) {
    throw_bad_input(fmt::format("the shards hold {} records, the input had {}", merged.tally.records,
                                merged.input_records),
                    again);
  }
  if (merged.tally.scored == 0 && merged.tally.alleles > 0) {
    throw_bad_input(
        fmt::format("none of {} alleles was scored ({})", merged.tally.alleles, merged.tally.reasons_text()));
  }

  const auto rows_path = [](const Shard& shard) { return shard.prefix + ".rows.tsv"; };
  switch (format) {
    case VariantFormat::vcf:
      merge_vcf(shards, options.output, VcfType::text);
      break;
    case VariantFormat::vcf_gz:
      merge_vcf(shards, options.output, VcfType::bgzf);
      break;
    case VariantFormat::bcf:
      merge_vcf(shards, options.output, VcfType::bcf);
      break;
    case VariantFormat::tsv:
      merge_tables(
          shards, [](const Shard& shard) { return shard.output; }, false, false, options.output);
      break;
    case VariantFormat::npy:
      merge_npy(shards, prefix);
      merge_tables(shards, rows_path, false, true, prefix + ".rows.tsv");
      break;
    case VariantFormat::h5:
      throw_usage("shards of -O h5 cannot be merged", "write the shards with -O npy");
  }
  if (!report.empty()) {
    merge_tables(
        shards, [](const Shard& shard) { return shard.prefix + ".skipped.tsv"; }, true, false,
        report + ".skipped.tsv");
    write_text_atomic(report + ".summary.json", summary_json(merged));
  }
  return merged;
}

}  // namespace bigbird
