// Questions of Natural Questions; see read.h.
#include "lib/text/qa/natural_questions/read.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "lib/core/error.h"

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

PageAnnotation read_annotation(const RecordField& field, const NqQuestion& example) {
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

}  // namespace bigbird
