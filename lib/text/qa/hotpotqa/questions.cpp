// Questions of HotpotQA, from the file to the answer; see questions.h.
#include "lib/text/qa/hotpotqa/questions.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/unicode.h"
#include "lib/inference/probabilities.h"
#include "lib/text/qa/hotpotqa/two_inputs.h"
#include "lib/text/qa/windows.h"

namespace bigbird {
namespace {

constexpr const char* answer_not_in_evidence = "answer is in no supporting title or sentence";
constexpr const char* fact_not_there = "supporting fact that is not in the context";

bool fact_is_there(const HotpotQuestion& example, const SupportingFact& fact) {
  return std::any_of(example.paragraphs.begin(), example.paragraphs.end(),
                     [&](const HotpotParagraph& paragraph) {
                       return paragraph.title == fact.first && fact.second >= 0 &&
                              static_cast<std::size_t>(fact.second) < paragraph.sentences.size();
                     });
}

bool answer_is_in_evidence(const HotpotQuestion& example) {
  const auto holds = [&](const std::string& text) { return text.find(example.answer) != std::string::npos; };
  for (const HotpotParagraph& paragraph : example.paragraphs) {
    if (supports(example, paragraph, std::nullopt) && holds(paragraph.title)) return true;
    for (std::size_t n = 0; n < paragraph.sentences.size(); ++n) {
      if (supports(example, paragraph, n) && holds(paragraph.sentences[n])) return true;
    }
  }
  return false;
}

void read_context(const RecordField& context, HotpotQuestion& example) {
  for (std::size_t i = 0; i < context.size(); ++i) {
    const RecordField pair = context.at(i);
    if (pair.size() != 2) pair.fail("is not a pair of title and sentences", "[title, [sentence, ...]]");
    HotpotParagraph& paragraph = example.paragraphs.emplace_back();
    paragraph.title = pair.at(0).text();
    for (std::size_t n = 0; n < pair.at(1).size(); ++n)
      paragraph.sentences.push_back(pair.at(1).at(n).text());
  }
  if (example.paragraphs.empty()) context.fail("is empty", "a question needs paragraphs");
}

constexpr std::size_t hotpot_types = 3;

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
    throw_usage(message("`support_threshold` {:g}: must be between 0 and 1", options.support_threshold),
                "0.5 is the usual one");
  }
}

}  // namespace

HotpotAnswerType answer_type(const std::string& answer) {
  if (answer == "yes") return HotpotAnswerType::yes;
  return answer == "no" ? HotpotAnswerType::no : HotpotAnswerType::span;
}

bool supports(const HotpotQuestion& example, const HotpotParagraph& paragraph,
              std::optional<std::size_t> sentence) {
  return std::any_of(example.supporting_facts.begin(), example.supporting_facts.end(),
                     [&](const SupportingFact& fact) {
                       return fact.first == paragraph.title &&
                              (!sentence || fact.second == static_cast<std::int64_t>(*sentence));
                     });
}

void HotpotReader::read_answer(const RecordField& root, HotpotQuestion& example) {
  example.answer = root["answer"].text();
  const RecordField facts = root["supporting_facts"];
  for (std::size_t i = 0; i < facts.size(); ++i) {
    if (facts.at(i).size() != 2)
      facts.at(i).fail("is not a pair of title and number", "[title, number of the sentence]");
    const SupportingFact fact{facts.at(i).at(0).text(), facts.at(i).at(1).integer()};
    if (!fact_is_there(example, fact)) noted_.add(fact_not_there);
    example.supporting_facts.push_back(fact);
  }
}

bool HotpotReader::next(HotpotQuestion& question) {
  while (const auto root = next_record()) {
    question = {};
    question.id = (*root)["_id"].text();
    question.where = begin_question(question.id);
    question.question = question_text((*root)["question"]);
    read_context((*root)["context"], question);
    if (reading().purpose == QuestionPurpose::predict) return true;
    read_answer(*root, question);
    if (reading().purpose == QuestionPurpose::evaluate ||
        answer_type(question.answer) != HotpotAnswerType::span || answer_is_in_evidence(question)) {
      return true;
    }
    skipped_.add(answer_not_in_evidence);
  }
  return false;
}

HotpotEncoder::HotpotEncoder(const Tokenizer& tokenizer, const TextEncodingOptions& encoding,
                             std::size_t max_question, std::size_t globals)
    : tokenizer_(tokenizer), encoding_(encoding), max_question_(max_question), globals_(globals) {
  if (globals_ > 0) {
    part_ids_ = part_ids(tokenizer);
    return;
  }
  question_opens_ = piece_named(tokenizer, "<sep_0>");
  question_closes_ = piece_named(tokenizer, "<sep_1>");
  title_opens_ = piece_named(tokenizer, "<t>");
  title_closes_ = piece_named(tokenizer, "<sep_2>");
  sentence_closes_ = piece_named(tokenizer, "<sep_3>");
}

EncodedHotpot HotpotEncoder::encode(const HotpotQuestion& example, std::size_t length,
                                    UnknownTally* unknown) const {
  if (globals_ == 0) return encode_one(example, length, unknown);
  return hotpot_two_inputs(example, {length, globals_, max_question_}, part_ids_, tokenizer_, encoding_,
                           unknown);
}

EncodedHotpot HotpotEncoder::encode_one(const HotpotQuestion& example, std::size_t length,
                                        UnknownTally* unknown) const {
  EncodedHotpot input;
  const std::vector<std::uint32_t> question = encode_question(tokenizer_, example.question, encoding_,
                                                              max_question_, input.question_was_cut, unknown);
  input.question_tokens = question.size();
  input.ids = {tokenizer_.special().cls, question_opens_};
  input.ids.insert(input.ids.end(), question.begin(), question.end());
  input.ids.push_back(question_closes_);
  input.ids.push_back(tokenizer_.special().sep);
  input.types.assign(input.ids.size(), 0);
  if (input.ids.size() + 2 > length) {
    throw_usage(message("{}: `length` {} leaves no room next to a question of {} tokens", example.where,
                        length, input.question_tokens),
                message("a larger `length` or a smaller `max_question`"));
  }
  // Whether text, the piece that closes it, what comes before it and the last [SEP] still fit.
  const auto append = [&](const std::string& text, std::size_t paragraph,
                          std::optional<std::size_t> sentence) {
    const EncodedText encoded = encode_counted(tokenizer_, text, encoding_, unknown);
    const std::size_t opening = sentence ? 0 : 1;
    if (input.ids.size() + opening + encoded.ids.size() + 2 > length) return false;
    if (!sentence) input.ids.push_back(title_opens_);
    HotpotSegment segment{paragraph, sentence, input.ids.size(), input.ids.size() + encoded.ids.size(), {}};
    for (std::size_t i = 0; i < encoded.ids.size(); ++i)
      segment.spans.push_back({encoded.begin[i], encoded.end[i]});
    input.ids.insert(input.ids.end(), encoded.ids.begin(), encoded.ids.end());
    input.ids.push_back(sentence ? sentence_closes_ : title_closes_);
    input.segments.push_back(std::move(segment));
    return true;
  };
  for (std::size_t p = 0; p < example.paragraphs.size(); ++p) {
    const HotpotParagraph& paragraph = example.paragraphs[p];
    const bool has_title = append(paragraph.title, p, std::nullopt);
    for (std::size_t n = 0; n < paragraph.sentences.size(); ++n) {
      if (!has_title || !append(paragraph.sentences[n], p, n)) ++input.left_out;
    }
  }
  input.ids.push_back(tokenizer_.special().sep);
  input.types.resize(input.ids.size(), 1);
  return input;
}

HotpotLabel hotpot_label(const HotpotQuestion& example, const EncodedHotpot& input) {
  HotpotLabel label;
  label.type = answer_type(example.answer);
  bool found = label.type != HotpotAnswerType::span || example.answer.empty();
  for (const HotpotSegment& segment : input.segments) {
    const HotpotParagraph& paragraph = example.paragraphs[segment.paragraph];
    const bool supporting = supports(example, paragraph, segment.sentence);
    label.supporting.push_back(supporting && segment.sentence ? 1 : 0);
    if (found || !supporting || segment.spans.empty()) continue;
    const std::string& text = segment.sentence ? paragraph.sentences[*segment.sentence] : paragraph.title;
    const std::size_t byte = text.find(example.answer);
    if (byte == std::string::npos) continue;
    const std::size_t begin = count_code_points(std::string_view(text).substr(0, byte));
    ContextTokens tokens;
    tokens.spans = segment.spans;
    // The segment as the one window of a context that begins at its first token.
    const std::size_t question = segment.first - context_position(0);
    label.span = span_label(tokens, {0, segment.spans.size()}, question,
                            {begin, begin + count_code_points(example.answer)});
    found = label.span.start != 0;
  }
  return label;
}

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
  require_finite_logits({logits.start, logits.end}, input.ids.size(), example.where);
  require_finite_logits({logits.support}, input.globals ? input.globals->globals.size() : input.ids.size(),
                        example.where);
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
