// The folder of `chromatin build` and `chromatin import-deepsea`:
//
//   bins.bed.gz      BED4, a line per bin: chrom start end split (train, valid, test, none); in genome order,
//                    or in the order of the samples that were imported
//   labels.npy       uint8 [bins, ceil(profiles / 8)], a row per line of bins.bed.gz: label k is bit k % 8
//                    (the lowest first) of byte k / 8. NumPy: unpackbits(load(F), axis=1, bitorder="little")
//   profiles.tsv     #index name group, and counts of positives by split
//   sequences.fa.gz  (with .fai and .gzi) import-deepsea without a genome: one record per split, its samples
//                    end to end; the bins of bins.bed.gz lie in it
//   manifest.json    window, rules, splits, counts, lengths of the contigs, provenance; "reference" is the
//                    FASTA to cut windows from: a path from this folder, or from the working folder
//                    (find_beside)
//
// Coordinates are 0-based half-open, on the forward strand.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/genomics/genome_sides.h"
#include "lib/inference/model_task.h"
#include "lib/io/files/bgzf_writer.h"
#include "lib/io/files/file.h"
#include "lib/io/genome/fasta.h"

namespace bigbird {

struct ChromatinBin {
  std::uint32_t contig = 0;  // of the FASTA
  Split split = Split::none;
  std::int64_t begin = 0;  // its length is window().target_length
};

// Rows of bits on disk, memory-mapped.
class LabelMatrix {
 public:
  LabelMatrix() = default;
  // Error naming the file when it is no uint8 matrix of `rows` rows for `profiles` profiles.
  LabelMatrix(const std::string& path, std::size_t rows, std::size_t profiles);
  std::size_t rows() const { return rows_; }
  std::size_t profiles() const { return profiles_; }
  bool at(std::size_t row, std::size_t profile) const;
  std::span<const std::uint8_t> row(std::size_t row) const;  // packed
  // 0 or 1 for each profile.
  void unpack(std::size_t row, std::span<float> out) const;

 private:
  MappedFile file_;
  std::size_t offset_ = 0, rows_ = 0, profiles_ = 0, stride_ = 0;
};

// Writes labels.npy row by row; whole or not at all.
class LabelMatrixWriter {
 public:
  LabelMatrixWriter(const std::string& path, std::size_t profiles);
  void write(std::span<const std::uint8_t> packed_row);
  void commit();

 private:
  AtomicFile file_;
  std::size_t stride_, rows_ = 0, header_size_ = 0;
  std::string buffer_;
  void flush();
};

// A whole data set, opened for reading: bins in memory (16 bytes each), labels mapped, sequence from the
// FASTA.
class ChromatinDataset {
 public:
  // `fasta`: used instead of the manifest's reference where not empty. Error naming the file: a missing part,
  // counts that disagree, a FASTA whose contigs have other lengths, bins beyond their contigs.
  explicit ChromatinDataset(const std::string& folder, const std::string& fasta = {});

  const std::string& folder() const { return folder_; }
  const ModelWindow& window() const { return window_; }
  const std::vector<Profile>& profiles() const { return profiles_; }
  const std::vector<ChromatinBin>& bins() const { return bins_; }
  const LabelMatrix& labels() const { return labels_; }
  const Fasta& fasta() const { return fasta_; }
  // Rows of bins() in a split, ascending.
  std::vector<std::uint32_t> rows(Split split) const;
  // The window around a bin, moved inwards at a contig's end as manifest.json says ("edge": "shift");
  // forward strand. `shift`: it begins so many bases later.
  std::string window_sequence(Fasta& fasta, std::size_t row, std::int64_t shift = 0) const;
  // What the windows of `bins` neighbours from `row` on cover together, cut at the contig's ends; and how
  // many of its bases lie before the first of them. `shift`: it begins and ends so many bases later, at most
  // what lies around the bin in its window.
  std::string stretch_sequence(Fasta& fasta, std::size_t row, std::size_t bins, std::int64_t shift,
                               std::int64_t& before) const;

 private:
  std::string folder_;
  Fasta fasta_;
  ModelWindow window_;
  std::vector<Profile> profiles_;
  std::vector<ChromatinBin> bins_;
  LabelMatrix labels_;
};

// Makes such a folder, a bin at a time; whole or not at all.
class ChromatinDatasetWriter {
 public:
  // `contigs`: what ChromatinBin::contig counts in.
  // `comments`: "##" lines (provenance) of the text files. Error: the folder holds something and `replace` is
  // false; no profile.
  ChromatinDatasetWriter(const std::string& output, bool replace, std::vector<Contig> contigs,
                         std::vector<Profile> profiles, const ModelWindow& window,
                         std::vector<std::string> comments);

  // Where a further file of the folder (sequences.fa.gz) is to be written before commit().
  std::string file(const std::string& name) const { return folder_.file(name); }
  // `packed`: (profiles + 7) / 8 bytes, bits beyond the last profile 0.
  void write(const ChromatinBin& bin, std::span<const std::uint8_t> packed);
  // So far, by Split.
  const std::array<std::uint64_t, split_count>& bins() const { return bins_; }
  const std::array<std::uint64_t, split_count>& positives(std::size_t profile) const {
    return positives_[profile];
  }
  // `reference`: the manifest's, a path from the folder (path_from_folder). `facts_json`: an object whose
  // entries the manifest takes over after its own (rules, counts of what was dropped, provenance).
  void commit(const std::string& reference, const std::string& facts_json);

 private:
  std::string manifest(const std::string& reference, const std::string& facts_json) const;
  void write_profiles() const;

  AtomicFolder folder_;
  std::vector<Contig> contigs_;
  std::vector<Profile> profiles_;
  ModelWindow window_;
  std::vector<std::string> comments_;
  ParallelBgzfWriter bed_;
  LabelMatrixWriter labels_;
  std::vector<bool> contig_used_;
  std::array<std::uint64_t, split_count> bins_{};
  std::vector<std::array<std::uint64_t, split_count>> positives_;
  std::string line_;
};

// Files that a manifest or a list names: they are looked for from the folder of that file first and then from
// the working folder, so that a data set is used from anywhere, and one whose paths were written from another
// folder still is.
//
//   const std::string genome =
//       find_beside(manifest.reference, folder, folder + "/manifest.json", "give the genome");

// The path that opens the file `path` is meant to be: an absolute one as it is, else folder/path where there
// is such a file, else path. Error{bad_input} that names both places where neither is there: `where` says who
// names the file ("DIR/manifest.json", "peaks.tsv:3").
std::string find_beside(const std::string& path, const std::string& folder, const std::string& where,
                        const std::string& hint);

// How a file of `folder` names `path`, a path from the working folder, so that it is found from `folder`:
// "../genome.fa". Absolute paths stay as they are. The folder need not be there yet.
std::string path_from_folder(const std::string& path, const std::string& folder);

}  // namespace bigbird
