// What the backend is built from: the arena, copies through the ring, recordings, and matrix products of any
// shape.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <numeric>
#include <tuple>
#include <vector>

#include "kernels/cuda/device_memory.h"
#include "kernels/cuda/gemm.h"
#include "kernels/cuda/launchers.h"
#include "kernels/cuda/recordings.h"
#include "tests/cuda/cuda_test.h"

namespace bigbird::kernels::cuda::testing {

class DeviceMemoryTest : public CudaTest {};

TEST_F(DeviceMemoryTest, HandsOutAlignedSlicesOfTheArenaAndTakesThemBack) {
  DeviceMemory memory;
  memory.reserve(4096);
  void* first = memory.allocate(1000);
  void* second = memory.allocate(1);
  void* third = memory.allocate(2000);
  for (void* slice : {first, second, third}) EXPECT_EQ(reinterpret_cast<std::uintptr_t>(slice) % 256, 0u);
  EXPECT_EQ(static_cast<std::byte*>(second) - static_cast<std::byte*>(first), 1024);
  EXPECT_EQ(static_cast<std::byte*>(third) - static_cast<std::byte*>(second), 256);
  memory.release(first);
  EXPECT_EQ(memory.allocate(512), first);  // the first gap that is large enough
  memory.release(second);                  // joins what is left of it
  EXPECT_EQ(memory.allocate(768), static_cast<std::byte*>(first) + 512);
}

TEST_F(DeviceMemoryTest, AnEmptyArenaIsWholeAgainWhateverTheOrderOfReleases) {
  DeviceMemory memory;
  memory.reserve(3 * 256);
  for (const auto& order : {std::vector<int>{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {0, 2, 1}}) {
    std::vector<void*> slices;
    for (int i = 0; i < 3; ++i) slices.push_back(memory.allocate(200));
    void* const base = slices[0];
    for (const int i : order) memory.release(slices[static_cast<std::size_t>(i)]);
    void* all = memory.allocate(3 * 256);
    EXPECT_EQ(all, base);
    memory.release(all);
  }
}

TEST_F(DeviceMemoryTest, WhatDoesNotFitIntoTheArenaIsAPieceOfItsOwn) {
  DeviceMemory memory;
  memory.reserve(1024);
  void* inside = memory.allocate(512);
  void* outside = memory.allocate(4096);
  EXPECT_NE(outside, nullptr);
  EXPECT_EQ(memory.allocate(512), static_cast<std::byte*>(inside) + 512);
  memory.release(outside);
}

TEST_F(DeviceMemoryTest, SaysHowMuchWasAskedForAndHowMuchThereIs) {
  DeviceMemory memory;
  const std::size_t most = std::size_t{1} << 50;
  try {
    memory.allocate(most);
    FAIL() << "a petabyte was given out";
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.asked(), most);
    EXPECT_LT(error.free(), most);
    EXPECT_NE(std::string(error.what()).find(std::to_string(most)), std::string::npos);
  }
}

TEST_F(DeviceMemoryTest, TheArenaComesBeforeTheFirstAllocation) {
  DeviceMemory memory;
  memory.allocate(1);
  EXPECT_THROW(memory.reserve(1024), std::logic_error);
}

class TransfersTest : public CudaTest {};

std::vector<std::byte> bytes_of_seed(std::size_t count, std::uint32_t seed) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) {
    bytes[i] = static_cast<std::byte>((i * 2654435761u + seed * 40503u) >> 7);
  }
  return bytes;
}

TEST_F(TransfersTest, EverySizeArrivesWhole) {
  Transfers transfers(stream());
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{1000}, Transfers::small_bytes, Transfers::small_bytes + 1,
        Transfers::slot_bytes, Transfers::slot_bytes + 1, 3 * Transfers::slot_bytes - 7}) {
    DevicePiece piece(size + 1);
    const std::vector<std::byte> sent = bytes_of_seed(size, static_cast<std::uint32_t>(size));
    transfers.upload(piece.data(), sent.data(), size);
    std::vector<std::byte> received(size);
    transfers.download(received.data(), piece.data(), size);
    EXPECT_EQ(received, sent) << size << " bytes";
  }
}

TEST_F(TransfersTest, TheRingGoesRoundWhileTheSourceChanges) {
  Transfers transfers(stream());
  const std::size_t uploads = 3 * Transfers::slot_count + 5;
  const std::size_t size = Transfers::small_bytes / 8;
  DevicePiece piece(uploads * size);
  std::vector<std::byte> source;
  for (std::size_t i = 0; i < uploads; ++i) {
    source = bytes_of_seed(size, static_cast<std::uint32_t>(i));
    transfers.upload(static_cast<std::byte*>(piece.data()) + i * size, source.data(), size);
    std::memset(source.data(), 0xee, size);
  }
  std::vector<std::byte> received(uploads * size);
  transfers.download(received.data(), piece.data(), received.size());
  for (std::size_t i = 0; i < uploads; ++i) {
    const std::vector<std::byte> expected = bytes_of_seed(size, static_cast<std::uint32_t>(i));
    ASSERT_EQ(std::memcmp(received.data() + i * size, expected.data(), size), 0) << "upload " << i;
  }
}

// Of all sizes and at odd addresses, more than the ring holds, from a source that changes.
TEST_F(TransfersTest, WhatIsGatheredArrivesTogether) {
  Transfers transfers(stream());
  const std::vector<std::size_t> sizes{1,
                                       8,
                                       15,
                                       16,
                                       4097,
                                       0,
                                       Transfers::small_bytes + 3,
                                       Transfers::slot_bytes - 16,
                                       Transfers::slot_bytes,
                                       3 * Transfers::slot_bytes + 5,
                                       Transfers::slot_bytes * Transfers::slot_count / 2};
  for (std::uint32_t round = 0; round < 12; ++round) {
    std::vector<std::vector<std::byte>> sent;
    std::vector<DevicePiece> pieces;
    const auto place = [&](std::size_t i) {
      return static_cast<std::byte*>(pieces[i].data()) + (round + i) % 3 * 16 + (i % 4 == 2 ? 1 : 0);
    };
    transfers.gather();
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      sent.push_back(bytes_of_seed(sizes[i], round * 100 + static_cast<std::uint32_t>(i)));
      pieces.emplace_back(sizes[i] + 64);
      std::vector<std::byte> source = sent.back();
      transfers.upload(place(i), source.data(), sizes[i]);
      std::fill(source.begin(), source.end(), std::byte{0xee});
    }
    transfers.bring();
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      std::vector<std::byte> received(sizes[i]);
      transfers.download(received.data(), place(i), sizes[i]);
      ASSERT_TRUE(received == sent[i]) << "round " << round << ", piece " << i;
    }
  }
}

// What waits arrives at bring() alone, later pieces over earlier ones that went alone, and never when it was
// given up.
TEST_F(TransfersTest, WhatIsGatheredWaitsUntilItIsBrought) {
  Transfers transfers(stream());
  DevicePiece piece(64);
  const auto now = [&] {
    std::byte value{};
    transfers.download(&value, piece.data(), 1);
    return value;
  };
  const std::byte one{1}, two{2}, three{3};
  transfers.upload(piece.data(), &one, 1);
  transfers.gather();
  transfers.upload(piece.data(), &two, 1);
  EXPECT_EQ(now(), one);
  transfers.bring();
  EXPECT_EQ(now(), two);
  transfers.gather();
  transfers.upload(piece.data(), &three, 1);
  transfers.forget();
  EXPECT_EQ(now(), two);
  transfers.upload(piece.data(), &one, 1);
  EXPECT_EQ(now(), one);
}

TEST_F(TransfersTest, UploadsKeepTheirOrderWithTheWork) {
  Transfers transfers(stream());
  // Twice as many floats as fit a slot, each round uploaded over the values that the last round still has to
  // read.
  const Index count = static_cast<Index>(2 * Transfers::slot_bytes / sizeof(float));
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(float);
  DevicePiece values(bytes);
  DevicePiece sum(bytes);
  fill_zero(sum.data(), bytes, stream());
  std::vector<float> source(static_cast<std::size_t>(count));
  for (int round = 1; round <= 3; ++round) {
    std::fill(source.begin(), source.end(), static_cast<float>(round));
    transfers.upload(values.data(), source.data(), bytes);
    add(static_cast<const float*>(values.data()), static_cast<float*>(sum.data()), count, stream());
  }
  transfers.download(source.data(), sum.data(), bytes);
  EXPECT_EQ(source, std::vector<float>(static_cast<std::size_t>(count), 6.0f));
}

class RecordingsTest : public CudaTest {};

TEST_F(RecordingsTest, RunsThenRecordsThenReplays) {
  DeviceBuffer<float> total(std::vector<float>{0.0f, 0.0f}, stream());
  DeviceBuffer<float> step(std::vector<float>{1.0f, 10.0f}, stream());
  Recordings recordings(stream());
  int calls = 0;
  const auto work = [&] {
    ++calls;
    add(step.data(), total.data(), 2, stream());
  };
  for (int i = 0; i < 4; ++i) recordings.replay(7, work);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(recordings.replays(), 2u);
  EXPECT_EQ(total.download(), (std::vector<float>{4.0f, 40.0f}));
  step.upload({2.0f, 20.0f});  // recordings read what is there when they run
  recordings.replay(7, work);
  EXPECT_EQ(total.download(), (std::vector<float>{6.0f, 60.0f}));
}

TEST_F(RecordingsTest, ForgetsTheKeyThatWasUsedLongestAgo) {
  Recordings recordings(stream());
  int calls = 0;
  const auto work = [&] { ++calls; };
  for (std::uint64_t key = 0; key < Recordings::most; ++key) recordings.replay(key, work);
  recordings.replay(0, work);                 // recorded, and now the latest
  recordings.replay(Recordings::most, work);  // takes the place of key 1
  calls = 0;
  recordings.replay(0, work);
  EXPECT_EQ(calls, 0);
  recordings.replay(1, work);  // as at the first time
  recordings.replay(1, work);  // recorded
  EXPECT_EQ(calls, 2);
  recordings.replay(1, work);
  EXPECT_EQ(calls, 2);
}

TEST_F(RecordingsTest, WorkThatFailsIsNotRecorded) {
  DeviceBuffer<float> total(std::vector<float>{0.0f}, stream());
  DeviceBuffer<float> one(std::vector<float>{1.0f}, stream());
  Recordings recordings(stream());
  bool fail = false;
  const auto work = [&] {
    add(one.data(), total.data(), 1, stream());
    if (fail) throw std::runtime_error("in the middle");
  };
  recordings.replay(1, work);
  fail = true;
  EXPECT_THROW(recordings.replay(1, work), std::runtime_error);
  EXPECT_FALSE(recordings.recording());
  EXPECT_EQ(total.download(), std::vector<float>{1.0f});
  fail = false;
  recordings.replay(1, work);
  recordings.replay(1, work);
  EXPECT_EQ(recordings.replays(), 1u);
  EXPECT_EQ(total.download(), std::vector<float>{3.0f});
}

TEST_F(RecordingsTest, DoNotNest) {
  Recordings recordings(stream());
  const auto nothing = [] {};
  recordings.replay(1, nothing);
  recordings.replay(2, nothing);
  EXPECT_THROW(recordings.replay(1, [&] { recordings.replay(2, nothing); }), std::logic_error);
}

// Both ways to take a product, over shapes, transposes, distances between rows and types.
enum class Types { floats, bf16s, bf16s_to_floats };
using GemmCase = std::tuple<Types, bool, bool, bool>;  // types, transpose a, transpose b, accumulate

class GemmTest : public CudaTest, public ::testing::WithParamInterface<GemmCase> {
 protected:
  template <class Input, class Output>
  void check(Index m, Index n, Index k) {
    const auto [types, transpose_a, transpose_b, accumulate] = GetParam();
    const Index a_stride = (transpose_a ? m : k) + 3;
    const Index b_stride = (transpose_b ? k : n) + 1;
    const Index d_stride = n + 2;
    const auto a = stored<Input>(random_normal((transpose_a ? k : m) * a_stride, 1));
    const auto b = stored<Input>(random_normal((transpose_b ? n : k) * b_stride, 2));
    const auto before = stored<Output>(random_normal(m * d_stride, 3));
    std::vector<double> expected = before;
    for (Index row = 0; row < m; ++row) {
      for (Index column = 0; column < n; ++column) {
        double sum = accumulate ? before[static_cast<std::size_t>(row * d_stride + column)] : 0.0;
        for (Index i = 0; i < k; ++i) {
          sum += a[static_cast<std::size_t>(transpose_a ? i * a_stride + row : row * a_stride + i)] *
                 b[static_cast<std::size_t>(transpose_b ? column * b_stride + i : i * b_stride + column)];
        }
        expected[static_cast<std::size_t>(row * d_stride + column)] = sum;
      }
    }
    const DeviceBuffer<Input> device_a(rounded<Input>(a), stream());
    const DeviceBuffer<Input> device_b(rounded<Input>(b), stream());
    const auto library = make_gemm_library();
    const DevicePiece workspace(library->workspace_bytes());
    library->use_workspace(workspace.data());
    for (const bool plain : {false, true}) {
      const DeviceBuffer<Output> device_d(rounded<Output>(before), stream());
      Gemm gemm;
      gemm.m = m;
      gemm.n = n;
      gemm.k = k;
      gemm.a = {static_cast<const Input*>(device_a.data()), a_stride};
      gemm.b = {static_cast<const Input*>(device_b.data()), b_stride};
      gemm.d = {device_d.data(), d_stride};
      gemm.transpose_a = transpose_a;
      gemm.transpose_b = transpose_b;
      gemm.accumulate = accumulate;
      plain ? plain_gemm(gemm, stream()) : library->run(gemm, stream());
      EXPECT_LT(relative_error(device_d.download(), expected), 2 * unit_roundoff<Output> + 2e-6)
          << (plain ? "plain " : "library ") << m << " x " << n << " x " << k;
    }
  }
};

TEST_P(GemmTest, IsTheProductForEveryShape) {
  for (const auto& [m, n, k] : {std::tuple<Index, Index, Index>{1, 1, 1},
                                {1, 7, 3},
                                {3, 2, 1},
                                {5, 1, 33},
                                {16, 24, 8},
                                {33, 19, 17},
                                {66, 130, 37},
                                {2, 3, 0}}) {
    switch (std::get<0>(GetParam())) {
      case Types::floats:
        check<float, float>(m, n, k);
        break;
      case Types::bf16s:
        check<bf16, bf16>(m, n, k);
        break;
      case Types::bf16s_to_floats:
        check<bf16, float>(m, n, k);
        break;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, GemmTest,
                         ::testing::Combine(::testing::Values(Types::floats, Types::bf16s,
                                                              Types::bf16s_to_floats),
                                            ::testing::Bool(), ::testing::Bool(), ::testing::Bool()));

}  // namespace bigbird::kernels::cuda::testing
