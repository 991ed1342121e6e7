// Reading what was measured of alleles; see measured_effects.h.
#include "lib/genomics/variants/measured_effects.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/genomics/variants/variant_table.h"
#include "lib/io/tables/tsv.h"

namespace bigbird {
namespace {

struct RowCondition {
  std::size_t column = 0;
  std::string value;
  std::string reason;  // of a row that does not fulfil it
};

std::vector<RowCondition> row_conditions(const std::vector<std::string>& texts, const VariantTable& table) {
  std::vector<RowCondition> conditions;
  for (const std::string& text : texts) {
    const std::size_t sign = text.find('=');
    if (sign == std::string::npos || sign == 0)
      throw_usage(fmt::format("{}: not of the form COLUMN=VALUE", text), "for instance strand=+");
    const std::string name = text.substr(0, sign);
    conditions.push_back({table.column(name), text.substr(sign + 1), "not " + text});
  }
  return conditions;
}

// Nothing where the row has none.
std::optional<double> finite_number(const VariantTable& table, const VariantRow& row, std::size_t column) {
  const std::string& text = row.fields[column];
  if (is_missing(text)) return std::nullopt;
  const double value = parse_number(text, table.where(), table.columns()[column]);
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

}  // namespace

MeasuredEffects::MeasuredEffects(const MeasuredEffectsOptions& options, AlleleKeys& keys) {
  VariantTable table(options.path);
  const std::size_t column = table.column(options.column);
  std::optional<std::size_t> significance;
  if (!options.significance_column.empty()) significance = table.column(options.significance_column);
  const std::vector<RowCondition> conditions = row_conditions(options.where, table);
  VariantRow row;
  std::uint64_t read = 0;
  while (table.next(row)) {
    if (read++ % 4096 == 0) throw_if_cancelled();
    const auto failed = std::find_if(conditions.begin(), conditions.end(), [&](const RowCondition& one) {
      return row.fields[one.column] != one.value;
    });
    if (failed != conditions.end()) {
      left_out_.add(failed->reason);
      continue;
    }
    const auto value = finite_number(table, row, column);
    const auto level = significance ? finite_number(table, row, *significance) : std::optional(1.0);
    const auto key = keys.of(row.chrom, row.position, row.ref, row.alt);
    if (!value || !level || !key) {
      left_out_.add(!value ? "no number" : !level ? "no significance" : "unknown contig");
      continue;
    }
    MeasuredEffect& effect = effects_[*key];
    ++effect.rows;
    effect.value += (*value - effect.value) / static_cast<double>(effect.rows);
    if (significance && *level < options.significant_below) effect.significant = true;
    ++rows_;
  }
  if (effects_.empty()) {
    throw_bad_input(options.path + ": no allele has a measured number",
                    left_out_.empty() ? "the file has no rows" : "left out: " + left_out_.text());
  }
}

const MeasuredEffect* MeasuredEffects::find(const AlleleKey& key) const {
  const auto found = effects_.find(key);
  return found == effects_.end() ? nullptr : &found->second;
}

std::uint64_t MeasuredEffects::significant() const {
  return static_cast<std::uint64_t>(std::count_if(
      effects_.begin(), effects_.end(), [](const auto& entry) { return entry.second.significant; }));
}

}  // namespace bigbird
