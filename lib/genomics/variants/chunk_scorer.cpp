// Scoring chunks of variants; see chunk_scorer.h.
#include "lib/genomics/variants/chunk_scorer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/genomics/effect_scores.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {
namespace {

// Windows that one thread tokenizes one after the other, each with the help of the one before it.
constexpr std::size_t encoded_in_turn = 8;

// Windows tokenized at once. A device runs what was tokenized before meanwhile, and must not be done with it:
// of windows of 8,000 bases its queue holds some 160.
constexpr std::size_t encoded_at_once = 64;

std::span<const std::int32_t> without_ends(const std::vector<std::int32_t>& ids, const SpecialIds& special) {
  return std::span<const std::int32_t>(ids).subspan(1, ids.size() - special.around());
}

}  // namespace

void place_windows(AlleleRules& rules, VariantWindows& windows, const std::optional<ModelWindow>& model) {
  if (windows.shifts < 1 || windows.shifts % 2 == 0) {
    throw_usage(message("`shifts` {}: an odd number is needed", windows.shifts),
                "3 takes the window itself and one on each side");
  }
  if (windows.window == 0 && !model) {
    throw_usage("the model's folder has no window", message("give `window` N"));
  }
  const bool own = model && (windows.window == 0 || windows.window == model->length);
  if (model && !own) {
    log_warning_once(
        fmt::format("the model was trained with windows of {} bp: scores with windows of {} bp are "
                    "of another kind",
                    model->length, windows.window));
  }
  if (windows.window == 0) windows.window = model->length;
  if (windows.anchor_bin) {
    if (!own || model->target_length < 2) {
      throw_usage(message("`anchor_bin`: the model has no target bin of more than one base in this window"),
                  "leave it out, or use a model of `bigbird chromatin finetune` with its own window");
    }
    if (windows.offset >= 0) throw_usage(message("`offset`: with `anchor_bin` the bin's place gives it"));
    rules.grid = model->target_length;
    rules.target_offset = model->target_offset;
  }
  if (windows.offset < 0) {
    windows.offset = scored_place(own ? *model : centred_window(windows.window));
  }
  const std::int64_t reach = windows.shifts / 2 * windows.shift_step;
  const std::int64_t first = windows.anchor_bin ? rules.target_offset : windows.offset;
  const std::int64_t last = windows.anchor_bin ? first + rules.grid - 1 : windows.offset;
  if (first < reach || last + reach >= windows.window) {
    throw_usage(fmt::format("the variant's place, {} of {} bp, shifted by {} bp leaves the window",
                            windows.offset, windows.window, reach),
                message("choose another `offset`, or fewer or smaller shifts"));
  }
  rules.window = windows.window;
  rules.offset = windows.offset;
}

std::string windows_text(const AlleleRules& rules, const VariantWindows& windows, Strands strands) {
  return fmt::format("window={} offset={} grid={} target={} shifts={} step={} edge={} strands={}",
                     rules.window, rules.offset, rules.grid, rules.target_offset, windows.shifts,
                     windows.shifts > 1 ? windows.shift_step : 0, edge_rule_name(rules.edge),
                     strands == Strands::both ? "2" : name_of(strands));
}

// One different sequence of the chunk.
struct ChunkScorer::Window {
  std::string_view sequence;
  // Where it was cut from: of what ALT makes of REF, base i behind the change is the genome's begin + i +
  // removed.
  std::size_t contig = 0;
  std::int64_t begin = 0;
  std::int64_t removed = 0;
  bool is_reference = false;
  bool cut = false;
  std::vector<double> values;         // [outputs, strands]
  std::size_t uses = 0;               // by jobs that are not reduced yet
  std::vector<std::size_t> last_for;  // the jobs that are complete with this window
  std::size_t last_user = 0;          // the last window that a job of this one is complete with
  // Ids of the first model and the first strand that is read: only where a job is complete with a window that
  // is encoded later. All ids go to the model.
  std::vector<std::int32_t> tokens;
};

// One allele that is scored.
struct ChunkScorer::Job {
  AlleleResult* result = nullptr;
  const VcfRecord* record = nullptr;
  std::vector<std::pair<std::size_t, std::size_t>> windows;  // REF and ALT, for each shift
};

// Records with their alleles judged and their windows counted. Sequences lie in `placed`, results in
// `result`.
struct ChunkScorer::Chunk {
  std::vector<std::vector<PlacedAllele>> placed;  // [records, shifts]
  std::vector<Job> jobs;
  std::vector<Window> windows;
  ChunkResult result;
  std::size_t open_jobs = 0;  // not reduced yet
  std::function<void(ChunkResult)> done;
};

ChunkScorer::ChunkScorer(SequenceScorer& scorer, const Fasta& fasta, const ContigNames& contigs,
                         const ChunkScorerOptions& options, const VariantBackground* background)
    : scorer_(scorer), options_(options), background_(background) {
  if (!scorer.gives_probabilities()) {
    throw_bad_input("the model is a regression: variant scores are of probabilities",
                    "give a model of promoter finetune or chromatin finetune");
  }
  for (int thread = 0; thread < kernels::thread_count(); ++thread) {
    judges_.emplace_back(fasta, contigs, options_.rules);
  }
  // The window in its place first: its reason and its flags are the ones that count first.
  shifts_.push_back(0);
  for (std::int64_t step = 1; step <= options_.windows.shifts / 2; ++step) {
    shifts_.push_back(-step * options_.windows.shift_step);
    shifts_.push_back(step * options_.windows.shift_step);
  }
  if (options_.keep_groups) groups_ = profile_groups(scorer.profiles());
  differences_.resize(scorer.outputs());
  log_fold_changes_.resize(scorer.outputs());
  if (background_ != nullptr) e_values_.resize(scorer.outputs());
}

std::vector<std::vector<PlacedAllele>> judge_alleles(std::vector<AlleleJudge>& judges,
                                                     const std::vector<VcfRecord>& records,
                                                     const std::vector<std::int64_t>& shifts) {
  std::vector<std::vector<PlacedAllele>> placed(records.size() * shifts.size());
  kernels::parallel_for_worker(records.size(), [&](std::size_t record, int worker) {
    for (std::size_t shift = 0; shift < shifts.size(); ++shift) {
      placed[record * shifts.size() + shift] =
          judges[static_cast<std::size_t>(worker)].judge(records[record], shifts[shift]);
    }
  });
  return placed;
}

ChunkResult AlleleScorer::score(const std::vector<VcfRecord>& records) {
  ChunkResult result;
  add(records, [&result](ChunkResult made) { result = std::move(made); });
  finish();
  return result;
}

ChunkResult ChunkScorer::judge(const std::vector<VcfRecord>& records) {
  return std::move(lay_out(records).result);
}

ChunkScorer::Chunk ChunkScorer::lay_out(const std::vector<VcfRecord>& records) {
  throw_if_cancelled();
  Chunk chunk;
  std::vector<std::vector<PlacedAllele>>& placed = chunk.placed;
  std::vector<Job>& jobs = chunk.jobs;
  std::vector<Window>& windows = chunk.windows;
  ChunkResult& result = chunk.result;
  placed = judge_alleles(judges_, records, shifts_);

  if (options_.baselines != nullptr) options_.baselines->prepare(records);
  result.records.resize(records.size());
  std::unordered_map<std::string_view, std::size_t> known;
  const auto window_of = [&](const PlacedAllele& allele, bool is_reference) {
    const std::string_view sequence = is_reference ? allele.reference : allele.alternative;
    const auto [place, is_new] = known.emplace(sequence, windows.size());
    if (is_new) {
      Window& window = windows.emplace_back();
      window.sequence = sequence;
      window.contig = allele.contig;
      window.begin = allele.window_begin;
      window.is_reference = is_reference;
      if (!is_reference)
        window.removed =
            static_cast<std::int64_t>(allele.ref.size()) - static_cast<std::int64_t>(allele.alt.size());
    }
    ++windows[place->second].uses;
    ++result.windows_asked;
    return place->second;
  };
  for (std::size_t record = 0; record < records.size(); ++record) {
    const std::vector<PlacedAllele>* shifted = &placed[record * shifts_.size()];
    result.records[record].resize(shifted[0].size());
    for (std::size_t allele = 0; allele < shifted[0].size(); ++allele) {
      AlleleResult& kept = result.records[record][allele];
      for (std::size_t shift = 0; shift < shifts_.size(); ++shift) {
        const PlacedAllele& one = shifted[shift][allele];
        if (kept.reason == SkipReason::none) kept.reason = one.reason;
        kept.flags |= one.flags;
        kept.n_share = std::max(kept.n_share, static_cast<float>(one.n_share));
      }
      if (kept.reason != SkipReason::none) continue;
      if (options_.baselines != nullptr)
        kept.baselines = options_.baselines->values(records[record], records[record].alts[allele]);
      if (options_.tracks != nullptr) kept.tracks = options_.tracks->values(shifted[0][allele]);
      Job job{&kept, &records[record], {}};
      std::size_t last = 0;
      for (std::size_t shift = 0; shift < shifts_.size(); ++shift) {
        const PlacedAllele& one = shifted[shift][allele];
        const std::size_t reference = window_of(one, true);
        const std::size_t alternative = window_of(one, false);
        job.windows.emplace_back(reference, alternative);
        last = std::max({last, reference, alternative});
      }
      for (const auto& [reference, alternative] : job.windows) {
        windows[reference].last_user = std::max(windows[reference].last_user, last);
        windows[alternative].last_user = std::max(windows[alternative].last_user, last);
      }
      windows[last].last_for.push_back(jobs.size());
      jobs.push_back(std::move(job));
    }
  }
  result.windows = windows.size();
  return chunk;
}

void ChunkScorer::add(const std::vector<VcfRecord>& records, std::function<void(ChunkResult)> done) {
  const auto chunk = std::make_shared<Chunk>(lay_out(records));
  if (chunk->jobs.empty()) {
    done(std::move(chunk->result));
    return;
  }
  chunk->open_jobs = chunk->jobs.size();
  chunk->done = std::move(done);
  std::vector<Window>& windows = chunk->windows;
  for (std::size_t begin = 0; begin < windows.size(); begin += encoded_at_once) {
    throw_if_cancelled();
    const std::size_t end = std::min(begin + encoded_at_once, windows.size());
    std::vector<EncodedSequence> encoded = encode(std::span(windows).subspan(begin, end - begin));
    compare_tokens(*chunk, encoded, begin);
    for (std::size_t index = begin; index < end; ++index) {
      scorer_.add(std::move(encoded[index - begin]),
                  [this, chunk, index](const SequenceScores& scores) { take_scores(*chunk, index, scores); });
    }
  }
}

// Windows of neighbours overlap, and REF and ALT are the same but for the change: each is encoded with the
// help of the last REF window before it. The ids do not depend on it.
std::vector<EncodedSequence> ChunkScorer::encode(std::span<Window> windows) {
  std::vector<EncodedSequence> encoded(windows.size());
  const std::size_t turns = (windows.size() + encoded_in_turn - 1) / encoded_in_turn;
  std::vector<PlacedSequence> last(turns);
  kernels::parallel_for(turns, [&](std::size_t turn) {
    const PlacedSequence* known = last_reference_.known.encoded.ids.empty() ? nullptr : &last_reference_;
    const std::size_t end = std::min((turn + 1) * encoded_in_turn, windows.size());
    for (std::size_t i = turn * encoded_in_turn; i < end; ++i) {
      Window& window = windows[i];
      const std::int64_t offset = known == nullptr ? 0 : window.begin - known->begin;
      const bool overlaps = known != nullptr && known->contig == window.contig &&
                            std::abs(offset) < static_cast<std::int64_t>(window.sequence.size());
      const std::int64_t offsets[] = {offset, offset + window.removed};
      encoded[i] = overlaps ? scorer_.encode_like(window.sequence, known->known,
                                                  std::span(offsets).first(window.removed == 0 ? 1 : 2))
                            : scorer_.encode(window.sequence);
      window.cut = encoded[i].cut;
      if (!window.is_reference) continue;
      last[turn] = {window.contig, window.begin, scorer_.as_known(window.sequence, encoded[i])};
      known = &last[turn];
    }
  });
  for (PlacedSequence& one : last) {
    if (!one.known.encoded.ids.empty()) last_reference_ = std::move(one);
  }
  return encoded;
}

// What the alleles change of the tokens, for those whose last window is one of these; they begin at `begin`.
void ChunkScorer::compare_tokens(Chunk& chunk, std::span<const EncodedSequence> encoded, std::size_t begin) {
  std::vector<Window>& windows = chunk.windows;
  const auto tokens = [&](std::size_t window) {
    return without_ends(window < begin ? windows[window].tokens : encoded[window - begin].ids.front(),
                        scorer_.first_special());
  };
  const std::size_t end = begin + encoded.size();
  for (std::size_t index = begin; index < end; ++index) {
    for (const std::size_t job : windows[index].last_for) {
      AlleleResult& result = *chunk.jobs[job].result;
      double share = 0;
      for (const auto& [reference, alternative] : chunk.jobs[job].windows) {
        share += changed_token_share(tokens(reference), tokens(alternative));
        if (windows[reference].cut || windows[alternative].cut) result.flags |= flag_cut;
      }
      result.token_share = static_cast<float>(share / static_cast<double>(chunk.jobs[job].windows.size()));
    }
    if (windows[index].last_user >= end) windows[index].tokens = encoded[index - begin].ids.front();
  }
}

void ChunkScorer::finish() {
  scorer_.finish();
}

void ChunkScorer::take_scores(Chunk& chunk, std::size_t index, const SequenceScores& scores) {
  const std::size_t strands = scorer_.strands(), outputs = scorer_.outputs();
  std::vector<Window>& windows = chunk.windows;
  Window& window = windows[index];
  window.values.resize(outputs * strands);
  for (std::size_t output = 0; output < outputs; ++output) {
    for (std::size_t strand = 0; strand < strands; ++strand) {
      window.values[output * strands + strand] = scores.mean_of_models(strand, output);
    }
  }
  for (const std::size_t job : window.last_for) {
    reduce(chunk.jobs[job], windows);
    for (const auto& [reference, alternative] : chunk.jobs[job].windows) {
      for (const std::size_t used : {reference, alternative}) {
        if (--windows[used].uses > 0) continue;
        windows[used].values = {};
        windows[used].tokens = {};
      }
    }
    if (--chunk.open_jobs == 0) chunk.done(std::move(chunk.result));
  }
}

void ChunkScorer::reduce(const Job& job, const std::vector<Window>& windows) {
  AlleleResult& result = *job.result;
  const std::size_t strands = scorer_.strands();
  const std::size_t outputs = scorer_.outputs();
  const double shifts = static_cast<double>(job.windows.size());
  const std::size_t per_profile = values_per_profile();
  result.values.resize(options_.written.size() * per_profile);
  auto written = options_.written.begin();
  float largest = -1;
  for (std::size_t profile = 0; profile < outputs; ++profile) {
    Effect mean;
    for (const auto& [reference, alternative] : job.windows) {
      const Effect effect =
          effect_of(std::span(windows[reference].values).subspan(profile * strands, strands),
                    std::span(windows[alternative].values).subspan(profile * strands, strands));
      mean.reference += effect.reference / shifts;
      mean.alternative += effect.alternative / shifts;
      mean.difference += effect.difference / shifts;
      mean.log_fold_change += effect.log_fold_change / shifts;
    }
    if (!std::isfinite(mean.difference) || !std::isfinite(mean.log_fold_change)) {
      throw_bad_input(fmt::format("{}: the model's probability of profile {} is not a number",
                                  job.record->where, profile),
                      "look at the model with `bigbird check`");
    }
    differences_[profile] = static_cast<float>(mean.difference);
    log_fold_changes_[profile] = static_cast<float>(mean.log_fold_change);
    const float size = effect_size(differences_[profile], log_fold_changes_[profile]);
    if (size > largest) {
      largest = size;
      result.profile = static_cast<std::int32_t>(profile);
      result.difference = differences_[profile];
      result.log_fold_change = log_fold_changes_[profile];
    }
    if (background_ != nullptr) e_values_[profile] = background_->e_value(profile, size);
    if (written != options_.written.end() && *written == profile) {
      float* values =
          result.values.data() + static_cast<std::size_t>(written - options_.written.begin()) * per_profile;
      values[0] = static_cast<float>(mean.reference);
      values[1] = static_cast<float>(mean.alternative);
      values[2] = differences_[profile];
      values[3] = log_fold_changes_[profile];
      if (background_ != nullptr) values[4] = static_cast<float>(e_values_[profile]);
      ++written;
    }
  }
  if (background_ != nullptr) {
    result.e_value = static_cast<float>(*std::min_element(e_values_.begin(), e_values_.end()));
    track_e_values_.clear();
    for (std::size_t track = 0; track < result.tracks.size(); ++track)
      track_e_values_.push_back(background_->track_e_value(track, result.tracks[track]));
    for (const double value : track_e_values_) result.tracks.push_back(static_cast<float>(value));
    result.functional = static_cast<float>(functional_score(e_values_, track_e_values_));
  }
  result.groups.reserve(groups_.size());
  for (const ProfileGroup& group : groups_) {
    result.groups.push_back(summarize_group(group, differences_, log_fold_changes_));
  }
}

}  // namespace bigbird
