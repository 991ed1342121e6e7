// Natural Questions: reader, inputs and labels; see natural_questions_input.h.
#include "lib/tasks/text/qa/natural_questions_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "lib/core/error.h"
#include "lib/core/unicode.h"
#include "lib/io/text/json_records.h"
#include "lib/io/text/text_lines.h"
#include "lib/tasks/text/qa/piece_names.h"
#include "lib/tasks/text/qa/record_fields.h"

namespace bigbird {
namespace {

JsonRecordsOptions page_records(bool replace_invalid) {
  JsonRecordsOptions records;
  records.replace_invalid = replace_invalid;
  return records;
}

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
std::optional<PageSpan> read_span(const RecordField& field, std::size_t tokens) {
  PageSpan span;
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
        "spans are half-open and lie in the document; -1 and -1 stand for nothing");
  }
  if (!is_null(span.start_byte, span.end_byte) && (span.start_byte < 0 || span.start_byte >= span.end_byte)) {
    field.fail(fmt::format("has the bytes {} to {}", span.start_byte, span.end_byte),
               "spans are half-open; -1 and -1 stand for nothing");
  }
  return span;
}

PageAnnotation read_annotation(const RecordField& field, const PageQuestion& example) {
  PageAnnotation annotation;
  const RecordField index = field["long_answer"]["candidate_index"];
  if (index.integer() != -1) {
    if (index.integer() < 0 || static_cast<std::uint64_t>(index.integer()) >= example.candidates.size()) {
      index.fail(fmt::format("is {} of {} candidates", index.integer(), example.candidates.size()),
                 "it counts from 0; -1 stands for no long answer");
    }
    annotation.candidate = static_cast<std::size_t>(index.integer());
  }
  const RecordField answers = field["short_answers"];
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (const auto span = read_span(answers.at(i), example.tokens.size()))
      annotation.short_answers.push_back(*span);
  }
  const RecordField yes_no = field["yes_no_answer"];
  if (yes_no.text() == "YES") {
    annotation.yes_no = YesNoAnswer::yes;
  } else if (yes_no.text() == "NO") {
    annotation.yes_no = YesNoAnswer::no;
  } else if (yes_no.text() != "NONE") {
    yes_no.fail("is '" + text_for_message(yes_no.text()) + "'", "it is YES, NO or NONE");
  }
  return annotation;
}

// The first and the last piece of the document tokens [begin, end) in a window; 0 and 0 where one of them is
// not in it.
SpanLabel label_of_tokens(const EncodedPage& page, const ContextWindow& window, std::int64_t begin,
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

struct NaturalQuestionsReader::State {
  State(const std::string& path, QuestionPurpose chosen, bool replace_invalid)
      : purpose(chosen), records(path, page_records(replace_invalid)), fields(path, "question") {}

  QuestionPurpose purpose;
  JsonRecords records;
  RecordFields fields;
  SeenIds ids;
};

NaturalQuestionsReader::NaturalQuestionsReader(const std::string& path, QuestionPurpose purpose,
                                               bool replace_invalid)
    : state_(std::make_unique<State>(path, purpose, replace_invalid)) {}

NaturalQuestionsReader::~NaturalQuestionsReader() = default;
NaturalQuestionsReader::NaturalQuestionsReader(NaturalQuestionsReader&&) noexcept = default;
NaturalQuestionsReader& NaturalQuestionsReader::operator=(NaturalQuestionsReader&&) noexcept = default;

bool NaturalQuestionsReader::next(PageQuestion& example) {
  JsonRecord record;
  if (!state_->records.next(record)) return false;
  RecordFields& fields = state_->fields;
  fields.parse(record);
  const RecordField root = fields.root();
  example = {};
  example.id = root["example_id"].integer();
  const std::string id = std::to_string(example.id);
  fields.set_id(id);
  example.where = fields.where();
  state_->ids.add(id, example.where);
  example.question = root["question_text"].text();
  if (is_blank(example.question)) root["question_text"].fail("is empty", "give the question a text");
  if (root.has("document_title")) example.title = root["document_title"].text();
  read_page_tokens(root, example.tokens);
  const RecordField candidates = root["long_answer_candidates"];
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto span = read_span(candidates.at(i), example.tokens.size());
    if (!span) candidates.at(i).fail("is null", "a candidate is a span of tokens");
    example.candidates.push_back({*span, candidates.at(i)["top_level"].boolean()});
  }
  if (state_->purpose == QuestionPurpose::predict) return true;
  const RecordField annotations = root["annotations"];
  for (std::size_t i = 0; i < annotations.size(); ++i) {
    example.annotations.push_back(read_annotation(annotations.at(i), example));
  }
  return true;
}

PageEncoder::PageEncoder(const Tokenizer& tokenizer, const TextEncodingOptions& encoding,
                         std::size_t max_question)
    : tokenizer_(tokenizer),
      encoding_(encoding),
      max_question_(max_question),
      opening_tag_(piece_named(tokenizer, "<unused_35>")),
      closing_tag_(piece_named(tokenizer, "<unused_36>")) {}

EncodedPage PageEncoder::encode(const PageQuestion& example, UnknownTally* unknown) const {
  EncodedPage page;
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

const char* name_of(PageAnswerType type) {
  switch (type) {
    case PageAnswerType::yes:
      return "yes";
    case PageAnswerType::no:
      return "no";
    case PageAnswerType::long_answer:
      return "long";
    case PageAnswerType::short_answer:
      return "short";
    default:
      return "null";
  }
}

const PageAnnotation* trained_annotation(const PageQuestion& example) {
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

PageLabel page_label(const PageQuestion& example, const EncodedPage& page, const ContextWindow& window) {
  const PageAnnotation* annotation = trained_annotation(example);
  if (annotation == nullptr) return {};
  PageLabel label;
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
    label.type = PageAnswerType::short_answer;
    return label;
  }
  if (label.long_answer.start == 0) return {};
  label.type = annotation->yes_no == YesNoAnswer::yes  ? PageAnswerType::yes
               : annotation->yes_no == YesNoAnswer::no ? PageAnswerType::no
                                                       : PageAnswerType::long_answer;
  return label;
}

}  // namespace bigbird
