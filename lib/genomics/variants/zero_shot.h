// Scores of variants by a language model that was only pretrained (docs/variants.md, Without fine-tuning):
// the log-likelihood ratio of each ALT (lib/genomics/language_scorer.h), what the frequencies of pieces say
// of it, and how far it moves the vectors around. Both windows have the same flanks: ALT's is longer or
// shorter than REF's by what it inserts or deletes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/genomics/language_scorer.h"
#include "lib/genomics/variants/alleles.h"
#include "lib/genomics/variants/chunk_scorer.h"
#include "lib/genomics/variants/columns.h"
#include "lib/genomics/variants/scoring.h"
#include "lib/io/genome/fasta.h"

namespace bigbird {

// Columns of AlleleResult::language, in their order: language_scores(), LM_DERIVED where `ancestral`, the
// INFO field that orients a ratio, is not empty, and REPEATS.
std::vector<ScoreColumn> language_columns(const LanguageScorerOptions& options, const std::string& ancestral);
// Error{usage} for windows that are shifted or on a grid.
ScoringModels models_of(LanguageScorer& scorer, const VariantWindows& windows);

// Counts the pieces of the genome and reads the weights.
void open_language(LanguageScorer& scorer, ScoringContext& context);

// Which allele of a record is ancestral, as an INFO field tells: a base or bases in any case, and what
// follows "|" is not read (1000 Genomes' AA). none: the field names neither, or there is none.
enum class Ancestral { none, ref, alt };
Ancestral ancestral_allele(std::string_view info, std::string_view ref, std::string_view alt);

struct ZeroShotOptions {
  bool ancestral = false;     // records keep the INFO field of the ancestral allele
  bool tells_passes = false;  // a message of how many passes an allele takes, before the first one
  // As long-lived as the scorer; may be null.
  AlleleBaselines* baselines = nullptr;
  const VariantBackground* background = nullptr;
};

class ZeroShotScorer : public AlleleScorer {
 public:
  // The references live as long as this object.
  ZeroShotScorer(LanguageScorer& scorer, const ScoringContext& context, const ZeroShotOptions& options);

  void add(const std::vector<VcfRecord>& records, std::function<void(ChunkResult)> done) override;
  void finish() override { scorer_.finish(); }
  ChunkResult judge(const std::vector<VcfRecord>& records) override;

 private:
  struct Chunk;
  // An allele that is scored.
  struct Job {
    std::size_t record = 0, number = 0;
    std::string where;
    double repeat_share = 0;
    Ancestral ancestral = Ancestral::none;  // of what stands as REF and ALT in the windows
  };
  Chunk lay_out(const std::vector<VcfRecord>& records);
  void take(const ChangeScores& scores, const Job& job, AlleleResult& result) const;

  LanguageScorer& scorer_;
  AlleleTracks* tracks_;
  ZeroShotOptions options_;
  std::vector<AlleleJudge> judges_;  // one for each thread
};

}  // namespace bigbird
