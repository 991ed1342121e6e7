// BGZF FASTA together with its .fai and .gzi, written by all threads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/io/files/bgzf_writer.h"

namespace bigbird {

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
