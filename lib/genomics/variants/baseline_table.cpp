// Scores of another tool; see baseline_table.h.
#include "lib/genomics/variants/baseline_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/io/tables/tsv.h"

namespace bigbird {
namespace {

bool same_score(float one, float other) {
  return one == other || (std::isnan(one) && std::isnan(other));
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
                    "a column behind chrom, pos, ref and alt holds them");
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
        "keep one row for each allele, such as that of the strongest score");
  }
}

std::span<const float> BaselineTable::find(const AlleleKey& key) const {
  const auto found = std::lower_bound(entries_.begin(), entries_.end(), key,
                                      [](const Entry& entry, const AlleleKey& of) { return entry.key < of; });
  if (found == entries_.end() || found->key != key) return {};
  return std::span<const float>(scores_).subspan(found->row * columns_.size(), columns_.size());
}

}  // namespace bigbird
