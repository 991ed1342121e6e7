// Alleles with further columns, a row for each: tables (chrom, pos, ref, alt and others) and the INFO fields
// of a VCF, as text, gzip or BGZF, from a file or the standard input. What `bigbird variants` writes, labels,
// and scores of other tools are read so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/io/files/file.h"
#include "lib/io/genome/indexed_table.h"

namespace bigbird {

struct VariantRow {
  std::string chrom;
  std::int64_t position = 0;  // POS - 1
  std::string ref;
  std::string alt;
  std::vector<std::string> fields;  // one for each of columns(); empty where the file has none or "."
};

class VariantTable {
 public:
  // A table's first line that does not begin with "##" names its columns, in any case, with or without "#"
  // before the first. Error{bad_input} naming the file: no such line, a column of the four missing or any
  // twice, BCF.
  explicit VariantTable(const std::string& path);

  bool is_vcf() const { return is_vcf_; }
  const std::string& path() const { return lines_.path(); }
  // "FILE:LINE" of the row given last; of a region "FILE: CONTIG:BEGIN-END".
  std::string where() const { return region_.empty() ? lines_.where() : path() + ": " + region_; }
  // 0 for a row of a region.
  std::uint64_t line_number() const { return region_.empty() ? lines_.line_number() : 0; }
  // In lower case, without chrom, pos, ref, alt. Of a VCF its declared INFO fields, BB_ of those that
  // `bigbird variants` writes taken off.
  const std::vector<std::string>& columns() const { return columns_; }
  // Place of a column, in any case and with or without BB_; nothing where there is none.
  std::optional<std::size_t> find_column(std::string_view name) const;
  // The same, or Error{bad_input} naming the file and what it has.
  std::size_t column(std::string_view name) const;
  // False at the end. Of a VCF a row for each ALT, with its own value of a field with Number=A, and the whole
  // text of any other field. Error{bad_input} FILE:LINE for another number of columns and for a position that
  // is no number.
  bool next(VariantRow& row);
  // From now on next() gives the rows of these regions, in their order, by the file's index: regions of one
  // contig ascend without overlap. `index` is of the same file and outlives the calls.
  struct TableRegion {
    std::size_t contig = 0;  // of the index
    std::int64_t begin = 0;  // 0-based half-open
    std::int64_t end = 0;
  };
  void read_regions(IndexedTable& index, std::vector<TableRegion> regions);

 private:
  bool next_line(std::string_view& line);
  void read_header();
  void name_table_columns(std::string_view line);
  bool next_record(VariantRow& row);
  bool next_alt(VariantRow& row);

  struct InfoField {
    std::size_t column = 0;
    bool by_allele = false;  // Number=A
  };

  LineReader lines_;
  IndexedTable* index_ = nullptr;  // null: lines_ are read on
  std::vector<TableRegion> regions_;
  std::size_t next_region_ = 0;
  std::string region_;  // that is read, for messages; empty: none
  bool is_vcf_ = false;
  std::vector<std::string> columns_;
  std::size_t width_ = 0;            // fields of a line
  std::vector<std::size_t> places_;  // of columns(), in a line of a table
  std::size_t chrom_ = 0, pos_ = 0, ref_ = 0, alt_ = 0;
  std::unordered_map<std::string, InfoField> info_;  // by its name in the file
  std::vector<std::string_view> split_;
  // The record whose ALTs are given one by one.
  VariantRow record_;
  std::vector<std::string> alts_;
  std::vector<bool> by_allele_;  // of columns()
  std::size_t next_alt_ = 0;
};

// Part `index` of a text that `separator` divides; empty where there is none.
std::string_view part_of(std::string_view text, char separator, std::size_t index);
// A cell without a value: "", ".", "NA", "nan".
bool is_missing(std::string_view text);

}  // namespace bigbird
