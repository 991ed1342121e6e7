// Inputs and labels of HotpotQA; see encode.h.
#include "lib/text/qa/hotpotqa/encode.h"

#include <algorithm>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/unicode.h"

namespace bigbird {

HotpotEncoder::HotpotEncoder(const Tokenizer& tokenizer, const TextEncodingOptions& encoding,
                             std::size_t max_question)
    : tokenizer_(tokenizer),
      encoding_(encoding),
      max_question_(max_question),
      question_opens_(piece_named(tokenizer, "<sep_0>")),
      question_closes_(piece_named(tokenizer, "<sep_1>")),
      title_opens_(piece_named(tokenizer, "<t>")),
      title_closes_(piece_named(tokenizer, "<sep_2>")),
      sentence_closes_(piece_named(tokenizer, "<sep_3>")) {}

EncodedHotpot HotpotEncoder::encode(const HotpotQuestion& example, std::size_t length,
                                    UnknownTally* unknown) const {
  EncodedHotpot input;
  const EncodedText question = encode_text(tokenizer_, strip_white_space_left(example.question), encoding_);
  if (unknown != nullptr) unknown->add(question);
  input.question_tokens = std::min(question.ids.size(), max_question_);
  input.question_was_cut = question.ids.size() > max_question_;
  input.ids = {tokenizer_.special().cls, question_opens_};
  input.ids.insert(input.ids.end(), question.ids.begin(),
                   question.ids.begin() + static_cast<std::ptrdiff_t>(input.question_tokens));
  input.ids.push_back(question_closes_);
  input.ids.push_back(tokenizer_.special().sep);
  input.types.assign(input.ids.size(), 0);
  if (input.ids.size() + 2 > length) {
    throw_usage(message("{}: `length` {} leaves no room beside a question of {} tokens", example.where,
                        length, input.question_tokens),
                message("a larger `length` or a smaller `max_question`"));
  }
  // Whether text, the piece that closes it, what comes before it and the last [SEP] still fit.
  const auto append = [&](const std::string& text, std::size_t paragraph,
                          std::optional<std::size_t> sentence) {
    const EncodedText encoded = encode_text(tokenizer_, text, encoding_);
    if (unknown != nullptr) unknown->add(encoded);
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

}  // namespace bigbird
