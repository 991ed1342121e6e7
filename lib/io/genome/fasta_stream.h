// FASTA records in file order from a file or the standard input, without an index. For random access and for
// bounds on memory see fasta.h: here a record is held whole.
#pragma once

#include <cstdint>
#include <string>

#include "lib/io/files/file.h"

namespace bigbird {

struct FastaRecord {
  std::string name;      // to the first white space
  std::string sequence;  // upper case, A C G T N only
};

class FastaStream {
 public:
  // "-" is the standard input; gzip and BGZF are seen through.
  explicit FastaStream(const std::string& path) : lines_(path) {}

  // False at the end. Error{bad_input} "FILE:LINE: ...": text before the first header, a record without a
  // name or without bases, bytes that are no bases.
  bool next(FastaRecord& record);
  // IUPAC letters other than A C G T N read as N so far.
  std::uint64_t iupac_replaced() const { return iupac_replaced_; }

 private:
  LineReader lines_;
  std::string next_name_;
  bool started_ = false;
  bool at_end_ = false;
  std::uint64_t iupac_replaced_ = 0;
};

}  // namespace bigbird
