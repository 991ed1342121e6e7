// See zero_shot.h.
#include "lib/genomics/variants/zero_shot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/core/names.h"

namespace bigbird {
namespace {

constexpr std::int64_t most_places = 200'000;  // that are looked at, of a genome that is mostly N
constexpr std::int64_t most_counted_windows = 10'000;
constexpr std::int64_t most_counted_bases = 5'000'000;

// A change of a C to T or a G to A where both stand in a CG: such sites mutate by themselves.
bool is_cpg_transition(const PlacedAllele& allele, std::size_t at) {
  if (allele.ref.size() != 1 || allele.alt.size() != 1) return false;
  const std::string& window = allele.reference;
  if (allele.ref == "C" && allele.alt == "T") return at + 1 < window.size() && window[at + 1] == 'G';
  return allele.ref == "G" && allele.alt == "A" && at > 0 && window[at - 1] == 'C';
}

}  // namespace

std::int64_t usual_language_window(const ModelConfig& config) {
  return std::max<std::int64_t>(1, std::min<std::int64_t>(512, most_tokens(config) - 32));
}

std::vector<ScoreColumn> language_columns(const LanguageScorerOptions& options) {
  std::vector<ScoreColumn> columns{
      {"LM_LLR",
       "ln P(ALT) - ln P(REF) of the tokens that differ, mean over strands and models; below 0: ALT "
       "is less likely"}};
  if (options.strands == Strands::both) {
    columns.push_back({"LM_PLUS", "The same on the forward strand"});
    columns.push_back({"LM_MINUS", "The same on the reverse strand"});
  }
  columns.push_back({"LM_CONTROL", "The same with frequencies of pieces in place of the model"});
  columns.push_back({"LM_GAIN", "LM_LLR - LM_CONTROL: what the model adds to frequencies of pieces"});
  if (options.distances) {
    columns.push_back({"LM_L2",
                       "Distance of the last hidden states with REF and ALT, over all bases that do "
                       "not change; mean over strands and models"});
    columns.push_back({"LM_COS", "1 - cosine of the last hidden states at the variant; mean likewise"});
  }
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

void count_genome_pieces(const std::vector<Contig>& contigs, Fasta& fasta, std::int64_t window,
                         LanguageScorer& scorer) {
  std::vector<std::int64_t> ends;  // of contigs laid end to end
  for (const Contig& contig : contigs) ends.push_back(contig.length + (ends.empty() ? 0 : ends.back()));
  const std::int64_t places = std::max<std::int64_t>(1, std::min(most_places, ends.back() / window));
  const std::int64_t wanted =
      std::max<std::int64_t>(1, std::min(most_counted_windows, most_counted_bases / window));
  // Steps of the golden section come by all places, and the first ones lie evenly too.
  std::int64_t step = std::max<std::int64_t>(1, std::llround(static_cast<double>(places) * 0.6180339887));
  while (std::gcd(step, places) != 1) ++step;
  std::int64_t counted = 0;
  for (std::int64_t i = 0; i < places && counted < wanted; ++i) {
    throw_if_cancelled();
    const std::int64_t place = i * step % places * (ends.back() / places);
    const auto contig =
        static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), place) - ends.begin());
    const std::int64_t length = contigs[contig].length, before = ends[contig] - length;
    const std::int64_t begin = std::max<std::int64_t>(0, std::min(place - before, length - window));
    const std::string sequence = fasta.fetch(contig, begin, std::min(begin + window, length));
    const auto unknown = std::count(sequence.begin(), sequence.end(), 'N');
    if (sequence.empty() || 2 * unknown > static_cast<std::int64_t>(sequence.size())) continue;
    scorer.count_pieces(sequence);
    ++counted;
  }
}

ZeroShotScorer::ZeroShotScorer(LanguageScorer& scorer, const ScoringContext& context,
                               AlleleBaselines* baselines, const VariantBackground* background)
    : scorer_(scorer), tracks_(context.tracks.get()), baselines_(baselines), background_(background) {
  for (int thread = 0; thread < kernels::thread_count(); ++thread)
    judges_.emplace_back(context.fasta, context.contigs, context.rules);
}

void ZeroShotScorer::add(const std::vector<VcfRecord>& records, std::function<void(ChunkResult)> done) {
  throw_if_cancelled();
  const std::vector<std::vector<PlacedAllele>> placed = judge_alleles(judges_, records, {0});
  if (baselines_ != nullptr) baselines_->prepare(records);
  const auto result = std::make_shared<ChunkResult>();
  result->records.resize(records.size());
  std::vector<std::pair<std::size_t, std::size_t>> scored;  // record, allele
  std::vector<SequenceChange> changes;
  std::vector<std::string> where;
  for (std::size_t record = 0; record < records.size(); ++record) {
    result->records[record].resize(placed[record].size());
    for (std::size_t number = 0; number < placed[record].size(); ++number) {
      const PlacedAllele& allele = placed[record][number];
      AlleleResult& kept = result->records[record][number];
      kept.reason = allele.reason;
      kept.flags = allele.flags;
      kept.n_share = static_cast<float>(allele.n_share);
      if (kept.reason != SkipReason::none) continue;
      const auto at = static_cast<std::size_t>(allele.begin - allele.window_begin);
      if (is_cpg_transition(allele, at)) kept.flags |= flag_cpg;
      if (baselines_ != nullptr)
        kept.baselines = baselines_->values(records[record], records[record].alts[number]);
      if (tracks_ != nullptr) kept.tracks = tracks_->values(allele);
      scored.emplace_back(record, number);
      changes.push_back({allele.reference, at, allele.ref.size(), allele.alt});
      where.push_back(records[record].where);
    }
  }
  if (changes.empty()) return done(std::move(*result));
  const std::uint64_t passes = scorer_.passes(), asked = scorer_.passes_asked();
  const auto finished = [this, result, scored, where,
                         done = std::move(done)](const std::vector<ChangeScores>& scores) {
    for (std::size_t i = 0; i < scored.size(); ++i)
      take(scores[i], where[i], result->records[scored[i].first][scored[i].second]);
    done(std::move(*result));
  };
  scorer_.add(changes, where, finished, [&] {
    result->windows = scorer_.passes() - passes;
    result->windows_asked = scorer_.passes_asked() - asked;
    if (std::exchange(told_, true)) return;
    log_info(fmt::format("language model: {:.2f} forward passes an allele, of the first {}",
                         static_cast<double>(result->windows) / static_cast<double>(changes.size()),
                         changes.size()));
  });
}

void ZeroShotScorer::take(const ChangeScores& scores, const std::string& where, AlleleResult& result) const {
  const auto count = static_cast<double>(scores.strands.size());
  StrandChange mean;
  for (const StrandChange& strand : scores.strands) {
    mean.ratio += strand.ratio / count;
    mean.control += strand.control / count;
    mean.distance += strand.distance / count;
    mean.cosine += strand.cosine / count;
  }
  if (!std::isfinite(mean.ratio) || !std::isfinite(mean.distance))
    throw_bad_input(where + ": the model's probability of a token is not a number",
                    "look at the model with `bigbird check`");
  std::vector<float>& to = result.language;
  to.push_back(static_cast<float>(mean.ratio));
  if (scores.strands.size() > 1)
    for (const StrandChange& strand : scores.strands) to.push_back(static_cast<float>(strand.ratio));
  to.push_back(static_cast<float>(mean.control));
  to.push_back(static_cast<float>(mean.ratio - mean.control));
  if (scorer_.options().distances) {
    to.push_back(static_cast<float>(mean.distance));
    to.push_back(static_cast<float>(mean.cosine));
  }
  result.token_share = static_cast<float>(scores.token_share);
  if (background_ == nullptr) return;
  result.e_value = static_cast<float>(background_->e_value(0, std::abs(to.front())));
  const std::size_t tracks = result.tracks.size();
  for (std::size_t track = 0; track < tracks; ++track)
    result.tracks.push_back(static_cast<float>(background_->track_e_value(track, result.tracks[track])));
}

}  // namespace bigbird
