// Questions of SQuAD and its kin; see read.h.
#include "lib/text/qa/squad/read.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/core/unicode.h"
#include "lib/io/text/text_lines.h"

namespace bigbird {
namespace {

constexpr std::size_t shown_answers = 5;
constexpr std::uint64_t tolerated_percent = 1;

constexpr const char* answer_elsewhere = "answer is not at answer_start";
constexpr const char* answer_behind_end = "answer_start outside of the context";
constexpr const char* answer_empty = "empty answer";
constexpr const char* blank_context = "blank context";
constexpr const char* flag_against_answers = "is_impossible against the answers";

// What an answer_start that is wrong in code points may have counted.
enum class OffsetUnit { bytes, utf16, shifted, none };
constexpr std::array<const char*, 3> offset_unit_names = {
    "if it counted bytes of UTF-8", "if it counted units of UTF-16", "elsewhere in the context"};

bool stands_at(std::string_view context, std::size_t byte, std::string_view text) {
  return byte <= context.size() && context.substr(byte, text.size()) == text;
}

// The byte at `offset` units of UTF-16.
std::optional<std::size_t> byte_of_utf16(std::string_view context, std::size_t offset) {
  std::size_t units = 0;
  for (const CodePoint& c : CodePoints(context)) {
    if (units == offset) return c.begin;
    units += c.value > 0xFFFF ? 2 : 1;
  }
  return std::nullopt;
}

OffsetUnit fitting_unit(std::string_view context, std::int64_t start, std::string_view text) {
  if (start >= 0) {
    const auto offset = static_cast<std::size_t>(start);
    if (stands_at(context, offset, text)) return OffsetUnit::bytes;
    const auto byte = byte_of_utf16(context, offset);
    if (byte && stands_at(context, *byte, text)) return OffsetUnit::utf16;
  }
  return context.find(text) == std::string_view::npos ? OffsetUnit::none : OffsetUnit::shifted;
}

// The first letters of a text, for a message.
std::string excerpt(std::string_view text) {
  constexpr std::size_t shown = 40;
  std::string line;
  std::size_t count = 0;
  for (const CodePoint& c : CodePoints(text)) {
    if (count++ == shown) return line + "...";
    if (is_white_space(c.value)) {
      line += ' ';
    } else {
      line += text.substr(c.begin, c.end - c.begin);
    }
  }
  return line;
}

}  // namespace

SquadReader::SquadReader(const std::string& path, const QuestionReading& reading)
    : QuestionFile(path, reading, {"data"}) {
  skipped_ = ReasonCounts({answer_elsewhere, answer_behind_end, answer_empty});
  noted_ = ReasonCounts({blank_context, flag_against_answers});
}

bool SquadReader::advance() {
  end_question();
  for (;;) {
    if (has_record_ && nested_) {
      const RecordField paragraphs = record()["paragraphs"];
      while (paragraph_ < paragraphs.size()) {
        if (question_ == 0) take_context(paragraphs.at(paragraph_)["context"]);
        if (question_ < paragraphs.at(paragraph_)["qas"].size()) return true;
        ++paragraph_;
        question_ = 0;
      }
    }
    if (!next_record()) return false;
    has_record_ = true;
    paragraph_ = question_ = 0;
    nested_ = record().has("paragraphs");
    if (!nested_) {
      take_context(record()["context"]);
      return true;
    }
  }
}

void SquadReader::take_context(const RecordField& field) {
  context_ = std::make_shared<const std::string>(field.text());
  index_ = CodePointIndex(*context_);
  context_is_blank_ = is_blank(*context_);
}

std::string SquadReader::question_id(const RecordField& field) const {
  // Rows of flat files need no id: it is their number then, from 0.
  if (!nested_ && !field.has("id")) return std::to_string(questions_);
  const RecordField id = field["id"];
  return id.is_integer() ? std::to_string(id.integer()) : id.text();
}

void SquadReader::add_answer(const RecordField& text, const RecordField& start, QuestionExample& example) {
  const std::int64_t begin = start.integer();
  if (example.answers.empty()) first_start_ = begin;
  GoldAnswer& answer = example.answers.emplace_back();
  answer.text = text.text();
  answer.span.begin = begin < 0 ? index_.size() : static_cast<std::size_t>(begin);
  answer.span.end = answer.span.begin + count_code_points(answer.text);
}

void SquadReader::read_answers(const RecordField& field, QuestionExample& example) {
  const bool flagged = field.has("is_impossible") && field["is_impossible"].boolean();
  // A question that says it has no answer need not list none.
  if (!flagged || field.has("answers")) {
    const RecordField answers = field["answers"];
    if (answers.is_object()) {
      const RecordField texts = answers["text"], starts = answers["answer_start"];
      if (texts.size() != starts.size()) {
        answers.fail(fmt::format("has {} texts and {} starts", texts.size(), starts.size()),
                     "every answer needs both");
      }
      for (std::size_t i = 0; i < texts.size(); ++i) add_answer(texts.at(i), starts.at(i), example);
    } else {
      for (std::size_t i = 0; i < answers.size(); ++i) {
        add_answer(answers.at(i)["text"], answers.at(i)["answer_start"], example);
      }
    }
  }
  if (field.has("is_impossible") && flagged != example.answers.empty()) noted_.add(flag_against_answers);
  if (!example.answers.empty()) {
    ++answerable_;
  } else if (!reading().version_2) {
    throw_bad_input(example.where + " has no answer",
                    message("`version_2` says that questions may be unanswerable, as in SQuAD 2.0"));
  }
}

bool SquadReader::first_answer_fits(const QuestionExample& example) {
  const GoldAnswer& answer = example.answers.front();
  const char* reason = nullptr;
  if (answer.text.empty()) {
    reason = answer_empty;
  } else if (first_start_ < 0 || answer.span.end > index_.size()) {
    reason = answer_behind_end;
  } else if (index_.slice(answer.span.begin, answer.span.end) != answer.text) {
    reason = answer_elsewhere;
  }
  if (reason == nullptr) return true;
  if (reading().purpose == QuestionPurpose::evaluate) {
    // Only texts are scored.
    noted_.add(reason);
    return true;
  }
  skipped_.add(reason);
  if (reason == answer_empty) return false;
  const OffsetUnit unit = fitting_unit(*context_, first_start_, answer.text);
  if (unit != OffsetUnit::none) ++fitting_[static_cast<std::size_t>(unit)];
  if (misplaced_++ < shown_answers) {
    log_warning(fmt::format("{}: the answer '{}' is not at answer_start {}: skipped", example.where,
                            excerpt(answer.text), first_start_));
  }
  return false;
}

void SquadReader::read_question(const RecordField& field, QuestionExample& example) {
  example.id = question_id(field);
  ++questions_;
  example.where = begin_question(example.id);
  example.question = question_text(field["question"]);
  example.context = context_;
  example.answers.clear();
  if (context_is_blank_) noted_.add(blank_context);
  if (reading().purpose != QuestionPurpose::predict) read_answers(field, example);
}

void SquadReader::check_end() const {
  if (misplaced_ * 100 <= answerable_ * tolerated_percent) return;
  std::string fits;
  const auto best = std::max_element(fitting_.begin(), fitting_.end());
  if (*best > 0) {
    fits = fmt::format("; {} would be {}", *best,
                       offset_unit_names[static_cast<std::size_t>(best - fitting_.begin())]);
  }
  throw_bad_input(fmt::format("{}: {} of {} answers are not at their answer_start{}", records().path(),
                              misplaced_, answerable_, fits),
                  "answer_start counts code points of the context, from 0 (an index of a Python str)");
}

bool SquadReader::next(QuestionExample& example) {
  while (advance()) {
    read_question(nested_ ? record()["paragraphs"].at(paragraph_)["qas"].at(question_++) : record(), example);
    if (example.answers.empty() || first_answer_fits(example)) return true;
  }
  check_end();
  return false;
}

}  // namespace bigbird
