// A library in a process of its own: answers, errors, and what its end becomes.
#include "lib/io/files/library_child.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;

std::string serve_test(std::string_view request) {
  if (request == "bad") throw_bad_input("a: wrong", "mend it");
  if (request == "crash") raise(SIGSEGV);
  if (request == "leave") _exit(3);
  volatile bool forever = request == "spin";
  while (forever) {
  }
  return std::string(request) + "!";
}

TEST(LibraryChild, AnswersAndPassesErrorsOn) {
  LibraryChild child("a.h5", "HDF5", serve_test);
  EXPECT_EQ(child.answer("one"), "one!");
  const std::string large(3 << 20, 'x');
  EXPECT_EQ(child.answer(large), large + "!");
  const auto error = error_of([&] { child.answer("bad"); });
  expect_bad_input(error, "a: wrong", "wrong");
  EXPECT_EQ(error->hint(), "mend it");
  EXPECT_EQ(child.answer(""), "!") << "an Error is not an end";
}

TEST(LibraryChild, ItsEndIsAnErrorOfOneLine) {
  for (const auto& ending : {std::pair("crash", "ended over it with signal 11"),
                             std::pair("leave", "ended over it with status 3")}) {
    LibraryChild child("a.h5", "HDF5", serve_test);
    expect_bad_input(error_of([&] { child.answer(ending.first); }), "a.h5", ending.second);
    expect_bad_input(error_of([&] { child.answer("one"); }), "a.h5", "damaged");
  }
}

TEST(LibraryChild, EndsAfterItsTime) {
  LibraryChild child("a.h5", "HDF5", serve_test);
  EXPECT_EQ(child.answer("one", 1), "one!");
  expect_bad_input(error_of([&] { child.answer("spin", 1); }), "a.h5", "after too long a time");
}

}  // namespace
}  // namespace bigbird
