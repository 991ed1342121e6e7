// Scores of other tools beside ours: `variants --baseline`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lib/genomics/variants/allele_key.h"
#include "lib/genomics/variants/variant_table.h"
#include "lib/io/genome/contig_names.h"
#include "lib/io/genome/fasta.h"
#include "lib/io/genome/indexed_table.h"
#include "lib/io/genome/vcf.h"

namespace bigbird {

// Scores of another tool for alleles, held in memory: 24 bytes and 4 for each score column for an allele.
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

class AlleleBaselines {
 public:
  // `files`: as named_path takes them; `columns`: those with scores, empty for all. A file with an index
  // beside it is asked for the places of each chunk; any other is held in memory (BaselineTable). Fasta and
  // contigs outlive the baselines. Error{usage} for two scores of one name; Error{bad_input} as
  // BaselineTable, and for a table whose first REF alleles are not the genome's (as BuildCheck).
  AlleleBaselines(const std::vector<std::string>& files, const std::vector<std::string>& columns,
                  const Fasta& fasta, const ContigNames& contigs);

  // NAME_COLUMN of each score (column_id).
  const std::vector<std::string>& ids() const { return ids_; }
  // What tells each file and its columns from others; known before any row is read.
  // Error{usage} for "-".
  static std::vector<std::string> identities(const std::vector<std::string>& files,
                                             const std::vector<std::string>& columns);

  // Before values() of these records.
  void prepare(const std::vector<VcfRecord>& records);
  // A number for each of ids(), NaN where the tables have none. An insertion or deletion is found where its
  // left-aligned form is that of the table; through an index only where the table writes it within
  // `index_reach` bases.
  std::vector<float> values(const VcfRecord& record, const std::string& alt);
  static constexpr std::int64_t index_reach = 200;

 private:
  struct File {
    std::unique_ptr<IndexedTable> index;     // null: all of it is in `table`
    std::vector<std::size_t> index_contigs;  // of the genome, in the index; `absent` where it has none
    std::vector<std::size_t> places;         // of the score columns
    std::unique_ptr<VariantTable> rows;      // with an index
    std::unique_ptr<BaselineTable> table;    // with an index, of the records prepared
  };
  static constexpr std::size_t absent = static_cast<std::size_t>(-1);

  void open(const std::string& text, const std::vector<std::string>& columns, const Fasta& fasta);
  std::vector<VariantTable::TableRegion> regions_of(const File& file, const std::vector<VcfRecord>& records);

  const ContigNames& contigs_;
  AlleleKeys keys_;
  std::vector<File> files_;
  std::vector<std::string> ids_;
};

}  // namespace bigbird
