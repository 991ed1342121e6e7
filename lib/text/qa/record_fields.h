// The fields of one JSON record by name, with errors that say where: "dev.json:1:30: question 'q7':
// 'qas[2].answers' is missing". What the readers of the question sets share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "lib/io/text/json_records.h"

namespace bigbird {

class RecordFields;

// A value of a record. Valid as long as its RecordFields and until that one's next parse().
class RecordField {
 public:
  bool is_null() const;
  bool is_text() const;
  bool is_integer() const;
  bool is_boolean() const;
  bool is_list() const;
  bool is_object() const;

  // Of an object: whether it has the key with a value that is not null.
  bool has(const char* key) const;
  // Of an object; Error{bad_input} where there is no such key, or null behind it.
  RecordField operator[](const char* key) const;
  // Of a list; index < size().
  RecordField at(std::size_t index) const;
  // Of a list, else Error{bad_input}.
  std::size_t size() const;
  // Error{bad_input} where the value is of another type.
  const std::string& text() const;
  std::int64_t integer() const;
  bool boolean() const;

  // "'qas[2].answers' " + what, with the place of the record in front.
  [[noreturn]] void fail(const std::string& what, const std::string& hint = {}) const;

 private:
  friend class RecordFields;
  RecordField(const RecordFields& record, const void* value) : record_(&record), value_(value) {}

  const RecordFields* record_;
  const void* value_;  // the JSON library's; headers know nothing of it
};

class RecordFields {
 public:
  // `unit` is what an id belongs to: "question", "record".
  RecordFields(std::string path, std::string unit);
  ~RecordFields();
  RecordFields(const RecordFields&) = delete;
  RecordFields& operator=(const RecordFields&) = delete;

  // Takes the next record; Error{bad_input} for numbers that no double holds.
  void parse(const JsonRecord& record);
  RecordField root() const;
  // Whose fields are read from here on; forgotten by parse().
  void set_id(std::string id) { id_ = std::move(id); }
  std::uint64_t line() const { return line_; }
  // "FILE:LINE:COLUMN" and, once there is an id, ": question 'ID'".
  std::string where() const;

 private:
  friend class RecordField;
  struct Document;
  std::unique_ptr<Document> document_;
  std::string path_;
  std::string unit_;
  std::string place_;
  std::string id_;
  std::uint64_t line_ = 0;
};

// Ids of a file and the numbers, from 1, of what has them.
class SeenIds {
 public:
  // Error{bad_input} naming both where the id was there before; `where` is the place of the new one, with its
  // id.
  void add(const std::string& id, const std::string& where);
  std::uint64_t size() const { return numbers_.size(); }

 private:
  std::unordered_map<std::string, std::uint64_t> numbers_;
};

}  // namespace bigbird
