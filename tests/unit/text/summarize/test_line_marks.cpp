// The two rewritings around the tokenizer, with what Python's re makes of the same patterns.
#include "lib/text/summarize/encoded_pair.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace bigbird {
namespace {

struct Rewritten {
  std::string text, with, back;  // back: of with
};

TEST(LineMarks, AreThoseOfThePublishedCode) {
  const std::array<Rewritten, 9> cases = {{
      {" s1 . \n s2 . ", " s1 .<n> s2 . ", " s1 . \n s2 . "},
      {"see [12], and [x", "see[12], and [x", "see [12], and [x"},
      {"a <n> b", "a<n> b", "a \n b"},
      {"a  <n>b> c", "a <n>b> c", "a  \nb> c"},
      {"x <> y []z [ab]]q>r <n", "x <> y []z[ab]]q>r <n", "x <> y  []z[ab]]q>r <n"},
      {"<n><n> q", "<n><n> q", " \n\n q"},
      {"a\nb\n\nc [1]\t<b>", "a<n>b<n><n>c[1]\t<b>", "a \nb\n\nc[1]\t <b>"},
      {" [a b]", " [a b]", " [a b]"},
      {"", "", ""},
  }};
  for (const Rewritten& wanted : cases) {
    EXPECT_EQ(with_line_marks(wanted.text), wanted.with) << wanted.text;
    EXPECT_EQ(without_line_marks(wanted.with), wanted.back) << wanted.text;
  }
}

}  // namespace
}  // namespace bigbird
