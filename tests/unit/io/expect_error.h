// Catches the Error that a bad input must raise, and checks what every Error owes the user.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "lib/core/error.h"

namespace bigbird::testing {

// The Error thrown by `work`, or nothing.
template <typename Work>
std::optional<Error> error_of(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

// One line that names the place and says what is wrong.
inline void expect_message(const std::optional<Error>& error, const std::string& place,
                           const std::string& what) {
  ASSERT_TRUE(error.has_value()) << "no Error was thrown; expected one about: " << what;
  EXPECT_NE(error->message().find(place), std::string::npos) << error->message();
  EXPECT_NE(error->message().find(what), std::string::npos) << error->message();
  EXPECT_EQ(error->message().find('\n'), std::string::npos) << error->message();
  EXPECT_EQ(error->hint().find('\n'), std::string::npos) << error->hint();
}

// The same for input that the user can mend: there must be a hint.
inline void expect_bad_input(const std::optional<Error>& error, const std::string& place,
                             const std::string& what) {
  expect_message(error, place, what);
  if (!error) return;
  EXPECT_EQ(error->kind(), ErrorKind::bad_input);
  EXPECT_FALSE(error->hint().empty()) << error->message();
}

}  // namespace bigbird::testing
