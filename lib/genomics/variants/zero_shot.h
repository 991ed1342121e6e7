// Scores of variants by a language model that was only pretrained (docs/variants.md, Without fine-tuning):
// the log-likelihood ratio of each ALT (lib/genomics/language_scorer.h), what the frequencies of pieces say
// of it, and how far it moves the vectors around. Both windows have the same flanks: ALT's is longer or
// shorter than REF's by what it inserts or deletes.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "lib/genomics/language_scorer.h"
#include "lib/genomics/variants/alleles.h"
#include "lib/genomics/variants/chunk_scorer.h"
#include "lib/genomics/variants/columns.h"
#include "lib/genomics/variants/scoring.h"
#include "lib/io/genome/fasta.h"

namespace bigbird {

// Bases of a window where none are asked for: 512, or so many that they fit with a token a base, and what an
// allele of 30 bases inserts.
std::int64_t usual_language_window(const ModelConfig& config);

// "left-to-right", "joint", "none": as --lm-passes takes them.
inline constexpr std::array<std::pair<LanguagePasses, const char*>, 3> language_passes_names{
    {{LanguagePasses::left_to_right, "left-to-right"},
     {LanguagePasses::joint, "joint"},
     {LanguagePasses::unmasked, "none"}}};

// Columns of AlleleResult::language, in their order.
std::vector<ScoreColumn> language_columns(const LanguageScorerOptions& options);
// Error{usage} for windows that are shifted or on a grid.
ScoringModels models_of(LanguageScorer& scorer, const VariantWindows& windows);

// Counts the pieces of windows that lie evenly over a genome, 10,000 windows and 5 million bases at most:
// their frequencies are what LM_CONTROL is made of. Windows with more N than half are left out, and another
// one is taken.
void count_genome_pieces(const std::vector<Contig>& contigs, Fasta& fasta, std::int64_t window,
                         LanguageScorer& scorer);

class ZeroShotScorer : public AlleleScorer {
 public:
  // The references live as long as this object; tracks, baselines and background may be null.
  ZeroShotScorer(LanguageScorer& scorer, const ScoringContext& context, AlleleBaselines* baselines,
                 const VariantBackground* background);

  void add(const std::vector<VcfRecord>& records, std::function<void(ChunkResult)> done) override;
  void finish() override { scorer_.finish(); }

 private:
  void take(const ChangeScores& scores, const std::string& where, AlleleResult& result) const;

  LanguageScorer& scorer_;
  AlleleTracks* tracks_;
  AlleleBaselines* baselines_;
  const VariantBackground* background_;
  std::vector<AlleleJudge> judges_;  // one for each thread
  bool told_ = false;                // of how many passes an allele takes
};

}  // namespace bigbird
