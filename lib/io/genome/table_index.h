// Private to lib/io: what a .tbi or .csi says, read and held against its file before htslib, which a damaged
// one crashes and one of another file misleads, loads it. Formats: SAM specification (tabix.pdf, CSIv1.pdf).
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace bigbird {

struct TableIndex {
  static constexpr std::uint64_t nowhere = std::numeric_limits<std::uint64_t>::max();

  struct Contig {
    std::uint64_t first = nowhere;     // virtual offset of its first record
    std::int64_t least = 0, most = 0;  // that record's position is from here to there
  };

  // Where records begin: of `contig`, from position `least` to `most`. Without a contig: where one ended.
  struct Place {
    std::uint64_t offset = 0;
    std::optional<std::size_t> contig;
    std::int64_t least = 0, most = 0;
  };

  std::string path;                // of the index
  std::string data;                // of its file
  std::vector<std::string> names;  // of the contigs; empty for BCF, whose header has them
  std::vector<Contig> contigs;
  std::vector<Place> places;  // at most 1,024 of those that it names, evenly spread
  int min_shift = 14;         // a smallest bin has 2^min_shift bases
  int depth = 5;              // levels of bins below the whole
  bool is_csi = false;        // else .tbi
  bool zero_based = false;    // the column of begins
  bool is_vcf = false;        // made by `tabix -p vcf` or bcftools
  std::int32_t sequence = 1;  // columns, 1-based
  std::int32_t begin = 2;
  char meta = '#';                       // lines that begin with it hold no record
  std::int32_t skip = 0;                 // lines at the beginning that hold no record
  std::uint64_t end = 0;                 // virtual offset behind the last record; 0: it lists none
  std::optional<std::uint64_t> records;  // as it counts them
};

// FILE.csi, else FILE.tbi, else nothing.
std::optional<std::string> table_index_beside(const std::string& data);

// Reads an index to its end: its counts, bins, order and offsets against the size of `data`; at most 96 MiB
// of it, decompressed. Error{bad_input} naming the index, and the command that makes it.
TableIndex read_table_index(const std::string& path, const std::string& data);

// Holds an index against the records of its file: the first one of the file and of up to 256 contigs lie
// where it says and are of those contigs and bins, so do those at `places`, and none lies behind its end.
// `header_contigs`: of a BCF's header; null for text. Errors as above; a warning when it fits, but is older.
void check_table_index(const TableIndex& index, const std::vector<std::string>* header_contigs);

// "make the index again: tabix -p vcf -f FILE".
std::string table_index_hint(const TableIndex& index);

}  // namespace bigbird
