// Records of JSON data sets, streamed; see json_records.h.
#include "lib/io/text/json_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/core/error.h"
#include "lib/io/text/json_scanner.h"
#include "lib/io/text/text_lines.h"

namespace bigbird {

struct JsonRecords::State {
  State(TextInput input, const JsonRecordsOptions& record_options)
      : options(record_options),
        scanner(std::move(input), options.replace_invalid, options.max_record_bytes, max_depth) {}

  void begin();
  void begin_object();
  // The members behind the list, and the bracket that ends the object.
  void finish_object();
  void end_of_file();
  bool next_element(JsonRecord& record);
  bool next_line(JsonRecord& record);
  void read_value(JsonRecord& record);
  void remember(std::string_view key, std::string_view json);
  std::string listed_keys() const;

  JsonRecordsOptions options;
  JsonScanner scanner;
  bool list = false;
  bool object = false;  // the list is the value of a member
  bool first = true;    // no record yet
  bool done = false;
  JsonPlace list_place;
  JsonPlace object_place;
  bool pending = false;  // `head` is the first line
  JsonRecord head;
  std::uint64_t last_line = 0;  // `lines`: where the value before ended
  std::map<std::string, std::string> members;
};

std::string JsonRecords::State::listed_keys() const {
  std::string names;
  for (const std::string& key : options.list_keys) names += (names.empty() ? "" : ", ") + key;
  return names;
}

void JsonRecords::State::remember(std::string_view key, std::string_view json) {
  if (!json.empty() && json.front() != '{' && json.front() != '[') {
    members[std::string(key.substr(1, key.size() - 2))] = json;
  }
}

void JsonRecords::State::begin() {
  scanner.white_space(nullptr);
  const int byte = scanner.peek();
  if (byte == '[' && options.layout != JsonLayout::lines) {
    list = true;
    list_place = scanner.place();
    scanner.take(nullptr);
  } else if (byte == '{' && options.layout != JsonLayout::lines && !options.list_keys.empty()) {
    begin_object();
  }
  if (options.layout == JsonLayout::list && !list) {
    const std::string keys = listed_keys();
    throw_bad_input(fmt::format("{}: no list of records", scanner.path()),
                    keys.empty() ? "the file must be one JSON list"
                                 : "the file must hold a list, by itself or as member " + keys);
  }
}

void JsonRecords::State::begin_object() {
  object_place = scanner.place();
  head.line = object_place.line;
  head.column = object_place.column;
  std::string& text = head.json;
  scanner.take(&text);
  scanner.white_space(&text);
  for (bool empty = true; !empty || scanner.peek() != '}'; empty = false) {
    if (scanner.peek() != '"') scanner.unexpected("a key in quotes", "object", object_place);
    std::string key;
    scanner.string(&key);
    text += key;
    scanner.white_space(&text);
    if (scanner.peek() != ':') scanner.unexpected("':'", "object", object_place);
    scanner.take(&text);
    scanner.white_space(&text);
    const std::string_view name = std::string_view(key).substr(1, key.size() - 2);
    const bool listed =
        std::find(options.list_keys.begin(), options.list_keys.end(), name) != options.list_keys.end();
    if (listed && scanner.peek() == '[') {
      list = object = true;
      list_place = scanner.place();
      scanner.take(nullptr);
      head = {};
      return;
    }
    const std::size_t value = text.size();
    scanner.value(&text);
    remember(key, std::string_view(text).substr(value));
    scanner.white_space(&text);
    if (scanner.peek() == '}') break;
    if (scanner.peek() != ',') scanner.unexpected("',' or '}'", "object", object_place);
    scanner.take(&text);
    scanner.white_space(&text);
  }
  scanner.take(&text);
  members.clear();
  pending = true;
  last_line = scanner.place().line;
}

void JsonRecords::State::finish_object() {
  for (;;) {
    scanner.white_space(nullptr);
    if (scanner.peek() == '}') break;
    if (scanner.peek() != ',') scanner.unexpected("',' or '}'", "object", object_place);
    scanner.take(nullptr);
    scanner.white_space(nullptr);
    if (scanner.peek() != '"') scanner.unexpected("a key in quotes", "object", object_place);
    std::string key;
    scanner.string(&key);
    scanner.white_space(nullptr);
    if (scanner.peek() != ':') scanner.unexpected("':'", "object", object_place);
    scanner.take(nullptr);
    scanner.white_space(nullptr);
    const bool nested = scanner.peek() == '{' || scanner.peek() == '[';
    std::string json;
    scanner.value(nested ? nullptr : &json);
    remember(key, json);
  }
  scanner.take(nullptr);
}

void JsonRecords::State::end_of_file() {
  done = true;
  scanner.white_space(nullptr);
  if (scanner.peek() >= 0) scanner.unexpected("the end of the file", "", {});
}

void JsonRecords::State::read_value(JsonRecord& record) {
  record.line = scanner.place().line;
  record.column = scanner.place().column;
  record.json.clear();
  scanner.value(&record.json);
  first = false;
}

bool JsonRecords::State::next_element(JsonRecord& record) {
  scanner.white_space(nullptr);
  if (scanner.peek() == ']') {
    scanner.take(nullptr);
    if (object) finish_object();
    end_of_file();
    return false;
  }
  if (!first) {
    if (scanner.peek() != ',') scanner.unexpected("',' or ']'", "list", list_place);
    scanner.take(nullptr);
    scanner.white_space(nullptr);
  }
  if (scanner.peek() < 0) scanner.unexpected("", "list", list_place);
  read_value(record);
  return true;
}

bool JsonRecords::State::next_line(JsonRecord& record) {
  if (pending) {
    record = std::move(head);
    head = {};
    pending = first = false;
    return true;
  }
  scanner.white_space(nullptr);
  if (scanner.peek() < 0) {
    done = true;
    return false;
  }
  if (scanner.place().line == last_line) scanner.unexpected("the end of the line", "", {});
  read_value(record);
  last_line = scanner.place().line;
  return true;
}

JsonRecords::JsonRecords(const std::string& path, const JsonRecordsOptions& options)
    : JsonRecords(TextInput(path), options) {}

JsonRecords::JsonRecords(TextInput input, const JsonRecordsOptions& options)
    : state_(std::make_unique<State>(std::move(input), options)) {
  state_->begin();
}

JsonRecords::~JsonRecords() = default;

bool JsonRecords::next(JsonRecord& record) {
  if (state_->done) return false;
  return state_->list ? state_->next_element(record) : state_->next_line(record);
}

bool JsonRecords::is_list() const {
  return state_->list;
}
const std::map<std::string, std::string>& JsonRecords::members() const {
  return state_->members;
}
std::uint64_t JsonRecords::replaced() const {
  return state_->scanner.replaced();
}
const std::string& JsonRecords::path() const {
  return state_->scanner.path();
}

std::string JsonRecords::place_of(const JsonRecord& record) const {
  return is_list() ? record_place(path(), record) : fmt::format("{}:{}", path(), record.line);
}

std::string record_place(const std::string& path, const JsonRecord& record) {
  return fmt::format("{}:{}:{}", path, record.line, record.column);
}

std::string record_place(const std::string& path, const JsonRecord& record, std::size_t byte) {
  std::uint64_t line = record.line;
  std::uint64_t column = record.column;
  for (const char letter : std::string_view(record.json).substr(0, byte)) {
    if (letter == '\n') {
      ++line;
      column = 1;
    } else if ((static_cast<unsigned char>(letter) & 0xC0) != 0x80) {
      ++column;
    }
  }
  return fmt::format("{}:{}:{}", path, line, column);
}

void throw_json_error(const std::string& path, const JsonRecord& record, const std::exception& error,
                      const std::string& id) {
  const auto* json_error = dynamic_cast<const nlohmann::json::exception*>(&error);
  if (json_error == nullptr) throw;
  // "[json.exception.type_error.302] type must be string, but is number"
  std::string_view what = json_error->what();
  if (const std::size_t end = what.find("] "); end != std::string_view::npos) what.remove_prefix(end + 2);
  if (const auto* parse_error = dynamic_cast<const nlohmann::json::parse_error*>(&error)) {
    const std::size_t byte = parse_error->byte > 0 ? parse_error->byte - 1 : 0;
    throw_bad_input(fmt::format("{}: {}", record_place(path, record, byte), text_for_message(what, 300)),
                    "the record must be JSON (RFC 8259)");
  }
  throw_bad_input(fmt::format("{}: {}{}", record_place(path, record),
                              id.empty() ? "" : text_for_message(id) + ": ", text_for_message(what, 300)),
                  "check the fields of this record and their types");
}

}  // namespace bigbird
