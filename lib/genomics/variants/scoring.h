// What `variants` and `variants background` share: the genome, the windows on it, the input, and the counts
// of what was scored.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/progress.h"
#include "lib/genomics/variants/alleles.h"
#include "lib/genomics/variants/background.h"
#include "lib/genomics/variants/chunk_scorer.h"
#include "lib/genomics/variants/summary.h"
#include "lib/genomics/variants/tracks.h"
#include "lib/inference/sequence_scorer.h"
#include "lib/io/genome/contig_names.h"
#include "lib/io/genome/fasta.h"
#include "lib/io/genome/vcf.h"

namespace bigbird {

// What is scored, and how.
struct VariantScoringOptions {
  std::string input;  // "-": stdin
  std::vector<std::string> regions;
  std::string fasta;
  std::vector<std::string> tracks;  // bigWig files, as named_path takes them
  std::string ancestral;            // INFO field of the ancestral allele, for language models; empty: none
  AlleleRules rules;
  VariantWindows windows;
  std::uint64_t chunk = 1000;  // records
};

// The models of a run, as all outputs of it tell of them.
struct ScoringModels {
  std::optional<ModelWindow> window;  // that they were trained with
  std::vector<std::string> digests;
  Strands strands = Strands::both;  // that are read
  std::size_t passes = 1;           // of all models over a window; 1 where every pass is counted
  std::string rules;                // behind those of windows, of what numbers depend on; may be empty
};
ScoringModels models_of(SequenceScorer& scorer);

// A genome and the windows that the models take of it.
struct ScoringContext {
  // Errors: as Fasta, place_windows and AlleleTracks.
  ScoringContext(const VariantScoringOptions& options, ScoringModels scoring_models);
  ScoringContext(const VariantScoringOptions& options, SequenceScorer& scorer)
      : ScoringContext(options, models_of(scorer)) {}

  // Adds a scored chunk to the counts. Error{runtime} when a record or an allele has no result.
  void count(const std::vector<VcfRecord>& records, const ChunkResult& result, VariantTally& tally) const;

  ScoringModels models;
  Fasta fasta;
  ContigNames contigs;
  AlleleRules rules;  // with the windows filled in
  VariantWindows windows;
  std::unique_ptr<AlleleTracks> tracks;  // null without
  BackgroundOrigin origin;               // what a background must have been made with
};

// Why a run that scored nothing is an error, with a hint that goes by its most frequent reason; nothing when
// some allele was scored, or there was none.
std::optional<Error> why_nothing_was_scored(const VariantTally& tally, const std::string& input);

// sha256 of what identifies records: place, id, alleles, filter and the INFO field that is kept of each.
std::string records_digest(const std::vector<VcfRecord>& records);

// A variant file as the scorers read it: in chunks, its build held against the genome's before anything is
// scored.
class VariantInput {
 public:
  // Of the options, what is read and in which chunks. Error{bad_input} when the header speaks of another
  // build than the genome's; as VcfReader.
  VariantInput(const VariantScoringOptions& options, const Fasta& fasta, const ContigNames& contigs);

  // The next chunk of records, `chunk` of them but at the end; false when there are none. Error{bad_input}
  // when the REF alleles of the first are of another build.
  bool next(std::vector<VcfRecord>& records);
  const VcfReader& reader() const { return reader_; }
  // Number of the chunk that next() gave last.
  std::uint64_t chunk_number() const { return chunks_ - 1; }
  std::uint64_t records() const { return records_; }

 private:
  VcfReader reader_;
  const Fasta& fasta_;
  const ContigNames& contigs_;
  std::uint64_t chunk_;
  std::uint64_t chunks_ = 0;
  std::uint64_t records_ = 0;
};

}  // namespace bigbird
