// Places of an answer added up; see two_inputs.h.
#include "lib/text/qa/triviaqa/two_inputs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include "lib/core/unicode.h"
#include "lib/metrics/answer_metrics.h"

namespace bigbird {
namespace {

// Below the best place by more than this a place changes no sum of doubles: of a million such places
// exp(-60) is still 1e-20 of it.
constexpr double negligible = 60;

struct StringScore {
  std::string text;         // of the best place
  double best = 0;          // score of that place
  std::vector<double> all;  // scores, in the order of the places
  std::size_t number = 0;   // in the order of first places

  double sum() const {
    double shares = 0;
    for (const double score : all) shares += std::exp(score - best);
    return best + std::log(shares);
  }
};
using Strings = std::map<std::string, StringScore>;

double best_place(std::span<const DecodedDocument> documents, std::size_t max_answer) {
  double best = -std::numeric_limits<double>::infinity();
  for (const DecodedDocument& document : documents) {
    for (const WindowLogits& window : document.windows) {
      for_each_answer_span(document.question, window, max_answer,
                           [&](std::size_t, std::size_t, double score) { best = std::max(best, score); });
    }
  }
  return best;
}

// All strings with a place that scores at least so much.
Strings strings_from(std::span<const DecodedDocument> documents, std::size_t max_answer, double least) {
  Strings strings;
  for (const DecodedDocument& document : documents) {
    std::map<std::pair<std::size_t, std::size_t>, double> places;  // first and last token
    for (const WindowLogits& window : document.windows) {
      for_each_answer_span(document.question, window, max_answer,
                           [&](std::size_t first, std::size_t last, double score) {
                             if (score < least) return;
                             const auto [place, is_new] = places.try_emplace({first, last}, score);
                             if (!is_new) place->second = std::max(place->second, score);
                           });
    }
    const CodePointIndex index(*document.question.example.context);
    for (const auto& [tokens, score] : places) {
      const std::vector<TextSpan>& spans = document.question.context.spans;
      const std::string_view text = index.slice(spans[tokens.first].begin, spans[tokens.second].end);
      std::string key = normalize_trivia_answer(text).text;
      if (key.empty()) continue;
      StringScore& string = strings[std::move(key)];
      if (string.all.empty()) string.number = strings.size();
      if (string.all.empty() || score > string.best) {
        string.text = strip_white_space_left(text);
        string.best = score;
      }
      string.all.push_back(score);
    }
  }
  return strings;
}

double best_of(const Strings& strings) {
  double best = -std::numeric_limits<double>::infinity();
  for (const auto& [key, string] : strings) best = std::max(best, string.best);
  return best;
}

}  // namespace

std::optional<PooledAnswer> decode_trivia_pooled(std::span<const DecodedDocument> documents,
                                                 std::size_t max_answer) {
  check_words(max_answer, "the default is 16 words");
  for (const DecodedDocument& document : documents) {
    for (const WindowLogits& window : document.windows) require_document_logits(document.question, window);
  }
  const double best = best_place(documents, max_answer);
  Strings strings = strings_from(documents, max_answer, best - negligible);
  // Where the best places are no answers, what is negligible is measured by the best one that is.
  const double best_answer = best_of(strings);
  if (best_answer < best) strings = strings_from(documents, max_answer, best_answer - negligible);
  const StringScore* winner = nullptr;
  double most = 0;
  for (const auto& [key, string] : strings) {
    const double sum = string.sum();
    if (winner != nullptr && (sum < most || (sum == most && string.number > winner->number))) continue;
    winner = &string;
    most = sum;
  }
  if (winner == nullptr) return std::nullopt;
  return PooledAnswer{winner->text, most};
}

}  // namespace bigbird
