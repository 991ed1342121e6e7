// See zero_shot.h.
#include "lib/genomics/variants/zero_shot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/core/names.h"
#include "lib/genomics/variants/alleles_letters.h"

namespace bigbird {
namespace {

// A change of a C to T or a G to A where both stand in a CG: such sites mutate by themselves.
bool is_cpg_transition(const PlacedAllele& allele, std::size_t at) {
  if (allele.ref.size() != 1 || allele.alt.size() != 1) return false;
  const std::string& window = allele.reference;
  if (allele.ref == "C" && allele.alt == "T") return at + 1 < window.size() && window[at + 1] == 'G';
  return allele.ref == "G" && allele.alt == "A" && at > 0 && window[at - 1] == 'C';
}

}  // namespace

std::vector<ScoreColumn> language_columns(const LanguageScorerOptions& options,
                                          const std::string& ancestral) {
  std::vector<ScoreColumn> columns = language_scores(options);
  if (!ancestral.empty()) {
    columns.push_back({"LM_DERIVED", "LM_LLR of the derived allele against the ancestral one of INFO/" +
                                         ancestral +
                                         ": -LM_LLR where ALT is the ancestral, missing where neither is"});
  }
  columns.push_back({"REPEATS", "Share of the REF window in lower case in the genome: repeats"});
  return columns;
}

ScoringModels models_of(LanguageScorer& scorer, const VariantWindows& windows) {
  if (windows.shifts > 1) {
    throw_usage(message("`shifts` {}: language models score one window of an allele", windows.shifts),
                message("leave `shifts` out: moved windows have the same tokens around the variant"));
  }
  ScoringModels models;
  models.digests = scorer.digests();
  models.strands = scorer.strands_read();
  models.rules = fmt::format(" language={}", find_name(language_passes_names, scorer.options().passes));
  return models;
}

void open_language(LanguageScorer& scorer, ScoringContext& context) {
  count_genome_pieces(context.fasta.contigs(), context.fasta, context.rules.window, scorer);
  scorer.open();
}

Ancestral ancestral_allele(std::string_view info, std::string_view ref, std::string_view alt) {
  const std::string ancestral = upper_case(info.substr(0, info.find('|')));
  if (ancestral == upper_case(ref)) return Ancestral::ref;
  return ancestral == upper_case(alt) ? Ancestral::alt : Ancestral::none;
}

// Records with their alleles judged: those that are scored, and their changes.
struct ZeroShotScorer::Chunk {
  std::shared_ptr<ChunkResult> result = std::make_shared<ChunkResult>();
  std::vector<Job> jobs;
  std::vector<SequenceChange> changes;
  std::vector<std::string> where;
};

ZeroShotScorer::ZeroShotScorer(LanguageScorer& scorer, const ScoringContext& context,
                               const ZeroShotOptions& options)
    : scorer_(scorer), tracks_(context.tracks.get()), options_(options) {
  AlleleRules rules = context.rules;
  rules.counts_repeats = true;
  for (int thread = 0; thread < kernels::thread_count(); ++thread)
    judges_.emplace_back(context.fasta, context.contigs, rules);
}

ZeroShotScorer::Chunk ZeroShotScorer::lay_out(const std::vector<VcfRecord>& records) {
  throw_if_cancelled();
  const std::vector<std::vector<PlacedAllele>> placed = judge_alleles(judges_, records, {0});
  AlleleBaselines* const baselines = options_.baselines;
  if (baselines != nullptr) baselines->prepare(records);
  Chunk chunk;
  chunk.result->records.resize(records.size());
  for (std::size_t record = 0; record < records.size(); ++record) {
    chunk.result->records[record].resize(placed[record].size());
    for (std::size_t number = 0; number < placed[record].size(); ++number) {
      const PlacedAllele& allele = placed[record][number];
      AlleleResult& kept = chunk.result->records[record][number];
      kept.reason = allele.reason;
      kept.flags = allele.flags;
      kept.n_share = static_cast<float>(allele.n_share);
      if (kept.reason != SkipReason::none) continue;
      const auto at = static_cast<std::size_t>(allele.begin - allele.window_begin);
      if (is_cpg_transition(allele, at)) kept.flags |= flag_cpg;
      const std::string& alt = records[record].alts[number];
      if (baselines != nullptr) kept.baselines = baselines->values(records[record], alt);
      if (tracks_ != nullptr) kept.tracks = tracks_->values(allele);
      Job job{record, number, records[record].where, allele.repeat_share};
      if (options_.ancestral) {
        const bool swapped = (allele.flags & flag_swapped) != 0;
        job.ancestral = ancestral_allele(records[record].info, swapped ? alt : records[record].ref,
                                         swapped ? records[record].ref : alt);
      }
      if (job.ancestral == Ancestral::alt) kept.flags |= flag_derived_ref;
      chunk.changes.push_back({allele.reference, at, allele.ref.size(), allele.alt});
      chunk.where.push_back(job.where);
      chunk.jobs.push_back(std::move(job));
    }
  }
  return chunk;
}

ChunkResult ZeroShotScorer::judge(const std::vector<VcfRecord>& records) {
  const Chunk chunk = lay_out(records);
  const LanguageScorer::Passes passes = scorer_.passes_of(chunk.changes, chunk.where);
  chunk.result->windows = passes.run;
  chunk.result->windows_asked = passes.asked;
  return std::move(*chunk.result);
}

void ZeroShotScorer::add(const std::vector<VcfRecord>& records, std::function<void(ChunkResult)> done) {
  const Chunk chunk = lay_out(records);
  const std::shared_ptr<ChunkResult> result = chunk.result;
  if (chunk.changes.empty()) return done(std::move(*result));
  const LanguageScorer::Passes before = scorer_.passes();
  const auto finished = [this, result, jobs = chunk.jobs,
                         done = std::move(done)](const std::vector<ChangeScores>& scores) {
    for (std::size_t i = 0; i < jobs.size(); ++i)
      take(scores[i], jobs[i], result->records[jobs[i].record][jobs[i].number]);
    done(std::move(*result));
  };
  scorer_.add(chunk.changes, chunk.where, finished, [&] {
    result->windows = scorer_.passes().run - before.run;
    result->windows_asked = scorer_.passes().asked - before.asked;
    if (!std::exchange(options_.tells_passes, false)) return;
    log_info(fmt::format("language model: {:.2f} forward passes an allele, of the first {}",
                         static_cast<double>(result->windows) / static_cast<double>(chunk.changes.size()),
                         chunk.changes.size()));
  });
}

void ZeroShotScorer::take(const ChangeScores& scores, const Job& job, AlleleResult& result) const {
  std::vector<float>& to = result.language;
  to = language_values(scores, scorer_.options());
  if (!std::all_of(to.begin(), to.end(), [](float value) { return std::isfinite(value); }))
    throw_bad_input(job.where + ": the model's probability of a token is not a number",
                    "look at the model with `bigbird check`");
  if (options_.ancestral) {
    const float unknown = std::numeric_limits<float>::quiet_NaN();
    to.push_back(job.ancestral == Ancestral::none  ? unknown
                 : job.ancestral == Ancestral::ref ? to.front()
                                                   : -to.front());
  }
  to.push_back(static_cast<float>(job.repeat_share));
  result.token_share = static_cast<float>(scores.token_share);
  const VariantBackground* const background = options_.background;
  if (background == nullptr) return;
  result.e_value = static_cast<float>(background->e_value(0, std::abs(to.front())));
  const std::size_t tracks = result.tracks.size();
  for (std::size_t track = 0; track < tracks; ++track)
    result.tracks.push_back(static_cast<float>(background->track_e_value(track, result.tracks[track])));
}

}  // namespace bigbird
