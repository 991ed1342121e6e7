// Numbers of weight files: rounding to 16 bits, and tensors that are not contiguous.
#include "lib/io/weights/stored_tensor.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace bigbird {
namespace {

TEST(StoredTensor, EveryHalfNumberComesBack) {
  for (std::uint32_t bits = 0; bits < 0x10000u; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    if (!std::isnan(float16_to_float(half))) {
      EXPECT_EQ(float_to_float16(float16_to_float(half)), half);
    }
    if (!std::isnan(bfloat16_to_float(half))) {
      EXPECT_EQ(float_to_bfloat16(bfloat16_to_float(half)), half);
    }
  }
}

// Between neighbours lo and hi, everything below the middle goes down, above it up, the middle to the even
// one.
template <typename Widen, typename Narrow>
void expect_round_to_nearest_even(std::uint16_t lo, const Widen& widen, const Narrow& narrow) {
  const auto hi = static_cast<std::uint16_t>(lo + 1);
  const float middle = widen(lo) + (widen(hi) - widen(lo)) / 2;
  EXPECT_EQ(narrow(std::nextafter(middle, 0.0f)), lo) << lo;
  EXPECT_EQ(narrow(std::nextafter(middle, std::numeric_limits<float>::max())), hi) << lo;
  EXPECT_EQ(narrow(middle), lo % 2 == 0 ? lo : hi) << lo;
  EXPECT_EQ(narrow(-middle), static_cast<std::uint16_t>((lo % 2 == 0 ? lo : hi) | 0x8000u)) << lo;
}

TEST(StoredTensor, RoundsToNearestEven) {
  for (std::uint32_t bits = 0; bits < 0x7bffu; ++bits) {
    expect_round_to_nearest_even(static_cast<std::uint16_t>(bits), float16_to_float, float_to_float16);
  }
  for (std::uint32_t bits = 1; bits < 0x7f7fu; ++bits) {
    expect_round_to_nearest_even(static_cast<std::uint16_t>(bits), bfloat16_to_float, float_to_bfloat16);
  }
}

TEST(StoredTensor, RangeEndsInInfinityAndNanStaysNan) {
  EXPECT_EQ(float_to_float16(65519.0f), 0x7bff);
  EXPECT_EQ(float_to_float16(65520.0f), 0x7c00);
  EXPECT_EQ(float_to_float16(-1e30f), 0xfc00);
  EXPECT_EQ(float_to_bfloat16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_TRUE(std::isnan(float16_to_float(float_to_float16(std::bit_cast<float>(0x7f800001u)))));
  EXPECT_TRUE(std::isnan(bfloat16_to_float(float_to_bfloat16(std::bit_cast<float>(0x7f800001u)))));
}

TEST(StoredTensor, StridesAreFollowed) {
  const std::array<float, 6> values{0, 1, 2, 3, 4, 5};
  const StoredTensor transposed{
      "t", TensorType::f32, {3, 2}, {1, 3}, reinterpret_cast<const std::byte*>(values.data()), "file"};
  std::array<float, 6> out{};
  read_floats(transposed, out);
  EXPECT_EQ(out, (std::array<float, 6>{0, 3, 1, 4, 2, 5}));
  EXPECT_FALSE(transposed.is_contiguous());
}

}  // namespace
}  // namespace bigbird
