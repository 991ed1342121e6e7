// Variant files: VCF (plain, gzip or BGZF), BCF and headerless tables of 5 columns, read as a stream, and
// written with INFO fields added. Through htslib, which only lib/io includes. Positions are 0-based here:
// `position` is POS - 1, so the telomere's POS 0 is -1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lib/io/genome/contig_names.h"

namespace bigbird {

// One line. Alleles are as the file has them: any case, symbolic, "*", breakends. Movable.
class VcfRecord {
 public:
  VcfRecord();
  ~VcfRecord();
  VcfRecord(VcfRecord&&) noexcept;
  VcfRecord& operator=(VcfRecord&&) noexcept;

  std::string chrom;
  std::int64_t position = 0;
  std::string id = ".";
  std::string ref;
  std::vector<std::string> alts;   // empty when ALT is "."
  std::string filter = ".";        // as text: "PASS", ".", "q10;s50"
  std::string info;                // of the one INFO field that was asked for (VcfReader::keep_info)
  std::int64_t contig_length = 0;  // as the header's ##contig line of `chrom` gives it; 0 where it does not
  std::uint64_t number = 0;        // 0, 1, 2 ... within what is read
  std::string where;               // "FILE:LINE", or "FILE: record N" for BCF

 private:
  friend class VcfReader;
  friend class VcfWriter;
  struct Line;  // the whole record, for writing
  std::unique_ptr<Line> line_;
};

class VcfReader {
 public:
  // "-" is the standard input. `regions` (1-based closed texts, as samtools takes them) need an index (.tbi
  // or .csi) and no stdin: records that overlap them, each once, in file order. Without a header line the
  // first lines must be 5 tab-separated columns CHROM POS ID REF ALT (more are kept as they are when they are
  // a VCF's 8). Errors name file and line: spaces for tabs, fewer columns, POS that is no number, empty REF
  // or ALT; damaged or cut compression; a BCF without its header; a region without an index (with the command
  // that makes it) or beyond the contig.
  explicit VcfReader(const std::string& path, const std::vector<std::string>& regions = {});
  ~VcfReader();
  VcfReader(const VcfReader&) = delete;
  VcfReader& operator=(const VcfReader&) = delete;

  // The value of this INFO field is kept of the records that follow (VcfRecord::info): as text, empty where a
  // record has none. Error{bad_input} naming the file where its header does not declare such a field, or not
  // as a String.
  void keep_info(const std::string& key);
  // False at the end.
  bool next(VcfRecord& record);
  // Gives the file's descriptor back until the next record is asked for: for who reads more files in turn
  // than a process may have open. No effect where the place cannot be found again (pipes, plain gzip,
  // regions).
  void rest();
  // Of the header's ##contig lines; length 0 where it gives none. Empty for headerless input.
  const std::vector<Contig>& contigs() const;
  // Header lines that speak of the build: ##reference=, ##contig assembly=.
  const std::vector<std::string>& build_hints() const;
  bool headerless() const;
  const std::string& path() const;

 private:
  friend class VcfWriter;
  struct State;
  std::unique_ptr<State> state_;
};

enum class VcfType { text, bgzf, bcf };  // -O v, z, b
// What the end of a name says: ".vcf", ".vcf.gz" and ".vcf.bgz", ".bcf"; nothing for any other.
std::optional<VcfType> vcf_type_of(const std::string& path);

// One INFO field that is added.
struct VcfInfoField {
  std::string id;           // "BB_DIFF"
  std::string number;       // "A", "1", "."
  std::string type;         // "Float", "Integer", "String"
  std::string description;  // without quotes
};
// Values for one record, in the order of the fields given to the writer; for Number=A one for each ALT.
// Missing: NaN, the smallest int32, an empty string; a field that is all missing is left out.
using VcfInfoValues = std::variant<std::vector<float>, std::vector<std::int32_t>, std::vector<std::string>>;

class VcfWriter {
 public:
  // The header of `reader` (made up for headerless input: ##fileformat, and ##contig lines of `contigs`) with
  // `lines` ("##bigbird_command=...") and the fields added; fields of the same id that are there already are
  // replaced. "-" is the standard output; a path appears whole at close(). The reader outlives the writer.
  VcfWriter(const std::string& path, VcfType type, const VcfReader& reader,
            const std::vector<Contig>& contigs, const std::vector<VcfInfoField>& fields,
            const std::vector<std::string>& lines);
  ~VcfWriter();
  VcfWriter(const VcfWriter&) = delete;
  VcfWriter& operator=(const VcfWriter&) = delete;

  // All of the record as it was read, with the values added.
  void write(const VcfRecord& record, const std::vector<VcfInfoValues>& values);
  // Flushes and checks (a full disk is an Error), then puts the file in its place.
  void close();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bigbird
