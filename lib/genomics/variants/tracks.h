// Genome tracks beside scores: what a bigWig (phyloP, phastCons, GERP++) holds at the bases that an allele
// changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/genomics/variants/alleles.h"
#include "lib/io/genome/contig_names.h"
#include "lib/io/genome/track.h"

namespace bigbird {

// A name as a part of column names: upper case, "_" for what is neither letter nor digit.
std::string column_id(std::string_view name);

// "NAME=FILE", or a path alone, whose name is the file's without folders and its last suffix. A text that is
// the path of a file is no NAME=FILE, nor is one whose first "=" stands behind a "/".
struct NamedPath {
  std::string name;
  std::string path;
};
NamedPath named_path(const std::string& text);

class AlleleTracks {
 public:
  // `files`: as named_path takes them. `genome` are the contigs of the FASTA, `fasta` its path, for messages.
  // Error{usage} for two tracks of one name; Error{bad_input} naming both files where a contig has another
  // length than the genome's (mitochondria are then two sequences, and the track has no values there), and
  // for a track with none of the genome's contigs; else as open_bigwig.
  AlleleTracks(const std::vector<std::string>& files, const ContigNames& genome, const std::string& fasta);

  // column_id of each, and what tells its file from others ("PHYLOP:<sampled_digest>").
  const std::vector<std::string>& ids() const { return ids_; }
  const std::vector<std::string>& identities() const { return identities_; }

  // For each track the mean over the bases that the placed allele changes: those of its REF without what it
  // shares with ALT; of an insertion the two bases beside it (one at the end of a contig). Bases without a
  // value are left out; NaN where none has one. Not safe for concurrent calls.
  std::vector<float> values(const PlacedAllele& allele);

 private:
  struct Track {
    std::unique_ptr<TrackReader> reader;
    std::vector<std::size_t> contigs;  // of the genome, in the track; `absent` where it has none
    // A stretch, because neighbouring alleles share it.
    std::size_t held_contig = absent;
    std::int64_t held_begin = 0;
    std::vector<float> held;
  };
  static constexpr std::size_t absent = static_cast<std::size_t>(-1);

  static void match_contigs(Track& track, const std::string& path, const ContigNames& genome,
                            const std::string& fasta);
  float mean(Track& track, std::size_t contig, std::int64_t begin, std::int64_t end) const;

  const ContigNames& genome_;
  std::vector<std::string> ids_;
  std::vector<std::string> identities_;
  std::vector<Track> tracks_;
};

}  // namespace bigbird
