// JSON that goes out whatever the bytes of its names, and the library's errors in plain words.
#include "lib/core/json_text.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace bigbird {
namespace {

struct FakeJson {
  enum class error_handler_t { strict, replace };
  std::string dump(int indent, char filler, bool ascii, error_handler_t handler) const {
    return std::to_string(indent) + filler + (ascii ? "a" : "u") +
           (handler == error_handler_t::replace ? "replaced" : "strict");
  }
};

TEST(JsonText, WhatIsNotUtf8IsReplaced) {
  EXPECT_EQ(json_text(FakeJson{}), "-1 ureplaced");
  EXPECT_EQ(json_text(FakeJson{}, 2), "2 ureplaced");
}

TEST(JsonText, ProblemsAreSaidWithoutNumbers) {
  EXPECT_EQ(
      json_problem(std::runtime_error("[json.exception.out_of_range.403] key 'target_offset' not found")),
      "field 'target_offset' is missing");
  EXPECT_EQ(
      json_problem(std::runtime_error("[json.exception.type_error.302] type must be string, but is null")),
      "type must be string, but is null");
  EXPECT_EQ(json_problem(std::runtime_error("disk is full")), "disk is full");
}

}  // namespace
}  // namespace bigbird
