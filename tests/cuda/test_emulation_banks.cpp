// Banks of shared memory: what the log counts for accesses whose conflicts are known, and that attention's
// kernels meet none, in any type and head size. On the emulated device alone: no result shows it.
#include <algorithm>
#include <set>
#include <tuple>

#include "kernels/cuda/emulation/bank_log.h"
#include "tests/cuda/attention_test.h"
#include "tests/cuda/emulation_test.h"
#include "tests/support/sanitizer.h"

namespace bigbird::kernels::cuda::testing {
namespace {

using emulation::BankAccess;
using emulation::BankLog;

class Banks : public EmulationTest {
 protected:
  void SetUp() override {
    emulation::options().lazy_streams = false;
    emulation::options().banks = &log_;
    EmulationTest::SetUp();
  }
  // Wavefronts over ideal of the loads of a warp, lane L's at element place(L).
  template <int width, class Place>
  double loads(const Place& place, int last = 31) {
    log_ = {};
    run_threads<32>({.blocks = 1, .shared_bytes = 32 * 33 * 16}, stream(), [=](Thread& thread) {
      const Shared<float> memory = thread.shared<float>(0, 32 * 33 * 4);
      for (int i = thread.lane(); i < 32 * 33 * 4; i += 32) memory[i] = 0.0f;
      thread.warp_barrier();
      if (thread.lane() <= last) static_cast<void>(memory.load<width>(place(thread.lane())));
    });
    for (const BankLog::Use& use : log_.uses()) {
      if (use.access != BankAccess::load) continue;
      EXPECT_EQ(use.requests, 1u);
      EXPECT_EQ(use.bytes, 4u * width);
      return use.ratio();
    }
    return 0.0;
  }

  BankLog log_;
};

TEST_F(Banks, OfLoadsOfFourBytes) {
  EXPECT_EQ(loads<1>([](int lane) { return lane; }), 1.0);
  EXPECT_EQ(loads<1>([](int) { return 5; }), 1.0) << "one word for all";
  EXPECT_EQ(loads<1>([](int lane) { return lane % 2 * 32; }), 2.0) << "two words of a bank";
  EXPECT_EQ(loads<1>([](int lane) { return lane * 2; }), 2.0);
  EXPECT_EQ(loads<1>([](int lane) { return lane * 32; }), 32.0);
  EXPECT_EQ(loads<1>([](int lane) { return lane * 33; }), 1.0);
  EXPECT_EQ(loads<1>([](int lane) { return lane * 32; }, 3), 4.0) << "four lanes alone";
}

TEST_F(Banks, OfLoadsThatAreServedInParts) {
  EXPECT_EQ(loads<2>([](int lane) { return lane * 2; }), 1.0);
  EXPECT_EQ(loads<2>([](int lane) { return lane % 16 * 2 + lane / 16 * 32; }), 1.0) << "halves may meet";
  EXPECT_EQ(loads<2>([](int lane) { return lane * 4; }), 2.0);
  EXPECT_EQ(loads<4>([](int lane) { return lane * 4; }), 1.0);
  EXPECT_EQ(loads<4>([](int lane) { return lane % 8 * 4; }), 1.0);
  EXPECT_EQ(loads<4>([](int lane) { return lane * 8; }), 2.0);
  EXPECT_EQ(loads<4>([](int lane) { return lane * 32; }), 8.0);
}

TEST_F(Banks, OfStoresCopiesAndMatrices) {
  const DeviceBuffer<bf16> from(32 * 64, stream());
  run_threads<32>({.blocks = 1, .shared_bytes = 32 * 64 * 4}, stream(), [from = from.data()](Thread& thread) {
    const Shared<bf16> memory = thread.shared<bf16>(0, 32 * 64 * 2);
    const int row = thread.lane();
    memory[row * 64] = bf16{};  // 128 bytes apart: one bank
    thread.warp_barrier();
    memory.store(row * 8, Pack<bf16, 8>{});
    thread.warp_barrier();
    for (int i = 0; i < 2; ++i) thread.copy_async(memory, row * 16 + i * 8, from);  // 32 bytes apart
    thread.commit_copies();
    thread.wait_copies<0>();
    thread.warp_barrier();
    std::uint32_t r[4];
    thread.load_matrix_4(r, memory, row * 8);
  });
  std::vector<std::tuple<BankAccess, std::size_t, std::uint64_t, std::uint64_t, std::uint64_t>> got;
  for (const BankLog::Use& use : log_.uses()) {
    got.emplace_back(use.access, use.bytes, use.requests, use.wavefronts, use.ideal);
  }
  const decltype(got) expected = {{BankAccess::store, 2, 1, 32, 1},
                                  {BankAccess::store, 16, 1, 4, 4},
                                  {BankAccess::matrix, 16, 1, 4, 4},
                                  {BankAccess::copy, 16, 2, 16, 8}};
  EXPECT_EQ(got, expected);
  EXPECT_EQ(log_.ratio("Threads<32"), 56.0 / 17.0);
  EXPECT_EQ(log_.ratio("no such kernel"), 0.0);
}

TEST_F(Banks, OfAccessesThatSomeLanesLeaveOut) {
  // Sites are return addresses: clang, which the sanitizers are built with, makes one call of the last two.
  if (bigbird::testing::under_sanitizer)
    GTEST_SKIP() << "SKIPPED: two stores may be one call in a sanitizer's build";
  // Rounds of a loop are told apart by their number, and sites by where they are.
  run_threads<32>({.blocks = 1, .shared_bytes = 4096}, stream(), [](Thread& thread) {
    const Shared<float> memory = thread.shared<float>(0, 1024);
    for (int round = 0; round < 8; ++round) memory[round * 32 + thread.lane()] = 0.0f;
    if (thread.lane() < 7) memory[512 + thread.lane()] = 1.0f;
    memory[600 + thread.lane()] = 1.0f;
  });
  EXPECT_EQ(log_.uses().size(), 1u);
  EXPECT_EQ(log_.uses()[0].requests, 10u);
  EXPECT_EQ(log_.uses()[0].wavefronts, 10u);
}

// Forward and backward, in both forms of the latter and with dropout, over tiles of 16 and of 64 rows.
template <class Element>
void run_attention(Stream stream, Index head_size, Index block_size, FloatProducts products) {
  AttentionProblem p{1, head_size, block_size, {}};
  p.drop_probability = 0.1f;
  p.add(every_block(1, 2), 2 * block_size - 5);
  const Index c = p.width(), t = p.tokens();
  const DeviceBuffer<Element> qkv(rounded<Element>(random_normal(t * 3 * c, 1)), stream);
  const DeviceBuffer<Element> dout(rounded<Element>(random_normal(t * c, 2)), stream);
  const DeviceBuffer<Element> out(t * c, stream), gradients(t * 3 * c, stream);
  const DeviceBuffer<float> log_sum_exp(p.heads * t, stream);
  const QueryKeyValue inputs{{qkv.data(), 3 * c}, {qkv.data() + c, 3 * c}, {qkv.data() + 2 * c, 3 * c}};
  for (const bool deterministic : {true, false}) {
    const DeviceAttention device(p, stream, true, deterministic);
    const AttentionCall call = device.call(products);
    attention_forward(call, inputs, {out.data(), c}, log_sum_exp.data());
    attention_backward(
        call, inputs, {out.data(), c}, log_sum_exp.data(), {dout.data(), c},
        {{gradients.data(), 3 * c}, {gradients.data() + c, 3 * c}, {gradients.data() + 2 * c, 3 * c}},
        deterministic);
  }
  synchronize(stream);
}

// One place is known to meet banks twice: where the pass that adds gradients of q atomically hands its warps
// the gradients of scores, pairs of floats to rows 4 banks apart (benchmarks/gpu.md, "Shared memory banks").
TEST_F(Banks, OfAttentionAreNeverMetTwice) {
  for (const Index head_size : {32, 64, 128}) {
    for (const Index block_size : {16, 64}) {
      run_attention<bf16>(stream(), head_size, block_size, FloatProducts::fp32);
      run_attention<float>(stream(), head_size, block_size, FloatProducts::tf32);
    }
  }
  EXPECT_EQ(log_.ratio("AttentionForward"), 1.0) << log_.table();
  std::set<std::string> passes;
  for (const BankLog::Use& use : log_.uses()) {
    if (use.kernel.rfind("AttentionBackward<", 0) != 0) continue;
    passes.insert(use.kernel);
    const bool adding = use.kernel.find("BackwardPass)2") != std::string::npos;
    const bool handed = adding && use.access == BankAccess::store && use.bytes == 8;
    EXPECT_LE(use.ratio(), handed ? 2.0 : 1.0) << use.kernel << ", slice of " << use.slice;
  }
  EXPECT_EQ(passes.size(), 36u);  // two types, three head sizes, two tiles, three passes
}

}  // namespace
}  // namespace bigbird::kernels::cuda::testing
