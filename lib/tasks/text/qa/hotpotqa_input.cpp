// HotpotQA: reader, inputs and labels; see hotpotqa_input.h.
#include "lib/tasks/text/qa/hotpotqa_input.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/core/error.h"
#include "lib/core/unicode.h"
#include "lib/io/text/json_records.h"
#include "lib/io/text/text_lines.h"
#include "lib/tasks/text/qa/piece_names.h"
#include "lib/tasks/text/qa/record_fields.h"

namespace bigbird {
namespace {

constexpr const char* answer_not_in_evidence = "answer is in no supporting title or sentence";
constexpr const char* fact_not_there = "supporting fact that is not in the context";

JsonRecordsOptions hotpot_records(bool replace_invalid) {
  JsonRecordsOptions records;
  records.replace_invalid = replace_invalid;
  return records;
}

HotpotAnswerType answer_type(const std::string& answer) {
  if (answer == "yes") return HotpotAnswerType::yes;
  return answer == "no" ? HotpotAnswerType::no : HotpotAnswerType::span;
}

bool supports(const HotpotExample& example, const HotpotParagraph& paragraph,
              std::optional<std::size_t> sentence) {
  return std::any_of(example.supporting_facts.begin(), example.supporting_facts.end(),
                     [&](const SupportingFact& fact) {
                       return fact.first == paragraph.title &&
                              (!sentence || fact.second == static_cast<std::int64_t>(*sentence));
                     });
}

bool fact_is_there(const HotpotExample& example, const SupportingFact& fact) {
  return std::any_of(example.paragraphs.begin(), example.paragraphs.end(),
                     [&](const HotpotParagraph& paragraph) {
                       return paragraph.title == fact.first && fact.second >= 0 &&
                              static_cast<std::size_t>(fact.second) < paragraph.sentences.size();
                     });
}

bool answer_is_in_evidence(const HotpotExample& example) {
  const auto holds = [&](const std::string& text) { return text.find(example.answer) != std::string::npos; };
  for (const HotpotParagraph& paragraph : example.paragraphs) {
    if (supports(example, paragraph, std::nullopt) && holds(paragraph.title)) return true;
    for (std::size_t n = 0; n < paragraph.sentences.size(); ++n) {
      if (supports(example, paragraph, n) && holds(paragraph.sentences[n])) return true;
    }
  }
  return false;
}

void read_context(const RecordField& context, HotpotExample& example) {
  for (std::size_t i = 0; i < context.size(); ++i) {
    const RecordField pair = context.at(i);
    if (pair.size() != 2) pair.fail("is no pair of title and sentences", "[title, [sentence, ...]]");
    HotpotParagraph& paragraph = example.paragraphs.emplace_back();
    paragraph.title = pair.at(0).text();
    for (std::size_t n = 0; n < pair.at(1).size(); ++n)
      paragraph.sentences.push_back(pair.at(1).at(n).text());
  }
  if (example.paragraphs.empty()) context.fail("is empty", "a question needs paragraphs");
}

}  // namespace

struct HotpotReader::State {
  State(const std::string& path, QuestionPurpose chosen, bool replace_invalid)
      : purpose(chosen), records(path, hotpot_records(replace_invalid)), fields(path, "question") {}

  void read_answer(const RecordField& root, HotpotExample& example);

  QuestionPurpose purpose;
  JsonRecords records;
  RecordFields fields;
  SeenIds ids;
  ReasonCounts skipped;
  ReasonCounts noted;
};

void HotpotReader::State::read_answer(const RecordField& root, HotpotExample& example) {
  example.answer = root["answer"].text();
  const RecordField facts = root["supporting_facts"];
  for (std::size_t i = 0; i < facts.size(); ++i) {
    if (facts.at(i).size() != 2)
      facts.at(i).fail("is no pair of title and number", "[title, number of the sentence]");
    const SupportingFact fact{facts.at(i).at(0).text(), facts.at(i).at(1).integer()};
    if (!fact_is_there(example, fact)) noted.add(fact_not_there);
    example.supporting_facts.push_back(fact);
  }
}

HotpotReader::HotpotReader(const std::string& path, QuestionPurpose purpose, bool replace_invalid)
    : state_(std::make_unique<State>(path, purpose, replace_invalid)) {}

HotpotReader::~HotpotReader() = default;
HotpotReader::HotpotReader(HotpotReader&&) noexcept = default;
HotpotReader& HotpotReader::operator=(HotpotReader&&) noexcept = default;

bool HotpotReader::next(HotpotExample& example) {
  JsonRecord record;
  while (state_->records.next(record)) {
    RecordFields& fields = state_->fields;
    fields.parse(record);
    const RecordField root = fields.root();
    example = {};
    example.id = root["_id"].text();
    fields.set_id(example.id);
    example.where = fields.where();
    state_->ids.add(example.id, example.where);
    example.question = root["question"].text();
    if (is_blank(example.question))
      root["question"].fail("is empty", "give the question a text, or leave it out");
    read_context(root["context"], example);
    if (state_->purpose == QuestionPurpose::predict) return true;
    state_->read_answer(root, example);
    if (state_->purpose == QuestionPurpose::evaluate ||
        answer_type(example.answer) != HotpotAnswerType::span || answer_is_in_evidence(example)) {
      return true;
    }
    state_->skipped.add(answer_not_in_evidence);
  }
  return false;
}

const ReasonCounts& HotpotReader::skipped() const {
  return state_->skipped;
}
const ReasonCounts& HotpotReader::noted() const {
  return state_->noted;
}

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

HotpotInput HotpotEncoder::encode(const HotpotExample& example, std::size_t length,
                                  UnknownTally* unknown) const {
  HotpotInput input;
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
    throw_usage(fmt::format("{}: `length` {} leaves no room beside a question of {} tokens", example.where,
                            length, input.question_tokens),
                "a larger `length` or a smaller `max_question`");
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

HotpotLabel hotpot_label(const HotpotExample& example, const HotpotInput& input) {
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
