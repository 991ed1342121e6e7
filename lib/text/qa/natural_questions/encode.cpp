// Inputs and labels of Natural Questions; see encode.h.
#include "lib/text/qa/natural_questions/encode.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "lib/core/unicode.h"

namespace bigbird {
namespace {

// The first and the last piece of the document tokens [begin, end) in a window; 0 and 0 where one of them is
// not in it.
SpanLabel label_of_tokens(const EncodedNq& page, const ContextWindow& window, std::int64_t begin,
                          std::int64_t end) {
  const auto first = std::lower_bound(page.tokens.begin(), page.tokens.end(), begin,
                                      [](std::uint32_t token, std::int64_t value) { return token < value; });
  const auto behind = std::lower_bound(first, page.tokens.end(), end,
                                       [](std::uint32_t token, std::int64_t value) { return token < value; });
  const auto start = static_cast<std::size_t>(first - page.tokens.begin());
  const auto stop = static_cast<std::size_t>(behind - page.tokens.begin());
  if (start == stop || start < window.first || stop > window.first + window.count) return {};
  const std::size_t at = context_position(page.question.size());
  return {at + start - window.first, at + stop - 1 - window.first};
}

}  // namespace

NqEncoder::NqEncoder(const Tokenizer& tokenizer, const TextEncodingOptions& encoding,
                     std::size_t max_question)
    : tokenizer_(tokenizer),
      encoding_(encoding),
      max_question_(max_question),
      opening_tag_(piece_named(tokenizer, "<unused_35>")),
      closing_tag_(piece_named(tokenizer, "<unused_36>")) {}

EncodedNq NqEncoder::encode(const NqQuestion& example, UnknownTally* unknown) const {
  EncodedNq page;
  const auto encoded = [&](std::string_view text) {
    const EncodedText result = encode_text(tokenizer_, text, encoding_);
    if (unknown != nullptr) unknown->add(result);
    return result.ids;
  };
  page.question = encoded(strip_white_space_left(example.question));
  page.question_was_cut = page.question.size() > max_question_;
  if (page.question_was_cut) page.question.resize(max_question_);
  std::unordered_map<std::string_view, std::vector<std::uint32_t>> known;  // words come again and again
  std::vector<PageSpan> stretches;
  for (const PageCandidate& candidate : example.candidates) {
    if (candidate.top_level) stretches.push_back(candidate.span);
  }
  std::sort(stretches.begin(), stretches.end(),
            [](const PageSpan& a, const PageSpan& b) { return a.start_token < b.start_token; });
  std::int64_t behind = 0;  // no token twice, should stretches overlap
  for (const PageSpan& stretch : stretches) {
    for (std::int64_t t = std::max(behind, stretch.start_token); t < stretch.end_token; ++t) {
      const PageToken& token = example.tokens[static_cast<std::size_t>(t)];
      const std::size_t before = page.pieces.ids.size();
      if (token.is_tag) {
        page.pieces.ids.push_back(token.text.starts_with("</") ? closing_tag_ : opening_tag_);
      } else {
        const auto [place, is_new] = known.try_emplace(token.text);
        if (is_new) place->second = encoded(token.text);
        page.pieces.ids.insert(page.pieces.ids.end(), place->second.begin(), place->second.end());
      }
      page.tokens.resize(page.pieces.ids.size(), static_cast<std::uint32_t>(t));
      page.pieces.word_begins.resize(page.pieces.ids.size(), 0);
      if (page.pieces.ids.size() > before) page.pieces.word_begins[before] = 1;
    }
    behind = std::max(behind, stretch.end_token);
  }
  return page;
}

const PageAnnotation* trained_annotation(const NqQuestion& example) {
  const PageAnnotation* best = nullptr;
  for (const PageAnnotation& annotation : example.annotations) {
    if (!annotation.candidate) continue;
    const auto rank = [](const PageAnnotation& a) {
      return std::pair(a.short_answers.empty(), *a.candidate);
    };
    if (best == nullptr || rank(annotation) < rank(*best)) best = &annotation;
  }
  return best;
}

NqLabel nq_label(const NqQuestion& example, const EncodedNq& page, const ContextWindow& window) {
  const PageAnnotation* annotation = trained_annotation(example);
  if (annotation == nullptr) return {};
  NqLabel label;
  const PageSpan& answer = example.candidates[*annotation->candidate].span;
  label.long_answer = label_of_tokens(page, window, answer.start_token, answer.end_token);
  if (!annotation->short_answers.empty()) {
    std::int64_t begin = annotation->short_answers.front().start_token;
    std::int64_t end = annotation->short_answers.front().end_token;
    for (const PageSpan& span : annotation->short_answers) {
      begin = std::min(begin, span.start_token);
      end = std::max(end, span.end_token);
    }
    label.short_answer = label_of_tokens(page, window, begin, end);
    if (label.short_answer.start == 0) return {};
    label.type = NqAnswerType::short_answer;
    return label;
  }
  if (label.long_answer.start == 0) return {};
  label.type = annotation->yes_no == YesNoAnswer::yes  ? NqAnswerType::yes
               : annotation->yes_no == YesNoAnswer::no ? NqAnswerType::no
                                                       : NqAnswerType::long_answer;
  return label;
}

}  // namespace bigbird
