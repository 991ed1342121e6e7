// `bigbird variants background`; see run.h.
#include <map>
#include <numeric>
#include <utility>

#include "lib/core/progress.h"
#include "lib/genomics/effect_scores.h"
#include "lib/genomics/variants/background.h"
#include "lib/genomics/variants/run.h"
#include "lib/genomics/variants/scoring.h"

namespace bigbird {
namespace {

// Effects of all profiles are kept, whatever the model has.
std::vector<std::size_t> all_profiles(const SequenceScorer& scorer) {
  std::vector<std::size_t> all(scorer.outputs());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

// Takes the first records of the input, `most` of them in all (0: no limit).
bool next_records(VariantInput& input, std::uint64_t taken, std::uint64_t most,
                  std::vector<VcfRecord>& records) {
  if (most > 0 && taken >= most) return false;
  if (!input.next(records)) return false;
  if (most > 0 && taken + records.size() > most) records.resize(most - taken);
  return true;
}

// Adds |logFC * diff| and the tracks' values of every scored allele.
void add_effects(const ChunkResult& result, std::size_t profiles, std::size_t values_per_profile,
                 BackgroundWriter& writer) {
  std::vector<float> sizes(profiles);
  for (const std::vector<AlleleResult>& record : result.records) {
    for (const AlleleResult& allele : record) {
      if (allele.reason != SkipReason::none) continue;
      for (std::size_t profile = 0; profile < profiles; ++profile) {
        const float* values = allele.values.data() + profile * values_per_profile;
        sizes[profile] = effect_size(values[2], values[3]);
      }
      writer.add(sizes, allele.tracks);
    }
  }
}

}  // namespace

VariantTally run_variant_background(const VariantBackgroundOptions& options, SequenceScorer& scorer) {
  const VariantScoringOptions& scoring = options.scoring;
  const ScoringContext context(scoring, scorer);
  scorer.open();
  ChunkScorer chunk_scorer(
      scorer, context.fasta, context.contigs,
      {context.rules, context.windows, all_profiles(scorer), false, context.tracks.get()}, nullptr);
  VariantInput input(scoring.input, scoring.regions, context.fasta, context.contigs, scoring.chunk);
  BackgroundWriter writer(options.output, scorer.outputs());
  VariantTally tally;
  Progress progress("variants background", options.max_records, "records");
  std::vector<VcfRecord> records;
  while (next_records(input, tally.records, options.max_records, records)) {
    const ChunkResult result = chunk_scorer.score(records);
    context.count(records, result, tally);
    add_effects(result, scorer.outputs(), chunk_scorer.values_per_profile(), writer);
    progress.advance(records.size());
  }
  if (const auto nothing = why_nothing_was_scored(tally, scoring.input)) throw Error(*nothing);
  std::map<std::string, std::string> metadata;
  if (!options.provenance_json.empty()) metadata["provenance"] = options.provenance_json;
  writer.commit(context.origin, std::move(metadata));
  return tally;
}

}  // namespace bigbird
