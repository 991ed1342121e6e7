// Private to `bigbird bench`: what genome models are asked for, on a genome made for it: tokens of a genome,
// scores of variants and of windows.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/genomics/variants/chunk_scorer.h"
#include "lib/genomics/variants/scoring.h"
#include "lib/inference/sequence_scorer.h"
#include "lib/io/genome/vcf.h"
#include "lib/model/config.h"

namespace bigbird {

class Tokenizer;

// SCRATCH/genome as `bigbird simulate` makes it, windows that cover it several times, and, where asked for, a
// vocabulary as `bigbird train-bpe` learns it.
class MachineGenome {
 public:
  MachineGenome(const std::string& scratch, std::uint64_t seed);

  std::string fasta() const { return scratch_ + "/genome/genome.fa.gz"; }
  std::string variants() const { return scratch_ + "/genome/variants.vcf.gz"; }
  // Trains a vocabulary of 2,000 pieces; the folder.
  std::string train_vocabulary() const;
  // Once all windows to token shards in SCRATCH. The bases.
  double tokenize(const Tokenizer& tokenizer) const;

 private:
  std::string windows() const { return scratch_ + "/windows.bed"; }
  std::string scratch_;
  std::uint64_t seed_;
};

// A model like those of chromatin: SCRATCH/classifier with the encoder of `folder`, or random weights of
// `config` where that is empty, a new head of 919 profiles, windows of 1,000 bp around a bin of 200, and the
// tokenizer of `tokenizer`. The folder.
std::string write_machine_classifier(const std::string& scratch, ModelConfig config,
                                     const std::string& folder, const std::string& tokenizer,
                                     std::uint64_t seed);

// The scorers of `bigbird variants` and of scans, over the genome above.
class MachineScorer {
 public:
  // `model`: a folder with a classification head that reads DNA. Errors as SequenceScorer.
  MachineScorer(const MachineGenome& genome, const std::string& model, kernels::Backend& backend);
  ~MachineScorer();

  std::int64_t window() const;  // bp
  // Scores some variants, REF and ALT on both strands. How many alleles.
  double score_variants();
  // Scores windows at steps of 100 bp on both strands. Bases that these steps cover.
  double scan();

 private:
  std::unique_ptr<SequenceScorer> scorer_;
  VariantScoringOptions options_;
  std::unique_ptr<ScoringContext> context_;
  std::unique_ptr<ChunkScorer> chunk_scorer_;
  std::vector<VcfRecord> records_;
  std::vector<std::string> sequences_;  // of the scan
};

inline constexpr std::int64_t machine_scan_step = 100;  // bp, as `bigbird promoter scan` has it

}  // namespace bigbird
