// The rows of a table of scored variants that rank highest: a report lists them, `bigbird demo` shows some.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "lib/genomics/variants/variant_table.h"

namespace bigbird {

// A row's number in a column; not a number where there is no such column, or no value. Error{bad_input}
// naming the file and the line of the row that `table` gave last.
double number_in(const VariantRow& row, const std::optional<std::size_t>& column, const VariantTable& table);

// The larger first number ranks higher, of equal ones the larger second.
using AlleleRank = std::array<double, 2>;

struct RankedAllele {
  VariantRow row;
  AlleleRank rank = {};
};

// Holds `most` rows at a time, however many it is given.
class StrongestAlleles {
 public:
  explicit StrongestAlleles(std::size_t most) : most_(most) {}
  // A rank with a number that is not finite is left out. Of equal ranks the row that came first stays first.
  void take(const VariantRow& row, const AlleleRank& rank);
  const std::vector<RankedAllele>& rows() const { return rows_; }  // from the strongest on

 private:
  std::size_t most_;
  std::vector<RankedAllele> rows_;
};

}  // namespace bigbird
