// Natural Questions in two inputs, and answers out of one pool; see two_inputs.h.
#include "lib/text/qa/natural_questions/two_inputs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "lib/core/error.h"

namespace bigbird {
namespace {

using TypeScores = std::array<double, nq_types>;  // by NqAnswerType

// A piece of the page that an answer may begin or end at.
struct ScoredPiece {
  std::size_t piece = 0;
  double score = 0;
};
using Pool = std::vector<ScoredPiece>;

// The best positions of a window, of those that compete; [CLS] is no piece.
void add_best_pieces(const EncodedNq& page, const ContextWindow& window, std::span<const float> logits,
                     const NqDecoding& options, Pool& pool) {
  const std::size_t at = context_position(page.question.size());
  std::vector<float> valid = {logits[0]};
  const auto first = logits.begin() + static_cast<std::ptrdiff_t>(at);
  valid.insert(valid.end(), first, first + static_cast<std::ptrdiff_t>(window.count));
  const auto cls = static_cast<double>(logits[0]);
  for (const std::size_t position : highest_positions(valid, options.n_best)) {
    if (position == 0) continue;
    const auto logit = static_cast<double>(valid[position]);
    // A logit of exactly 0 divides nothing.
    const double share = cls == 0 ? logit : logit / cls;
    pool.push_back({window.first + position - 1, options.rule == NqRule::etcmodel ? share : logit - cls});
  }
}

struct PooledSpan : PieceSpan {
  double score = 0;
};

// Best first, of equals the first on the page.
void sort_pool(Pool& pool) {
  std::sort(pool.begin(), pool.end(), [](const ScoredPiece& a, const ScoredPiece& b) {
    return a.score != b.score ? a.score > b.score : a.piece < b.piece;
  });
}

std::optional<PooledSpan> best_pooled(const NqQuestion& example, const EncodedNq& page, Pool starts,
                                      Pool ends, std::size_t most_words) {
  sort_pool(starts);
  sort_pool(ends);
  for (const ScoredPiece& start : starts) {
    const std::size_t behind = end_of_words(example, page, start.piece, page.pieces.ids.size(), most_words);
    const auto end = std::find_if(ends.begin(), ends.end(), [&](const ScoredPiece& one) {
      return one.piece >= start.piece && one.piece < behind;
    });
    if (end != ends.end()) return PooledSpan{{start.piece, end->piece}, start.score + end->score};
  }
  return std::nullopt;
}

// joint_span_prediction of eval_nq_lib.py: of equal starts the last document token, of equal ends the first
// that was seen.
std::optional<PooledSpan> best_of_etcmodel(const EncodedNq& page, const Pool& starts, const Pool& ends,
                                           std::size_t most_tokens) {
  if (starts.empty() || ends.empty()) return std::nullopt;
  const auto worse = [&](const ScoredPiece& a, const ScoredPiece& b) {
    return a.score != b.score ? a.score < b.score : page.tokens[a.piece] < page.tokens[b.piece];
  };
  const ScoredPiece& start = *std::max_element(starts.begin(), starts.end(), worse);
  const ScoredPiece* best = nullptr;
  for (const ScoredPiece& end : ends) {
    const std::uint32_t from = page.tokens[start.piece], to = page.tokens[end.piece];
    if (to >= from && to - from < most_tokens && (best == nullptr || end.score > best->score)) best = &end;
  }
  if (best == nullptr) best = &*std::max_element(ends.begin(), ends.end(), worse);
  return PooledSpan{{std::min(start.piece, best->piece), std::max(start.piece, best->piece)},
                    start.score + best->score};
}

std::optional<PooledSpan> best_span(const NqQuestion& example, const EncodedNq& page,
                                    std::span<const NqLogits> windows,
                                    std::span<const float> NqLogits::*starts,
                                    std::span<const float> NqLogits::*ends, std::size_t most,
                                    const NqDecoding& options) {
  Pool starts_of_page, ends_of_page;
  for (const NqLogits& window : windows) {
    add_best_pieces(page, window.window, window.*starts, options, starts_of_page);
    add_best_pieces(page, window.window, window.*ends, options, ends_of_page);
  }
  if (options.rule == NqRule::etcmodel) return best_of_etcmodel(page, starts_of_page, ends_of_page, most);
  return best_pooled(example, page, std::move(starts_of_page), std::move(ends_of_page), most);
}

void add_log_softmax(std::span<const float> logits, TypeScores& sums) {
  const double most = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - most);
  for (std::size_t type = 0; type < sums.size(); ++type)
    sums[type] += static_cast<double>(logits[type]) - most - std::log(sum);
}

// Log-probabilities, on average over the windows or of the last one.
TypeScores type_scores(std::span<const NqLogits> windows, NqRule rule) {
  TypeScores scores{};
  const auto counted = rule == NqRule::etcmodel ? windows.last(1) : windows;
  for (const NqLogits& window : counted) add_log_softmax(window.types, scores);
  for (double& score : scores) score /= static_cast<double>(counted.size());
  return scores;
}

}  // namespace

PartIds page_part_ids(const Tokenizer& tokenizer, std::size_t most_globals) {
  PartIds ids;
  if (most_globals == 0) {
    ids.window_cls = tokenizer.special().cls;
    ids.window_sep = tokenizer.special().sep;
    return ids;
  }
  ids = part_ids(tokenizer);
  if (ids.of_etcmodel) ids.question = 35;
  return ids;
}

std::shared_ptr<const GlobalLayout> page_globals(const EncodedNq& page, const ContextWindow& window,
                                                 const PartIds& ids, std::size_t most_globals) {
  return std::make_shared<const GlobalLayout>(
      window_globals(page.question.size(), page.candidates, window, {ids, most_globals, true}));
}

NqPrediction decode_nq_pooled(const NqQuestion& example, const EncodedNq& page,
                              std::span<const NqLogits> windows, const NqDecoding& options) {
  check_words(options.max_answer, "the default is 38 words");
  if (options.n_best == 0) throw_usage(message("`n_best` must be at least 1"), "the default is 50");
  for (const NqLogits& window : windows) require_page_logits(example, page, window);
  NqPrediction prediction;
  prediction.id = example.id;
  if (page.pieces.ids.empty() || windows.empty()) return prediction;
  const auto short_answer = best_span(example, page, windows, &NqLogits::short_start, &NqLogits::short_end,
                                      options.max_answer, options);
  const auto long_answer =
      best_span(example, page, windows, &NqLogits::long_start, &NqLogits::long_end, any_length, options);
  if (long_answer) {
    prediction.long_answer = long_answer_of(example, page, *long_answer, short_answer);
    prediction.long_score = long_answer->score;
  }
  if (short_answer) prediction.short_score = short_answer->score;

  const TypeScores types = type_scores(windows, options.rule);
  const auto type = static_cast<NqAnswerType>(std::max_element(types.begin(), types.end()) - types.begin());
  if (type == NqAnswerType::yes || type == NqAnswerType::no) {
    prediction.yes_no = type == NqAnswerType::yes ? NqYesNo::yes : NqYesNo::no;
    if (options.rule == NqRule::pooled)
      prediction.short_score = types[static_cast<std::size_t>(type)] - types[0];
  } else if (short_answer) {
    prediction.short_answers.push_back(span_of_pieces(example, page, *short_answer));
  }
  return prediction;
}

}  // namespace bigbird
