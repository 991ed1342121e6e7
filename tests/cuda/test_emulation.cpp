// The emulated device: what its operations compute, against their definitions in the PTX ISA.
#include "tests/cuda/emulation_test.h"

namespace bigbird::kernels::cuda::testing {
namespace {

class Emulation : public EmulationTest {};

struct Scale {
  static constexpr int threads = 64;
  static constexpr int blocks_per_sm = 1;
  float* x;
  Index count;
  float factor;
  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const Index i = Index{thread.block()} * threads + thread.index();
    if (i < count) x[i] *= factor;
  }
};

TEST_F(Emulation, EveryThreadOfEveryBlockRunsOnceInAnyOrder) {
  std::vector<float> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  for (const std::uint64_t seed : {0u, 1u, 2u, 3u}) {
    emulation::options().seed = seed;
    const DeviceBuffer<float> x(values, stream());
    launch(Scale{x.data(), x.size(), 2.0f}, {.blocks = blocks_for(x.size(), Scale::threads)}, stream());
    const std::vector<float> doubled = x.download();
    for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(doubled[i], 2.0f * values[i]) << i;
  }
}

TEST_F(Emulation, TheOrderOfBlocksDependsOnTheSeed) {
  const auto order = [&](std::uint64_t seed) {
    emulation::options().seed = seed;
    int turn = 0;  // the host's, where no device could reach it: of the device's it would be a race
    const DeviceBuffer<int> when(16, stream());
    run_threads<32>({.blocks = 4, .blocks_y = 4}, stream(), [t = &turn, w = when.data()](Thread& thread) {
      if (thread.index() == 0) w[thread.block_y() * thread.blocks() + thread.block()] = (*t)++;
    });
    synchronize(stream());
    return when.download();
  };
  const std::vector<int> first = order(1);
  EXPECT_EQ(first, order(1));
  EXPECT_NE(first, order(2));
  std::vector<int> sorted = first;
  std::sort(sorted.begin(), sorted.end());
  for (int i = 0; i < 16; ++i) EXPECT_EQ(sorted[static_cast<std::size_t>(i)], i);
}

// Sum of a block through warps and shared memory.
TEST_F(Emulation, ThreadsMeetInWarpsAndBlocks) {
  std::vector<float> values(512);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const DeviceBuffer<float> x(values, stream());
  const DeviceBuffer<float> sums(4, stream());
  run_threads<128>({.blocks = 4, .shared_bytes = 16}, stream(),
                   [from = x.data(), to = sums.data()](Thread& thread) {
                     const Shared<float> parts = thread.shared<float>(0, 4);
                     const float sum = warp_sum(thread, from[thread.block() * 128 + thread.index()]);
                     if (thread.lane() == 0) parts[thread.warp()] = sum;
                     thread.barrier();
                     if (thread.index() == 0) to[thread.block()] = parts[0] + parts[1] + parts[2] + parts[3];
                   });
  EXPECT_EQ(sums.download(), (std::vector<float>{8128, 24512, 40896, 57280}));
}

TEST_F(Emulation, ShufflesAndBallots) {
  const DeviceBuffer<double> out(32 * 5, stream());
  run_threads<32>({.blocks = 1}, stream(), [to = out.data()](Thread& thread) {
    const int lane = thread.lane();
    double* row = to + lane * 5;
    row[0] = thread.shuffle(lane * 10, (lane + 1) % 32);
    row[1] = thread.shuffle_xor(static_cast<float>(lane) + 0.5f, 4);
    row[2] = thread.shuffle_down(static_cast<double>(lane), 3);
    row[3] = thread.ballot(lane % 3 == 0);
    row[4] = warp_max(thread, static_cast<float>(lane * 7 % 32));
  });
  const std::vector<double> got = out.download();
  for (int lane = 0; lane < 32; ++lane) {
    const double* row = got.data() + lane * 5;
    EXPECT_EQ(row[0], (lane + 1) % 32 * 10);
    EXPECT_EQ(row[1], (lane ^ 4) + 0.5);
    EXPECT_EQ(row[2], lane < 29 ? lane + 3 : lane);
    EXPECT_EQ(row[3], 0x49249249u);
    EXPECT_EQ(row[4], 31);
  }
}

// a [16][16], b [16][8] from global memory, through the layouts as the PTX ISA writes them:
// row = groupID (+ 8), column = threadID_in_group * 2 + (i & 1) (+ 8).
TEST_F(Emulation, BFloat16ProductInTheLayoutOfPtx) {
  const std::vector<double> a = random_normal(256, 1);
  const std::vector<double> b = random_normal(128, 2);
  const std::vector<double> c = random_normal(128, 3);
  const DeviceBuffer<bf16> da(rounded<bf16>(a), stream());
  const DeviceBuffer<bf16> db(rounded<bf16>(b), stream());
  const DeviceBuffer<float> dc(rounded<float>(c), stream());
  run_threads<32>({.blocks = 1}, stream(), [ga = da.data(), gb = db.data(), gc = dc.data()](Thread& thread) {
    const int group = thread.lane() >> 2;
    const int in_group = thread.lane() % 4;
    const auto pair = [](bf16 x, bf16 y) { return std::uint32_t{x.bits} | std::uint32_t{y.bits} << 16; };
    std::uint32_t fa[4];
    for (int part = 0; part < 4; ++part) {
      const int row = part == 0 || part == 2 ? group : group + 8;
      const int column = in_group * 2 + (part >= 2 ? 8 : 0);
      fa[part] = pair(ga[row * 16 + column], ga[row * 16 + column + 1]);
    }
    std::uint32_t fb[2];
    for (int part = 0; part < 2; ++part) {
      const int row = in_group * 2 + part * 8;
      fb[part] = pair(gb[row * 8 + group], gb[(row + 1) * 8 + group]);
    }
    float fc[4];
    const auto place = [&](int i) { return (i < 2 ? group : group + 8) * 8 + in_group * 2 + (i & 1); };
    for (int i = 0; i < 4; ++i) fc[i] = gc[place(i)];
    thread.mma_bf16(fc, fa, fb);
    for (int i = 0; i < 4; ++i) gc[place(i)] = fc[i];
  });
  const std::vector<double> left = stored<bf16>(a);
  const std::vector<double> right = stored<bf16>(b);
  std::vector<double> expected = stored<float>(c);
  for (std::size_t i = 0; i < 16; ++i) {
    for (std::size_t j = 0; j < 8; ++j) {
      for (std::size_t k = 0; k < 16; ++k) expected[i * 8 + j] += left[i * 16 + k] * right[k * 8 + j];
    }
  }
  EXPECT_LT(relative_error(dc.download(), expected), 1e-6);
}

// a [16][8], b [8][8]; operands lose their low 13 bits.
TEST_F(Emulation, Tf32ProductInTheLayoutOfPtx) {
  const std::vector<double> a = random_normal(128, 1);
  const std::vector<double> b = random_normal(64, 2);
  const DeviceBuffer<float> da(rounded<float>(a), stream());
  const DeviceBuffer<float> db(rounded<float>(b), stream());
  const DeviceBuffer<float> dc(128, stream());
  run_threads<32>({.blocks = 1}, stream(), [ga = da.data(), gb = db.data(), gc = dc.data()](Thread& thread) {
    const int group = thread.lane() >> 2;
    const int in_group = thread.lane() % 4;
    std::uint32_t fa[4];
    for (int part = 0; part < 4; ++part) {
      const int row = part == 0 || part == 2 ? group : group + 8;
      fa[part] = bits_of(ga[row * 8 + in_group + (part >= 2 ? 4 : 0)]);
    }
    std::uint32_t fb[2];
    for (int part = 0; part < 2; ++part) fb[part] = bits_of(gb[(in_group + part * 4) * 8 + group]);
    float fc[4] = {};
    thread.mma_tf32(fc, fa, fb);
    for (int i = 0; i < 4; ++i) gc[(i < 2 ? group : group + 8) * 8 + in_group * 2 + (i & 1)] = fc[i];
  });
  const auto cut = [](const std::vector<double>& values) {
    std::vector<double> out;
    for (const double x : values) {
      out.push_back(static_cast<double>(float_of_bits(bits_of(static_cast<float>(x)) & 0xffffe000u)));
    }
    return out;
  };
  const std::vector<double> left = cut(a);
  const std::vector<double> right = cut(b);
  std::vector<double> expected(128, 0.0);
  for (std::size_t i = 0; i < 16; ++i) {
    for (std::size_t j = 0; j < 8; ++j) {
      for (std::size_t k = 0; k < 8; ++k) expected[i * 8 + j] += left[i * 8 + k] * right[k * 8 + j];
    }
  }
  EXPECT_LT(relative_error(dc.download(), expected), 1e-6);
}

// Four 8x8 matrices one below the other: element (matrix m, row r, column c) has the value 64 m + 8 r + c.
TEST_F(Emulation, LoadMatrixGivesEachLaneItsPair) {
  for (const bool transposed : {false, true}) {
    const DeviceBuffer<std::uint32_t> out(32 * 4, stream());
    run_threads<32>({.blocks = 1, .shared_bytes = 512}, stream(), [=, to = out.data()](Thread& thread) {
      const Shared<bf16> matrices = thread.shared<bf16>(0, 256);
      for (int i = thread.lane(); i < 256; i += 32) matrices[i] = bf16{static_cast<std::uint16_t>(i)};
      thread.warp_barrier();
      std::uint32_t r[4];
      if (transposed) {
        thread.load_matrix_4_transposed(r, matrices, thread.lane() * 8);
      } else {
        thread.load_matrix_4(r, matrices, thread.lane() * 8);
      }
      for (int j = 0; j < 4; ++j) to[thread.lane() * 4 + j] = r[j];
    });
    const std::vector<std::uint32_t> got = out.download();
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      for (std::uint32_t j = 0; j < 4; ++j) {
        const std::uint32_t line = lane / 4;
        const std::uint32_t pair = lane % 4 * 2;
        const std::uint32_t first = 64 * j + (transposed ? pair * 8 + line : line * 8 + pair);
        const std::uint32_t second = transposed ? first + 8 : first + 1;
        EXPECT_EQ(got[lane * 4 + j], first | second << 16) << "lane " << lane << " matrix " << j;
      }
    }
  }
}

TEST_F(Emulation, AsynchronousCopiesArriveInGroups) {
  const std::vector<double> values = random_normal(256, 5);
  const DeviceBuffer<float> from(rounded<float>(values), stream());
  const DeviceBuffer<float> to(256, stream());
  run_threads<32>({.blocks = 1, .shared_bytes = 1024}, stream(),
                  [f = from.data(), t = to.data()](Thread& thread) {
                    const Shared<float> buffer = thread.shared<float>(0, 256);
                    const int mine = thread.lane() * 4;
                    thread.copy_async(buffer, mine, f + mine);
                    thread.commit_copies();
                    thread.copy_async(buffer + 128, mine, f + 128 + mine, thread.lane() < 16);
                    thread.commit_copies();
                    thread.wait_copies<1>();
                    thread.barrier();
                    const int other = 124 - mine;
                    store(t + other, buffer.load<4>(other));
                    thread.wait_copies<0>();
                    thread.barrier();
                    store(t + 128 + other, buffer.load<4>(128 + other));
                  });
  std::vector<float> expected = rounded<float>(values);
  for (std::size_t i = 128 + 64; i < 256; ++i) expected[i] = 0.0f;
  EXPECT_EQ(to.download(), expected);
}

TEST_F(Emulation, RoundsAsTheDeviceDoes) {
  const float tie = float_of_bits(0x3f801000u);  // halfway between two tf32 numbers: away from zero
  EXPECT_EQ(to_tf32(tie), 0x3f802000u);
  EXPECT_EQ(to_tf32(-tie), 0xbf802000u);
  EXPECT_EQ(to_tf32(float_of_bits(0x3f800fffu)), 0x3f800000u);
  EXPECT_EQ(to_tf32(-HUGE_VALF), bits_of(-HUGE_VALF));
  EXPECT_EQ(pack_bf16_fast(1.0f, float_of_bits(0x3f808000u)), 0x3f803f80u);  // to even
  EXPECT_EQ(exp2_fast(-HUGE_VALF), 0.0f);
  EXPECT_EQ(exp2_fast(10.0f), 1024.0f);
  EXPECT_EQ(log2_fast(8.0f), 3.0f);
}

}  // namespace
}  // namespace bigbird::kernels::cuda::testing
