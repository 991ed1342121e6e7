// See language_scorer.h.
#include "lib/genomics/language_scorer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/genomics/effect_scores.h"
#include "lib/inference/probabilities.h"
#include "lib/io/genome/fasta.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {
namespace {

// Masked tokens of one call: their logits over the whole vocabulary are held at once.
constexpr std::size_t most_masked = 256;

constexpr std::int64_t most_places = 200'000;  // that are looked at, of a genome that is mostly N
constexpr std::int64_t most_counted_windows = 10'000;
constexpr std::int64_t most_counted_bases = 5'000'000;

// A sequence as a model reads it on a strand.
struct Tokens {
  std::vector<std::int32_t> ids;      // without [CLS] and [SEP]
  std::vector<std::uint32_t> begins;  // first base of each
  std::size_t bases = 0;

  std::size_t end_of(std::size_t token) const {
    return token + 1 < begins.size() ? begins[token + 1] : bases;
  }
  std::size_t over(std::size_t base) const {
    return static_cast<std::size_t>(std::upper_bound(begins.begin(), begins.end(), base) - begins.begin()) -
           1;
  }
};

Tokens tokens_of(const Tokenizer& tokenizer, std::string_view bases) {
  Tokens made;
  std::vector<std::uint32_t> ids;
  tokenizer.encode(bases, ids, &made.begins);
  made.ids.assign(ids.begin(), ids.end());
  made.bases = bases.size();
  return made;
}

// A change on one strand for one model: both readings, and where they differ.
struct StagedChange {
  Tokens reference, alternative;
  std::size_t prefix = 0, suffix = 0;                       // common tokens
  std::size_t begin = 0, removed = 0, added = 0;            // bases, on this strand
  std::vector<float> reference_hidden, alternative_hidden;  // until both are there

  std::size_t end_of(const Tokens& tokens) const { return tokens.ids.size() - suffix; }
};

StagedChange staged_change(const Tokenizer& tokenizer, const SequenceChange& change, bool reverse) {
  StagedChange made;
  const std::string alternative = change.alternative();
  made.removed = change.removed;
  made.added = change.added.size();
  if (reverse) {
    made.reference = tokens_of(tokenizer, reverse_complement(change.reference));
    made.alternative = tokens_of(tokenizer, reverse_complement(alternative));
    made.begin = change.reference.size() - change.begin - change.removed;
  } else {
    made.reference = tokens_of(tokenizer, change.reference);
    made.alternative = tokens_of(tokenizer, alternative);
    made.begin = change.begin;
  }
  const std::vector<std::int32_t>&r = made.reference.ids, &a = made.alternative.ids;
  const std::size_t shorter = std::min(r.size(), a.size());
  while (made.prefix < shorter && r[made.prefix] == a[made.prefix]) ++made.prefix;
  while (made.prefix + made.suffix < shorter &&
         r[r.size() - 1 - made.suffix] == a[a.size() - 1 - made.suffix])
    ++made.suffix;
  return made;
}

// Bases that a vocabulary lacks: N, for most of those that lack any.
void warn_of_unknown(const StagedChange& of, const std::string& where, const SequenceRunner& runner) {
  const auto unknown = static_cast<std::int32_t>(runner.tokenizer().special().unknown);
  if (std::find(of.reference.ids.begin(), of.reference.ids.end(), unknown) == of.reference.ids.end()) return;
  log_warning_once(
      fmt::format("{}: its window has bases (N) that the vocabulary of {} lacks: they are read as {}", where,
                  runner.folder().path(), runner.tokenizer().piece(static_cast<std::uint32_t>(unknown))));
}

// What is wanted of a pass: of a row ln p of a token, for a change; or its hidden states.
struct Wanted {
  std::size_t at = 0;    // of the changes and strands
  std::size_t term = 0;  // of its ratio
  std::int32_t row = 0;  // [CLS] is row 0
  std::int32_t token = 0;
  double sign = 0;
};
struct HiddenWanted {
  std::size_t at = 0;
  bool alternative = false;
};
struct Pass {
  std::vector<std::int32_t> ids;
  std::int64_t pad_to = 0;
  std::vector<Wanted> wanted;
  std::vector<HiddenWanted> hidden;
};

double dot(const float* a, const float* b, std::size_t width) {
  double sum = 0;
  for (std::size_t i = 0; i < width; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

double squared_distance(const float* a, const float* b, std::size_t width) {
  double sum = 0;
  for (std::size_t i = 0; i < width; ++i) {
    const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    sum += difference * difference;
  }
  return sum;
}

// StrandChange::distance and cosine; hidden states have a row for [CLS] first.
std::pair<double, double> distances(const StagedChange& of, std::size_t width) {
  const auto r = [&](std::size_t token) { return of.reference_hidden.data() + (token + 1) * width; };
  const auto a = [&](std::size_t token) { return of.alternative_hidden.data() + (token + 1) * width; };
  double sum = 0;
  // Bases `first` to `end` of the reference, which are `shift` further on in the alternative; token by token.
  const auto add = [&](std::size_t first, std::size_t end, std::ptrdiff_t shift) {
    for (std::size_t base = first; base < end;) {
      const auto there = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(base) + shift);
      const std::size_t i = of.reference.over(base), j = of.alternative.over(there);
      const std::size_t bases =
          std::min({of.reference.end_of(i) - base, of.alternative.end_of(j) - there, end - base});
      sum += static_cast<double>(bases) * squared_distance(r(i), a(j), width);
      base += bases;
    }
  };
  add(0, of.begin, 0);
  add(of.begin + of.removed, of.reference.bases,
      static_cast<std::ptrdiff_t>(of.added) - static_cast<std::ptrdiff_t>(of.removed));
  const float* const x = r(of.reference.over(std::min(of.begin, of.reference.bases - 1)));
  const float* const y = a(of.alternative.over(std::min(of.begin, of.alternative.bases - 1)));
  const double norms = std::sqrt(dot(x, x, width) * dot(y, y, width));
  return {std::sqrt(sum), norms > 0 ? 1.0 - dot(x, y, width) / norms : 0.0};
}

}  // namespace

std::int64_t usual_language_window(const ModelConfig& config) {
  return std::max<std::int64_t>(1, std::min<std::int64_t>(512, most_tokens(config) - 32));
}

std::int64_t usual_language_window(const std::vector<std::string>& models) {
  std::int64_t window = 0;
  for (const std::string& model : models) {
    const ModelConfig config = ModelFolder(model).config();
    if (!config.has_mlm() && !config.predicts_next()) break;
    const std::int64_t fits = usual_language_window(config);
    window = window == 0 ? fits : std::min(window, fits);
  }
  return window;
}

std::vector<ScoreColumn> language_scores(const LanguageScorerOptions& options) {
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

std::vector<float> language_values(const ChangeScores& scores, const LanguageScorerOptions& options) {
  const auto count = static_cast<double>(scores.strands.size());
  StrandChange mean;
  for (const StrandChange& strand : scores.strands) {
    mean.ratio += strand.ratio / count;
    mean.control += strand.control / count;
    mean.distance += strand.distance / count;
    mean.cosine += strand.cosine / count;
  }
  std::vector<float> values{static_cast<float>(mean.ratio)};
  if (scores.strands.size() > 1)
    for (const StrandChange& strand : scores.strands) values.push_back(static_cast<float>(strand.ratio));
  values.push_back(static_cast<float>(mean.control));
  values.push_back(static_cast<float>(mean.ratio - mean.control));
  if (options.distances) {
    values.push_back(static_cast<float>(mean.distance));
    values.push_back(static_cast<float>(mean.cosine));
  }
  return values;
}

std::string SequenceChange::alternative() const {
  return reference.substr(0, begin) + added + reference.substr(begin + removed);
}

struct LanguageScorer::LanguageModel {
  LanguageModel(const std::string& path, const SequenceRunnerOptions& run, kernels::Backend& backend)
      : runner(ModelFolder(path), run, backend), counts(runner.tokenizer().vocab_size(), 1) {}

  SequenceRunner runner;
  std::vector<std::uint64_t> counts;  // of every piece
  double all = 0;                     // their sum, once they are asked for

  double log_frequency(std::int32_t id) {
    if (all == 0)
      for (const std::uint64_t count : counts) all += static_cast<double>(count);
    return std::log(static_cast<double>(counts[static_cast<std::size_t>(id)]) / all);
  }
};

// Changes that were added together, until the last of their passes has come back. Terms have places of their
// own, so that their sums do not depend on which pass comes back first.
struct LanguageScorer::Batch {
  std::vector<std::vector<StagedChange>> staged;        // [models][changes * strands]
  std::vector<std::vector<double>> terms;               // [changes * strands], of ratios
  std::vector<std::vector<StrandChange>> of_distances;  // [models][changes * strands]
  std::vector<ChangeScores> scores;
  std::vector<std::vector<Pass>> passes;  // [models]
  std::size_t open = 0;                   // passes
  std::uint64_t asked = 0;                // had none of them been shared
  Done done;
};

LanguageScorer::LanguageScorer(const LanguageScorerOptions& options, kernels::Backend& backend)
    : options_(options) {
  if (options_.strands == Strands::automatic) options_.strands = Strands::both;
  SequenceRunnerOptions run;
  run.batch = options.batch;
  run.masked_tokens = most_masked;
  run.hidden = options.distances;
  run.device = device_thread_of(backend);
  run.says_memory = false;
  run.waits = true;
  // All are checked before the first one's weights are read.
  std::int64_t longest = 0;
  for (const std::string& path : options.models) {
    const ModelFolder folder(path);
    folder.require_masked_token_head();
    folder.require(Alphabet::dna);
    longest = std::max(longest, most_tokens(folder.config()));
  }
  for (const std::string& path : options.models)
    models_.push_back(std::make_unique<LanguageModel>(path, run, backend));
  const auto plan = [&](const BatchSize& batch) {
    std::vector<MemoryRow> rows;
    SequenceRunnerOptions smaller = run;
    smaller.batch = batch;
    for (const auto& model : models_)
      add_rows(rows, plan_runner_memory(model->runner.config(), smaller, backend));
    return rows;
  };
  require_inference_memory(plan, options.batch, longest, backend);
}

LanguageScorer::~LanguageScorer() = default;

bool LanguageScorer::works_ahead() const {
  return models_.front()->runner.works_ahead();
}

kernels::Precision LanguageScorer::precision() const {
  return models_.front()->runner.precision();
}

const ModelFolder& LanguageScorer::folder(std::size_t model) const {
  return models_[model]->runner.folder();
}

void LanguageScorer::open() {
  for (const auto& model : models_) model->runner.open();
}

const std::vector<std::string>& LanguageScorer::digests() {
  if (digests_.empty())
    for (const auto& model : models_) digests_.push_back(model->runner.folder().weights_digest());
  return digests_;
}

void LanguageScorer::count_pieces(std::string_view sequence) {
  for (const auto& model : models_) {
    std::vector<std::uint32_t> ids;
    if (options_.strands != Strands::reverse) model->runner.tokenizer().encode(sequence, ids);
    if (options_.strands != Strands::forward)
      model->runner.tokenizer().encode(reverse_complement(sequence), ids);
    for (const std::uint32_t id : ids) ++model->counts[id];
    model->all = 0;
  }
}

// The passes of one change on all strands of all models.
void LanguageScorer::stage(const std::string& where, std::size_t number, Batch& batch) {
  for (std::size_t m = 0; m < models_.size(); ++m) {
    LanguageModel& model = *models_[m];
    const SpecialIds& special = model.runner.tokenizer().special();
    for (std::size_t strand = 0; strand < strands(); ++strand) {
      const std::size_t at = number * strands() + strand;
      StagedChange& of = batch.staged[m][at];
      const std::size_t longer =
          std::max(of.reference.ids.size(), of.alternative.ids.size()) + special.around();
      const std::int64_t most = most_tokens(model.runner.config());
      if (static_cast<std::int64_t>(longer) > most) {
        throw_bad_input(fmt::format("{}: its window has {} tokens with [CLS] and [SEP], and {} takes {}",
                                    where, longer, model.runner.folder().path(), most),
                        message("take a smaller `window`"));
      }
      warn_of_unknown(of, where, model.runner);
      const auto pad_to = static_cast<std::int64_t>(longer);
      StrandChange& score = batch.scores[number].strands[strand];
      const auto take = [&](const Tokens& tokens, double sign) {
        const std::size_t end = of.end_of(tokens);
        const auto pass_with = [&](std::size_t masked_from) {
          Pass pass;
          pass.pad_to = pad_to;
          pass.ids = between_special_pieces(std::span(tokens.ids), special);
          for (std::size_t i = masked_from; i < end; ++i)
            pass.ids[i + 1] = static_cast<std::int32_t>(special.mask);
          return pass;
        };
        const auto want = [&](Pass& pass, std::size_t i) {
          pass.wanted.push_back(
              {at, batch.terms[at].size(), static_cast<std::int32_t>(i) + 1, tokens.ids[i], sign});
          batch.terms[at].push_back(0);
        };
        for (std::size_t i = of.prefix; i < end; ++i)
          score.control += sign * model.log_frequency(tokens.ids[i]) / static_cast<double>(models_.size());
        if (options_.passes == LanguagePasses::left_to_right) {
          for (std::size_t i = of.prefix; i < end; ++i) {
            batch.passes[m].push_back(pass_with(i));
            want(batch.passes[m].back(), i);
          }
        } else if (options_.passes == LanguagePasses::joint && of.prefix < end) {
          batch.passes[m].push_back(pass_with(of.prefix));
          for (std::size_t i = of.prefix; i < end; ++i) want(batch.passes[m].back(), i);
        }
        const bool reads = options_.passes == LanguagePasses::unmasked;
        if (!options_.distances && !reads) return;
        batch.passes[m].push_back(pass_with(end));
        if (options_.distances) batch.passes[m].back().hidden.push_back({at, sign > 0});
        for (std::size_t i = of.prefix; reads && i < end; ++i) want(batch.passes[m].back(), i);
      };
      take(of.reference, -1.0);
      take(of.alternative, 1.0);
    }
  }
}

// Changes that are put together, with their passes laid out and none of them run.
std::shared_ptr<LanguageScorer::Batch> LanguageScorer::plan(const std::vector<SequenceChange>& changes,
                                                            const std::vector<std::string>& where) {
  const auto batch = std::make_shared<Batch>();
  batch->scores.resize(changes.size());
  for (ChangeScores& scores : batch->scores) scores.strands.resize(strands());
  batch->terms.resize(changes.size() * strands());
  batch->of_distances.assign(models_.size(), std::vector<StrandChange>(changes.size() * strands()));
  batch->staged.resize(models_.size());
  batch->passes.resize(models_.size());
  for (std::size_t m = 0; m < models_.size(); ++m) {
    batch->staged[m].resize(changes.size() * strands());
    const Tokenizer& tokenizer = models_[m]->runner.tokenizer();
    kernels::parallel_for(batch->staged[m].size(), [&](std::size_t i) {
      const bool reverse = i % strands() == 1 || options_.strands == Strands::reverse;
      batch->staged[m][i] = staged_change(tokenizer, changes[i / strands()], reverse);
    });
  }
  for (std::size_t i = 0; i < changes.size(); ++i) {
    stage(where[i], i, *batch);
    const StagedChange& first = batch->staged[0][i * strands()];
    batch->scores[i].token_share = changed_token_share(first.reference.ids, first.alternative.ids);
  }
  // Passes of the same ids are one, in the place of the first of them.
  for (std::vector<Pass>& passes : batch->passes) {
    batch->asked += passes.size();
    std::map<std::pair<std::vector<std::int32_t>, std::int64_t>, std::size_t> known;
    std::vector<Pass> different;
    for (Pass& pass : passes) {
      const auto [place, is_new] = known.try_emplace({pass.ids, pass.pad_to}, different.size());
      if (is_new) {
        different.push_back(std::move(pass));
        continue;
      }
      Pass& same = different[place->second];
      same.wanted.insert(same.wanted.end(), pass.wanted.begin(), pass.wanted.end());
      same.hidden.insert(same.hidden.end(), pass.hidden.begin(), pass.hidden.end());
    }
    passes = std::move(different);
    batch->open += passes.size();
  }
  return batch;
}

LanguageScorer::Passes LanguageScorer::passes_of(const std::vector<SequenceChange>& changes,
                                                 const std::vector<std::string>& where) {
  const std::shared_ptr<Batch> batch = plan(changes, where);
  return {batch->open, batch->asked};
}

void LanguageScorer::add(const std::vector<SequenceChange>& changes, const std::vector<std::string>& where,
                         Done done, const std::function<void()>& planned) {
  const std::shared_ptr<Batch> batch = plan(changes, where);
  passes_.run += batch->open;
  passes_.asked += batch->asked;
  batch->done = std::move(done);
  if (planned) planned();
  if (batch->open == 0) return deliver(*batch);
  for (std::size_t m = 0; m < models_.size(); ++m) run(*models_[m], m, batch);
}

// Adds the passes of one model to its runner.
void LanguageScorer::run(LanguageModel& model, std::size_t m, const std::shared_ptr<Batch>& batch) {
  const auto vocabulary = static_cast<std::size_t>(model.runner.config().vocab_size);
  const auto width = static_cast<std::size_t>(head_width(model.runner.config()));
  for (Pass& pass : batch->passes[m]) {
    std::vector<std::int32_t> rows;
    for (const Wanted& wanted : pass.wanted) rows.push_back(wanted.row);
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    const auto shared = std::make_shared<Pass>(std::move(pass));
    for (std::size_t first = 0; first == 0 || first < rows.size(); first += most_masked) {
      const std::size_t count = std::min(most_masked, rows.size() - first);
      const std::vector<std::int32_t> part(rows.begin() + static_cast<std::ptrdiff_t>(first),
                                           rows.begin() + static_cast<std::ptrdiff_t>(first + count));
      SequenceInput input{shared->ids, {}, part};
      input.pad_to = shared->pad_to;
      const bool last = first + count == rows.size();
      model.runner.add(input, [=, this](const SequenceResult& result) {
        for (std::size_t i = 0; i < part.size(); ++i) {
          const std::span<const float> logits = result.masked_logits.subspan(i * vocabulary, vocabulary);
          const Softmax softmax(logits);
          for (const Wanted& wanted : shared->wanted) {
            if (wanted.row != part[i]) continue;
            batch->terms[wanted.at][wanted.term] =
                wanted.sign * softmax.log(logits[static_cast<std::size_t>(wanted.token)]);
          }
        }
        if (!last) return;
        for (const HiddenWanted& wanted : shared->hidden) {
          StagedChange& of = batch->staged[m][wanted.at];
          (wanted.alternative ? of.alternative_hidden : of.reference_hidden)
              .assign(result.hidden.begin(), result.hidden.end());
          if (of.reference_hidden.empty() || of.alternative_hidden.empty()) continue;
          StrandChange& made = batch->of_distances[m][wanted.at];
          std::tie(made.distance, made.cosine) = distances(of, width);
          of.reference_hidden = std::vector<float>();  // "= {}" would keep the memory
          of.alternative_hidden = std::vector<float>();
        }
        if (--batch->open == 0) deliver(*batch);
      });
    }
  }
  batch->passes[m].clear();
}

void LanguageScorer::deliver(Batch& batch) const {
  const auto count = static_cast<double>(models_.size());
  for (std::size_t change = 0; change < batch.scores.size(); ++change) {
    for (std::size_t strand = 0; strand < strands(); ++strand) {
      StrandChange& score = batch.scores[change].strands[strand];
      const std::size_t at = change * strands() + strand;
      for (const double term : batch.terms[at]) score.ratio += term;
      score.ratio /= count;
      for (const std::vector<StrandChange>& of_model : batch.of_distances) {
        score.distance += of_model[at].distance / count;
        score.cosine += of_model[at].cosine / count;
      }
    }
  }
  batch.done(batch.scores);
}

void LanguageScorer::finish() {
  for (const auto& model : models_) model->runner.finish();
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

}  // namespace bigbird
