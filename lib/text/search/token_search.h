// Greedy search, beam search and sampling as Hugging Face's generate() has them (4.57), and the beam search
// of the published code (docs/specification.md 5.6). A search knows no model: it says which tokens stand
// last, and is told the logits of the next one. Texts are independent of each other, so a batch is many
// searches side by side.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "lib/core/rng.h"
#include "lib/model/network/top_tokens.h"

namespace bigbird {

enum class Decoding {
  huggingface,  // beam search; greedy with one beam
  google,       // the published beam search: always max_length - 1 tokens deep, no rules but its own
  greedy,
  sample,  // generate()'s do_sample with one beam
};

// When a beam search ends although better sequences may come (generate's early_stopping).
enum class EarlyStopping {
  no,     // once the best running sequence, as long as it is now, is behind the worst finished one
  yes,    // once there are as many finished sequences as beams
  never,  // once not even a sequence of max_length tokens could get ahead
};

// Of Decoding::sample. Token n of a text is drawn with the n-th number of (seed, purpose, index).
struct Sampling {
  double temperature = 1.0;  // logits are divided by it
  std::int64_t top_k = 50;   // from the most likely tokens only; 0: from all
  double top_p = 1.0;        // from the most likely tokens that make up this fraction of probability
  std::uint64_t seed = 1;
  std::uint64_t index = 0;  // of the text among all texts
  Purpose purpose = Purpose::summary_sampling;
};

// generate()'s fields. Lengths are in tokens and count the start symbol.
struct SearchOptions {
  Decoding decoding = Decoding::huggingface;
  std::int64_t beams = 1;
  double length_penalty = 1.0;  // score = sum of log p / length^penalty; google: / ((5 + length) / 6)^penalty
  EarlyStopping early_stopping = EarlyStopping::no;
  std::int64_t max_length = 20;
  std::int64_t min_length = 0;       // no end before
  std::int64_t no_repeat_ngram = 0;  // no sequence of so many tokens twice; 0: any
  double repetition_penalty = 1.0;   // of tokens that are there already: log p < 0 times it, else divided
  bool forced_end = false;           // the last token that max_length allows is the end
  std::int64_t sequences = 1;        // to return, at most beams
  std::int32_t start = 2;
  std::int32_t end = 1;
  std::vector<std::int32_t> more_ends;       // other tokens that end a sequence as well
  std::optional<std::int32_t> forced_begin;  // what has to follow the start symbol
  // Of a text that goes on behind a prompt: its tokens before the last one, which is `start`. Rules of tokens
  // that are there already see them, as generate() has it; lengths do not count them.
  std::vector<std::int32_t> before;
  std::vector<std::int32_t> never;  // tokens that stand nowhere (generate's suppress_tokens), ascending

  bool is_end(std::int32_t token) const;
  Sampling sampling;
};

struct FoundSequence {
  std::vector<std::int32_t> tokens;  // without the start symbol, up to and with the end where there is one
  double score = 0;                  // of a beam search, else 0
};

class TokenSearch {
 public:
  virtual ~TokenSearch() = default;
  TokenSearch(const TokenSearch&) = delete;
  TokenSearch& operator=(const TokenSearch&) = delete;

  bool done() const { return done_; }
  // Rows that need the logits of their next token: one at first, later one for each beam.
  std::int64_t rows() const { return static_cast<std::int64_t>(tokens_.size()); }
  // [rows] the last token of each row, which stands at position length() - 1.
  std::span<const std::int32_t> tokens() const { return tokens_; }
  // [rows] the row of the step before that each goes on from; 0 at first.
  std::span<const std::int32_t> parents() const { return parents_; }
  std::int64_t length() const { return length_; }  // of every row, with the start symbol

  // How many of each row's most likely tokens say what the next step needs to know: those that it goes on
  // with, and those that rules forbid. 0: it needs all logits, and so it does with more than most_top_tokens.
  virtual std::int64_t wanted() const = 0;
  // logits [rows(), vocabulary] of the tokens behind tokens(), or of each row the best wanted() (fewer where
  // the vocabulary has no more). Not once it is done. Among equal values the lowest row, then the lowest
  // token counts as the best.
  virtual void advance(std::span<const float> logits) = 0;
  virtual void advance(const TopTokens& top) = 0;
  // SearchOptions::sequences of them, best first. Once it is done.
  virtual std::vector<FoundSequence> results() const = 0;

 protected:
  explicit TokenSearch(const SearchOptions& options) : tokens_{options.start}, parents_{0} {}

  std::vector<std::int32_t> tokens_;
  std::vector<std::int32_t> parents_;
  std::int64_t length_ = 1;
  bool done_ = false;
};

// Error{usage}: beams, lengths or penalties out of range, or that contradict each other (`sequences` above
// `beams`, `min_length` above `max_length`, several beams of greedy search or sampling; rules that the
// published search does not have).
std::unique_ptr<TokenSearch> make_token_search(const SearchOptions& options);

}  // namespace bigbird
