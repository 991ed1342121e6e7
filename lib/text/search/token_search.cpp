// Greedy and beam searches; see token_search.h. Sums and quotients are taken in fp32 where generate() takes
// them so.
#include "lib/text/search/token_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/rng.h"
#include "lib/text/search/score_rules.h"

namespace bigbird {
namespace {

using Sequence = std::vector<std::int32_t>;

// What generate() subtracts to rule a sequence out; the published search subtracts out_of_reach.
constexpr float ruled_out = 1.0e9f;
constexpr float out_of_reach = 1.0e7f;

std::span<const float> row_of(std::span<const float> logits, std::int64_t rows, std::int64_t row) {
  const std::size_t vocabulary = logits.size() / static_cast<std::size_t>(rows);
  return logits.subspan(static_cast<std::size_t>(row) * vocabulary, vocabulary);
}

Sequence extended(const Sequence& sequence, std::int32_t token) {
  Sequence longer = sequence;
  longer.push_back(token);
  return longer;
}

FoundSequence without_start(const Sequence& sequence, const SearchOptions& options, float score) {
  const auto first = sequence.begin() + static_cast<std::ptrdiff_t>(options.before.size()) + 1;
  const auto last =
      std::find_if(first, sequence.end(), [&](std::int32_t token) { return options.is_end(token); });
  return {Sequence(first, last == sequence.end() ? last : last + 1), static_cast<double>(score)};
}

// What all rows begin with, as rules see it.
Sequence first_sequence(const SearchOptions& options) {
  return extended(options.before, options.start);
}

// TokenSearch::wanted() of a row that goes on with one of its `most` best tokens.
std::int64_t wanted_with_rules(const SearchOptions& options, const Sequence& sequence, std::int64_t most) {
  if (options.repetition_penalty != 1.0) return 0;  // it changes tokens that are not among the best
  const std::int64_t wanted = most + static_cast<std::int64_t>(forbidden_tokens(options, sequence).size());
  return wanted <= most_top_tokens ? wanted : 0;
}

// One row: the best token each time, or one that is drawn.
class SingleSearch : public TokenSearch {
 public:
  explicit SingleSearch(const SearchOptions& options)
      : TokenSearch(options),
        options_(options),
        rng_(options.sampling.seed, options.sampling.purpose, options.sampling.index),
        sequence_(first_sequence(options)) {}

  std::int64_t wanted() const override {
    if (options_.decoding == Decoding::sample) return 0;
    return wanted_with_rules(options_, sequence_, 1);
  }

  void advance(std::span<const float> logits) override {
    scores_.assign(logits.begin(), logits.end());
    apply_score_rules(options_, sequence_, scores_);
    go_on(
        options_.decoding == Decoding::sample
            ? draw_token(scores_, options_.sampling, rng_.uniform())
            : static_cast<std::int32_t>(std::max_element(scores_.begin(), scores_.end()) - scores_.begin()));
  }

  void advance(const TopTokens& top) override {
    std::vector<TokenCandidate> best;
    const std::optional<std::int32_t> forced = forced_token(options_, sequence_);
    if (!forced) add_best(top, forbidden_tokens(options_, sequence_), 0.0f, 0, 1, best);
    // Where rules leave none, all logits are minus infinity, of which the first token has the first.
    go_on(forced ? *forced : best.empty() ? 0 : best.front().token);
  }

  std::vector<FoundSequence> results() const override { return {without_start(sequence_, options_, 0)}; }

 private:
  void go_on(std::int32_t token) {
    sequence_.push_back(token);
    tokens_[0] = token;
    ++length_;
    done_ = options_.is_end(token) || length_ >= options_.max_length;
  }

  SearchOptions options_;
  CounterRng rng_;
  Sequence sequence_;
  std::vector<float> scores_;
};

struct Beam {
  Sequence sequence;
  float score = 0;
  bool finished = false;
};

// The best `most` of the beams, in order; of equal ones (ruled out, both) those that have ended, then those
// that stand first.
void keep_best(std::vector<Beam>& beams, std::size_t most) {
  std::stable_sort(beams.begin(), beams.end(), [](const Beam& a, const Beam& b) {
    return a.score != b.score ? a.score > b.score : a.finished > b.finished;
  });
  beams.resize(std::min(beams.size(), most));
}

// What both beam searches share: rows that run on, and the best continuations of all of them.
class BeamSearch : public TokenSearch {
 public:
  // `worst`: what keeps a sequence behind all that were found.
  BeamSearch(const SearchOptions& options, float worst)
      : TokenSearch(options),
        options_(options),
        width_(static_cast<std::size_t>(options.beams)),
        candidates_((2 + options.more_ends.size()) * width_),
        running_(width_, {first_sequence(options), -worst, false}),
        finished_(running_) {
    running_.front().score = 0;
  }

  std::int64_t wanted() const override {
    std::int64_t most = 0;
    for (const Beam& beam : running_) {
      const std::int64_t of_beam =
          wanted_with_rules(options_, beam.sequence, static_cast<std::int64_t>(candidates_));
      if (of_beam == 0) return 0;
      most = std::max(most, of_beam);
    }
    return most;
  }

  void advance(std::span<const float> logits) override {
    std::vector<TokenCandidate> best;
    for (std::size_t beam = 0; beam < running_.size(); ++beam) {
      const std::span<const float> row = row_of(logits, rows(), row_of_beam(beam));
      scores_.resize(row.size());
      log_softmax(row, scores_);
      apply_score_rules(options_, running_[beam].sequence, scores_);
      add_best(scores_, running_[beam].score, static_cast<std::int32_t>(beam), candidates_, best);
    }
    go_on(std::move(best));
  }

  void advance(const TopTokens& top) override {
    std::vector<TokenCandidate> best;
    for (std::size_t beam = 0; beam < running_.size(); ++beam) {
      const Beam& from = running_[beam];
      const auto number = static_cast<std::int32_t>(beam);
      if (const std::optional<std::int32_t> forced = forced_token(options_, from.sequence)) {
        add_best(TopTokens{certain, {&*forced, 1}, 1}, {}, from.score, number, candidates_, best);
      } else {
        add_best(top.rows(static_cast<std::size_t>(row_of_beam(beam)), 1),
                 forbidden_tokens(options_, from.sequence), from.score, number, candidates_, best);
      }
    }
    go_on(std::move(best));
  }

  std::vector<FoundSequence> results() const override {
    std::vector<FoundSequence> found;
    for (std::size_t i = 0; i < static_cast<std::size_t>(options_.sequences); ++i)
      found.push_back(without_start(result(i).sequence, options_, result(i).score));
    return found;
  }

 protected:
  // The next step, from the candidates_ best continuations of running_, or fewer where rules leave no more.
  virtual void go_on(std::vector<TokenCandidate> best) = 0;
  virtual const Beam& result(std::size_t slot) const = 0;

  // The beams that run on are those of `kept`, which name candidates; their rows are what the next step
  // needs.
  void run_on(const std::vector<std::pair<Beam, TokenCandidate>>& kept) {
    const bool first = rows() == 1;
    running_.clear();
    tokens_.clear();
    parents_.clear();
    for (const auto& [beam, candidate] : kept) {
      running_.push_back(beam);
      tokens_.push_back(candidate.token);
      parents_.push_back(first ? 0 : candidate.row);
    }
    ++length_;
  }

  SearchOptions options_;
  std::size_t width_;
  std::size_t candidates_;  // so many that width_ of them are no ends
  std::vector<Beam> running_;
  std::vector<Beam> finished_;

 private:
  // At first all beams are one row, and what it is told is of all.
  std::int64_t row_of_beam(std::size_t beam) const {
    return rows() == 1 ? 0 : static_cast<std::int64_t>(beam);
  }

  static constexpr float certain[] = {0.0f};  // log p of the only token there is
  std::vector<float> scores_;
};

class HuggingFaceBeamSearch : public BeamSearch {
 public:
  explicit HuggingFaceBeamSearch(const SearchOptions& options) : BeamSearch(options, ruled_out) {}

  void go_on(std::vector<TokenCandidate> best) override {
    // Where rules leave fewer, the others are without hope, whatever they are.
    best.resize(candidates_, {-std::numeric_limits<float>::infinity(), 0, options_.end});
    const bool at_the_limit = length_ + 1 >= options_.max_length;
    std::vector<std::pair<Beam, TokenCandidate>> candidates;
    for (const TokenCandidate& candidate : best) {
      const bool hit = at_the_limit || options_.is_end(candidate.token);
      candidates.push_back(
          {{extended(running_[static_cast<std::size_t>(candidate.row)].sequence, candidate.token),
            candidate.score, hit},
           candidate});
    }
    finish(candidates);
    for (auto& [beam, candidate] : candidates) beam.score -= beam.finished ? ruled_out : 0.0f;
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const auto& a, const auto& b) { return a.first.score > b.first.score; });
    candidates.resize(width_);
    run_on(candidates);
    open_ = open_ && can_improve();
    const bool enough = options_.early_stopping == EarlyStopping::yes && all_finished();
    done_ = !open_ || enough || at_the_limit;
  }

 private:
  const Beam& result(std::size_t slot) const override { return finished_[slot]; }

  bool all_finished() const {
    return std::all_of(finished_.begin(), finished_.end(), [](const Beam& beam) { return beam.finished; });
  }

  float penalty(std::int64_t generated) const {
    return static_cast<float>(std::pow(static_cast<double>(generated), options_.length_penalty));
  }

  // An end counts as one only among the first `width_` candidates: a later one is thrown away.
  void finish(const std::vector<std::pair<Beam, TokenCandidate>>& candidates) {
    const bool full = options_.early_stopping == EarlyStopping::yes && all_finished();
    for (std::size_t rank = 0; rank < candidates.size(); ++rank) {
      Beam beam = candidates[rank].first;
      beam.finished = beam.finished && rank < width_;
      beam.score /= penalty(length_);
      if (full) beam.score -= ruled_out;
      if (!open_) beam.score -= ruled_out;
      if (!beam.finished) beam.score -= ruled_out;
      finished_.push_back(std::move(beam));
    }
    keep_best(finished_, width_);
  }

  bool can_improve() const {
    const bool by_the_longest =
        options_.early_stopping == EarlyStopping::never && options_.length_penalty > 0;
    const float hoped =
        running_.front().score / penalty((by_the_longest ? options_.max_length : length_) - 1);
    const float worst =
        std::min_element(finished_.begin(), finished_.end(), [](const Beam& a, const Beam& b) {
          return a.score < b.score;
        })->score;
    return std::any_of(finished_.begin(), finished_.end(),
                       [&](const Beam& beam) { return hoped > (beam.finished ? worst : -ruled_out); });
  }

  bool open_ = true;
};

class GoogleBeamSearch : public BeamSearch {
 public:
  explicit GoogleBeamSearch(const SearchOptions& options) : BeamSearch(options, out_of_reach) {}

  void go_on(std::vector<TokenCandidate> best) override {
    std::vector<std::pair<Beam, TokenCandidate>> alive;
    for (const TokenCandidate& candidate : best) {
      Beam beam{extended(running_[static_cast<std::size_t>(candidate.row)].sequence, candidate.token),
                candidate.score, candidate.token == options_.end};
      if (beam.finished) {
        beam.score /= penalty(length_);
        finished_.push_back(std::move(beam));
      } else if (alive.size() < width_) {
        alive.push_back({std::move(beam), candidate});
      }
    }
    keep_best(finished_, width_);
    run_on(alive);
    done_ = length_ >= options_.max_length || !can_improve();
  }

 private:
  // A finished sequence where its slot has one, else the one that still runs there.
  const Beam& result(std::size_t slot) const override {
    return finished_[slot].finished ? finished_[slot] : running_[slot];
  }

  float penalty(std::int64_t generated) const {
    return static_cast<float>(
        std::pow((5.0 + static_cast<double>(generated)) / 6.0, options_.length_penalty));
  }

  // The published search goes on to its depth; what it finds there is known before: log p only falls, and the
  // greatest length divides it most.
  bool can_improve() const {
    if (!finished_.back().finished || options_.length_penalty < 0) return true;
    return running_.front().score / penalty(options_.max_length - 1) > finished_.back().score;
  }
};

void check_search(const SearchOptions& options) {
  const auto refuse = [](const std::string& what, const std::string& hint) { throw_usage(what, hint); };
  if (options.beams < 1)
    refuse(message("`beams` is below 1"), "5 is what the published models were measured with");
  if (options.max_length < 2)
    refuse(message("`max_length` leaves no token after the start symbol"),
           "lengths count the start symbol: 2 or more");
  if (options.min_length > options.max_length)
    refuse(message("`min_length` is above `max_length`"), "lower the one or raise the other");
  if (options.no_repeat_ngram < 0 || options.min_length < 0)
    refuse(message("`no_repeat_ngram` or `min_length` is negative"), "0 is not such a rule");
  if (!(options.repetition_penalty > 0) || !std::isfinite(options.length_penalty))
    refuse(message("`repetition_penalty` must be above 0 and `length_penalty` a number"),
           "1 changes nothing");
  if (options.sequences < 1 || options.sequences > options.beams)
    refuse(fmt::format("{} sequences of {} beams", options.sequences, options.beams),
           "a search returns at most as many as it has beams");
  if ((options.decoding == Decoding::greedy || options.decoding == Decoding::sample) && options.beams > 1)
    refuse("greedy search and sampling have one beam", message("leave `beams` out, or decode with beams"));
  const Sampling& sampling = options.sampling;
  if (!(sampling.temperature > 0) || !std::isfinite(sampling.temperature))
    refuse(message("`temperature` {} is not a number above 0", sampling.temperature),
           "1 leaves the probabilities as they are; without chance: greedy");
  if (sampling.top_k < 0) refuse(message("`top_k` is negative"), "0 draws from all tokens");
  if (!(sampling.top_p > 0) || sampling.top_p > 1)
    refuse(message("`top_p` {} is not above 0 and at most 1", sampling.top_p), "1 draws from all tokens");
  const bool rules = options.min_length > 0 || options.no_repeat_ngram > 0 ||
                     options.repetition_penalty != 1.0 || options.forced_end || options.forced_begin ||
                     !options.more_ends.empty() || !options.never.empty();
  if (options.decoding == Decoding::google && rules)
    refuse(
        "the published search has no rule but its length penalty",
        message(
            "leave `min_length`, `no_repeat_ngram` and `repetition_penalty` out, or decode as Hugging Face does"));
}

}  // namespace

bool SearchOptions::is_end(std::int32_t token) const {
  return token == end || std::find(more_ends.begin(), more_ends.end(), token) != more_ends.end();
}

std::unique_ptr<TokenSearch> make_token_search(const SearchOptions& options) {
  check_search(options);
  if (options.decoding == Decoding::google) return std::make_unique<GoogleBeamSearch>(options);
  if (options.beams == 1) return std::make_unique<SingleSearch>(options);
  return std::make_unique<HuggingFaceBeamSearch>(options);
}

}  // namespace bigbird
