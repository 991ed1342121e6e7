// Questions of Natural Questions, from the file to the prediction; see questions.h.
#include "lib/text/qa/natural_questions/questions.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/names.h"
#include "lib/core/unicode.h"
#include "lib/text/qa/windows.h"

namespace bigbird {
namespace {

bool looks_like_tag(std::string_view text) {
  return text.size() > 2 && text.front() == '<' && text.back() == '>';
}

void read_page_tokens(const RecordField& root, std::vector<PageToken>& tokens) {
  if (!root.has("document_tokens")) {
    const std::string& text = root["document_text"].text();
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(' ', begin), text.size());
      PageToken& token = tokens.emplace_back();
      token.text = text.substr(begin, end - begin);
      token.is_tag = looks_like_tag(token.text);
      begin = end + 1;
    }
    return;
  }
  const RecordField list = root["document_tokens"];
  tokens.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    const RecordField field = list.at(i);
    tokens.push_back({field["token"].text(), field["html_token"].boolean(), field["start_byte"].integer(),
                      field["end_byte"].integer()});
  }
}

// A span of the file; nothing where all of it is null.
std::optional<NqSpan> read_span(const RecordField& field, std::size_t tokens) {
  NqSpan span;
  span.start_token = field["start_token"].integer();
  span.end_token = field["end_token"].integer();
  if (field.has("start_byte")) span.start_byte = field["start_byte"].integer();
  if (field.has("end_byte")) span.end_byte = field["end_byte"].integer();
  const auto is_null = [](std::int64_t begin, std::int64_t end) { return begin == -1 && end == -1; };
  if (is_null(span.start_token, span.end_token) && is_null(span.start_byte, span.end_byte))
    return std::nullopt;
  if (span.start_token < 0 || span.start_token >= span.end_token ||
      static_cast<std::uint64_t>(span.end_token) > tokens) {
    field.fail(
        fmt::format("has the tokens {} to {} of a document of {}", span.start_token, span.end_token, tokens),
        "spans are half-open and in the document; -1 and -1 mean nothing");
  }
  if (!is_null(span.start_byte, span.end_byte) && (span.start_byte < 0 || span.start_byte >= span.end_byte)) {
    field.fail(fmt::format("has the bytes {} to {}", span.start_byte, span.end_byte),
               "spans are half-open; -1 and -1 mean nothing");
  }
  return span;
}

NqAnnotation read_annotation(const RecordField& field, const NqQuestion& example) {
  NqAnnotation annotation;
  const RecordField index = field["long_answer"]["candidate_index"];
  if (index.integer() != -1) {
    if (index.integer() < 0 || static_cast<std::uint64_t>(index.integer()) >= example.candidates.size()) {
      index.fail(fmt::format("is {} of {} candidates", index.integer(), example.candidates.size()),
                 "it counts from 0; -1 means no long answer");
    }
    annotation.candidate = static_cast<std::size_t>(index.integer());
    annotation.long_answer = example.candidates[*annotation.candidate].span;
  }
  const RecordField answers = field["short_answers"];
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (const auto span = read_span(answers.at(i), example.tokens.size()))
      annotation.short_answers.push_back(*span);
  }
  const RecordField yes_no = field["yes_no_answer"];
  const auto answer = find_value(nq_yes_no_names, yes_no.text());
  if (!answer) yes_no.fail("is '" + text_for_message(yes_no.text()) + "'", "it is YES, NO or NONE");
  annotation.yes_no = *answer;
  return annotation;
}

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

// A span, and where it was found.
struct ScoredPieces : PieceSpan {
  double score = 0;
  const NqLogits* window = nullptr;
};

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
  return ScoredPieces{{first, first + end - start}, sum(start, end) - sum(0, 0), &window};
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

bool NqReader::next(NqQuestion& question) {
  const auto root = next_record();
  if (!root) return false;
  question = {};
  question.id = (*root)["example_id"].integer();
  question.where = begin_question(std::to_string(question.id));
  question.question = question_text((*root)["question_text"], "give the question a text");
  if (root->has("document_title")) question.title = (*root)["document_title"].text();
  read_page_tokens(*root, question.tokens);
  const RecordField candidates = (*root)["long_answer_candidates"];
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto span = read_span(candidates.at(i), question.tokens.size());
    if (!span) candidates.at(i).fail("is null", "a candidate is a span of tokens");
    question.candidates.push_back({*span, candidates.at(i)["top_level"].boolean()});
  }
  if (reading().purpose == QuestionPurpose::predict) return true;
  const RecordField annotations = (*root)["annotations"];
  for (std::size_t i = 0; i < annotations.size(); ++i)
    question.annotations.push_back(read_annotation(annotations.at(i), question));
  return true;
}

NqEncoder::NqEncoder(const Tokenizer& tokenizer, const TextEncodingOptions& encoding,
                     std::size_t max_question)
    : tokenizer_(tokenizer),
      encoding_(encoding),
      max_question_(max_question),
      opening_tag_(piece_named(tokenizer, "<unused_35>")),
      closing_tag_(piece_named(tokenizer, "<unused_36>")) {}

EncodedNq NqEncoder::encode(const NqQuestion& example, UnknownTally* unknown) const {
  EncodedNq page;
  page.question =
      encode_question(tokenizer_, example.question, encoding_, max_question_, page.question_was_cut, unknown);
  std::unordered_map<std::string_view, std::vector<std::uint32_t>> known;  // words come again and again
  std::vector<NqSpan> stretches;
  for (const PageCandidate& candidate : example.candidates) {
    if (candidate.top_level) stretches.push_back(candidate.span);
  }
  std::sort(stretches.begin(), stretches.end(),
            [](const NqSpan& a, const NqSpan& b) { return a.start_token < b.start_token; });
  std::int64_t behind = 0;  // no token twice, should stretches overlap
  for (const NqSpan& stretch : stretches) {
    const std::size_t first = page.pieces.ids.size();
    for (std::int64_t t = std::max(behind, stretch.start_token); t < stretch.end_token; ++t) {
      const PageToken& token = example.tokens[static_cast<std::size_t>(t)];
      const std::size_t before = page.pieces.ids.size();
      if (token.is_tag) {
        page.pieces.ids.push_back(token.text.starts_with("</") ? closing_tag_ : opening_tag_);
      } else {
        const auto [place, is_new] = known.try_emplace(token.text);
        if (is_new) place->second = encode_counted(tokenizer_, token.text, encoding_, unknown).ids;
        page.pieces.ids.insert(page.pieces.ids.end(), place->second.begin(), place->second.end());
      }
      page.tokens.resize(page.pieces.ids.size(), static_cast<std::uint32_t>(t));
      page.pieces.word_begins.resize(page.pieces.ids.size(), 0);
      if (page.pieces.ids.size() > before) page.pieces.word_begins[before] = 1;
    }
    if (page.pieces.ids.size() > first) page.candidates.push_back(static_cast<std::uint32_t>(first));
    behind = std::max(behind, stretch.end_token);
  }
  return page;
}

const NqAnnotation* trained_annotation(const NqQuestion& example) {
  const NqAnnotation* best = nullptr;
  for (const NqAnnotation& annotation : example.annotations) {
    if (!annotation.candidate) continue;
    const auto rank = [](const NqAnnotation& a) { return std::pair(a.short_answers.empty(), *a.candidate); };
    if (best == nullptr || rank(annotation) < rank(*best)) best = &annotation;
  }
  return best;
}

NqLabel nq_label(const NqQuestion& example, const EncodedNq& page, const ContextWindow& window) {
  const NqAnnotation* annotation = trained_annotation(example);
  if (annotation == nullptr) return {};
  NqLabel label;
  const NqSpan& answer = annotation->long_answer;
  label.long_answer = label_of_tokens(page, window, answer.start_token, answer.end_token);
  if (!annotation->short_answers.empty()) {
    std::int64_t begin = annotation->short_answers.front().start_token;
    std::int64_t end = annotation->short_answers.front().end_token;
    for (const NqSpan& span : annotation->short_answers) {
      begin = std::min(begin, span.start_token);
      end = std::max(end, span.end_token);
    }
    label.short_answer = label_of_tokens(page, window, begin, end);
    if (label.short_answer.start == 0) return {};
    label.type = NqAnswerType::short_answer;
    return label;
  }
  if (label.long_answer.start == 0) return {};
  label.type = annotation->yes_no == NqYesNo::yes  ? NqAnswerType::yes
               : annotation->yes_no == NqYesNo::no ? NqAnswerType::no
                                                   : NqAnswerType::long_answer;
  return label;
}

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

NqSpan long_answer_of(const NqQuestion& example, const EncodedNq& page, const PieceSpan& long_answer,
                      const std::optional<PieceSpan>& short_answer) {
  const auto around = [&](std::size_t first, std::size_t last) {
    return candidate_around(example, page.tokens[first], page.tokens[last]);
  };
  const PageCandidate* found = around(long_answer.first, long_answer.last);
  if (found == nullptr && short_answer) found = around(short_answer->first, short_answer->last);
  if (found == nullptr) found = around(long_answer.first, long_answer.first);
  return found == nullptr ? NqSpan{} : found->span;
}

NqSpan span_of_pieces(const NqQuestion& example, const EncodedNq& page, const PieceSpan& pieces) {
  const std::uint32_t first = page.tokens[pieces.first], last = page.tokens[pieces.last];
  return {example.tokens[first].start_byte, example.tokens[last].end_byte, static_cast<std::int64_t>(first),
          static_cast<std::int64_t>(last) + 1};
}

void require_page_logits(const NqQuestion& example, const EncodedNq& page, const NqLogits& window) {
  require_finite_logits({window.short_start, window.short_end, window.long_start, window.long_end},
                        input_length(page.question.size(), window.window), example.where);
  require_finite_logits({window.types}, nq_types, example.where);
}

NqPrediction decode_nq(const NqQuestion& example, const EncodedNq& page, std::span<const NqLogits> windows,
                       std::size_t max_answer) {
  check_words(max_answer, "the default is 38 words");
  std::optional<ScoredPieces> short_answer, long_answer;
  for (const NqLogits& window : windows) {
    require_page_logits(example, page, window);
    take_better(short_answer,
                best_pieces(example, page, window, window.short_start, window.short_end, max_answer));
    take_better(long_answer,
                best_pieces(example, page, window, window.long_start, window.long_end, any_length));
  }
  NqPrediction prediction;
  prediction.id = example.id;
  if (!short_answer || !long_answer) return prediction;
  prediction.long_answer = long_answer_of(example, page, *long_answer, *short_answer);
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
