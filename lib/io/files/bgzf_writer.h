// lib/io/files holds streams and files, whole or not at all: BGZF, temporary names, leases, provenance,
// digests. Every file of the program is opened by what is here; formats are in the folders beside it.
//
// BGZF written by all threads, because one compressor would take most of the time of a large output.
// OutputStream (lib/io/files/file.h) uses it for every path that ends in .gz.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/io/files/file.h"

namespace bigbird {

// Cuts what is written into blocks of 65,280 bytes and compresses many at a time. The bytes depend on the
// content only: the cut does not depend on the number of threads, and each block is compressed on its own.
// Errors: a failed write, as AtomicFile; nothing appears at the path until close().
class ParallelBgzfWriter {
 public:
  // Level 1 (fastest) to 9.
  explicit ParallelBgzfWriter(const std::string& path, int level = 1);

  void write(std::string_view text);
  // Writes the rest and the end-of-file block, and puts the file in place.
  void close();
  // Uncompressed bytes so far.
  std::uint64_t size() const { return size_; }
  // The .gzi index of what was written (after close()): pairs of compressed and uncompressed offsets of every
  // block but the first, little-endian, their count before them.
  std::string gzi() const;

 private:
  void compress(std::size_t bytes);

  AtomicFile file_;
  int level_;
  std::string pending_;
  std::uint64_t size_ = 0;
  std::vector<std::uint64_t> block_offsets_;  // compressed offset of each block
};

}  // namespace bigbird
