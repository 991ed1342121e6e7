// JSON as it goes out, and what went wrong with JSON that came in, in words for a user. Knows no JSON
// library: headers may not, and whoever includes this has it.
#pragma once

#include <exception>
#include <string>

namespace bigbird {

// The text of a JSON value; indented by so many blanks, -1: one line. Names and paths come from files and may
// hold any bytes: what is not UTF-8 becomes U+FFFD, where the library's own dump() gives up, after the work.
// All of lib writes its JSON by this.
template <typename Json>
std::string json_text(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// What an exception of the JSON library says, without its numbers: "field 'length' is missing", "type must be
// string, but is null", "parse error at line 1, column 2: ...". Others as they are.
std::string json_problem(const std::exception& error);
// Whether it is one of the JSON library, for those who have not got it.
bool is_json_problem(const std::exception& error);

}  // namespace bigbird
