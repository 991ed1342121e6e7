// Weights that are packed once, and activations in bf16: the same bytes as packing at every call, and as the
// same numbers widened to fp32.
#include <limits>
#include <stdexcept>

#include "tests/kernels/kernel_test.h"

namespace bigbird::kernels {
namespace {

using Narrow = std::vector<bf16>;

bool equal(const Narrow& a, const Narrow& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(bf16)) == 0;
}

// What is rounded to bf16 next may be computed a little less exactly: then the other neighbour comes out
// where a number lies between two. What hardly is a number, far down an activation, may be zero.
bool equal_but_for_neighbours(const Narrow& a, const Narrow& b) {
  if (a.size() != b.size()) return false;
  std::size_t unequal = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].bits == b[i].bits) continue;
    if (std::max(std::abs(to_float(a[i])), std::abs(to_float(b[i]))) < 1e-30f) continue;
    if (std::abs(a[i].bits - b[i].bits) > 1) return false;
    ++unequal;
  }
  return unequal <= 2 + a.size() / 20;
}

struct Sizes {
  Index rows, in, out;
};
const Sizes all_sizes[] = {{1, 1, 1},       {3, 33, 5}, {40, 64, 31},   {7, 100, 300},
                           {130, 96, 1100}, {5, 2, 64}, {70, 1600, 100}};

class PackedWeights : public KernelTest {
 protected:
  std::unique_ptr<Backend> backend(Precision precision = Precision::bf16) const {
    return make_cpu_backend(GetParam().options(precision));
  }
};

// Packed memory, 64-byte aligned.
class Packed {
 public:
  Packed(Backend& backend, const Linear& layer) : backend_(backend) {
    memory_ = backend.allocate(backend.packed_weight_bytes(layer, WeightForm::bf16));
    backend.pack_weight(layer, WeightForm::bf16, memory_);
  }
  ~Packed() { backend_.release(memory_); }
  Packed(const Packed&) = delete;
  Packed& operator=(const Packed&) = delete;
  const void* data() const { return memory_; }

 private:
  Backend& backend_;
  void* memory_;
};

TEST_P(PackedWeights, GiveTheBytesOfWeightsThatAreNotPackedAndAreNotReadAgain) {
  const auto plain = backend(), packing = backend();
  for (const Sizes& of : all_sizes) {
    SCOPED_TRACE(::testing::Message() << of.rows << " x " << of.in << " -> " << of.out);
    const Floats x = random_floats(static_cast<std::size_t>(of.rows * of.in), 1),
                 bias = random_floats(static_cast<std::size_t>(of.out), 3);
    Floats weight = random_floats(static_cast<std::size_t>(of.in * of.out), 2);
    const Linear layer{weight.data(), bias.data(), of.in, of.out};
    const auto results = [&](Backend& on) {
      Guarded linear(static_cast<std::size_t>(of.rows * of.out)),
          inner(static_cast<std::size_t>(of.rows * of.out));
      on.linear_forward(x.data(), layer, linear.data(), of.rows);
      on.linear_activation_forward(x.data(), layer, Activation::gelu_tanh, nullptr, inner.data(), of.rows);
      return std::pair{linear.take(), inner.take()};
    };
    const auto expected = results(*plain);
    if (packing->packed_weight_bytes(layer, WeightForm::bf16) == 0) {
      EXPECT_THROW(packing->pack_weight(layer, WeightForm::bf16, nullptr), std::logic_error);
      EXPECT_TRUE(packing->packed_weight_layout(WeightForm::bf16).empty());
      continue;
    }
    EXPECT_FALSE(packing->packed_weight_layout(WeightForm::bf16).empty());
    const Packed packed(*packing, layer);
    packing->bind_packed_weight(layer, WeightForm::bf16, packed.data());
    std::fill(weight.begin(), weight.end(), std::nanf(""));
    EXPECT_EQ(results(*packing), expected);
    // A part of it would be read from where nothing may be left.
    if (of.out > 1) {
      Floats y(static_cast<std::size_t>(of.rows * of.out));
      const Linear part{weight.data() + of.in, nullptr, of.in, 1};
      EXPECT_THROW(packing->linear_forward(x.data(), part, y.data(), of.rows), std::logic_error);
    }
    packing->unbind_packed_weight(layer.weight);
    EXPECT_TRUE(std::isnan(results(*packing).first.front())) << "still bound";
  }
}

TEST_P(PackedWeights, AreOfBf16Alone) {
  const Floats weight(64, 1.0f);
  EXPECT_EQ(backend(Precision::fp32)->packed_weight_bytes({weight.data(), nullptr, 8, 8}, WeightForm::bf16),
            0u);
  EXPECT_EQ(backend(Precision::fp32)->element_type(), ElementType::fp32);
  EXPECT_EQ(backend()->stream_type(), ElementType::fp32);
}

TEST_P(PackedWeights, LinearLayersTakeAndGiveBf16AsRoundedFloats) {
  const auto on = backend();
  if (on->element_type() != ElementType::bf16) GTEST_SKIP() << "activations are fp32 here";
  for (const Sizes& of : all_sizes) {
    SCOPED_TRACE(::testing::Message() << of.rows << " x " << of.in << " -> " << of.out);
    const Narrow x = as_bf16(random_floats(static_cast<std::size_t>(of.rows * of.in), 1));
    const Floats wide = as_floats(x), weight = random_floats(static_cast<std::size_t>(of.in * of.out), 2),
                 bias = random_floats(static_cast<std::size_t>(of.out), 3);
    const Linear layer{weight.data(), bias.data(), of.in, of.out};
    const std::size_t count = static_cast<std::size_t>(of.rows * of.out);
    for (const int threads : {1, 3}) {
      set_thread_count(threads);
      Floats expected(count), from_narrow(count);
      Narrow narrow(count), of_floats(count);
      on->linear_forward(wide.data(), layer, expected.data(), of.rows);
      on->linear_forward(x.data(), layer, from_narrow.data(), of.rows);
      EXPECT_EQ(from_narrow, expected);
      on->linear_forward(x.data(), layer, narrow.data(), of.rows);
      EXPECT_TRUE(equal(narrow, as_bf16(expected)));
      on->linear_activation_forward(wide.data(), layer, Activation::gelu_tanh, nullptr, expected.data(),
                                    of.rows);
      on->linear_activation_forward(wide.data(), layer, Activation::gelu_tanh, nullptr, of_floats.data(),
                                    of.rows);
      EXPECT_TRUE(equal_but_for_neighbours(of_floats, as_bf16(expected)));
    }
  }
}

// bf16 keeps 2^-8 of a number; what comes before the rounding is exact to a fortieth of that.
TEST_P(PackedWeights, ActivationsThatAreRoundedNextAreAsGoodAsTheRounding) {
  const auto on = backend();
  if (on->element_type() != ElementType::bf16) GTEST_SKIP() << "activations are fp32 here";
  Floats pre;
  for (int i = -9 * 64; i <= 20 * 64; ++i) pre.push_back(static_cast<float>(i) / 64.0f + 0x1p-9f);
  const std::size_t whole = pre.size();
  const float infinity = std::numeric_limits<float>::infinity();
  pre.insert(pre.end(), {infinity, 200.0f, std::nanf("")});
  for (const Activation form : {Activation::gelu_tanh, Activation::silu}) {
    Narrow got(pre.size());
    on->activation_forward(pre.data(), got.data(), static_cast<Index>(pre.size()), form);
    for (std::size_t i = 0; i < whole; ++i) {
      const double x = static_cast<double>(pre[i]), sign = form == Activation::silu ? 1.0 : 2.0;
      const double inner = form == Activation::silu ? x : std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x);
      const double exact = x / (1.0 + std::exp(-sign * inner));
      ASSERT_LE(std::abs(static_cast<double>(to_float(got[i])) - exact), std::abs(exact) * 0x1.08p-8) << x;
    }
    EXPECT_EQ(to_float(got[whole]), infinity);
    EXPECT_EQ(to_float(got[whole + 1]), 200.0f);
    EXPECT_TRUE(std::isnan(to_float(got[whole + 2])));
  }
}

TEST_P(PackedWeights, AttentionTakesAndGivesBf16AsRoundedFloats) {
  const auto on = backend();
  if (on->element_type() != ElementType::bf16) GTEST_SKIP() << "activations are fp32 here";
  // Sequences of 4 and 2 blocks, not filled; every block sees every other, the first twice.
  for (const auto& [block_size, head_size] : {std::pair<Index, Index>{16, 24}, {5, 7}, {64, 64}}) {
    SCOPED_TRACE(::testing::Message() << "blocks of " << block_size << ", heads of " << head_size);
    constexpr Index heads = 2;
    const Index rows[] = {4 * block_size - 2, 2 * block_size}, lengths[] = {rows[0] - 1, block_size + 1};
    const Index offsets[] = {0, rows[0], rows[0] + rows[1]};
    std::vector<std::int32_t> row_offsets[2], key_blocks[2];
    BlockPlanView plans[2];
    const BlockPlanView* views[2];
    for (std::size_t s = 0; s < 2; ++s) {
      const std::int32_t blocks = s == 0 ? 4 : 2;
      row_offsets[s].push_back(0);
      for (std::int32_t row = 0; row < heads * blocks; ++row) {
        for (std::int32_t key = 0; key <= blocks; ++key) key_blocks[s].push_back(key % blocks);
        row_offsets[s].push_back(static_cast<std::int32_t>(key_blocks[s].size()));
      }
      plans[s] = {0, heads, blocks, row_offsets[s].data(), key_blocks[s].data(), nullptr, nullptr};
      views[s] = &plans[s];
    }
    AttentionBatch batch;
    batch.sequences = 2;
    batch.heads = heads;
    batch.head_size = head_size;
    batch.block_size = block_size;
    batch.token_offsets = offsets;
    batch.lengths = lengths;
    batch.plans = views;
    batch.scale = 0.3f;
    const Index tokens = offsets[2], width = heads * head_size;
    const Narrow qkv = as_bf16(random_floats(static_cast<std::size_t>(tokens * 3 * width), 4, 2.0f));
    const Floats wide = as_floats(qkv);
    const auto inputs = [&](ConstValues from) {
      return QueryKeyValue{{from, 3 * width}, {from + width, 3 * width}, {from + 2 * width, 3 * width}};
    };
    for (const int threads : {1, 3}) {
      set_thread_count(threads);
      Floats expected(static_cast<std::size_t>(tokens * width), 5.0f),
          sums(static_cast<std::size_t>(heads * tokens)), narrow_sums(sums.size());
      Narrow out(expected.size(), to_bf16(7.0f));
      on->attention_forward(batch, inputs(wide.data()), {expected.data(), width}, sums.data());
      on->attention_forward(batch, inputs(qkv.data()), {out.data(), width}, narrow_sums.data());
      EXPECT_TRUE(equal(out, as_bf16(expected)));
      for (Index head = 0; head < heads; ++head) {
        for (std::size_t s = 0; s < 2; ++s) {
          const auto first = static_cast<std::size_t>(head * tokens + offsets[s]);
          for (std::size_t t = first; t < first + static_cast<std::size_t>(lengths[s]); ++t)
            ASSERT_EQ(narrow_sums[t], sums[t]) << t;
        }
      }
    }
  }
}

TEST_P(PackedWeights, RowsOfBf16AreTurnedAndPickedOutAsRoundedFloats) {
  const auto on = backend();
  if (on->element_type() != ElementType::bf16) GTEST_SKIP() << "activations are fp32 here";
  constexpr Index rows = 9, heads = 3, head_size = 10, half = 4, stride = heads * head_size + 3;
  Narrow x = as_bf16(random_floats(rows * stride, 5));
  Floats wide = as_floats(x);
  const Floats rotations = random_floats(rows * 2 * half, 6);
  std::vector<std::int32_t> positions(rows);
  for (std::size_t i = 0; i < positions.size(); ++i) positions[i] = static_cast<std::int32_t>(i * 5 % rows);
  const Rotary rotary{positions.data(), rotations.data(), heads, head_size, half};
  on->rotate({wide.data(), stride}, rotary, rows, false);
  on->rotate({x.data(), stride}, rotary, rows, false);
  EXPECT_TRUE(equal(x, as_bf16(wide)));

  const std::vector<std::int32_t> picked{7, 0, 3};
  Narrow some(3 * stride), expected;
  on->gather_rows(x.data(), picked.data(), some.data(), 3, stride);
  for (const std::int32_t row : picked)
    expected.insert(expected.end(), x.begin() + row * stride, x.begin() + (row + 1) * stride);
  EXPECT_TRUE(equal(some, expected));
}

TEST_P(PackedWeights, ClearedMemoryIsZerosAndStaysUsable) {
  const auto on = backend();
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{4096 * 5 + 12}, std::size_t{20} << 20}) {
    auto* const memory = static_cast<unsigned char*>(on->allocate(bytes + 64));
    std::memset(memory, 7, bytes + 64);
    on->clear(memory + 4, bytes);
    EXPECT_TRUE(std::all_of(memory + 4, memory + 4 + bytes, [](unsigned char byte) { return byte == 0; }));
    EXPECT_EQ(memory[3], 7);
    EXPECT_EQ(memory[4 + bytes], 7);
    std::memset(memory, 9, bytes);
    EXPECT_EQ(memory[bytes / 2], 9);
    on->release(memory);
  }
}

BIGBIRD_KERNEL_TESTS(PackedWeights);

}  // namespace
}  // namespace bigbird::kernels
