// The angles of rotary positions, bit for bit where it matters: as PyTorch computes them in fp32.
#include "lib/model/network/encoder.h"

#include <gtest/gtest.h>

#include <array>

namespace bigbird {
namespace {

// cos and sin of torch.einsum("i,j->ij", p, 1 / base ** (torch.arange(0, 32, 2).float() / 32)), torch 2.
// In double the sine of pair 1 at position 4095 would be -0.000311573: the frequency's last bit is seen.
TEST(RotaryTable, AreThoseOfThePublishedCodeInFp32) {
  ModelConfig config;
  config.position_type = PositionType::rotary;
  config.rotary_dim = 32;
  const std::vector<float> turns = rotary_table(config, 4096);
  ASSERT_EQ(turns.size(), 4096u * 32u);
  struct Value {
    std::size_t position, pair;
    double cosine, sine;
  };
  const std::array<Value, 7> expected{{{0, 5, 1.0, 0.0},
                                       {1, 0, 0.540302336, 0.841470957},
                                       {1, 15, 1.0, 0.00017782794},
                                       {4095, 0, -0.0659759939, -0.997821212},
                                       {4095, 1, -0.99999994, -0.000426715531},
                                       {4095, 5, -0.587768018, -0.80902952},
                                       {4095, 15, 0.746369958, 0.665531278}}};
  for (const Value& value : expected) {
    EXPECT_NEAR(static_cast<double>(turns[value.position * 32 + value.pair]), value.cosine, 1.2e-7);
    EXPECT_NEAR(static_cast<double>(turns[value.position * 32 + 16 + value.pair]), value.sine, 1.2e-7);
  }
}

}  // namespace
}  // namespace bigbird
