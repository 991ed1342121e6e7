// Added tokens in a text: the ranges that it is cut into.
#include "lib/tokenization/added_tokens.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace bigbird {
namespace {

AddedToken token(const std::string& text, std::uint32_t id, bool strips_left, bool strips_right) {
  AddedToken made;
  made.text = text;
  made.id = id;
  made.strips_left = strips_left;
  made.strips_right = strips_right;
  return made;
}

// "[begin,end)id" of every part, and whether they are the text, one after the other.
std::string parts(const AddedTokenFinder& finder, const std::string& text) {
  std::string all;
  std::size_t done = 0;
  finder.split(text, [&](TextRange range, std::optional<std::uint32_t> id) {
    EXPECT_EQ(range.begin, done) << text;
    EXPECT_LT(range.begin, range.end) << text;
    done = range.end;
    all += "[" + std::to_string(range.begin) + "," + std::to_string(range.end) + ")";
    if (id) all += std::to_string(*id);
  });
  EXPECT_EQ(done, text.size()) << text;
  return all;
}

TEST(AddedTokens, RangesNeitherOverlapNorGoBack) {
  const AddedTokenFinder finder({token("<a>", 1, false, true), token("<b>", 2, true, false),
                                 token("<c>", 3, true, true), token("<d>", 4, false, false)});
  EXPECT_EQ(parts(finder, "<a>  <b>"), "[0,5)1[5,8)2");
  EXPECT_EQ(parts(finder, "<a> \t\n<c>  <b> x"), "[0,6)1[6,11)3[11,14)2[14,16)");
  EXPECT_EQ(parts(finder, "<d>  <b>"), "[0,3)4[3,8)2");
  EXPECT_EQ(parts(finder, "<a>  <d>"), "[0,5)1[5,8)4");
  EXPECT_EQ(parts(finder, " <c> <c> "), "[0,5)3[5,9)3");
  EXPECT_EQ(parts(finder, "x<a>y"), "[0,1)[1,4)1[4,5)");
  EXPECT_EQ(parts(finder, "<e"), "[0,2)");
}

TEST(AddedTokens, OfSeveralThatBeginTheLongestIsTaken) {
  const AddedTokenFinder finder({token("<a", 1, false, false), token("<a>", 2, false, false)});
  EXPECT_EQ(parts(finder, "<a><a"), "[0,3)2[3,5)1");
}

}  // namespace
}  // namespace bigbird
