// Rounding to e4m3, as a study of products of eight bits does it (tests/bench/fp8).
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/bench/fp8/e4m3.h"

namespace bigbird::bench {
namespace {

// All that are not negative, ascending: subnormal ones in steps of 2^-9, then eight between powers of two;
// the last of the largest power is NaN.
std::vector<float> all_numbers() {
  std::vector<float> numbers;
  for (int mantissa = 0; mantissa < 8; ++mantissa)
    numbers.push_back(std::ldexp(static_cast<float>(mantissa), -9));
  for (int exponent = -6; exponent <= 8; ++exponent) {
    for (int mantissa = 0; mantissa < (exponent == 8 ? 7 : 8); ++mantissa)
      numbers.push_back(std::ldexp(static_cast<float>(8 + mantissa), exponent - 3));
  }
  return numbers;
}

TEST(E4m3, TheNearestIsTakenAndOfTwoTheEven) {
  const std::vector<float> numbers = all_numbers();
  ASSERT_EQ(numbers.size(), 127u);
  EXPECT_EQ(numbers.back(), largest_e4m3);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_EQ(to_e4m3(numbers[i]), numbers[i]);
    EXPECT_EQ(to_e4m3(-numbers[i]), -numbers[i]);
    if (i + 1 == numbers.size()) break;
    const float middle = (numbers[i] + numbers[i + 1]) / 2;
    EXPECT_EQ(to_e4m3(middle), numbers[i % 2 == 0 ? i : i + 1]) << middle;
    EXPECT_EQ(to_e4m3(std::nextafter(middle, 0.0f)), numbers[i]);
    EXPECT_EQ(to_e4m3(std::nextafter(middle, 1e9f)), numbers[i + 1]);
  }
  EXPECT_EQ(to_e4m3(1e6f), 448.0f);
  EXPECT_EQ(to_e4m3(-std::numeric_limits<float>::infinity()), -448.0f);
  EXPECT_TRUE(std::isnan(to_e4m3(std::numeric_limits<float>::quiet_NaN())));
}

TEST(E4m3, ARowHasItsOwnScale) {
  const std::vector<float> row{0.5f, -1.0f, 0.011f, 0.0f};
  std::vector<float> rounded(4, 7.0f);
  round_row_to_e4m3(row.data(), rounded.data(), 4);
  EXPECT_FLOAT_EQ(rounded[0], 0.5f);
  EXPECT_FLOAT_EQ(rounded[1], -1.0f);
  EXPECT_FLOAT_EQ(rounded[2], 5.0f / 448.0f);  // 4.93, in steps of 0.5
  EXPECT_EQ(rounded[3], 0.0f);
  const std::vector<float> nothing(3, 0.0f);
  round_row_to_e4m3(nothing.data(), rounded.data(), 3);
  EXPECT_EQ(rounded[0], 0.0f);
}

}  // namespace
}  // namespace bigbird::bench
