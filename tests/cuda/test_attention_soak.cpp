// Attention by warpgroups over and over, at the size of a device: the bits of the first run each time. What a
// race leaves to chance shows in millions of tiles. Runs for BIGBIRD_SOAK_SECONDS, where warpgroups run.
#include <chrono>
#include <cstdlib>

#include "kernels/cuda/attention/attention.h"
#include "tests/cuda/attention_test.h"

namespace bigbird::kernels::cuda::testing {
namespace {

class AttentionSoak : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    if (IsSkipped()) return;
    const char* const asked = std::getenv("BIGBIRD_SOAK_SECONDS");
    if (asked == nullptr) GTEST_SKIP() << "SKIPPED: no BIGBIRD_SOAK_SECONDS";
    seconds_ = std::atof(asked);
    std::string why;
    const DeviceInfo device = find_devices(why).front();
    emulated_ = device.name == "emulated device";
    if (const std::string refusal = warpgroup_refusal(device); !emulated_ && !refusal.empty())
      GTEST_SKIP() << "SKIPPED: " << refusal;
  }

  double seconds_ = 0;
  bool emulated_ = false;
};

TEST_F(AttentionSoak, WarpgroupsGiveTheSameBitsEachTime) {
  AttentionProblem p{emulated_ ? 1 : 12, 64, 64, {}};
  const Index blocks = emulated_ ? 20 : 64;
  for (int s = 0; s < (emulated_ ? 1 : 8); ++s)
    p.add(random_plan(p.heads, blocks, 7 + static_cast<std::uint32_t>(s)), blocks * 64 - 11 * s);
  const Index c = p.width();
  const DeviceBuffer<bf16> qkv(rounded<bf16>(random_normal(p.tokens() * 3 * c, 5, 1.0)), stream());
  const DeviceBuffer<bf16> out(p.tokens() * c, stream());
  const DeviceBuffer<float> sums(p.heads * p.tokens(), stream());
  DeviceAttention device(p, stream(), false);
  device.use_warpgroups(true);
  const auto run = [&] {
    attention_forward(device.call(FloatProducts::fp32),
                      {{qkv.data(), 3 * c}, {qkv.data() + c, 3 * c}, {qkv.data() + 2 * c, 3 * c}},
                      {out.data(), c}, sums.data());
  };
  run();
  const std::vector<bf16> first = out.download();
  const std::vector<float> first_sums = sums.download();
  const auto begin = std::chrono::steady_clock::now();
  Index rounds = 0;
  while (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < seconds_) {
    const Index some = emulated_ ? 1 : 500;  // between two looks
    for (Index i = 0; i < some; ++i) run();
    rounds += some;
    const std::vector<bf16> again = out.download();
    for (std::size_t i = 0; i < again.size(); ++i)
      ASSERT_EQ(again[i].bits, first[i].bits) << "number " << i << " after " << rounds << " rounds";
    ASSERT_EQ(sums.download(), first_sums) << "after " << rounds << " rounds";
  }
  EXPECT_GT(rounds, 0);
  RecordProperty("rounds", std::to_string(rounds));
}

}  // namespace
}  // namespace bigbird::kernels::cuda::testing
