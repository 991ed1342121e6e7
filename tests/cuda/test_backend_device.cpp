// The CUDA backend as a device: memory, weights of several models, recordings, and refusals.
#include <algorithm>

#include "lib/model/plans/block_plan.h"
#include "tests/cuda/backend_test.h"

namespace bigbird::kernels::cuda::testing {

class BackendDevice : public BackendTest {
 protected:
  AttentionLimits limits() const {
    AttentionLimits most;
    most.slots = 3;
    most.sequences = 2;
    most.tokens = 96;
    most.longest = 64;
    most.heads = 2;
    most.head_size = 32;
    most.block_size = 16;
    most.training = true;
    return most;
  }
};

TEST_P(BackendDevice, DescribesItself) {
  EXPECT_EQ(device_->name().rfind("cuda:0 ", 0), 0u) << device_->name();
  EXPECT_EQ(device_->details().rfind(precision_name(GetParam()) + ", ", 0), 0u) << device_->details();
  EXPECT_EQ(device_->description(), device_->name() + ": " + device_->details());
  EXPECT_EQ(device_->element_type(), narrow() ? ElementType::bf16 : ElementType::fp32);
  EXPECT_EQ(device_->weight_copy_bytes(10), narrow() ? 20u : 0u);
  EXPECT_TRUE(device_->asynchronous());
}

TEST_P(BackendDevice, MemoryIsWhatWasPlanned) {
  const std::size_t before = device_->free_memory();
  constexpr std::size_t arena = std::size_t{8} << 20;
  device_->reserve(arena);
  EXPECT_GE(before - device_->free_memory(), arena);
  const std::size_t reserved = device_->free_memory();
  void* const half = device_->allocate(arena / 2);
  void* const rest = device_->allocate(arena / 2);
  EXPECT_EQ(device_->free_memory(), reserved);
  device_->release(half);
  device_->release(rest);
}

TEST_P(BackendDevice, NoRoomIsABadAllocation) {
  EXPECT_THROW(device_->allocate(std::size_t{1} << 50), std::bad_alloc);
  EXPECT_THROW(device_->reserve(std::size_t{1} << 50), OutOfMemory);
  void* const memory = device_->allocate(1000);  // and it goes on
  device_->zero(memory, 1000);
  device_->synchronize();
  device_->release(memory);
}

TEST_P(BackendDevice, ScratchGrowsWithTheLimits) {
  const std::size_t none = device_->scratch_bytes({});
  AttentionLimits more = limits();
  const std::size_t some = device_->scratch_bytes(more);
  EXPECT_GE(some, none);
  more.tokens *= 1000;
  more.sequences *= 1000;
  EXPECT_GT(device_->scratch_bytes(more), some);
  EXPECT_NO_THROW(device_->reserve_scratch(limits()));
}

TEST_P(BackendDevice, RefusesAttentionThatItHasNoKernelFor) {
  AttentionLimits odd = limits();
  odd.head_size = 136;
  EXPECT_THROW(device_->scratch_bytes(odd), DeviceError);
  EXPECT_THROW(device_->reserve_scratch(odd), DeviceError);
  odd = limits();
  odd.head_size = 128;
  odd.block_size = 10;
  EXPECT_THROW(device_->reserve_scratch(odd), DeviceError);
  AttentionLimits features = limits(), clusters = limits(), documents = limits();
  features.projected = features.features = 16;
  clusters.cluster = 16;
  documents.documents = true;
  for (const auto& [of, name] : {std::pair(features, std::string("attention performer")),
                                 std::pair(clusters, std::string("attention reformer")),
                                 std::pair(documents, std::string("HIBERT's encoder of documents"))}) {
    try {
      device_->scratch_bytes(of);
      FAIL() << name;
    } catch (const DeviceError& error) {
      EXPECT_NE(std::string(error.what()).find(name + " is not computed on CUDA devices"), std::string::npos)
          << error.what();
    }
  }
}

// What is padded takes memory of its own, which is planned.
TEST_P(BackendDevice, PlansTheMemoryOfPaddedAttention) {
  AttentionLimits even = limits();
  even.head_size = 64;
  even.block_size = 64;
  even.tokens = 64 * 64 * 4;
  even.longest = even.tokens;
  AttentionLimits odd = even;
  odd.head_size = 40;
  EXPECT_GT(device_->scratch_bytes(odd), device_->scratch_bytes(even));
}

TEST_P(BackendDevice, ReadsTheWeightsOfTheModelThatIsMeant) {
  Side side(*device_);
  float* const first = side.parameters({1.0f, 2.0f, 3.0f});
  float* const second = side.parameters({10.0f, 20.0f, 30.0f});
  const Values x = side.values({1.0f});
  const Values y = side.unset(2);
  device_->linear_forward(x, {second + 1, nullptr, 1, 2}, y, 1);
  EXPECT_EQ(side.read(y, 2), (Floats{20.0f, 30.0f}));
  device_->linear_forward(x, {first + 1, nullptr, 1, 2}, y, 1);
  EXPECT_EQ(side.read(y, 2), (Floats{2.0f, 3.0f}));
  const Floats changed{5.0f, 6.0f, 7.0f};
  device_->upload(first, changed.data(), changed.size() * sizeof(float));
  device_->refresh_weights(first);
  device_->linear_forward(x, {first, nullptr, 1, 2}, y, 1);
  EXPECT_EQ(side.read(y, 2), (Floats{5.0f, 6.0f}));
}

TEST_P(BackendDevice, WeightsThatAreNotBoundAreADefectOfTheCaller) {
  if (!narrow()) GTEST_SKIP() << "only bf16 has copies";
  Side side(*device_);
  const float* const loose = side.floats({1.0f});
  const Values x = side.values({1.0f});
  const Linear layer{loose, nullptr, 1, 1};
  EXPECT_THROW(device_->linear_forward(x, layer, x, 1), std::logic_error);
}

// A layer with dropout: what a recording reads (inputs, seed, scale) changes between its runs.
TEST_P(BackendDevice, ARecordingSeesNewInputsSeedsAndScales) {
  constexpr Index rows = 5, width = 24, classes = 8;
  Side side(*device_);
  Backend& backend = *device_;
  const float* const w = side.parameters(exact_numbers(width * classes, 1));
  const Values x = side.unset(rows * width);
  const Values dropped = side.unset(rows * width);
  const Values logits = side.unset(rows * classes);
  std::uint64_t* const seed = side.key(0);
  float* const scale = side.floats({0.0f});
  float* const losses = side.floats(Floats(rows));
  const std::int32_t* const labels = side.integers(random_integers(rows, classes, 2));
  const auto work = [&] {
    backend.dropout(x, dropped, rows * width, {0.5f, seed, 1});
    backend.linear_forward(dropped, {w, nullptr, width, classes}, logits, rows);
    backend.cross_entropy({logits, rows, classes}, {labels}, losses, nullptr, {logits, scale});
  };
  for (std::uint64_t call = 0; call < 5; ++call) {
    const Floats numbers = exact_numbers(rows * width, 10 + call);
    const Values fresh = side.values(numbers);
    backend.copy(x.data(), fresh.data(), static_cast<std::size_t>(rows * width) * size_of(x.type()));
    const std::uint64_t next_seed = 100 + call;
    const float next_scale = 1.0f / static_cast<float>(call + 1);
    backend.upload(seed, &next_seed, sizeof next_seed);
    backend.upload(scale, &next_scale, sizeof next_scale);
    backend.replay(1, work);
    const Floats repeated = side.read(logits, rows * classes);
    const Floats repeated_losses = side.read(losses, rows);
    work();
    EXPECT_EQ(repeated, side.read(logits, rows * classes)) << "call " << call;
    EXPECT_EQ(repeated_losses, side.read(losses, rows)) << "call " << call;
  }
  EXPECT_EQ(device_->replays(), 3u);
}

// Attention in a recording: lengths and values change, shapes and plans do not. Meanwhile the scratch of
// another model makes everything move.
TEST_P(BackendDevice, ARecordingOfAttentionSeesNewLengths) {
  constexpr Index heads = 1, width = 32;
  const BlockPlan plan({{{0, 1, 2}, {0, 1, 2}, {0, 2}}});
  const BlockPlanView* const plans[] = {&plan.view()};
  const Index token_offsets[] = {0, 48};
  Index length = 48;
  Side side(*device_);
  Backend& backend = *device_;
  AttentionBatch batch;
  batch.sequences = 1;
  batch.heads = heads;
  batch.head_size = 32;
  batch.block_size = 16;
  batch.token_offsets = token_offsets;
  batch.lengths = &length;
  batch.plans = plans;
  batch.scale = 0.2f;
  const Values qkv = side.values(exact_numbers(48 * 3 * width, 1));
  const Values out = side.unset(48 * width);
  const auto work = [&] {
    backend.attention_forward(batch,
                              {{qkv, 3 * width}, {qkv + width, 3 * width}, {qkv + 2 * width, 3 * width}},
                              {out, width}, nullptr);
  };
  std::vector<Floats> repeated, plain;
  for (const Index next : {48, 40, 17, 33, 48, 20}) {
    length = next;
    backend.prepare_attention(batch);
    backend.replay(5, work);
    repeated.push_back(side.read(out, 48 * width));
    work();
    plain.push_back(side.read(out, 48 * width));
    if (next == 33) {
      AttentionLimits large = limits();
      large.tokens = 1 << 17;
      large.sequences = 16;
      EXPECT_NO_THROW(backend.reserve_scratch(large));
    }
  }
  EXPECT_EQ(repeated, plain);
  EXPECT_EQ(repeated.front(), repeated[4]);  // the same length again
  EXPECT_NE(repeated.front(), repeated[1]);
  EXPECT_EQ(device_->replays(), 2u);
}

TEST_P(BackendDevice, AttentionWithoutPreparationIsADefectOfTheCaller) {
  const Index token_offsets[] = {0};
  AttentionBatch batch;
  batch.head_size = 32;
  batch.block_size = 16;
  batch.token_offsets = token_offsets;
  EXPECT_THROW(device_->attention_forward(batch, {}, {}, nullptr), std::logic_error);
}

BIGBIRD_BACKEND_TESTS(BackendDevice);

}  // namespace bigbird::kernels::cuda::testing
