// Predictions of Natural Questions; see decode.h.
#include "lib/text/qa/natural_questions/decode.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/names.h"
#include "lib/text/qa/logits.h"

namespace bigbird {
namespace {

constexpr std::size_t page_types = 5;
constexpr std::size_t any_length = std::numeric_limits<std::size_t>::max();

// First and last piece of the page, and where the span was found.
struct ScoredPieces {
  std::size_t first = 0;
  std::size_t last = 0;
  double score = 0;
  const NqLogits* window = nullptr;
};

// Behind the last piece that an answer from `first` on may have, within a window that ends at `end`.
std::size_t end_of_words(const NqQuestion& example, const EncodedNq& page, std::size_t first, std::size_t end,
                         std::size_t most_words) {
  if (most_words == any_length) return end;
  std::size_t words = 0, at = first;
  for (; at < end; ++at) {
    const bool is_new = at == first || page.tokens[at] != page.tokens[at - 1];
    if (is_new && !example.tokens[page.tokens[at]].is_tag && ++words > most_words) break;
  }
  return at;
}

std::optional<ScoredPieces> best_pieces(const NqQuestion& example, const EncodedNq& page,
                                        const NqLogits& window, std::span<const float> starts,
                                        std::span<const float> ends, std::size_t most_words) {
  if (window.window.count == 0) return std::nullopt;
  const std::size_t at = context_position(page.question.size());
  const auto begin = starts.begin() + static_cast<std::ptrdiff_t>(at);
  const auto start = static_cast<std::size_t>(
      std::max_element(begin, begin + static_cast<std::ptrdiff_t>(window.window.count)) - starts.begin());
  const std::size_t first = window.window.first + start - at;
  const std::size_t behind =
      end_of_words(example, page, first, window.window.first + window.window.count, most_words);
  const auto from = ends.begin() + static_cast<std::ptrdiff_t>(start);
  const auto end = static_cast<std::size_t>(
      std::max_element(from, from + static_cast<std::ptrdiff_t>(behind - first)) - ends.begin());
  const auto sum = [&](std::size_t i, std::size_t j) {
    return static_cast<double>(starts[i]) + static_cast<double>(ends[j]);
  };
  return ScoredPieces{first, first + end - start, sum(start, end) - sum(0, 0), &window};
}

void take_better(std::optional<ScoredPieces>& best, const std::optional<ScoredPieces>& other) {
  if (other && (!best || other->score > best->score)) best = other;
}

// The top-level candidate that holds two tokens of the page; of several the shortest.
const PageCandidate* candidate_around(const NqQuestion& example, std::uint32_t first, std::uint32_t last) {
  const PageCandidate* found = nullptr;
  const auto length = [](const PageCandidate& one) { return one.span.end_token - one.span.start_token; };
  for (const PageCandidate& candidate : example.candidates) {
    if (!candidate.top_level || candidate.span.start_token > first || candidate.span.end_token <= last)
      continue;
    if (found == nullptr || length(candidate) < length(*found)) found = &candidate;
  }
  return found;
}

const PageCandidate* long_candidate(const NqQuestion& example, const EncodedNq& page,
                                    const ScoredPieces& long_answer, const ScoredPieces& short_answer) {
  const auto around = [&](const ScoredPieces& span, std::size_t last) {
    return candidate_around(example, page.tokens[span.first], page.tokens[last]);
  };
  if (const PageCandidate* found = around(long_answer, long_answer.last)) return found;
  if (const PageCandidate* found = around(short_answer, short_answer.last)) return found;
  return around(long_answer, long_answer.first);
}

NqSpan candidate_span(const PageSpan& span) {
  return {span.start_byte, span.end_byte, span.start_token, span.end_token};
}

// Whole tokens; of the simplified form without bytes.
NqSpan span_of_pieces(const NqQuestion& example, const EncodedNq& page, const ScoredPieces& pieces) {
  const std::uint32_t first = page.tokens[pieces.first], last = page.tokens[pieces.last];
  return {example.tokens[first].start_byte, example.tokens[last].end_byte, static_cast<std::int64_t>(first),
          static_cast<std::int64_t>(last) + 1};
}

double logit_of_type(const NqLogits& window, NqAnswerType type) {
  return static_cast<double>(window.types[static_cast<std::size_t>(type)]);
}

nlohmann::ordered_json nq_span_json(const NqSpan& span) {
  return {{"start_byte", span.start_byte},
          {"end_byte", span.end_byte},
          {"start_token", span.start_token},
          {"end_token", span.end_token}};
}

}  // namespace

std::size_t checked_page_answer(std::size_t max_answer) {
  if (max_answer == 0) throw_usage(message("`max_answer` must be at least 1"), "the default is 38 words");
  return max_answer;
}

NqPrediction decode_nq(const NqQuestion& example, const EncodedNq& page, std::span<const NqLogits> windows,
                       std::size_t max_answer) {
  checked_page_answer(max_answer);
  std::optional<ScoredPieces> short_answer, long_answer;
  for (const NqLogits& window : windows) {
    require_finite_logits({window.short_start, window.short_end, window.long_start, window.long_end},
                          input_length(page.question.size(), window.window), example.where);
    require_finite_logits({window.types}, page_types, example.where);
    take_better(short_answer,
                best_pieces(example, page, window, window.short_start, window.short_end, max_answer));
    take_better(long_answer,
                best_pieces(example, page, window, window.long_start, window.long_end, any_length));
  }
  NqPrediction prediction;
  prediction.id = example.id;
  if (!short_answer || !long_answer) return prediction;
  if (const PageCandidate* found = long_candidate(example, page, *long_answer, *short_answer))
    prediction.long_answer = candidate_span(found->span);
  prediction.long_score = long_answer->score;

  const NqLogits& decisive = short_answer->score > 0 ? *short_answer->window : *long_answer->window;
  const auto type = static_cast<NqAnswerType>(std::max_element(decisive.types.begin(), decisive.types.end()) -
                                              decisive.types.begin());
  if (type == NqAnswerType::yes || type == NqAnswerType::no) {
    prediction.yes_no = type == NqAnswerType::yes ? NqYesNo::yes : NqYesNo::no;
    prediction.short_score = logit_of_type(decisive, type) - logit_of_type(decisive, NqAnswerType::null);
    return prediction;
  }
  prediction.short_answers.push_back(span_of_pieces(example, page, *short_answer));
  prediction.short_score = short_answer->score;
  return prediction;
}

AnswerEntry nq_entry(const NqPrediction& prediction) {
  nlohmann::ordered_json json;
  json["example_id"] = prediction.id;
  json["long_answer"] = nq_span_json(prediction.long_answer);
  json["long_answer_score"] = prediction.long_score;
  json["short_answers"] = nlohmann::ordered_json::array();
  for (const NqSpan& span : prediction.short_answers) json["short_answers"].push_back(nq_span_json(span));
  json["short_answers_score"] = prediction.short_score;
  json["yes_no_answer"] = find_name(nq_yes_no_names, prediction.yes_no);
  return {json_text(json)};
}

}  // namespace bigbird
