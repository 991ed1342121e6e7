// Files of questions and the fields of their records; see question_file.h.
#include "lib/text/qa/question_file.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/unicode.h"
#include "lib/io/text/text_lines.h"

namespace bigbird {
namespace {

const nlohmann::json& as_json(const void* value) {
  return *static_cast<const nlohmann::json*>(value);
}

// How one gets from `from` to the value at that address: "qas[2].answers". False where it is not below.
bool find_path(const nlohmann::json& from, const void* wanted, std::string& path) {
  if (&from == wanted) return true;
  const std::size_t size = path.size();
  if (from.is_object()) {
    for (const auto& [key, value] : from.items()) {
      path += (size == 0 ? "" : ".") + key;
      if (find_path(value, wanted, path)) return true;
      path.resize(size);
    }
  } else if (from.is_array()) {
    for (std::size_t i = 0; i < from.size(); ++i) {
      path += fmt::format("[{}]", i);
      if (find_path(from[i], wanted, path)) return true;
      path.resize(size);
    }
  }
  return false;
}

JsonRecordsOptions records_options(const QuestionReading& reading, std::vector<std::string> list_keys) {
  JsonRecordsOptions options;
  options.list_keys = std::move(list_keys);
  options.replace_invalid = reading.replace_invalid;
  return options;
}

}  // namespace

struct RecordFields::Document {
  nlohmann::json json;
};

bool RecordField::is_integer() const {
  return as_json(value_).is_number_integer();
}
bool RecordField::is_object() const {
  return as_json(value_).is_object();
}

bool RecordField::has(const char* key) const {
  if (!is_object()) fail("is not an object {...}", "the file is of another format");
  const auto found = as_json(value_).find(key);
  return found != as_json(value_).end() && !found->is_null();
}

RecordField RecordField::operator[](const char* key) const {
  if (!is_object()) fail("is not an object {...}", "the file is of another format");
  const auto found = as_json(value_).find(key);
  if (found == as_json(value_).end()) {
    fail(fmt::format("has no '{}'", key), "the field is needed here: is the file of another format?");
  }
  const RecordField field(*record_, &*found);
  if (found->is_null()) field.fail("is null", "give it a value, or leave the record out");
  return field;
}

RecordField RecordField::at(std::size_t index) const {
  return {*record_, &as_json(value_)[index]};
}

std::size_t RecordField::size() const {
  if (!as_json(value_).is_array()) fail("is not a list [...]", "the file is of another format");
  return as_json(value_).size();
}

const std::string& RecordField::text() const {
  if (!as_json(value_).is_string()) fail("is not a string", "put texts in double quotes");
  return as_json(value_).get_ref<const std::string&>();
}

std::int64_t RecordField::integer() const {
  const nlohmann::json& json = as_json(value_);
  // The library keeps what lies above the largest std::int64_t as unsigned.
  if (!json.is_number_integer() || (json.is_number_unsigned() && json.get<std::uint64_t>() >> 63 != 0)) {
    fail("is not a whole number", "numbers have no quotes and no point");
  }
  return json.get<std::int64_t>();
}

bool RecordField::boolean() const {
  if (!as_json(value_).is_boolean()) fail("is neither true nor false", "without quotes");
  return as_json(value_).get<bool>();
}

void RecordField::fail(const std::string& what, const std::string& hint) const {
  std::string path;
  find_path(record_->document_->json, value_, path);
  throw_bad_input(fmt::format("{}: {} {}", record_->where(), path.empty() ? "it" : "'" + path + "'", what),
                  hint);
}

RecordFields::RecordFields(std::string path, std::string unit)
    : document_(std::make_unique<Document>()), path_(std::move(path)), unit_(std::move(unit)) {}

RecordFields::~RecordFields() = default;

void RecordFields::parse(const JsonRecord& record) {
  id_.clear();
  line_ = record.line;
  place_ = record_place(path_, record);
  try {
    document_->json = nlohmann::json::parse(record.json);
  } catch (const nlohmann::json::exception& error) {
    throw_json_error(path_, record, error);
  }
}

RecordField RecordFields::root() const {
  return {*this, &document_->json};
}

std::string RecordFields::where() const {
  return id_.empty() ? place_ : fmt::format("{}: {} '{}'", place_, unit_, text_for_message(id_));
}

void SeenIds::add(const std::string& id, const std::string& where) {
  const auto [place, is_new] = numbers_.try_emplace(id, numbers_.size() + 1);
  if (is_new) return;
  throw_bad_input(fmt::format("{} is number {} of the file and has the id of number {}", where,
                              numbers_.size() + 1, place->second),
                  "ids must differ: answers are looked up by them");
}

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

std::string QuestionFile::member(const std::string& key) const {
  const auto found = records_.members().find(key);
  return found == records_.members().end() ? std::string() : found->second;
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
