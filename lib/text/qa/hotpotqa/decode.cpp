// Answers of HotpotQA; see decode.h.
#include "lib/text/qa/hotpotqa/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "lib/core/error.h"
#include "lib/core/unicode.h"
#include "lib/inference/probabilities.h"
#include "lib/text/qa/logits.h"

namespace bigbird {
namespace {

constexpr std::size_t hotpot_types = 3;

// The positions of the `count` highest logits, best first; of equals the lower.
std::vector<std::size_t> highest_positions(std::span<const float> logits, std::size_t count) {
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto kept = order.begin() + static_cast<std::ptrdiff_t>(std::min(count, order.size()));
  std::partial_sort(order.begin(), kept, order.end(), [&](std::size_t a, std::size_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  });
  order.erase(kept, order.end());
  return order;
}

// For every position of the input the segment that it lies in, of those that may hold the answer.
std::vector<const HotpotSegment*> segments_by_position(const EncodedHotpot& input,
                                                       const std::vector<bool>& supporting) {
  std::vector<const HotpotSegment*> segments(input.ids.size(), nullptr);
  std::vector<bool> paragraphs;
  for (std::size_t i = 0; i < input.segments.size(); ++i) {
    const std::size_t paragraph = input.segments[i].paragraph;
    if (paragraphs.size() <= paragraph) paragraphs.resize(paragraph + 1, false);
    if (supporting[i]) paragraphs[paragraph] = true;
  }
  for (std::size_t i = 0; i < input.segments.size(); ++i) {
    const HotpotSegment& segment = input.segments[i];
    if (!supporting[i] && (segment.sentence || !paragraphs[segment.paragraph])) continue;
    std::fill_n(segments.begin() + static_cast<std::ptrdiff_t>(segment.first), segment.spans.size(),
                &segment);
  }
  return segments;
}

std::string text_of_tokens(const HotpotQuestion& example, const HotpotSegment& segment, std::size_t first,
                           std::size_t last) {
  const HotpotParagraph& paragraph = example.paragraphs.at(segment.paragraph);
  const std::string& text = segment.sentence ? paragraph.sentences.at(*segment.sentence) : paragraph.title;
  const CodePointIndex index(text);
  return std::string(strip_white_space_left(index.slice(segment.spans.at(first - segment.first).begin,
                                                        segment.spans.at(last - segment.first).end)));
}

std::string best_hotpot_span(const HotpotQuestion& example, const EncodedHotpot& input,
                             const HotpotLogits& logits, const std::vector<bool>& supporting,
                             const HotpotDecoding& options) {
  const std::vector<const HotpotSegment*> segments = segments_by_position(input, supporting);
  const std::vector<std::size_t> ends = highest_positions(logits.end, options.n_best);
  std::optional<std::pair<std::size_t, std::size_t>> best;
  double best_score = 0;
  for (const std::size_t start : highest_positions(logits.start, options.n_best)) {
    for (const std::size_t end : ends) {
      if (end < start || end - start >= options.max_answer) continue;
      if (segments[start] == nullptr || segments[start] != segments[end]) continue;
      const double score = static_cast<double>(logits.start[start]) + static_cast<double>(logits.end[end]);
      if (best && score <= best_score) continue;
      best = {start, end};
      best_score = score;
    }
  }
  return best ? text_of_tokens(example, *segments[best->first], best->first, best->second) : std::string();
}

void check_hotpot_decoding(const HotpotDecoding& options) {
  if (options.n_best == 0 || options.max_answer == 0) {
    throw_usage(message("`n_best` and `max_answer` must be at least 1"), "the defaults are 50 and 30");
  }
  if (!(options.support_threshold >= 0 && options.support_threshold <= 1)) {
    throw_usage(message("`support_threshold` {:g}: must lie between 0 and 1", options.support_threshold),
                "0.5 is the usual one");
  }
}

}  // namespace

HotpotDecoding hotpot_decoding(std::optional<double> support_threshold, std::optional<std::size_t> n_best,
                               std::optional<std::size_t> max_answer) {
  HotpotDecoding decoding;
  decoding.support_threshold = support_threshold.value_or(decoding.support_threshold);
  decoding.n_best = n_best.value_or(decoding.n_best);
  decoding.max_answer = max_answer.value_or(decoding.max_answer);
  check_hotpot_decoding(decoding);
  return decoding;
}

AnswerEntry hotpot_entry(const std::string& id, const DecodedHotpot& answer) {
  std::string facts;
  for (const auto& [title, number] : answer.facts)
    facts += fmt::format("{}[{}, {}]", facts.empty() ? "" : ", ", json_string(title), number);
  return {keyed_entry(id, json_string(answer.text), 2), keyed_entry(id, "[" + facts + "]", 2)};
}

DecodedHotpot decode_hotpot(const HotpotQuestion& example, const EncodedHotpot& input,
                            const HotpotLogits& logits, const HotpotDecoding& options) {
  check_hotpot_decoding(options);
  require_finite_logits({logits.start, logits.end, logits.support}, input.ids.size(), example.where);
  require_finite_logits({logits.types}, hotpot_types, example.where);
  DecodedHotpot decoded;
  std::vector<bool> supporting;
  for (const HotpotSegment& segment : input.segments) {
    supporting.push_back(segment.sentence && sigmoid(static_cast<double>(logits.support[segment.mark])) >=
                                                 options.support_threshold);
    if (supporting.back()) {
      decoded.facts.emplace_back(example.paragraphs.at(segment.paragraph).title,
                                 static_cast<std::int64_t>(*segment.sentence));
    }
  }
  const auto type = static_cast<HotpotAnswerType>(std::max_element(logits.types.begin(), logits.types.end()) -
                                                  logits.types.begin());
  if (type == HotpotAnswerType::span) {
    decoded.text = best_hotpot_span(example, input, logits, supporting, options);
  } else {
    decoded.text = type == HotpotAnswerType::yes ? "yes" : "no";
  }
  return decoded;
}

}  // namespace bigbird
