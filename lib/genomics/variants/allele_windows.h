// Windows of the alleles of a variant file, with REF and what ALT makes of it: for vectors of both
// (lib/inference/embed.h). Alleles are judged, trimmed and placed as for scores (alleles.h); both windows
// have the same flanks, as for a language model (zero_shot.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/genomics/variants/alleles.h"
#include "lib/genomics/variants/scoring.h"
#include "lib/genomics/variants/summary.h"
#include "lib/inference/windows.h"
#include "lib/io/genome/vcf.h"

namespace bigbird {

class AlleleWindows : public WindowReader {
 public:
  // `options`: with a length of the windows; `model`: where they lie around a variant, where it tells.
  // Errors: as ScoringContext and VariantInput.
  AlleleWindows(const VariantScoringOptions& options, const std::optional<ModelWindow>& model);

  // A window for each allele that is not skipped, in the order of the file, on the forward strand. Its id is
  // CHROM:POS:REF:ALT as the file has them; begin and end are of its bases that the contig has. At the end
  // Error{bad_input} as why_nothing_was_scored.
  bool next(Window& window) override;
  const VariantTally& tally() const { return tally_; }  // of the records read so far

 private:
  bool read_chunk();

  std::string path_;
  ScoringContext context_;
  VariantInput input_;
  AlleleJudge judge_;
  std::vector<Window> windows_;  // of a chunk
  std::size_t next_ = 0;
  VariantTally tally_;
};

}  // namespace bigbird
