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

#include "lib/core/reason_counts.h"
#include "lib/genomics/variants/allele_key.h"
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
  // before the first; pos may be called pos1. Error{bad_input} naming the file: no such line, a column of the
  // four missing or any twice, BCF.
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

// What is known of alleles: labels of 0 and 1, and the classes of their consequences, from a table or from a
// VCF such as ClinVar's.
struct AlleleLabel {
  int label = 0;                       // 0 or 1
  std::uint64_t line = 0;              // of the file
  std::vector<std::uint32_t> classes;  // of VariantLabels::classes; each once
};

class VariantLabels {
 public:
  // A table with columns chrom, pos, ref, alt, `column` (empty: label) of 0 and 1, and, if there is one,
  // class (several joined by ","). A VCF with the INFO field `column` (empty: CLNSIG): 0 or 1, or ClinVar's
  // words, of which Pathogenic and Likely_pathogenic are 1, Benign and Likely_benign 0, what stands behind
  // "|" is not read, and any other is left out and counted; classes are the consequences of MC. An allele
  // that stands there again with the same label is counted, its classes join. Error{bad_input} FILE:LINE for
  // a label that is none, and for an allele with both; naming the file for an absent column or no label.
  VariantLabels(const std::string& path, const std::string& column, AlleleKeys& keys);

  const AlleleLabel* find(const AlleleKey& key) const;
  const std::vector<std::string>& classes() const { return classes_; }
  std::uint64_t size() const { return labels_.size(); }
  std::uint64_t positives() const { return positives_; }
  std::uint64_t repeated() const { return repeated_; }
  // By the word that stands for no label; "no label" for none.
  const ReasonCounts& left_out() const { return left_out_; }

 private:
  void add_classes(AlleleLabel& label, std::string_view text, bool sequence_ontology);

  std::unordered_map<AlleleKey, AlleleLabel> labels_;
  std::vector<std::string> classes_;
  std::unordered_map<std::string, std::uint32_t> class_numbers_;
  std::uint64_t positives_ = 0;
  std::uint64_t repeated_ = 0;
  ReasonCounts left_out_;
};

}  // namespace bigbird
