// Private to lib/io/text: reads JSON values byte after byte, checks them by the grammar, and copies them out
// as they stand. JsonRecords (json_records.h) says what is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "lib/io/text/text_input.h"

namespace bigbird {

// Of a byte: its line, and its column in code points, both from 1.
struct JsonPlace {
  std::uint64_t line = 1;
  std::uint64_t column = 1;
};

class JsonScanner {
 public:
  JsonScanner(TextInput input, bool replace_invalid, std::size_t max_record_bytes, std::size_t max_depth)
      : input_(std::move(input)),
        replace_invalid_(replace_invalid),
        max_record_bytes_(max_record_bytes),
        max_depth_(max_depth) {}

  // The byte that comes next; -1 at the end of the file.
  int peek();
  // The next byte, which is ASCII and there.
  void take(std::string* out);
  // White space of JSON. Here and below what is read is appended to `out`, unless that is nullptr.
  void white_space(std::string* out);
  // A whole value, which begins at the next byte.
  void value(std::string* out);
  // A string with its quotes.
  void string(std::string* out);

  const JsonPlace& place() const { return place_; }
  const std::string& path() const { return input_.path(); }
  std::uint64_t replaced() const { return replaced_; }

  // Error{bad_input} at the next byte, which is none of `expected`, or at the end of the file. `inside` is
  // what is left open: "list", with its place.
  [[noreturn]] void unexpected(const std::string& expected, const std::string& inside,
                               const JsonPlace& begin);
  [[noreturn]] void refuse(const JsonPlace& place, const std::string& what, const std::string& hint) const;

 private:
  void scalar(std::string* out);
  void number(std::string* out);
  void word(std::string* out);
  void text_of_string(std::string* out, const JsonPlace& begin);
  void escape(std::string* out, const JsonPlace& begin);
  char32_t hex_digits(std::string* out, const JsonPlace& begin);
  void copy(std::string* out, std::size_t size);
  void check_size(const std::string* out) const;

  TextInput input_;
  bool replace_invalid_;
  std::size_t max_record_bytes_;
  std::size_t max_depth_;
  JsonPlace place_;
  std::uint64_t replaced_ = 0;
};

}  // namespace bigbird
