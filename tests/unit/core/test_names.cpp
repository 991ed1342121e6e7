// Tables of the names of an enumeration's values.
#include "lib/core/names.h"

#include <gtest/gtest.h>

#include <array>
#include <span>
#include <utility>

namespace bigbird {
namespace {

enum class Colour { red, green, blue };
constexpr std::array<std::pair<Colour, const char*>, 2> colour_names{
    {{Colour::red, "red"}, {Colour::green, "leaf-green"}}};

TEST(Names, AValueHasTheNameOfItsRow) {
  EXPECT_STREQ(find_name(colour_names, Colour::green), "leaf-green");
  EXPECT_THROW(find_name(colour_names, Colour::blue), Error);
}

TEST(Names, ANameIsFoundAsAWhole) {
  EXPECT_EQ(find_value(colour_names, "leaf-green"), Colour::green);
  EXPECT_EQ(find_value(colour_names, "leaf"), std::nullopt);
  EXPECT_EQ(find_value(colour_names, ""), std::nullopt);
  EXPECT_EQ(find_value(std::span(colour_names).first<1>(), "leaf-green"), std::nullopt);
}

TEST(Names, AWordThatIsNoNameIsRefusedWithAllOfThem) {
  EXPECT_EQ(parse_name(colour_names, "red", "colour"), Colour::red);
  try {
    parse_name(colour_names, "blue", "colour");
    FAIL() << "no Error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_EQ(error.message(), "'blue' is not a colour");
    EXPECT_EQ(error.hint(), "one of: red, leaf-green");
  }
}

}  // namespace
}  // namespace bigbird
