// The one exception type of the library: what went wrong, and what the user can do about it. In apps, and
// only there, an Error becomes two lines on stderr ("bigbird: error: ..." and "hint: ...") and an exit
// status.
//
// A text that names a setting, in an Error as in a line of the log, is made by message()
// (lib/core/settings.h).
#pragma once

#include <cstddef>
#include <exception>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "lib/core/settings.h"  // message()

namespace bigbird {

// Exit statuses (docs/command-line.md 3.1): bad_input and runtime 1, usage 2, environment 3,
// interrupted 128 + signal. To Error{usage} without a hint, apps adds where the verb's options are explained.
enum class ErrorKind { bad_input, runtime, usage, environment, interrupted };

class Error : public std::exception {
 public:
  // message: one line naming the file and the place. hint: one line saying what to do; may be empty.
  Error(ErrorKind kind, std::string message, std::string hint = {})
      : kind_(kind), message_(std::move(message)), hint_(std::move(hint)) {}

  ErrorKind kind() const { return kind_; }
  const std::string& message() const { return message_; }
  const std::string& hint() const { return hint_; }
  const char* what() const noexcept override { return message_.c_str(); }

  // Prefixes the message with where we were ("model.safetensors: "), for context added on the way up.
  Error with_context(const std::string& where) const { return Error(kind_, where + ": " + message_, hint_); }

 private:
  ErrorKind kind_;
  std::string message_;
  std::string hint_;
};

// What the system says of an error number: "No such file or directory".
inline std::string system_text(int error_number) {
  return std::generic_category().message(error_number);
}

// Shorthands, so that call sites read as one line.
[[noreturn]] inline void throw_bad_input(std::string message, std::string hint = {}) {
  throw Error(ErrorKind::bad_input, std::move(message), std::move(hint));
}
[[noreturn]] inline void throw_runtime(std::string message, std::string hint = {}) {
  throw Error(ErrorKind::runtime, std::move(message), std::move(hint));
}
[[noreturn]] inline void throw_usage(std::string message, std::string hint = {}) {
  throw Error(ErrorKind::usage, std::move(message), std::move(hint));
}
[[noreturn]] inline void throw_environment(std::string message, std::string hint = {}) {
  throw Error(ErrorKind::environment, std::move(message), std::move(hint));
}

// A stretch of a file as an error message may show it: one line, at most `code_points` of it, control
// characters as '?'.
std::string text_for_message(std::string_view text, std::size_t code_points = 60);

}  // namespace bigbird
