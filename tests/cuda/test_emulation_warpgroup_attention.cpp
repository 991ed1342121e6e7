// Attention by warpgroups (wgmma) on the emulated device gives the bits of attention by warps (mma.sync):
// their sums go in the same order, and every descriptor, fence and wait is checked on the way. How a backend
// comes to use them.
#include "kernels/cuda/attention/attention.h"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/errors.h"
#include "tests/cuda/attention_test.h"
#include "tests/cuda/emulation_test.h"

namespace bigbird::kernels::cuda::testing {
namespace {

class WarpgroupAttention : public EmulationTest {
 protected:
  void SetUp() override {
    EmulationTest::SetUp();
    emulation::options().compute_capability = 90;
  }

  struct Results {
    std::vector<bf16> out, gradients;
    std::vector<float> log_sum_exp;
  };
  static bool equal(const std::vector<bf16>& one, const std::vector<bf16>& other) {
    return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                      [](bf16 a, bf16 b) { return a.bits == b.bits; });
  }

  Results run(const AttentionProblem& p, bool warpgroups, Index wanted = 0) {
    const Index c = p.width(), stride = 3 * c + 8;
    std::vector<double> inputs = random_normal(p.tokens() * stride, 11, 1.5);
    // What is padding is read by nobody.
    const std::vector<Index> offsets = p.offsets();
    for (std::size_t s = 0; s < p.sequences.size(); ++s) {
      for (Index t = p.sequences[s].length; t < p.rows_of(s); ++t) {
        for (Index i = 0; i < stride; ++i)
          inputs[static_cast<std::size_t>((offsets[s] + t) * stride + i)] = NAN;
      }
    }
    const DeviceBuffer<bf16> qkv(rounded<bf16>(inputs), stream()),
        dout(rounded<bf16>(random_normal(p.tokens() * c, 12, 1.0)), stream());
    const DeviceBuffer<bf16> out(p.tokens() * c, stream()), gradients(p.tokens() * stride, stream());
    const DeviceBuffer<float> sums(p.heads * p.tokens(), stream());
    DeviceAttention device(p, stream(), true);
    device.use_warpgroups(warpgroups);
    device.want(wanted);
    const QueryKeyValue of{{qkv.data(), stride}, {qkv.data() + c, stride}, {qkv.data() + 2 * c, stride}};
    attention_forward(device.call(FloatProducts::fp32), of, {out.data(), c}, sums.data());
    if (wanted == 0) {
      attention_backward(
          device.call(FloatProducts::fp32), of, {out.data(), c}, sums.data(), {dout.data(), c},
          {{gradients.data(), stride}, {gradients.data() + c, stride}, {gradients.data() + 2 * c, stride}},
          true);
    }
    return {out.download(), gradients.download(), sums.download()};
  }

  void expect_the_bits_of_warps(const AttentionProblem& p) {
    const Results expected = run(p, false), got = run(p, true);
    EXPECT_TRUE(equal(got.out, expected.out));
    EXPECT_TRUE(equal(got.gradients, expected.gradients));
    for (std::size_t i = 0; i < got.log_sum_exp.size(); ++i) {
      ASSERT_EQ(bits_of(got.log_sum_exp[i]), bits_of(expected.log_sum_exp[i]))
          << "row " << i << ": " << got.log_sum_exp[i] << " and " << expected.log_sum_exp[i];
    }
  }
};

TEST_F(WarpgroupAttention, GivesTheBitsOfWarps) {
  AttentionProblem ragged{2, 64, 64, {}};
  ragged.add(random_plan(2, 5, 1), 5 * 64 - 27);
  ragged.add(random_plan(2, 4, 2), 70);  // tiles of padding alone
  ragged.add(every_block(2, 3), 3 * 64);
  ragged.add(every_block(2, 1), 1);
  for (const bool truncated : {false, true}) {
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      SCOPED_TRACE(seed);
      emulation::options().truncated_sums = truncated;
      emulation::options().seed = seed;
      expect_the_bits_of_warps(ragged);
    }
  }
}

TEST_F(WarpgroupAttention, OfCutListsRepeatsAndRowsWithoutKeys) {
  AttentionProblem cut{1, 64, 64, {}};
  reference::AttentionPlan lists = every_block(1, 19);
  for (std::size_t row = 1; row < 19; ++row) lists[0][row] = {row, 0, 0, row};
  lists[0][3] = {};
  lists[0][5] = {18, 17};  // padding alone
  cut.add(lists, 17 * 64 - 30);
  ASSERT_GT(AttentionSchedule(cut.sequences[0].plan->view, 64).by_query.slots, 0);
  ASSERT_GT(AttentionSchedule(cut.sequences[0].plan->view, 64).by_key.slots, 0);
  expect_the_bits_of_warps(cut);
  AttentionProblem large{1, 64, 128, {}};  // blocks of two tiles
  large.add({{{0, 1}, {1, 0, 1}}}, 128 + 69);
  expect_the_bits_of_warps(large);
}

TEST_F(WarpgroupAttention, OfWantedBlocks) {
  AttentionProblem p{1, 64, 64, {}};
  p.add(every_block(1, 18), 18 * 64 - 5);
  const Results expected = run(p, false, 1), got = run(p, true, 1);
  EXPECT_TRUE(equal(got.out, expected.out));
}

TEST_F(WarpgroupAttention, ServesHeadsOf64InBf16Alone) {
  AttentionBatch batch;
  batch.head_size = 64;
  batch.block_size = 128;
  EXPECT_TRUE(warpgroups_serve(batch, ElementType::bf16));
  EXPECT_FALSE(warpgroups_serve(batch, ElementType::fp32));
  batch.causal = true;
  EXPECT_FALSE(warpgroups_serve(batch, ElementType::bf16));
  batch.causal = false;
  batch.drop_probability = 0.1f;
  EXPECT_FALSE(warpgroups_serve(batch, ElementType::bf16));
  batch.drop_probability = 0.0f;
  batch.block_size = 16;
  EXPECT_FALSE(warpgroups_serve(batch, ElementType::bf16));
  batch.block_size = 64;
  batch.head_size = 128;
  EXPECT_FALSE(warpgroups_serve(batch, ElementType::bf16));
}

TEST_F(WarpgroupAttention, TheCheckBeforeTheyAreUsedFindsNoDifference) {
  EXPECT_EQ(warpgroup_difference(stream()), 0.0);
}

TEST_F(WarpgroupAttention, ABackendUsesThemWhereItIsAskedTo) {
  CudaOptions options;
  EXPECT_EQ(make_cuda_backend(options)->arithmetic().find("wgmma"), std::string::npos) << "auto is mma";
  options.attention = "wgmma";
  const std::unique_ptr<Backend> backend = make_cuda_backend(options);
  EXPECT_NE(backend->arithmetic().find(", attention by wgmma"), std::string::npos) << backend->arithmetic();
  options.precision = Precision::fp32;
  EXPECT_EQ(make_cuda_backend(options)->arithmetic().find("wgmma"), std::string::npos);
}

TEST_F(WarpgroupAttention, ABackendThatCannotSaysWhy) {
  CudaOptions options;
  const auto said = [&] {
    try {
      make_cuda_backend(options);
    } catch (const DeviceError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  options.attention = "fast";
  EXPECT_EQ(said(), "BIGBIRD_ATTENTION is auto, mma or wgmma, and not 'fast'");
  options.attention = "wgmma";
  emulation::options().architectures = "80-real;90-virtual";
  EXPECT_EQ(said(), "BIGBIRD_ATTENTION=wgmma: this bigbird holds no machine code for compute capability 9.0");
  emulation::options().architectures = "80-real;90-real;90-virtual";
  emulation::options().compute_capability = 86;
  EXPECT_NE(said().find("BIGBIRD_ATTENTION=wgmma: wgmma is of compute capability 9.0, and "),
            std::string::npos)
      << said();
}

}  // namespace
}  // namespace bigbird::kernels::cuda::testing
