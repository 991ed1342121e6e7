// Scores of other tools; see baselines.h.
#include "lib/genomics/variants/baselines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/genomics/variants/alleles.h"
#include "lib/genomics/variants/tracks.h"
#include "lib/io/files/sha256.h"
#include "lib/io/tables/tsv.h"

namespace bigbird {
namespace {

bool same_score(float one, float other) {
  return one == other || (std::isnan(one) && std::isnan(other));
}

// Rows whose REF is held against the genome.
constexpr int checked_rows = 1000;

void check_build(const std::string& path, const Fasta& fasta, const ContigNames& contigs) {
  VariantTable table(path);
  BuildCheck check(path, {}, {}, fasta, contigs);
  VariantRow row;
  for (int i = 0; i < checked_rows && table.next(row); ++i) {
    VcfRecord record;
    record.chrom = row.chrom;
    record.position = row.position;
    record.ref = row.ref;
    record.alts = {row.alt};
    check.see(record);
  }
  check.check_alleles();
}

bool is_snv(const VcfRecord& record) {
  return record.ref.size() == 1 && std::all_of(record.alts.begin(), record.alts.end(),
                                               [](const std::string& alt) { return alt.size() == 1; });
}

}  // namespace

BaselineTable::BaselineTable(const std::string& path, const std::vector<std::string>& columns,
                             AlleleKeys& keys) {
  VariantTable table(path);
  read(table, score_places(table, columns), keys);
}

BaselineTable::BaselineTable(VariantTable& table, const std::vector<std::size_t>& places, AlleleKeys& keys) {
  read(table, places, keys);
}

std::vector<std::size_t> BaselineTable::score_places(const VariantTable& table,
                                                     const std::vector<std::string>& columns) {
  std::vector<std::size_t> places;
  for (const std::string& name : columns.empty() ? table.columns() : columns)
    places.push_back(table.column(name));
  if (places.empty()) {
    throw_bad_input(table.path() + ": has no column with scores",
                    "a column after chrom, pos, ref and alt holds them");
  }
  return places;
}

void BaselineTable::read(VariantTable& table, const std::vector<std::size_t>& places, AlleleKeys& keys) {
  const std::string& path = table.path();
  for (const std::size_t place : places) columns_.push_back(table.columns()[place]);
  VariantRow row;
  while (table.next(row)) {
    if (entries_.size() % 4096 == 0) throw_if_cancelled();
    if (entries_.size() == std::numeric_limits<std::uint32_t>::max() ||
        table.line_number() > std::numeric_limits<std::uint32_t>::max()) {
      throw_bad_input(path + ": has too many rows to be held in memory",
                      "compress it with bgzip and index it");
    }
    const auto key = keys.of(row.chrom, row.position, row.ref, row.alt);
    if (!key) {
      ++of_unknown_contigs_;
      continue;
    }
    entries_.push_back(
        {*key, static_cast<std::uint32_t>(entries_.size()), static_cast<std::uint32_t>(table.line_number())});
    for (const std::size_t place : places) {
      const std::string& text = row.fields[place];
      scores_.push_back(is_missing(text)
                            ? std::numeric_limits<float>::quiet_NaN()
                            : static_cast<float>(parse_number(text, table.where(), table.columns()[place])));
    }
  }
  sort(path);
}

void BaselineTable::sort(const std::string& path) {
  std::sort(entries_.begin(), entries_.end(), [](const Entry& one, const Entry& other) {
    return std::tie(one.key, one.line) < std::tie(other.key, other.line);
  });
  const auto scores = [&](const Entry& entry) {
    return std::span<const float>(scores_).subspan(entry.row * columns_.size(), columns_.size());
  };
  for (std::size_t i = 1; i < entries_.size(); ++i) {
    if (entries_[i].key != entries_[i - 1].key) continue;
    const auto one = scores(entries_[i - 1]), other = scores(entries_[i]);
    if (std::equal(one.begin(), one.end(), other.begin(), same_score)) continue;
    const std::uint64_t place = entries_[i].key.place & position_of_place;
    throw_bad_input(
        entries_[i].line == 0
            ? fmt::format("{}: two rows of one allele with other scores, near base {}", path, place)
            : fmt::format("{}:{}: other scores of the allele of line {}", path, entries_[i].line,
                          entries_[i - 1].line),
        "keep one row for each allele, such as the one of the strongest score");
  }
}

std::span<const float> BaselineTable::find(const AlleleKey& key) const {
  const auto found = std::lower_bound(entries_.begin(), entries_.end(), key,
                                      [](const Entry& entry, const AlleleKey& of) { return entry.key < of; });
  if (found == entries_.end() || found->key != key) return {};
  return std::span<const float>(scores_).subspan(found->row * columns_.size(), columns_.size());
}

AlleleBaselines::AlleleBaselines(const std::vector<std::string>& files,
                                 const std::vector<std::string>& columns, const Fasta& fasta,
                                 const ContigNames& contigs)
    : contigs_(contigs), keys_(fasta, contigs) {
  for (const std::string& text : files) open(text, columns, fasta);
}

std::vector<std::string> AlleleBaselines::identities(const std::vector<std::string>& files,
                                                     const std::vector<std::string>& columns) {
  std::vector<std::string> identities;
  for (const std::string& text : files) {
    const NamedPath named = named_path(text);
    if (named.path == "-") throw_usage(message("`baseline` -: scores of another tool are read from a file"));
    VariantTable rows(named.path);
    std::string identity = column_id(named.name) + ":" + sampled_digest(named.path);
    for (const std::size_t place : BaselineTable::score_places(rows, columns))
      identity += ":" + rows.columns()[place];
    identities.push_back(identity);
  }
  return identities;
}

void AlleleBaselines::open(const std::string& text, const std::vector<std::string>& columns,
                           const Fasta& fasta) {
  const NamedPath named = named_path(text);
  check_build(named.path, fasta, contigs_);
  File& file = files_.emplace_back();
  file.rows = std::make_unique<VariantTable>(named.path);
  file.places = BaselineTable::score_places(*file.rows, columns);
  for (const std::size_t place : file.places) {
    const std::string& column = file.rows->columns()[place];
    const std::string id = column_id(named.name + "_" + column);
    if (std::find(ids_.begin(), ids_.end(), id) != ids_.end()) {
      throw_usage(fmt::format("two scores of other tools are called {}", id),
                  message("name the tables: `baseline` NAME=FILE"));
    }
    ids_.push_back(id);
  }
  if (!has_table_index(named.path)) {
    file.table = std::make_unique<BaselineTable>(*file.rows, file.places, keys_);
    log_info(fmt::format(
        "{}: {} alleles in memory{}", named.path, file.table->alleles(),
        file.table->of_unknown_contigs() == 0
            ? ""
            : fmt::format(", {} of contigs that the genome has not", file.table->of_unknown_contigs())));
    return;
  }
  file.index = std::make_unique<IndexedTable>(named.path);
  file.index_contigs.assign(contigs_.size(), absent);
  const std::vector<std::string>& names = file.index->contigs();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (const auto found = contigs_.find(names[i])) file.index_contigs[*found] = i;
  }
}

std::vector<VariantTable::TableRegion> AlleleBaselines::regions_of(const File& file,
                                                                   const std::vector<VcfRecord>& records) {
  std::vector<VariantTable::TableRegion> wanted;
  for (const VcfRecord& record : records) {
    const auto contig = contig_of(record, contigs_);
    if (!contig || file.index_contigs[*contig] == absent || record.position < 0) continue;
    const std::int64_t reach = is_snv(record) ? 0 : index_reach;
    const std::int64_t end = record.position + static_cast<std::int64_t>(record.ref.size());
    std::int64_t begin = record.position;
    // Tables have most insertions and deletions where left alignment puts them.
    for (const std::string& alt : record.alts) {
      const auto key = reach > 0 ? keys_.of(record.chrom, record.position, record.ref, alt) : std::nullopt;
      if (key) begin = std::min(begin, static_cast<std::int64_t>(key->place & position_of_place) - 1);
    }
    wanted.push_back({file.index_contigs[*contig], std::max<std::int64_t>(0, begin - reach),
                      std::min(end + reach, contigs_[*contig].length)});
  }
  std::sort(wanted.begin(), wanted.end(), [](const auto& one, const auto& other) {
    return std::pair(one.contig, one.begin) < std::pair(other.contig, other.begin);
  });
  std::vector<VariantTable::TableRegion> regions;
  for (const VariantTable::TableRegion& region : wanted) {
    if (regions.empty() || regions.back().contig != region.contig || regions.back().end < region.begin) {
      regions.push_back(region);
    } else {
      regions.back().end = std::max(regions.back().end, region.end);
    }
  }
  return regions;
}

void AlleleBaselines::prepare(const std::vector<VcfRecord>& records) {
  for (File& file : files_) {
    if (!file.index) continue;
    file.rows->read_regions(*file.index, regions_of(file, records));
    file.table = std::make_unique<BaselineTable>(*file.rows, file.places, keys_);
  }
}

std::vector<float> AlleleBaselines::values(const VcfRecord& record, const std::string& alt) {
  const auto key = keys_.of(record.chrom, record.position, record.ref, alt);
  std::vector<float> values;
  for (const File& file : files_) {
    const auto found = key ? file.table->find(*key) : std::span<const float>();
    if (found.empty()) {
      values.insert(values.end(), file.places.size(), std::numeric_limits<float>::quiet_NaN());
    } else {
      values.insert(values.end(), found.begin(), found.end());
    }
  }
  return values;
}

}  // namespace bigbird
