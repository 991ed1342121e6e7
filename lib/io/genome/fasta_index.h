// Private to lib/io: what a .fai index says about each record, whether that is so, and the content that it
// tells the places of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/io/files/htslib_handles.h"
#include "lib/io/genome/bgzf_blocks.h"
#include "lib/io/genome/contig_names.h"

namespace bigbird {

// The content of a FASTA, plain or BGZF, from any place on.
class FastaBytes {
 public:
  // `blocks`: of BGZF; null for a plain file.
  FastaBytes(const std::string& path, std::shared_ptr<const BgzfBlocks> blocks);

  const std::string& path() const { return path_; }
  std::int64_t size() const { return size_; }
  // What read() gives next. `place` is within the content. Error{bad_input} as BgzfBlocks::virtual_offset.
  void seek(std::int64_t place);
  // Up to `size` bytes; fewer only at the end. Error{bad_input} for damaged data.
  std::size_t read(char* buffer, std::size_t size);

 private:
  std::string path_;
  std::shared_ptr<const BgzfBlocks> blocks_;
  BgzfHandle handle_;                  // of BGZF
  std::unique_ptr<RandomFile> plain_;  // of a plain file
  std::int64_t place_ = 0;             // in it
  std::int64_t size_ = 0;
};

struct FastaIndexEntry {
  std::int64_t length = 0;      // bases
  std::int64_t offset = 0;      // of the first base, in uncompressed bytes
  std::int64_t line_bases = 0;  // bases in each line but the last
  std::int64_t line_width = 0;  // bytes of such a line with its end (\n or \r\n)

  // Where a base lies, in uncompressed bytes.
  std::int64_t place_of(std::int64_t base) const {
    return offset + base / line_bases * line_width + base % line_bases;
  }
  std::int64_t end() const { return place_of(length - 1) + 1; }
};

struct FastaIndex {
  std::vector<Contig> contigs;
  std::vector<FastaIndexEntry> entries;  // one for each contig
};

FastaIndex read_fasta_index(const std::string& fai_path);

// The index of a FASTA that can be read at any place, held against it; both indexes are made where one is
// missing. `blocks` is null for a plain file. Errors: a pipe, plain gzip, as build_fasta_index and
// check_fasta_index.
struct IndexedFasta {
  FastaIndex index;
  std::shared_ptr<const BgzfBlocks> blocks;
};
IndexedFasta open_fasta_index(const std::string& path);

// Holds FASTA.fai against the FASTA (fasta_fit.cpp): the places of all records one after another and within
// the file; and of up to 4,096 records (1,024 of BGZF), evenly spread, the header before the first base with
// the name, and the ends of the first, middle and last line. Behind the last record nothing may follow.
// Error{bad_input} that names the index, the place and the command that makes it; a warning when it fits, but
// is older.
void check_fasta_index(const FastaIndex& index, FastaBytes& fasta, bool compressed);

[[noreturn]] void refuse_plain_gzip(const std::string& path);

}  // namespace bigbird
