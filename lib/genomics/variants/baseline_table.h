// Scores of another tool for alleles, held in memory: 24 bytes and 4 for each score column for an allele.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lib/genomics/variants/allele_key.h"
#include "lib/genomics/variants/variant_table.h"

namespace bigbird {

class BaselineTable {
 public:
  // `path`: as VariantTable. `columns`: names of score columns; empty: all of the table. Alleles of contigs
  // that `keys` does not know are counted and left out. Error{bad_input} FILE:LINE for a score that is no
  // number, and for an allele that stands there twice with different scores; naming the file for a column
  // that is not there or no column at all.
  BaselineTable(const std::string& path, const std::vector<std::string>& columns, AlleleKeys& keys);
  // The rows that are left in `table`; `places` are those of its columns that hold scores.
  BaselineTable(VariantTable& table, const std::vector<std::size_t>& places, AlleleKeys& keys);
  // Places of score columns, as the first constructor finds them.
  static std::vector<std::size_t> score_places(const VariantTable& table,
                                               const std::vector<std::string>& columns);

  const std::vector<std::string>& columns() const { return columns_; }
  std::size_t alleles() const { return entries_.size(); }
  std::uint64_t of_unknown_contigs() const { return of_unknown_contigs_; }
  // The scores of an allele, in the order of columns(), NaN for a missing one; empty where the table has
  // none.
  std::span<const float> find(const AlleleKey& key) const;

 private:
  struct Entry {
    AlleleKey key;
    std::uint32_t row = 0;   // of scores_
    std::uint32_t line = 0;  // of the file
  };
  void read(VariantTable& table, const std::vector<std::size_t>& places, AlleleKeys& keys);
  void sort(const std::string& path);

  std::vector<std::string> columns_;
  std::vector<Entry> entries_;  // ascending by key
  std::vector<float> scores_;   // [rows, columns]
  std::uint64_t of_unknown_contigs_ = 0;
};

}  // namespace bigbird
