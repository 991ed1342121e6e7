// Tabix indexes: lines of a table by place (text compressed with bgzip), the index of what the toolkit
// writes, and what the index of an input says.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bigbird {

// Whether FILE.tbi or FILE.csi lies beside the file.
bool has_table_index(const std::string& path);

class IndexedTable {
 public:
  // Error{bad_input} when the index cannot be read, or is not of this file (table_index.h).
  explicit IndexedTable(const std::string& path);
  ~IndexedTable();
  IndexedTable(const IndexedTable&) = delete;
  IndexedTable& operator=(const IndexedTable&) = delete;

  // As the index names them.
  const std::vector<std::string>& contigs() const { return contigs_; }
  // next() then gives the lines that overlap [begin, end), 0-based half-open. `contig`: of contigs().
  void query(std::size_t contig, std::int64_t begin, std::int64_t end);
  // False at the end of the region; the view is valid until the next call. Error{bad_input} for damage.
  bool next(std::string_view& line);

 private:
  struct Handles;
  std::string path_;
  std::vector<std::string> contigs_;
  std::unique_ptr<Handles> handles_;
};

// Writes FILE.tbi for a BGZF VCF sorted by position. Error naming the file when it cannot be indexed.
void build_vcf_index(const std::string& path);

// Writes FILE.csi for a VCF.gz (BGZF) or BCF. Error{bad_input} where its records are not sorted by position,
// Error{runtime} where the index cannot be written; the file stays as it is.
void write_variant_index(const std::string& path);

// Records of a VCF.gz or BCF as its index (.csi or .tbi) counts them; nothing without an index that counts.
// An index may be older than its file: good for progress, not for checks.
std::optional<std::uint64_t> records_in_index(const std::string& path);

}  // namespace bigbird
