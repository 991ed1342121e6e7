// Products in int8 against reference/: the integers, the sums, rows of zeros, outliers, numbers that are not
// finite, by the processor's instructions and without them.
#include "kernels/cpu/int8.h"

#include <cstdint>
#include <cstdlib>

#include "reference/int8_linear.h"
#include "reference/layers.h"
#include "tests/kernels/kernel_test.h"

namespace bigbird::kernels {
namespace {

struct Int8Shape {
  Index m, n, k;
};
// Depths that are no multiple of 4, rows around the tile, channels around the panel.
const Int8Shape int8_shapes[] = {{1, 1, 1},      {2, 3, 5},     {3, 64, 4},     {4, 65, 7},
                                 {5, 63, 64},    {6, 128, 33},  {7, 129, 127},  {13, 200, 768},
                                 {20, 70, 1030}, {50, 330, 66}, {70, 100, 330}, {96, 64, 192}};

std::size_t cells(Index rows, Index columns) {
  return static_cast<std::size_t>(rows * columns);
}

// 64-byte aligned, as packed memory is.
class PackedBytes {
 public:
  explicit PackedBytes(Index bytes)
      : bytes_(static_cast<std::size_t>(bytes)), data_(std::aligned_alloc(64, (bytes_ + 127) / 64 * 64)) {
    std::memset(data_, 0x5A, (bytes_ + 127) / 64 * 64);
  }
  ~PackedBytes() {
    for (std::size_t i = bytes_; i < (bytes_ + 127) / 64 * 64; ++i)
      EXPECT_EQ(static_cast<unsigned char*>(data_)[i], 0x5A) << "written behind the packed memory";
    std::free(data_);
  }
  PackedBytes(const PackedBytes&) = delete;
  PackedBytes& operator=(const PackedBytes&) = delete;
  void* get() const { return data_; }

 private:
  std::size_t bytes_;
  void* data_;
};

// Of very different sizes, positive and negative, with all 24 bits in use.
Floats spread_floats(std::size_t count, std::uint32_t seed) {
  std::mt19937 generator(seed);
  Floats values(count);
  for (float& value : values) {
    const float mantissa = 1.0f + static_cast<float>(generator() >> 9) * 0x1p-23f;
    const int exponent = static_cast<int>(generator() % 12u) - 9;
    value = std::ldexp((generator() & 1u) != 0 ? mantissa : -mantissa, exponent);
  }
  return values;
}

std::vector<const Int8Kernels*> all_int8_kernels() {
  std::vector<const Int8Kernels*> all{&plain_int8_kernels()};
  if (vnni_int8_kernels() != nullptr) all.push_back(vnni_int8_kernels());
  if (amx_int8_kernels() != nullptr) all.push_back(amx_int8_kernels());
  if (emulated_amx_int8_kernels() != nullptr) all.push_back(emulated_amx_int8_kernels());
  return all;
}

class Int8Kernel : public ::testing::TestWithParam<const Int8Kernels*> {
 protected:
  // c of m rows, from channel 0 on.
  static Floats product(const Int8Kernels& kernels, const Floats& x, const Floats& w, const Int8Shape& s) {
    const PackedBytes a(s.m * int8_row_bytes(s.k)), b(int8_weight_bytes(s.n, s.k));
    std::vector<Int8Row> facts(cells(s.m, 1));
    Guarded c(cells(s.m, s.n));
    kernels.quantize(x.data(), s.k, s.m, s.k, a.get(), facts.data());
    pack_int8_weight(w.data(), s.n, s.k, b.get());
    kernels.multiply({s.m, s.n, s.k, a.get(), facts.data(), b.get(), s.n, 0, c.data(), s.n});
    return c.take();
  }
};

TEST_P(Int8Kernel, ActivationsBecomeTheIntegersAndScalesOfTheReference) {
  for (const Int8Shape& s : int8_shapes) {
    SCOPED_TRACE(::testing::Message() << s.m << " x " << s.k);
    Floats x = spread_floats(cells(s.m, s.k), 1);
    if (s.m > 2) std::fill_n(x.begin() + static_cast<std::ptrdiff_t>(s.k), s.k, 0.0f);  // a row of zeros
    if (s.m > 3) x[cells(2, s.k)] = 3e38f;                                              // an outlier
    if (s.m > 4) x[cells(3, s.k)] = 1e-36f;
    const auto expected =
        reference::int8_activations(x, static_cast<std::size_t>(s.m), static_cast<std::size_t>(s.k));
    const PackedBytes a(s.m * int8_row_bytes(s.k));
    std::vector<Int8Row> facts(cells(s.m, 1));
    GetParam()->quantize(x.data(), s.k, s.m, s.k, a.get(), facts.data());
    const auto* const bytes = static_cast<const std::uint8_t*>(a.get());
    for (Index i = 0; i < s.m; ++i) {
      const Int8Row row = facts[static_cast<std::size_t>(i)];
      EXPECT_EQ(row.scale, expected.scales[static_cast<std::size_t>(i)]);
      for (Index p = 0; p < int8_row_bytes(s.k); ++p) {
        const int wanted = p < s.k ? expected.integers[cells(i, s.k) + static_cast<std::size_t>(p)] : 0;
        ASSERT_EQ(int{bytes[i * int8_row_bytes(s.k) + p]} - row.zero, wanted) << "at " << i << ", " << p;
      }
    }
  }
}

// Where both ends of a row lie half a step from a whole number, rounding may give 256 for its largest one,
// which is 255 and never 0.
TEST_P(Int8Kernel, TheLargestOfARowIsNeverTheSmallest) {
  constexpr Index rows = 255;
  Floats x;
  for (Index row = 0; row < rows; ++row) {
    const float least = -(static_cast<float>(row) + 0.5f);
    x.insert(x.end(), {least, least + 255.0f, 0.0f, 0.25f});
  }
  const PackedBytes a(rows * int8_row_bytes(4));
  std::vector<Int8Row> facts(cells(rows, 1));
  GetParam()->quantize(x.data(), 4, rows, 4, a.get(), facts.data());
  const auto* const bytes = static_cast<const std::uint8_t*>(a.get());
  for (Index row = 0; row < rows; ++row) {
    const auto* const four = bytes + row * int8_row_bytes(4);
    EXPECT_LE(four[0], 1) << row;
    EXPECT_GE(four[1], 254) << row;
  }
}

TEST_P(Int8Kernel, ActivationsInBf16BecomeThoseOfTheFloatsThatTheyAre) {
  constexpr Index rows = 5, depth = 77, step = 80;
  const Floats full = spread_floats(cells(rows, step), 2);
  std::vector<bf16> narrow;
  Floats wide;
  for (const float value : full) {
    narrow.push_back(to_bf16(value));
    wide.push_back(to_float(narrow.back()));
  }
  narrow[3] = to_bf16(INFINITY);
  wide[3] = INFINITY;
  const PackedBytes a(rows * int8_row_bytes(depth)), b(rows * int8_row_bytes(depth));
  std::vector<Int8Row> of_bf16(rows), of_floats(rows);
  GetParam()->quantize_bf16(narrow.data(), step, rows, depth, a.get(), of_bf16.data());
  GetParam()->quantize(wide.data(), step, rows, depth, b.get(), of_floats.data());
  EXPECT_EQ(std::memcmp(a.get(), b.get(), cells(rows, int8_row_bytes(depth))), 0);
  EXPECT_TRUE(std::isnan(of_bf16[0].scale) && std::isnan(of_floats[0].scale));
  for (std::size_t row = 1; row < rows; ++row) {
    EXPECT_EQ(of_bf16[row].scale, of_floats[row].scale);
    EXPECT_EQ(of_bf16[row].zero, of_floats[row].zero);
  }
}

// Numbers of one sign, as behind relu and nearly so behind gelu, have all 255 steps for themselves.
TEST_P(Int8Kernel, RowsOfOneSignHaveTwiceAsFineSteps) {
  const Floats rows{0.0f, 1.0f, 255.0f, 7.0f, 0.0f, -1.0f, -255.0f, -7.0f, -127.0f, 1.0f, 128.0f, 7.0f};
  const PackedBytes a(3 * int8_row_bytes(4));
  std::vector<Int8Row> facts(3);
  GetParam()->quantize(rows.data(), 4, 3, 4, a.get(), facts.data());
  const int zeros[] = {0, 255, 127};
  const auto* const bytes = static_cast<const std::uint8_t*>(a.get());
  for (std::size_t row = 0; row < 3; ++row) {
    EXPECT_EQ(facts[row].scale, 1.0f);
    EXPECT_EQ(facts[row].zero, zeros[row]);
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_EQ(int{bytes[4 * row + i]} - facts[row].zero, static_cast<int>(rows[4 * row + i]));
  }
}

TEST_P(Int8Kernel, ProductEqualsReference) {
  for (const Int8Shape& s : int8_shapes) {
    SCOPED_TRACE(::testing::Message() << s.m << " x " << s.n << " x " << s.k);
    Floats x = spread_floats(cells(s.m, s.k), 3);
    Floats w = spread_floats(cells(s.n, s.k), 4);
    if (s.m > 2) std::fill_n(x.begin() + static_cast<std::ptrdiff_t>(s.k), s.k, 0.0f);
    if (s.n > 2) std::fill_n(w.begin() + static_cast<std::ptrdiff_t>(s.k), s.k, 0.0f);
    if (s.m > 3) x[cells(2, s.k)] = -1e30f;
    const auto m = static_cast<std::size_t>(s.m), n = static_cast<std::size_t>(s.n),
               k = static_cast<std::size_t>(s.k);
    const auto expected = reference::int8_linear_forward(reference::int8_activations(x, m, k),
                                                         reference::int8_weights(w, n, k), {});
    const Floats c = product(*GetParam(), x, w, s);
    // One rounding of the sum and two of scales: of each value by itself, not of the largest.
    for (std::size_t i = 0; i < c.size(); ++i)
      ASSERT_NEAR(static_cast<double>(c[i]), expected.values[i], 3e-7 * std::abs(expected.values[i])) << i;
  }
}

TEST_P(Int8Kernel, ARowAndAChannelDoNotDependOnThoseBeside) {
  const Int8Shape many{40, 300, 130};
  const Floats x = spread_floats(cells(many.m, many.k), 5), w = spread_floats(cells(many.n, many.k), 6);
  const Floats all = product(*GetParam(), x, w, many);
  for (const Index rows : {1, 2, 3, 4, 5, 6, 7, 11, 39}) {
    const Floats some = product(*GetParam(), x, w, {rows, many.n, many.k});
    EXPECT_EQ(std::memcmp(some.data(), all.data(), some.size() * sizeof(float)), 0) << rows << " rows";
  }
  // A stretch of channels of the same packed weight.
  const PackedBytes a(many.m * int8_row_bytes(many.k)), b(int8_weight_bytes(many.n, many.k));
  std::vector<Int8Row> facts(cells(many.m, 1));
  GetParam()->quantize(x.data(), many.k, many.m, many.k, a.get(), facts.data());
  pack_int8_weight(w.data(), many.n, many.k, b.get());
  for (const auto& [first, count] : {std::pair<Index, Index>{64, 100}, {256, 44}, {128, 64}}) {
    Guarded c(cells(many.m, count));
    GetParam()->multiply(
        {many.m, count, many.k, a.get(), facts.data(), b.get(), many.n, first, c.data(), count});
    const Floats part = c.take();
    for (Index i = 0; i < many.m; ++i) {
      EXPECT_EQ(std::memcmp(part.data() + i * count, all.data() + i * many.n + first,
                            static_cast<std::size_t>(count) * sizeof(float)),
                0);
    }
  }
}

// 255 * 127 in every place of the greatest depth: 2^31 is not reached, and is not before zero is taken off.
TEST_P(Int8Kernel, TheGreatestSumFits) {
  const Index depth = int8_most_depth;
  for (const float value : {1.0f, -1.0f}) {
    const Floats x(static_cast<std::size_t>(depth), value);
    Floats w(static_cast<std::size_t>(2 * depth), 127.0f);
    std::fill(w.begin() + depth, w.end(), -127.0f);
    const Floats c = product(*GetParam(), x, w, {1, 2, depth});
    EXPECT_NEAR(static_cast<double>(c[0]), static_cast<double>(value) * 127.0 * static_cast<double>(depth),
                16.0);
    EXPECT_EQ(c[1], -c[0]);
  }
}

TEST_P(Int8Kernel, WhatIsNotFiniteMakesItsRowOrChannelNotANumberAndNoOther) {
  const Int8Shape s{3, 3, 40};
  for (const float bad : {std::nanf(""), INFINITY, -INFINITY}) {
    Floats x = spread_floats(cells(s.m, s.k), 7), w = spread_floats(cells(s.n, s.k), 8);
    x[cells(1, s.k) + 39] = bad;
    w[cells(2, s.k) + 3] = bad;
    const Floats c = product(*GetParam(), x, w, s);
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = 0; j < 3; ++j)
        EXPECT_EQ(std::isnan(c[i * 3 + j]), i == 1 || j == 2) << i << ", " << j;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Instructions, Int8Kernel, ::testing::ValuesIn(all_int8_kernels()),
                         [](const ::testing::TestParamInfo<const Int8Kernels*>& of) {
                           return std::string(of.param == &plain_int8_kernels() ? "plain"
                                              : of.param == vnni_int8_kernels() ? "vnni"
                                              : of.param == amx_int8_kernels()  ? "amx"
                                                                                : "emulated_amx");
                         });

TEST(Int8Products, InstructionsAndPlainCodeGiveTheSameBits) {
  if (vnni_int8_kernels() == nullptr) GTEST_SKIP() << "SKIPPED: this processor has no AVX-512 VNNI";
  const Int8Shape s{69, 170, 390};
  const Floats x = spread_floats(cells(s.m, s.k), 9), w = spread_floats(cells(s.n, s.k), 10);
  const PackedBytes b(int8_weight_bytes(s.n, s.k));
  pack_int8_weight(w.data(), s.n, s.k, b.get());
  std::vector<Floats> results;
  for (const Int8Kernels* kernels : all_int8_kernels()) {
    const PackedBytes a(s.m * int8_row_bytes(s.k));
    std::vector<Int8Row> facts(cells(s.m, 1));
    Guarded c(cells(s.m, s.n));
    kernels->quantize(x.data(), s.k, s.m, s.k, a.get(), facts.data());
    kernels->multiply({s.m, s.n, s.k, a.get(), facts.data(), b.get(), s.n, 0, c.data(), s.n});
    results.push_back(c.take());
  }
  for (const Floats& result : results) EXPECT_EQ(result, results[0]);
}

TEST(Int8Weights, BecomeTheIntegersAndScalesOfTheReference) {
  const Floats w = spread_floats(cells(7, 129), 11);
  const auto expected = reference::int8_weights(w, 7, 129);
  for (Index row = 0; row < 7; ++row) {
    std::vector<std::int8_t> integers(129);
    EXPECT_EQ(quantize_int8_weights(w.data() + row * 129, 129, integers.data()),
              expected.scales[static_cast<std::size_t>(row)]);
    int largest = 0;
    for (std::size_t i = 0; i < integers.size(); ++i) {
      ASSERT_EQ(int{integers[i]}, expected.integers[cells(row, 129) + i]);
      largest = std::max(largest, std::abs(int{integers[i]}));
    }
    EXPECT_EQ(largest, 127);
  }
}

// A folder keeps integers and scales, the parameters are what they stand for, and packing quantizes those
// again: the same integers, the same scales, whatever the weights were.
TEST(Int8Weights, DequantizedAndQuantizedAgainAreTheSame) {
  std::mt19937 generator(12);
  for (int round = 0; round < 20000; ++round) {
    constexpr Index count = 24;
    Floats w = spread_floats(count, static_cast<std::uint32_t>(generator()));
    const float factor = std::ldexp(1.0f + static_cast<float>(generator() >> 9) * 0x1p-23f,
                                    static_cast<int>(generator() % 200u) - 80);
    for (float& value : w) value *= factor;
    std::int8_t first[count], second[count];
    const float scale = quantize_int8_weights(w.data(), count, first);
    for (std::size_t i = 0; i < count; ++i) {
      w[i] = scale * static_cast<float>(first[i]);
      ASSERT_EQ(static_cast<double>(w[i]), static_cast<double>(scale) * first[i]) << "not exact";
    }
    ASSERT_EQ(quantize_int8_weights(w.data(), count, second), scale) << "round " << round;
    ASSERT_EQ(std::memcmp(first, second, count), 0) << "round " << round;
  }
}

// The same through the backend, as a model has it: whatever precision the other layers have.
class Int8Linear : public KernelTest {
 protected:
  // A packed weight that a backend reads until the end of the scope.
  class Bound {
   public:
    Bound(Backend& backend, const Linear& layer)
        : backend_(backend),
          layer_(layer),
          packed_(static_cast<Index>(backend.packed_weight_bytes(layer, WeightForm::int8))) {
      backend_.pack_weight(layer_, WeightForm::int8, packed_.get());
      backend_.bind_packed_weight(layer_, WeightForm::int8, packed_.get());
    }
    ~Bound() { backend_.unbind_packed_weight(layer_.weight); }
    Bound(const Bound&) = delete;
    Bound& operator=(const Bound&) = delete;

   private:
    Backend& backend_;
    Linear layer_;
    PackedBytes packed_;
  };
};

TEST_P(Int8Linear, ForwardEqualsReferenceInBothPrecisions) {
  for (const Int8Shape& s : int8_shapes) {
    SCOPED_TRACE(::testing::Message() << s.m << " x " << s.n << " x " << s.k);
    const Floats x = spread_floats(cells(s.m, s.k), 13), w = spread_floats(cells(s.n, s.k), 14);
    const Floats bias = spread_floats(cells(s.n, 1), 15);
    const auto m = static_cast<std::size_t>(s.m), n = static_cast<std::size_t>(s.n),
               k = static_cast<std::size_t>(s.k);
    const auto expected = reference::int8_linear_forward(reference::int8_activations(x, m, k),
                                                         reference::int8_weights(w, n, k), doubles(bias));
    const auto activated = reference::activation_forward(expected);
    for (const Precision precision : {Precision::fp32, Precision::bf16}) {
      for (const int threads : {1, 3}) {
        set_thread_count(threads);
        const auto backend = make_cpu_backend(GetParam().options(precision));
        const Linear layer{w.data(), bias.data(), s.k, s.n};
        const Bound bound(*backend, layer);
        Guarded y(cells(s.m, s.n)), pre(cells(s.m, s.n)), after(cells(s.m, s.n)), only(cells(s.m, s.n));
        backend->linear_forward(x.data(), layer, y.data(), s.m);
        backend->linear_activation_forward(x.data(), layer, Activation::gelu_tanh, pre.data(), after.data(),
                                           s.m);
        backend->linear_activation_forward(x.data(), layer, Activation::gelu_tanh, nullptr, only.data(), s.m);
        const Floats plain = y.take();
        EXPECT_LT(relative_error(plain, expected.values), 1e-6);
        EXPECT_EQ(pre.take(), plain);
        const Floats kept = after.take();
        EXPECT_LT(relative_error(kept, activated.values), 1e-5);
        EXPECT_EQ(only.take(), kept);
      }
    }
  }
}

// What a bf16 backend keeps between its layers.
TEST_P(Int8Linear, RowsOfBf16GoInAndComeOut) {
  const Int8Shape s{37, 300, 96};
  const Floats full = spread_floats(cells(s.m, s.k), 16), w = spread_floats(cells(s.n, s.k), 17);
  std::vector<bf16> x;
  Floats wide;
  for (const float value : full) {
    x.push_back(to_bf16(value));
    wide.push_back(to_float(x.back()));
  }
  const auto backend = make_cpu_backend(GetParam().options(Precision::bf16));
  if (backend->element_type() != ElementType::bf16) GTEST_SKIP() << "SKIPPED: activations stay fp32 here";
  const Linear layer{w.data(), nullptr, s.k, s.n};
  const Bound bound(*backend, layer);
  std::vector<bf16> y(cells(s.m, s.n));
  Guarded expected(cells(s.m, s.n));
  backend->linear_forward(wide.data(), layer, expected.data(), s.m);
  backend->linear_forward(x.data(), layer, y.data(), s.m);
  const Floats floats_out = expected.take();
  for (std::size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i].bits, to_bf16(floats_out[i]).bits) << i;
}

TEST_P(Int8Linear, ARowDoesNotDependOnTheRowsBesideItAndUnboundWeightsAreRead) {
  const Int8Shape many{200, 130, 70};
  const Floats x = spread_floats(cells(many.m, many.k), 18), w = spread_floats(cells(many.n, many.k), 19);
  const auto backend = make_cpu_backend(GetParam().options(Precision::fp32));
  const Linear layer{w.data(), nullptr, many.k, many.n};
  const auto rows_of = [&](Index rows) {
    Guarded y(cells(rows, many.n));
    backend->linear_forward(x.data(), layer, y.data(), rows);
    return y.take();
  };
  const Floats before = rows_of(many.m);
  {
    const Bound bound(*backend, layer);
    const Floats all = rows_of(many.m);
    EXPECT_NE(all, before);
    for (const Index rows : {1, 5, 6, 7, 95, 97, 199}) {
      const Floats some = rows_of(rows);
      EXPECT_EQ(std::memcmp(some.data(), all.data(), some.size() * sizeof(float)), 0) << rows << " rows";
    }
    EXPECT_TRUE(rows_of(0).empty());
  }
  EXPECT_EQ(rows_of(many.m), before);
}

BIGBIRD_KERNEL_TESTS(Int8Linear);

}  // namespace
}  // namespace bigbird::kernels
