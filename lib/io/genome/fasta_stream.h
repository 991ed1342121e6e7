// FASTA records one after another: read in file order from a file or the standard input, without an index,
// and written. For random access and for bounds on memory see fasta.h: here a record is held whole.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/io/files/bgzf_writer.h"
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

// BGZF FASTA together with its .fai and .gzi, written by all threads.
class FastaWriter {
 public:
  // PATH, PATH.fai and PATH.gzi; the path should end in .gz. Nothing appears before close().
  explicit FastaWriter(const std::string& path);

  // A record of 60 bases a line. `bases` must not be empty.
  void add(const std::string& name, std::string_view bases);
  // The same for a record that does not fit in memory: its name, then its bases in pieces of any size.
  void begin(const std::string& name);
  void append(std::string_view bases);
  void close();

 private:
  std::string path_;
  ParallelBgzfWriter file_;
  void end_record();

  std::string fai_;
  std::string name_;  // of the record that is being written; empty before the first
  std::uint64_t bases_ = 0, offset_ = 0;
};

}  // namespace bigbird
