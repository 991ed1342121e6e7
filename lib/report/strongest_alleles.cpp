// The rows of a table of scored variants that rank highest; see strongest_alleles.h.
#include "lib/report/strongest_alleles.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lib/io/tables/tsv.h"

namespace bigbird {

double number_in(const VariantRow& row, const std::optional<std::size_t>& column, const VariantTable& table) {
  if (!column || is_missing(row.fields[*column])) return std::numeric_limits<double>::quiet_NaN();
  return parse_number(row.fields[*column], table.where(), table.columns()[*column]);
}

void StrongestAlleles::take(const VariantRow& row, const AlleleRank& rank) {
  if (most_ == 0 || !std::all_of(rank.begin(), rank.end(), [](double value) { return std::isfinite(value); }))
    return;
  if (rows_.size() == most_ && !(rank > rows_.back().rank)) return;
  const auto place =
      std::upper_bound(rows_.begin(), rows_.end(), rank,
                       [](const AlleleRank& value, const RankedAllele& other) { return value > other.rank; });
  rows_.insert(place, {row, rank});
  if (rows_.size() > most_) rows_.pop_back();
}

}  // namespace bigbird
