// What runs over variants share; see scoring.h.
#include "lib/genomics/variants/scoring.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/core/settings.h"

namespace bigbird {

ScoringContext::ScoringContext(const VariantScoringOptions& options, SequenceScorer& sequence_scorer)
    : scorer(sequence_scorer),
      fasta(options.fasta),
      contigs(fasta.contigs()),
      rules(options.rules),
      windows(options.windows) {
  place_windows(rules, windows, scorer.window());
  origin = {fmt::format("{}", fmt::join(scorer.digests(), ",")),
            windows_text(rules, windows, scorer.strands_read())};
  if (options.tracks.empty()) return;
  tracks = std::make_unique<AlleleTracks>(options.tracks, contigs, options.fasta);
  origin.tracks = tracks->identities();
}

void ScoringContext::count(const std::vector<VcfRecord>& records, const ChunkResult& result,
                           VariantTally& tally) const {
  if (result.records.size() != records.size()) throw_runtime("a chunk lost records");
  for (std::size_t record = 0; record < records.size(); ++record) {
    if (result.records[record].size() != std::max<std::size_t>(records[record].alts.size(), 1)) {
      throw_runtime(records[record].where + ": an allele was lost");
    }
    tally.add(records[record], result.records[record]);
  }
  const std::uint64_t passes_of_window = scorer.models() * scorer.strands();
  tally.passes += result.windows * passes_of_window;
  tally.passes_asked += result.windows_asked * passes_of_window;
}

std::optional<Error> why_nothing_was_scored(const VariantTally& tally, const std::string& input) {
  if (tally.scored > 0 || tally.alleles == 0) return std::nullopt;
  const std::string reason = tally.skipped.most_frequent();
  std::string hint = "look at the counts by reason";
  if (reason == skip_reason_name(SkipReason::unknown_contig)) {
    hint = fmt::format("the genome has no contig {}: is it another assembly?",
                       tally.unknown_contigs.begin()->first);
  } else if (reason == skip_reason_name(SkipReason::ref_mismatch)) {
    hint = "is the genome of another build than the variants?";
  } else if (reason == skip_reason_name(SkipReason::too_many_n)) {
    hint = message("`max_n` takes windows with more N");
  }
  return Error(
      ErrorKind::bad_input,
      fmt::format("{}: none of {} alleles was scored ({})", input, tally.alleles, tally.skipped.text()),
      hint);
}

}  // namespace bigbird
