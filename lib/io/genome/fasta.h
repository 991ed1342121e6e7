// Random access to a FASTA file (plain or BGZF) through its .fai (and .gzi) index. Coordinates are 0-based
// half-open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/io/genome/contig_names.h"

namespace bigbird {

// The contigs that a FASTA's index lists, in file order. `path` is the FASTA or its .fai; the FASTA itself
// need not exist when its index does (else it is held against it, as Fasta does), and an index that is
// missing is built when the FASTA exists. Errors: neither is there; malformed lines; duplicate names; empty
// records; an index that does not fit the FASTA.
std::vector<Contig> load_fai(const std::string& path);

// Writes FASTA.fai (and FASTA.gzi for BGZF), each whole or not at all. CRLF line ends are indexed as samtools
// does; a byte order mark is passed over. Errors: a pipe, plain gzip, BGZF cut short, duplicate or empty
// records, lines of unequal length, letters that are no bases, an index that cannot be written.
void build_fasta_index(const std::string& path);

class Fasta {
 public:
  // Opens the FASTA; an index that is missing is built (build_fasta_index), one that is there is held against
  // the file (fasta_index.h, bgzf_blocks.h), and never written over: it may be another's.
  // Errors: as build_fasta_index; an index that does not fit the file, with the command that makes it.
  explicit Fasta(const std::string& path);
  ~Fasta();
  Fasta(Fasta&&) noexcept;
  Fasta& operator=(Fasta&&) noexcept;

  const std::string& path() const;
  const std::vector<Contig>& contigs() const;
  // The bases [begin, end) of a contig: upper-cased; A C G T N only, other IUPAC letters become N and are
  // counted. Errors: a range that is not inside the contig (bounds are never clamped); bytes that are no
  // bases. `raw`, where it is given, takes the letters as the file has them: repeats are in lower case in a
  // soft-masked genome. Not safe for concurrent calls on one object: give each thread its own clone().
  std::string fetch(std::size_t contig, std::int64_t begin, std::int64_t end, std::string* raw = nullptr);
  // Letters other than A C G T N replaced by N so far, over this object and all its clones.
  std::uint64_t iupac_replaced() const;
  // A second handle to the same file, sharing the index.
  Fasta clone() const;

 private:
  struct Shared;
  struct Handle;
  explicit Fasta(std::shared_ptr<Shared> shared);
  std::shared_ptr<Shared> shared_;
  std::unique_ptr<Handle> handle_;
};

// The other strand, read 5' to 3'. Keeps case and IUPAC letters (U is read as T); bytes that are neither
// become N.
std::string reverse_complement(std::string_view sequence);

}  // namespace bigbird
