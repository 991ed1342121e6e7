// Questions of SQuAD and its kin; see squad_reader.h.
#include "lib/tasks/text/qa/squad_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/core/unicode.h"
#include "lib/io/text/json_records.h"
#include "lib/io/text/text_lines.h"
#include "lib/tasks/text/qa/record_fields.h"

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

JsonRecordsOptions records_options(const SquadOptions& options) {
  JsonRecordsOptions records;
  records.list_keys = {"data"};
  records.replace_invalid = options.replace_invalid;
  return records;
}

}  // namespace

struct SquadReader::State {
  State(const std::string& path, const SquadOptions& chosen)
      : options(chosen), records(path, records_options(chosen)), fields(path, "question") {}

  // Where the next question is: in the record that was parsed last, or in the one after it.
  bool advance();
  void take_context(const RecordField& field);
  void read_question(const RecordField& field, QuestionExample& example);
  std::string question_id(const RecordField& field) const;
  void read_answers(const RecordField& field, QuestionExample& example);
  void add_answer(const RecordField& text, const RecordField& start, QuestionExample& example);
  bool first_answer_fits(const QuestionExample& example);
  void check_end() const;

  SquadOptions options;
  JsonRecords records;
  RecordFields fields;
  bool nested = false;
  bool has_record = false;
  std::size_t paragraph = 0;
  std::size_t question = 0;
  std::shared_ptr<const std::string> context;
  CodePointIndex index;
  bool context_is_blank = false;
  std::int64_t first_start = 0;  // of the question that is being read, as the file has it

  SeenIds ids;
  std::uint64_t questions = 0;
  std::uint64_t answerable = 0;
  std::uint64_t misplaced = 0;
  std::array<std::uint64_t, 3> fitting{};
  ReasonCounts skipped{{answer_elsewhere, answer_behind_end, answer_empty}};
  ReasonCounts noted{{blank_context, flag_against_answers}};
};

bool SquadReader::State::advance() {
  fields.set_id({});
  for (;;) {
    if (has_record && nested) {
      const RecordField paragraphs = fields.root()["paragraphs"];
      while (paragraph < paragraphs.size()) {
        if (question == 0) take_context(paragraphs.at(paragraph)["context"]);
        if (question < paragraphs.at(paragraph)["qas"].size()) return true;
        ++paragraph;
        question = 0;
      }
    }
    JsonRecord record;
    if (!records.next(record)) return false;
    fields.parse(record);
    has_record = true;
    paragraph = question = 0;
    nested = fields.root().has("paragraphs");
    if (!nested) {
      take_context(fields.root()["context"]);
      return true;
    }
  }
}

void SquadReader::State::take_context(const RecordField& field) {
  context = std::make_shared<const std::string>(field.text());
  index = CodePointIndex(*context);
  context_is_blank = is_blank(*context);
}

std::string SquadReader::State::question_id(const RecordField& field) const {
  // Rows of flat files need no id: it is their number then, from 0.
  if (!nested && !field.has("id")) return std::to_string(questions);
  const RecordField id = field["id"];
  return id.is_integer() ? std::to_string(id.integer()) : id.text();
}

void SquadReader::State::add_answer(const RecordField& text, const RecordField& start,
                                    QuestionExample& example) {
  const std::int64_t begin = start.integer();
  if (example.answers.empty()) first_start = begin;
  GoldAnswer& answer = example.answers.emplace_back();
  answer.text = text.text();
  answer.span.begin = begin < 0 ? index.size() : static_cast<std::size_t>(begin);
  answer.span.end = answer.span.begin + count_code_points(answer.text);
}

void SquadReader::State::read_answers(const RecordField& field, QuestionExample& example) {
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
  if (field.has("is_impossible") && flagged != example.answers.empty()) noted.add(flag_against_answers);
  if (!example.answers.empty()) {
    ++answerable;
  } else if (!options.version_2) {
    throw_bad_input(example.where + " has no answer",
                    "`version_2` says that questions may be unanswerable, as in SQuAD 2.0");
  }
}

bool SquadReader::State::first_answer_fits(const QuestionExample& example) {
  const GoldAnswer& answer = example.answers.front();
  const char* reason = nullptr;
  if (answer.text.empty()) {
    reason = answer_empty;
  } else if (first_start < 0 || answer.span.end > index.size()) {
    reason = answer_behind_end;
  } else if (index.slice(answer.span.begin, answer.span.end) != answer.text) {
    reason = answer_elsewhere;
  }
  if (reason == nullptr) return true;
  if (options.purpose == QuestionPurpose::evaluate) {
    // Only texts are scored.
    noted.add(reason);
    return true;
  }
  skipped.add(reason);
  if (reason == answer_empty) return false;
  const OffsetUnit unit = fitting_unit(*context, first_start, answer.text);
  if (unit != OffsetUnit::none) ++fitting[static_cast<std::size_t>(unit)];
  if (misplaced++ < shown_answers) {
    log_warning(fmt::format("{}: the answer '{}' is not at answer_start {}: skipped", example.where,
                            excerpt(answer.text), first_start));
  }
  return false;
}

void SquadReader::State::read_question(const RecordField& field, QuestionExample& example) {
  example.id = question_id(field);
  fields.set_id(example.id);
  example.where = fields.where();
  ++questions;
  ids.add(example.id, example.where);
  example.question = field["question"].text();
  if (is_blank(example.question)) {
    field["question"].fail("is empty", "give the question a text, or leave it out");
  }
  example.context = context;
  example.answers.clear();
  if (context_is_blank) noted.add(blank_context);
  if (options.purpose != QuestionPurpose::predict) read_answers(field, example);
}

void SquadReader::State::check_end() const {
  if (misplaced * 100 <= answerable * tolerated_percent) return;
  std::string fits;
  const auto best = std::max_element(fitting.begin(), fitting.end());
  if (*best > 0) {
    fits = fmt::format("; {} would be {}", *best,
                       offset_unit_names[static_cast<std::size_t>(best - fitting.begin())]);
  }
  throw_bad_input(fmt::format("{}: {} of {} answers are not at their answer_start{}", records.path(),
                              misplaced, answerable, fits),
                  "answer_start counts code points of the context, from 0 (an index of a Python str)");
}

SquadReader::SquadReader(const std::string& path, const SquadOptions& options)
    : state_(std::make_unique<State>(path, options)) {}

SquadReader::~SquadReader() = default;
SquadReader::SquadReader(SquadReader&&) noexcept = default;
SquadReader& SquadReader::operator=(SquadReader&&) noexcept = default;

bool SquadReader::next(QuestionExample& example) {
  State& state = *state_;
  while (state.advance()) {
    const RecordField root = state.fields.root();
    state.read_question(
        state.nested ? root["paragraphs"].at(state.paragraph)["qas"].at(state.question++) : root, example);
    if (example.answers.empty() || state.first_answer_fits(example)) return true;
  }
  state.check_end();
  return false;
}

const ReasonCounts& SquadReader::skipped() const {
  return state_->skipped;
}
const ReasonCounts& SquadReader::noted() const {
  return state_->noted;
}
std::uint64_t SquadReader::questions() const {
  return state_->questions;
}
std::uint64_t SquadReader::answerable() const {
  return state_->answerable;
}
std::uint64_t SquadReader::replaced() const {
  return state_->records.replaced();
}

}  // namespace bigbird
