// Products of a warpgroup (wgmma) on the emulated device: what they come to, and kernels, each broken in
// its own way, that must be refused or come out wrong whatever the order.
#include <cmath>
#include <functional>

#include "kernels/cuda/attention/tiles.cuh"
#include "tests/cuda/emulation_test.h"

namespace bigbird::kernels::cuda::testing {
namespace {

constexpr int size = 64;  // of every matrix
using Matrix = Tile<bf16, size, size>;
constexpr int elements = Matrix::elements;

enum class Broken {
  nothing,
  copies_not_fenced,
  fence_after_the_barrier,
  no_fence,
  no_fence_after_registers,
  read_on_their_way,
  written_on_their_way,
  overwritten_on_their_way,
  stride,
  mode,
  transposed,
  base,
  no_commit,
  no_wait,
  warp_missing,
};

// first = a b^T from descriptors, second = first b from registers and a descriptor, both [64, 64].
struct TwoProducts {
  Broken broken;
  const bf16 *a, *b;
  float *first, *second;

  void operator()(Thread& thread) const {
    const int at = broken == Broken::base ? 512 : 0;
    const Shared<bf16> left = thread.shared<bf16>(at, elements);
    const Shared<bf16> right = thread.shared<bf16>(at + Matrix::bytes, elements);
    Matrix::load<128>(thread, left, a, size, size);
    Matrix::load<128>(thread, right, b, size, size);
    thread.commit_copies();
    thread.wait_copies<0>();
    if (broken != Broken::copies_not_fenced && broken != Broken::fence_after_the_barrier)
      thread.fence_copies();
    thread.barrier();
    if (broken == Broken::fence_after_the_barrier) thread.fence_copies();

    std::uint64_t of_right = thread.matrix_descriptor(right);
    if (broken == Broken::stride) of_right ^= std::uint64_t{(1024 ^ 512) / 16} << 32;
    if (broken == Broken::mode) of_right ^= std::uint64_t{3} << 62;
    const std::uint64_t of_left = thread.matrix_descriptor(left);
    float c[8][4];
    if (broken != Broken::no_fence) thread.warpgroup_fence();
    for (std::uint64_t x = 0; x < 4; ++x) {
      if (broken == Broken::warp_missing && thread.warp() == 2 && x == 3) continue;
      thread.warpgroup_product<false>(c, of_left + x * matrix_columns, of_right + x * matrix_columns, x > 0);
    }
    if (broken != Broken::no_commit) thread.warpgroup_commit();
    if (broken == Broken::read_on_their_way) write(thread, c, first);
    if (broken == Broken::written_on_their_way) c[7][3] = 0.0f;
    if (broken == Broken::overwritten_on_their_way) {
      Matrix::load<128>(thread, right, b, size, size);
      thread.commit_copies();
    }
    if (broken != Broken::no_wait) thread.warpgroup_wait<0>();
    if (broken != Broken::read_on_their_way) write(thread, c, first);

    std::uint32_t p[4][4];
    for (int x = 0; x < 4; ++x) {
      for (int i = 0; i < 4; ++i)
        p[x][i] = pack_bf16_fast(c[2 * x + i / 2][i % 2 * 2], c[2 * x + i / 2][i % 2 * 2 + 1]);
    }
    float d[8][4] = {};
    if (broken != Broken::no_fence_after_registers) thread.warpgroup_fence();
    for (std::uint64_t x = 0; x < 4; ++x) {
      if (broken == Broken::transposed) {
        thread.warpgroup_product<false>(d, p[x], of_right + x * matrix_columns, true);
      } else {
        thread.warpgroup_product<true>(d, p[x], of_right + x * matrix_rows, true);
      }
    }
    thread.warpgroup_commit();
    thread.warpgroup_wait<0>();
    write(thread, d, second);
    thread.wait_copies<0>();
  }

 private:
  static void write(Thread& thread, const float (&c)[8][4], float* to) {
    const int row = thread.warp() * 16 + thread.lane() / 4, column = thread.lane() % 4 * 2;
    for (int n = 0; n < 8; ++n) {
      for (int i = 0; i < 4; ++i) to[(row + i / 2 * 8) * size + n * 8 + column + i % 2] = c[n][i];
    }
  }
};

class EmulatedWarpgroup : public EmulationTest {
 protected:
  void SetUp() override {
    emulation::options().lazy_streams = false;  // errors come out of the launch
    EmulationTest::SetUp();
    // Small integers: sums are exact in any order, and those of the first product are numbers of bf16.
    for (int row = 0; row < size; ++row) {
      for (int column = 0; column < size; ++column) {
        a_.push_back(static_cast<float>((row * 5 + column * 3) % 11 == 0 ? row % 3 - 1 : 0));
        b_.push_back(static_cast<float>((row * 7 + column) % 13 - 6));
      }
    }
  }

  struct Result {
    std::string complaint;
    std::vector<float> first, second;
  };
  Result run(Broken broken, std::uint64_t seed) {
    emulation::options().seed = seed;
    const DeviceBuffer<bf16> a(narrowed(a_), stream()), b(narrowed(b_), stream());
    const DeviceBuffer<float> first(size * size, stream()), second(size * size, stream());
    const TwoProducts kernel{broken, a.data(), b.data(), first.data(), second.data()};
    Result result;
    result.complaint = complaint(
        [&] { run_threads<128>({.blocks = 1, .shared_bytes = 2 * Matrix::bytes + 512}, stream(), kernel); });
    result.first = first.download();
    result.second = second.download();
    return result;
  }
  static std::vector<bf16> narrowed(const std::vector<float>& values) {
    std::vector<bf16> result;
    for (const float value : values) result.push_back(to_element<bf16>(value));
    return result;
  }
  // left right, or left right^T.
  static std::vector<float> product(const std::vector<float>& left, const std::vector<float>& right,
                                    bool transposed) {
    std::vector<float> result;
    for (std::size_t row = 0; row < size; ++row) {
      for (std::size_t column = 0; column < size; ++column) {
        float sum = 0;
        for (std::size_t k = 0; k < size; ++k)
          sum += left[row * size + k] * right[transposed ? column * size + k : k * size + column];
        result.push_back(sum);
      }
    }
    return result;
  }

  std::vector<float> a_, b_;
};

TEST_F(EmulatedWarpgroup, MultipliesWhatTheDescriptorsNameInAnyOrder) {
  const std::vector<float> first = product(a_, b_, true), second = product(first, b_, false);
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    SCOPED_TRACE(seed);
    const Result result = run(Broken::nothing, seed);
    EXPECT_EQ(result.complaint, "");
    EXPECT_EQ(result.first, first);
    EXPECT_EQ(result.second, second);
  }
}

TEST_F(EmulatedWarpgroup, FindsEachBrokenKernel) {
  const struct {
    Broken broken;
    const char* complaint;  // null: wrong numbers, and no complaint
  } kernels[] = {
      {Broken::copies_not_fenced, "without fence_copies() and a barrier since"},
      {Broken::fence_after_the_barrier, "without fence_copies() and a barrier since"},
      {Broken::no_fence, "without warpgroup_fence() since registers"},
      {Broken::no_fence_after_registers, "without warpgroup_fence() since registers"},
      {Broken::read_on_their_way, nullptr},
      {Broken::written_on_their_way, "were written before warpgroup_wait()"},
      {Broken::overwritten_on_their_way, "which a product on its way reads"},
      {Broken::stride, nullptr},
      {Broken::mode, "a descriptor of swizzle mode 2"},
      {Broken::transposed, nullptr},
      {Broken::base, "rows begin at multiples of 1024 bytes"},
      {Broken::no_commit, nullptr},
      {Broken::no_wait, nullptr},
      {Broken::warp_missing, "has not called the products that warp 0 of its warpgroup has"},
  };
  const std::vector<float> first = product(a_, b_, true), second = product(first, b_, false);
  for (const auto& kernel : kernels) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      SCOPED_TRACE(std::to_string(static_cast<int>(kernel.broken)) + ", seed " + std::to_string(seed));
      const Result result = run(kernel.broken, seed);
      if (kernel.complaint == nullptr) {
        EXPECT_EQ(result.complaint, "");
        EXPECT_TRUE(result.first != first || result.second != second);
      } else {
        EXPECT_NE(result.complaint.find(kernel.complaint), std::string::npos) << result.complaint;
      }
    }
  }
}

TEST_F(EmulatedWarpgroup, NothingIsLeftOnItsWay) {
  const auto leave = [&](bool commit) {
    run_threads<128>({.blocks = 1, .shared_bytes = Matrix::bytes}, stream(), [=](Thread& thread) {
      const Shared<bf16> tile = thread.shared<bf16>(0, elements);
      for (int i = thread.index(); i < elements; i += 128) tile[i] = bf16{};
      thread.fence_copies();
      thread.barrier();
      float c[8][4];
      thread.warpgroup_fence();
      thread.warpgroup_product<false>(c, thread.matrix_descriptor(tile), thread.matrix_descriptor(tile),
                                      false);
      if (commit) thread.warpgroup_commit();
      thread.warpgroup_wait<0>();
    });
  };
  EXPECT_EQ(complaint([&] { leave(true); }), "");
  EXPECT_COMPLAINT(leave(false), "returns while products are on their way");
}

TEST_F(EmulatedWarpgroup, ThreadsOfHalfAWarpgroupAreRefused) {
  const auto half = [&] {
    run_threads<64>({.blocks = 1, .shared_bytes = Matrix::bytes}, stream(), [](Thread& thread) {
      const Shared<bf16> tile = thread.shared<bf16>(0, elements);
      for (int i = thread.index(); i < elements; i += 64) tile[i] = bf16{};
      thread.fence_copies();
      thread.barrier();
      float c[8][4];
      thread.warpgroup_fence();
      thread.warpgroup_product<false>(c, thread.matrix_descriptor(tile), thread.matrix_descriptor(tile),
                                      false);
      thread.warpgroup_commit();
      thread.warpgroup_wait<0>();
    });
  };
  EXPECT_COMPLAINT(half(), "in a block without whole warpgroups");
}

}  // namespace
}  // namespace bigbird::kernels::cuda::testing
