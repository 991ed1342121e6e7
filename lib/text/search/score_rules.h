// Private to the searches (token_search.h): from the logits of a row to what its next tokens are worth, by
// generate()'s rules and in its order (docs/specification.md 5.6); and the best of them, or one that is drawn
// at random, as generate() draws it with do_sample (temperature, then top-k, then top-p; Holtzman et al.
// 2020).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lib/text/search/token_search.h"

namespace bigbird {

// log p of every token, in fp32 as PyTorch has it.
void log_softmax(std::span<const float> logits, std::span<float> log_probabilities);

// Of `sequence`, a row with what stands before it and its start symbol: the tokens that may not stand behind
// it, ascending: those that never may, those of n-grams that may not come again, and the ends before
// min_length. Where only one token may follow there are none.
std::vector<std::int32_t> forbidden_tokens(const SearchOptions& options,
                                           std::span<const std::int32_t> sequence);
// The token that has to follow (forced_end, forced_begin), if there is one.
std::optional<std::int32_t> forced_token(const SearchOptions& options,
                                         std::span<const std::int32_t> sequence);

// Repetition penalty, the tokens that are forbidden, the end at max_length. `sequence` is as above; scores
// [V] are logits (greedy) or log p (beam search).
void apply_score_rules(const SearchOptions& options, std::span<const std::int32_t> sequence,
                       std::span<float> scores);

struct TokenCandidate {
  float score = 0;
  std::int32_t row = 0;
  std::int32_t token = 0;
};
// Higher scores first, of equal ones the lower row, then the lower token.
bool is_better(const TokenCandidate& a, const TokenCandidate& b);

// Merges the best of a row, offset + scores[token], into `best`, which holds at most `most`, in order. Scores
// of minus infinity are left out.
void add_best(std::span<const float> scores, float offset, std::int32_t row, std::size_t most,
              std::vector<TokenCandidate>& best);

// The same of a row's best tokens, best first; of `forbidden` ones (ascending) none.
void add_best(const TopTokens& row_tokens, const std::vector<std::int32_t>& forbidden, float offset,
              std::int32_t row, std::size_t most, std::vector<TokenCandidate>& best);

// The token at `uniform`, in [0, 1), of the distribution that the rules leave of scores [V] (logits, minus
// infinity for what may not come), tokens in ascending order. Overwrites scores.
std::int32_t draw_token(std::span<float> scores, const Sampling& sampling, double uniform);

}  // namespace bigbird
