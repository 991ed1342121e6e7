// Files of questions; see question_file.h.
#include "lib/text/qa/question_file.h"

#include <utility>

#include "lib/core/unicode.h"
#include "lib/io/text/text_lines.h"

namespace bigbird {
namespace {

JsonRecordsOptions records_options(const QuestionReading& reading, std::vector<std::string> list_keys) {
  JsonRecordsOptions options;
  options.list_keys = std::move(list_keys);
  options.replace_invalid = reading.replace_invalid;
  return options;
}

}  // namespace

QuestionFile::QuestionFile(const std::string& path, const QuestionReading& reading,
                           std::vector<std::string> list_keys)
    : reading_(reading),
      records_(path, records_options(reading, std::move(list_keys))),
      fields_(path, "question") {}

std::optional<RecordField> QuestionFile::next_record() {
  JsonRecord record;
  if (!records_.next(record)) return std::nullopt;
  fields_.parse(record);
  return fields_.root();
}

std::string QuestionFile::begin_question(const std::string& id) {
  fields_.set_id(id);
  std::string where = fields_.where();
  ids_.add(id, where);
  return where;
}

const std::string& QuestionFile::question_text(const RecordField& field, const char* hint) {
  const std::string& text = field.text();
  if (is_blank(text)) field.fail("is empty", hint);
  return text;
}

std::vector<std::string> texts_of(const RecordField& list) {
  std::vector<std::string> texts;
  texts.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) texts.push_back(list.at(i).text());
  return texts;
}

}  // namespace bigbird
