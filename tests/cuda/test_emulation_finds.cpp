// Deliberately broken kernels, one of each kind, each beside its correct form: the emulation must refuse the
// one and accept the other. This is what proves that a kernel test can fail.
#include "tests/cuda/emulation_test.h"
#include "tests/support/sanitizer.h"

namespace bigbird::kernels::cuda::testing {
namespace {

class EmulationFinds : public EmulationTest {
 protected:
  void SetUp() override {
    emulation::options().lazy_streams = false;  // errors come out of the launch
    EmulationTest::SetUp();
  }
};

TEST_F(EmulationFinds, AMissingBarrier) {
  const DeviceBuffer<float> out(64, stream());
  const auto reverse = [&](bool barrier) {
    run_threads<64>({.blocks = 1, .shared_bytes = 256}, stream(), [=, to = out.data()](Thread& thread) {
      const Shared<float> values = thread.shared<float>(0, 64);
      values[thread.index()] = static_cast<float>(thread.index());
      if (barrier) thread.barrier();
      // Both warps read their own half before the other's, so that the bytes have always been written.
      thread.ballot(true);
      to[thread.index()] = values[thread.index() ^ 32];
    });
  };
  EXPECT_EQ(complaint([&] { reverse(true); }), "");
  EXPECT_EQ(out.download()[0], 32.0f);
  // Whether the other warp has run yet depends on the order; either way the kernel is wrong.
  const std::string said = complaint([&] { reverse(false); });
  EXPECT_TRUE(said.find("race: reads") != std::string::npos || said.find("nobody wrote") != std::string::npos)
      << said;
}

TEST_F(EmulationFinds, AMissingBarrierBetweenReadingAndWritingAgain) {
  const DeviceBuffer<float> out(64, stream());
  const auto twice = [&](bool barrier) {
    run_threads<64>({.blocks = 1, .shared_bytes = 4}, stream(), [=, to = out.data()](Thread& thread) {
      const Shared<float> value = thread.shared<float>(0, 1);
      for (int round = 0; round < 2; ++round) {
        if (thread.index() == 0) value[0] = static_cast<float>(round);
        thread.barrier();
        to[thread.index()] = value[0];
        if (barrier) thread.barrier();
      }
    });
  };
  EXPECT_EQ(complaint([&] { twice(true); }), "");
  EXPECT_COMPLAINT(twice(false), "race: ");
}

TEST_F(EmulationFinds, TwoThreadsWritingOneCell) {
  EXPECT_COMPLAINT(run_threads<64>({.blocks = 1, .shared_bytes = 4}, stream(),
                                   [](Thread& thread) {
                                     const Shared<float> value = thread.shared<float>(0, 1);
                                     if (thread.lane() == 5) value[0] = 1.0f;
                                   }),
                   "race: writes byte 0 of shared memory, which thread ");
}

TEST_F(EmulationFinds, AMissingWarpBarrier) {
  const DeviceBuffer<float> out(32, stream());
  const auto rotate = [&](bool barrier) {
    run_threads<32>({.blocks = 1, .shared_bytes = 128}, stream(), [=, to = out.data()](Thread& thread) {
      const Shared<float> values = thread.shared<float>(0, 32);
      values[thread.lane()] = static_cast<float>(thread.lane());
      thread.ballot(true);  // lanes meet, but this orders no memory
      if (barrier) thread.warp_barrier();
      to[thread.lane()] = values[(thread.lane() + 1) % 32];
    });
  };
  EXPECT_EQ(complaint([&] { rotate(true); }), "");
  EXPECT_COMPLAINT(rotate(false), "with no barrier between, in the slice of test_emulation_finds.cpp:");
}

TEST_F(EmulationFinds, MatricesLoadedBeforeTheWarpHasMet) {
  const auto load = [&](bool barrier) {
    run_threads<32>({.blocks = 1, .shared_bytes = 512}, stream(), [=](Thread& thread) {
      const Shared<bf16> rows = thread.shared<bf16>(0, 256);
      rows.store(thread.lane() * 8, Pack<bf16, 8>{});  // its own row, but lanes get parts of all rows
      if (barrier) thread.warp_barrier();
      std::uint32_t r[4];
      thread.load_matrix_4(r, rows, thread.lane() * 8);
    });
  };
  EXPECT_EQ(complaint([&] { load(true); }), "");
  EXPECT_COMPLAINT(load(false), "race: reads");
}

TEST_F(EmulationFinds, MatricesWhoseRowsShareBanks) {
  const auto load = [&](int stride) {  // elements of two bytes
    run_threads<32>({.blocks = 1, .shared_bytes = 32 * 80 * 2}, stream(), [=](Thread& thread) {
      const Shared<bf16> rows = thread.shared<bf16>(0, 32 * 80);
      rows.store(thread.lane() * stride, Pack<bf16, 8>{});
      thread.warp_barrier();
      std::uint32_t r[4];
      thread.load_matrix_4(r, rows, thread.lane() * stride);
    });
  };
  EXPECT_EQ(complaint([&] { load(72); }), "");
  EXPECT_COMPLAINT(load(64), "loads a matrix whose rows share banks");
  EXPECT_COMPLAINT(load(80), "loads a matrix whose rows share banks");
}

TEST_F(EmulationFinds, SharedMemoryThatNobodyWrote) {
  const DeviceBuffer<float> out(32, stream());
  EXPECT_COMPLAINT(run_threads<32>({.blocks = 1, .shared_bytes = 128}, stream(),
                                   [to = out.data()](Thread& thread) {
                                     to[thread.lane()] = thread.shared<float>(0, 32)[thread.lane()];
                                   }),
                   "which nobody wrote");
  // What an earlier block wrote is gone.
  EXPECT_COMPLAINT(run_threads<32>({.blocks = 2, .shared_bytes = 4}, stream(),
                                   [to = out.data()](Thread& thread) {
                                     const Shared<float> value = thread.shared<float>(0, 1);
                                     if (thread.index() > 0) return;
                                     if (thread.block() == 0) value[0] = 1.0f;
                                     to[thread.block()] = value[0];
                                   }),
                   "block (1, 0), thread 0: reads byte 0 of shared memory, which nobody wrote");
}

TEST_F(EmulationFinds, AccessOutsideOfASlice) {
  const auto reach = [&](int i) {
    run_threads<32>({.blocks = 1, .shared_bytes = 256}, stream(), [=](Thread& thread) {
      const Shared<float> first = thread.shared<float>(0, 32);
      if (thread.lane() == 7) first[i] = 1.0f;
    });
  };
  EXPECT_EQ(complaint([&] { reach(31); }), "");
  EXPECT_COMPLAINT(reach(32), "thread 7: accesses bytes 128 to 132 of shared memory, outside of 0 to 128");
  EXPECT_COMPLAINT(reach(-1), "outside of 0 to 128");
}

TEST_F(EmulationFinds, MoreSharedMemoryThanThereIs) {
  const auto ask = [&](std::size_t bytes, int count) {
    run_threads<32>({.blocks = 1, .shared_bytes = bytes}, stream(),
                    [=](Thread& thread) { thread.shared<float>(0, count)[thread.lane()] = 0.0f; });
  };
  EXPECT_EQ(complaint([&] { ask(128, 32); }), "");
  EXPECT_COMPLAINT(ask(128, 33), "and the launch asked for 128");
  EXPECT_COMPLAINT(ask(100 * 1024, 32), "asks for 102400 bytes of shared memory, the device has 101376");
}

TEST_F(EmulationFinds, GlobalMemoryOutsideOfAllocations) {
  const DeviceBuffer<float> out(32, stream());
  const auto save = [&](int at) {
    run_threads<32>({.blocks = 1}, stream(), [=, to = out.data()](Thread& thread) {
      if (thread.lane() == 9) store(to + at, Pack<float, 4>{});
    });
  };
  EXPECT_EQ(complaint([&] { save(28); }), "");
  EXPECT_COMPLAINT(save(32), "thread 9: stores 16 bytes of global memory outside of any allocation");
  float on_the_host[4] = {};
  EXPECT_COMPLAINT(
      run_threads<32>({.blocks = 1}, stream(),
                      [host = &on_the_host[0]](Thread& thread) { thread.atomic_add(host, 1.0f); }),
      "outside of any allocation");
  const auto add = [&](int at) {
    run_threads<32>({.blocks = 1}, stream(), [=, to = out.data()](Thread& thread) {
      if (thread.lane() == 3) thread.atomic_add(to + at, 1.0f, 2.0f);
    });
  };
  EXPECT_EQ(complaint([&] { add(30); }), "");
  EXPECT_COMPLAINT(add(32), "thread 3: adds to 8 bytes of global memory outside of any allocation");
  EXPECT_COMPLAINT(add(1), "aligned");
}

// Plain accesses: of the watch of global memory, or of AddressSanitizer.
TEST_F(EmulationFinds, PlainGlobalAccessOutsideOfAllocations) {
  const DeviceBuffer<float> out(33, stream()), page(1024, stream());
  const auto write = [&](float* to) {
    run_threads<32>({.blocks = 1}, stream(), [=](Thread& thread) { to[thread.lane()] = 0.0f; });
  };
  const auto read = [&](const float* from) {
    run_threads<32>({.blocks = 1}, stream(),
                    [=, to = out.data()](Thread& thread) { to[thread.lane()] = from[thread.lane()]; });
  };
  write(out.data() + 1);
  read(page.data() + 992);
#if defined(BIGBIRD_ADDRESS_SANITIZER)
  EXPECT_DEATH(write(out.data() + 2), "heap-buffer-overflow");
#else
  EXPECT_COMPLAINT(
      write(out.data() + 2),
      "writes 4 bytes of global memory outside of any allocation, at byte 132 of an allocation of 132");
  EXPECT_COMPLAINT(
      write(out.data() - 1),
      "writes 4 bytes of global memory outside of any allocation, at 4 bytes before an allocation of 132");
  EXPECT_COMPLAINT(read(page.data() + 1023), "reads 4 bytes of global memory outside of any allocation");
  write(out.data());  // and goes on afterwards
#endif
}

TEST_F(EmulationFinds, MisalignedAccess) {
  const DeviceBuffer<float> out(64, stream());
  EXPECT_COMPLAINT(run_threads<32>({.blocks = 1}, stream(),
                                   [to = out.data()](Thread&) { store(to + 2, Pack<float, 4>{}); }),
                   "stores 16 bytes of global memory at a misaligned address");
  EXPECT_COMPLAINT(run_threads<32>({.blocks = 1}, stream(), [to = out.data()](Thread&) { load<2>(to + 1); }),
                   "loads 8 bytes of global memory at a misaligned address");
  EXPECT_COMPLAINT(
      run_threads<32>({.blocks = 1, .shared_bytes = 256}, stream(),
                      [](Thread& thread) { thread.shared<float>(0, 64).store(1, Pack<float, 4>{}); }),
      "misaligned access of 16 bytes at byte 4 of shared memory");
  EXPECT_COMPLAINT(run_threads<32>({.blocks = 1, .shared_bytes = 256}, stream(),
                                   [](Thread& thread) { thread.shared<float>(2, 4); }),
                   "is misaligned");
  EXPECT_COMPLAINT(run_threads<32>({.blocks = 1, .shared_bytes = 256}, stream(),
                                   [to = out.data()](Thread& thread) {
                                     thread.copy_async(thread.shared<float>(0, 64), 0, to + 1);
                                   }),
                   "copies 16 bytes of global memory at a misaligned address");
}

TEST_F(EmulationFinds, CopiesThatNobodyWaitedFor) {
  const DeviceBuffer<float> data(std::vector<float>(128, 1.0f), stream());
  const auto copy = [&](bool wait, bool barrier) {
    run_threads<32>({.blocks = 1, .shared_bytes = 512}, stream(), [=, to = data.data()](Thread& thread) {
      const Shared<float> buffer = thread.shared<float>(0, 128);
      thread.copy_async(buffer, thread.lane() * 4, to + thread.lane() * 4);
      thread.commit_copies();
      if (wait) thread.wait_copies<0>();
      if (barrier) thread.barrier();
      to[thread.lane()] = buffer[thread.lane()];  // the copy of lane / 4
      if (!wait) thread.wait_copies<0>();
    });
  };
  EXPECT_EQ(complaint([&] { copy(true, true); }), "");
  EXPECT_COMPLAINT(copy(false, true), "has not arrived (wait_copies)");
  EXPECT_COMPLAINT(copy(true, false), "shared memory, wh");  // a race, or not yet there, or not yet begun
  EXPECT_COMPLAINT(run_threads<32>({.blocks = 1, .shared_bytes = 16}, stream(),
                                   [to = data.data()](Thread& thread) {
                                     if (thread.lane() > 0) return;
                                     thread.copy_async(thread.shared<float>(0, 4), 0, to);
                                     thread.commit_copies();
                                   }),
                   "thread 0: returns while copies are on their way");
}

TEST_F(EmulationFinds, AWaitForTheWrongGroup) {
  const DeviceBuffer<float> data(std::vector<float>(128, 1.0f), stream());
  EXPECT_COMPLAINT(run_threads<32>({.blocks = 1, .shared_bytes = 512}, stream(),
                                   [to = data.data()](Thread& thread) {
                                     const Shared<float> buffer = thread.shared<float>(0, 128);
                                     const int mine = thread.lane() * 4;
                                     thread.copy_async(buffer, mine, to + mine);
                                     thread.commit_copies();
                                     thread.wait_copies<1>();
                                     to[mine] = buffer[mine];
                                     thread.wait_copies<0>();
                                   }),
                   "has not arrived (wait_copies)");
}

TEST_F(EmulationFinds, ABufferRefilledWhileOthersReadIt) {
  const DeviceBuffer<float> data(std::vector<float>(128, 1.0f), stream());
  const auto refill = [&](bool barrier) {
    run_threads<64>({.blocks = 1, .shared_bytes = 256}, stream(), [=, to = data.data()](Thread& thread) {
      const Shared<float> buffer = thread.shared<float>(0, 64);
      for (int round = 0; round < 2; ++round) {
        if (thread.index() < 16) thread.copy_async(buffer, thread.index() * 4, to + thread.index() * 4);
        thread.commit_copies();
        thread.wait_copies<0>();
        thread.barrier();
        const float value = buffer[63 - thread.index()];
        thread.atomic_add(to + 127, value);
        if (barrier) thread.barrier();
      }
    });
  };
  EXPECT_EQ(complaint([&] { refill(true); }), "");
  EXPECT_COMPLAINT(refill(false), "race: ");
}

TEST_F(EmulationFinds, ABarrierThatNotAllThreadsReach) {
  const auto meet = [&](int least) {
    run_threads<64>({.blocks = 1}, stream(), [=](Thread& thread) {
      if (thread.index() < least) return;
      thread.barrier();
    });
  };
  EXPECT_EQ(complaint([&] { meet(0); }), "");
  EXPECT_COMPLAINT(meet(1),
                   "threads wait for ever: 0 returned; 1-63 in barrier of test_emulation_finds.cpp:");
}

TEST_F(EmulationFinds, BarriersOfTwoBranches) {
  const auto branch = [](Thread& thread) {  // outside of the macro, which would put it on one line
    if (thread.warp() == 0) thread.barrier();
    if (thread.warp() != 0) thread.barrier();
  };
  EXPECT_COMPLAINT(run_threads<64>({.blocks = 1}, stream(), branch),
                   "waits in the barrier of test_emulation_finds.cpp:");
}

TEST_F(EmulationFinds, LanesOfAWarpAtDifferentOperations) {
  EXPECT_COMPLAINT(run_threads<32>({.blocks = 1}, stream(),
                                   [](Thread& thread) {
                                     if (thread.lane() < 16) {
                                       thread.shuffle(1.0f, 0);
                                     } else {
                                       thread.ballot(true);
                                     }
                                   }),
                   "of its warp at ");
  EXPECT_COMPLAINT(run_threads<32>({.blocks = 1}, stream(),
                                   [](Thread& thread) {
                                     for (int i = 0; i < thread.lane(); ++i) thread.ballot(true);
                                   }),
                   "threads wait for ever: 0 returned; 1-31 in ballot of test_emulation_finds.cpp:");
  EXPECT_COMPLAINT(run_threads<32>({.blocks = 1}, stream(),
                                   [](Thread& thread) {
                                     if (thread.lane() == 3) thread.barrier();
                                     thread.warp_barrier();
                                   }),
                   "0-2 in warp_barrier of test_emulation_finds.cpp:");
}

TEST_F(EmulationFinds, AShuffleFromNoLane) {
  EXPECT_COMPLAINT(run_threads<32>({.blocks = 1}, stream(), [](Thread& thread) { thread.shuffle(1, 32); }),
                   "shuffle from lane 32");
}

// Two blocks of one launch have no order: each of these kernels gives the right numbers here in most orders,
// or in all.
TEST_F(EmulationFinds, ACellThatTwoBlocksWrite) {
  if (bigbird::testing::under_sanitizer)
    GTEST_SKIP() << "SKIPPED: a sanitizer's build does not watch what blocks share";
  const DeviceBuffer<float> out(64, stream());
  const auto save = [&](int stride, bool plain, float value) {
    run_threads<32>({.blocks = 2}, stream(), [=, to = out.data()](Thread& thread) {
      const int at = thread.block() * stride + thread.lane();
      if (plain) {
        to[at] = value;
      } else {
        store(to + at, Pack<float, 1>{value});
      }
    });
  };
  for (const bool plain : {true, false}) {
    EXPECT_EQ(complaint([&] { save(32, plain, 1.0f); }), "");
    EXPECT_COMPLAINT(save(31, plain, 1.0f),
                     "race between blocks: writes 4 bytes of global memory at byte 124 of");
    EXPECT_COMPLAINT(save(0, plain, 1.0f), "in the same launch");  // of equal values too
  }
}

TEST_F(EmulationFinds, ACellThatOneBlockWritesAndAnotherReads) {
  if (bigbird::testing::under_sanitizer)
    GTEST_SKIP() << "SKIPPED: a sanitizer's build does not watch what blocks share";
  const DeviceBuffer<float> data(std::vector<float>(128, 1.0f), stream());
  for (const std::uint64_t seed : {0, 1, 2, 3}) {  // the writer before the reader, or behind it
    emulation::options().seed = seed;
    const auto shift = [&](int from, int way) {
      run_threads<32>({.blocks = 2, .shared_bytes = 512}, stream(), [=, x = data.data()](Thread& thread) {
        const int mine = thread.block() * 32 + thread.lane();
        float value = 0.0f;
        if (way == 0) value = x[from + mine];
        if (way == 1) value = load<1>(x + from + mine)[0];
        if (way == 2) {
          const Shared<float> copied = thread.shared<float>(0, 128);
          thread.copy_async(copied, thread.lane() * 4, x + from + mine / 4 * 4);
          thread.commit_copies();
          thread.wait_copies<0>();
          value = copied[thread.lane() * 4];
        }
        x[mine] = value;
      });
    };
    for (const int way : {0, 1, 2}) {
      EXPECT_EQ(complaint([&] { shift(64, way); }), "") << way;
      EXPECT_EQ(complaint([&] { shift(0, way); }), "") << way;
      EXPECT_COMPLAINT(shift(32, way), "race between blocks: ");
    }
  }
}

TEST_F(EmulationFinds, ACellThatBlocksAddToAndOneTouchesOtherwise) {
  if (bigbird::testing::under_sanitizer)
    GTEST_SKIP() << "SKIPPED: a sanitizer's build does not watch what blocks share";
  const DeviceBuffer<float> sum(std::vector<float>(1, 0.0f), stream());
  const DeviceBuffer<float> out(3, stream());
  const auto add = [&](int reader, int writer) {
    run_threads<32>({.blocks = 3}, stream(), [=, x = sum.data(), to = out.data()](Thread& thread) {
      if (thread.block() == reader) {
        if (thread.lane() == 0) to[thread.block()] = x[0];
      } else if (thread.block() == writer) {
        if (thread.lane() == 0) x[0] = 1.0f;
      } else {
        thread.atomic_add(x, 1.0f);
      }
    });
  };
  for (const std::uint64_t seed : {0, 1, 2, 3}) {
    emulation::options().seed = seed;
    EXPECT_EQ(complaint([&] { add(3, 3); }), "");
    EXPECT_COMPLAINT(add(1, 3), "race between blocks: ");
    EXPECT_COMPLAINT(add(3, 1), "race between blocks: ");
  }
  // What one launch wrote is the next one's to read and to write.
  EXPECT_EQ(complaint([&] { add(3, 3); }), "");
}

TEST_F(EmulationFinds, NeighboursOfTwoBytesAsCellsOfTheirOwn) {
  if (bigbird::testing::under_sanitizer)
    GTEST_SKIP() << "SKIPPED: a sanitizer's build does not watch what blocks share";
  const DeviceBuffer<bf16> out(64, stream());
  const auto save = [&](int overlap) {
    run_threads<32>({.blocks = 2}, stream(), [=, to = out.data()](Thread& thread) {
      to[(thread.lane() * 2 + thread.block()) / (1 + overlap)] = bf16{};
    });
  };
  EXPECT_EQ(complaint([&] { save(0); }), "");
  EXPECT_COMPLAINT(save(1), "race between blocks: writes 2 bytes");
}

// No rule is broken by a wrong index; it shows in the numbers.
TEST_F(EmulationFinds, AWrongTransposeIndexByItsNumbers) {
  const std::vector<double> values = random_normal(32 * 32, 8);
  const DeviceBuffer<float> in(rounded<float>(values), stream());
  const auto transpose = [&](bool right) {
    const DeviceBuffer<float> out(32 * 32, stream());
    run_threads<32>({.blocks = 1, .shared_bytes = 32 * 33 * 4}, stream(),
                    [=, from = in.data(), to = out.data()](Thread& thread) {
                      const Shared<float> tile = thread.shared<float>(0, 32 * 33);
                      for (int row = 0; row < 32; ++row)
                        tile[row * 33 + thread.lane()] = from[row * 32 + thread.lane()];
                      thread.barrier();
                      for (int row = 0; row < 32; ++row) {
                        to[row * 32 + thread.lane()] =
                            right ? tile[thread.lane() * 33 + row] : tile[row * 33 + thread.lane()];
                      }
                    });
    std::vector<double> expected;
    for (std::size_t i = 0; i < 32 * 32; ++i) expected.push_back(values[i % 32 * 32 + i / 32]);
    return relative_error(out.download(), expected);
  };
  EXPECT_LT(transpose(true), 1e-6);
  EXPECT_GT(transpose(false), 0.5);
}

TEST_F(EmulationFinds, NothingAfterAnError) {
  // A launch that failed leaves stacks and memory as they were: the next one runs.
  const DeviceBuffer<float> out(64, stream());
  for (int i = 0; i < 3; ++i) {
    EXPECT_NE(complaint([&] {
                run_threads<64>({.blocks = 1}, stream(), [](Thread& thread) {
                  const std::vector<int> owned(100, 1);  // its destructor runs
                  if (thread.index() == 40) thread.shuffle(1, 99);
                  thread.barrier();
                });
              }),
              "");
    run_threads<64>({.blocks = 1}, stream(), [=, to = out.data()](Thread& thread) {
      thread.barrier();
      to[thread.index()] = static_cast<float>(i);
    });
    EXPECT_EQ(out.download(), std::vector<float>(64, static_cast<float>(i)));
  }
}

}  // namespace
}  // namespace bigbird::kernels::cuda::testing
