// Private to lib/io: what a .fai index says about each record.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/io/genome/contig_names.h"

namespace bigbird {

struct FastaIndexEntry {
  std::int64_t length = 0;      // bases
  std::int64_t offset = 0;      // of the first base, in uncompressed bytes
  std::int64_t line_bases = 0;  // bases in each line but the last
  std::int64_t line_width = 0;  // bytes of such a line with its end (\n or \r\n)
};

struct FastaIndex {
  std::vector<Contig> contigs;
  std::vector<FastaIndexEntry> entries;  // one for each contig
};

FastaIndex read_fasta_index(const std::string& fai_path);

[[noreturn]] void refuse_plain_gzip(const std::string& path);

}  // namespace bigbird
