// The records of a JSON data set one at a time, whatever the size of the file: the elements of its one big
// list, or the lines of JSON Lines. RFC 8259.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/io/text/text_input.h"

namespace bigbird {

enum class JsonLayout {
  automatic,  // list if the file begins with '[', or is an object with one of list_keys; else lines
  list,
  lines
};

struct JsonRecordsOptions {
  // Keys of a top-level object that may hold the list, "data" for SQuAD, "Data" for TriviaQA. The first that
  // stands in the file with a list as its value counts. Empty: a top-level object is a record.
  std::vector<std::string> list_keys;
  JsonLayout layout = JsonLayout::automatic;
  bool replace_invalid = false;                 // bytes that are not UTF-8, and lone surrogates (\ud800)
  std::size_t max_record_bytes = longest_line;  // of a record as it stands in the file
};

struct JsonRecord {
  std::string json;          // one valid JSON value, as it stands in the file, without white space around it
  std::uint64_t line = 0;    // of its first byte, from 1
  std::uint64_t column = 0;  // of its first byte, in code points of the line from 1
};

// Holds one record in memory (of an object, also what stands before its list). All of the file is checked by
// the grammar: what next() hands out parses, but for numbers beyond double. Layout `lines`: values that white
// space separates, a new line between two of them; blank lines are skipped, and a value may go over several
// lines.
//
// Error{bad_input} "FILE:LINE:COLUMN: ...": JSON that is broken or cut off (the file may end only after the
// list and its object have), or nested deeper than 512; NaN and Infinity; bytes that are not UTF-8, NUL, lone
// surrogates; a record over max_record_bytes; `list` without a list; what TextInput refuses.
class JsonRecords {
 public:
  static constexpr std::size_t max_depth = 512;

  explicit JsonRecords(const std::string& path, const JsonRecordsOptions& options = {});
  explicit JsonRecords(TextInput input, const JsonRecordsOptions& options = {});
  ~JsonRecords();
  JsonRecords(const JsonRecords&) = delete;
  JsonRecords& operator=(const JsonRecords&) = delete;

  // The next record; false once the end of the file was reached and found right.
  bool next(JsonRecord& record);
  // Elements of one list (true), or lines.
  bool is_list() const;
  // Members of the object around the list whose values are strings, numbers, true, false or null, as JSON
  // ("version": "\"v2.0\""); complete once next() has returned false.
  const std::map<std::string, std::string>& members() const;
  // U+FFFD put in so far.
  std::uint64_t replaced() const;
  const std::string& path() const;
  // "FILE:LINE:COLUMN" of a record in a list, else "FILE:LINE".
  std::string place_of(const JsonRecord& record) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// "FILE:LINE:COLUMN" of a record.
std::string record_place(const std::string& path, const JsonRecord& record);
// "FILE:LINE:COLUMN" of a byte of record.json.
std::string record_place(const std::string& path, const JsonRecord& record, std::size_t byte);

// An exception of the JSON library while it parsed or read `record`, as Error{bad_input}: a parse error at
// its own place, one about a type or a missing key "FILE:LINE:COLUMN: " of the record and, where given, `id`.
// Anything else is thrown on: to be called where it was caught.
[[noreturn]] void throw_json_error(const std::string& path, const JsonRecord& record,
                                   const std::exception& error, const std::string& id = {});

// A record as the JSON library has it; Error as above.
template <typename Json>
Json parse_record(const std::string& path, const JsonRecord& record) {
  try {
    return Json::parse(record.json);
  } catch (const typename Json::exception& error) {
    throw_json_error(path, record, error);
  }
}

}  // namespace bigbird
