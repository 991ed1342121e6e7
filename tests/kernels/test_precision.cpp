// The two precisions of the linear layers: bf16 rounds its operands and nothing else, fp32 is as exact as a
// product of floats, on every level and on the tile unit, whatever stands in the rows beside.
#include "tests/kernels/kernel_test.h"

namespace bigbird::kernels {
namespace {

struct ProductCase {
  Index m, n, k;
};
const ProductCase product_cases[] = {{1, 1, 1}, {3, 5, 33}, {40, 31, 64}, {33, 300, 100}, {70, 64, 1600}};

float rounded_to_bf16(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  bits = (bits + 0x7FFFu + (bits >> 16 & 1u)) & 0xFFFF0000u;
  std::memcpy(&value, &bits, sizeof bits);
  return value;
}

Floats rounded(Floats values) {
  for (float& value : values) value = rounded_to_bf16(value);
  return values;
}

Floats as_rounded(const Floats& values) {
  return rounded(values);
}
Floats as_rounded(const std::vector<bf16>& values) {
  Floats result;
  for (const bf16 value : values) result.push_back(to_float(value));
  return result;
}

// [rows, columns] -> [columns, rows].
Floats transpose(const Floats& values, Index rows, Index columns) {
  Floats result;
  for (Index j = 0; j < columns; ++j) {
    for (Index i = 0; i < rows; ++i) result.push_back(values[static_cast<std::size_t>(i * columns + j)]);
  }
  return result;
}

// Values of very different sizes with all 24 bits in use.
Floats full_floats(std::size_t count, std::uint32_t seed) {
  std::mt19937 generator(seed);
  Floats values(count);
  for (float& value : values) {
    const float mantissa = 1.0f + static_cast<float>(generator() >> 9) * 0x1p-23f;
    const int exponent = static_cast<int>(generator() % 12u) - 9;
    value = std::ldexp((generator() & 1u) != 0 ? mantissa : -mantissa, exponent);
  }
  return values;
}

// max |y - x w^T| / sum |x| |w|, the products taken in double.
double error_of(const Floats& y, const Floats& x, const Floats& w, const ProductCase& of) {
  double worst = 0.0;
  for (Index i = 0; i < of.m; ++i) {
    for (Index j = 0; j < of.n; ++j) {
      double sum = 0.0, size = 0.0;
      for (Index p = 0; p < of.k; ++p) {
        const double term = static_cast<double>(x[static_cast<std::size_t>(i * of.k + p)]) *
                            static_cast<double>(w[static_cast<std::size_t>(j * of.k + p)]);
        sum += term;
        size += std::abs(term);
      }
      const double value = static_cast<double>(y[static_cast<std::size_t>(i * of.n + j)]);
      if (std::isnan(value)) return INFINITY;
      worst = std::max(worst, std::abs(value - sum) / size);
    }
  }
  return worst;
}

class PrecisionKernel : public KernelTest {
 protected:
  std::unique_ptr<Backend> backend(Precision precision) const {
    return make_cpu_backend(GetParam().options(precision));
  }
  // With 1, 2 and 3 threads, which must agree.
  std::vector<Floats> run_in_bf16(const std::function<std::vector<Floats>(Backend&)>& operation) {
    precision_ = Precision::bf16;
    return run(operation);
  }
  Floats product(Precision precision, const Floats& x, const Floats& w, const ProductCase& of) const {
    Guarded y(static_cast<std::size_t>(of.m * of.n));
    backend(precision)->linear_forward(x.data(), {w.data(), nullptr, of.k, of.n}, y.data(), of.m);
    return y.take();
  }
};

TEST_P(PrecisionKernel, Bf16RoundsTheOperandsAndSumsInFp32) {
  for (const ProductCase& of : product_cases) {
    SCOPED_TRACE(::testing::Message() << of.m << " x " << of.n << " x " << of.k);
    const Floats x = full_floats(static_cast<std::size_t>(of.m * of.k), 1);
    const Floats w = full_floats(static_cast<std::size_t>(of.n * of.k), 2);
    Floats rounded_x = x, rounded_w = w;
    for (float& value : rounded_x) value = rounded_to_bf16(value);
    for (float& value : rounded_w) value = rounded_to_bf16(value);
    const Floats y = product(Precision::bf16, x, w, of);
    EXPECT_LT(error_of(y, rounded_x, rounded_w, of), 1e-6);
    if (of.k > 30) {
      EXPECT_GT(error_of(y, x, w, of), 1e-5) << "nothing was rounded";
    }
  }
}

TEST_P(PrecisionKernel, AnExactLayerHasTheBitsOfFp32InBothPasses) {
  for (const ProductCase& of : product_cases) {
    SCOPED_TRACE(::testing::Message() << of.m << " x " << of.n << " x " << of.k);
    const auto cells = [](Index rows, Index columns) { return static_cast<std::size_t>(rows * columns); };
    const Floats x = full_floats(cells(of.m, of.k), 11), w = full_floats(cells(of.n, of.k), 12);
    const Floats dy = full_floats(cells(of.m, of.n), 13), bias = full_floats(cells(of.n, 1), 14);
    const Linear layer{w.data(), bias.data(), of.k, of.n, 0, true};
    const auto outputs = [&](Precision precision) {
      const auto made = backend(precision);
      Guarded y(cells(of.m, of.n)), active(cells(of.m, of.n)), dx(cells(of.m, of.k));
      Guarded dw(Floats(cells(of.n, of.k), 0.5f));
      made->linear_forward(x.data(), layer, y.data(), of.m);
      made->linear_activation_forward(x.data(), layer, Activation::gelu_tanh, nullptr, active.data(), of.m);
      made->linear_backward_input(dy.data(), layer, dx.data(), of.m, false);
      made->linear_backward_weight(dy.data(), x.data(), layer, {dw.data(), nullptr}, of.m);
      return std::vector<Floats>{y.take(), active.take(), dx.take(), dw.take()};
    };
    EXPECT_EQ(outputs(Precision::bf16), outputs(Precision::fp32));
  }
}

TEST_P(PrecisionKernel, Fp32KeepsAll24Bits) {
  for (const ProductCase& of : product_cases) {
    SCOPED_TRACE(::testing::Message() << of.m << " x " << of.n << " x " << of.k);
    const Floats x = full_floats(static_cast<std::size_t>(of.m * of.k), 3);
    const Floats w = full_floats(static_cast<std::size_t>(of.n * of.k), 4);
    EXPECT_LT(error_of(product(Precision::fp32, x, w, of), x, w, of), 1e-6);
  }
}

TEST_P(PrecisionKernel, ARowDoesNotDependOnTheRowsBesideItOrOnTheThreads) {
  // The second: rows as long as a vocabulary.
  for (const ProductCase& many : {ProductCase{700, 330, 800}, ProductCase{150, 9000, 40}}) {
    const Floats x = full_floats(static_cast<std::size_t>(many.m * many.k), 5);
    const Floats w = full_floats(static_cast<std::size_t>(many.n * many.k), 6);
    for (const Precision precision : {Precision::fp32, Precision::bf16}) {
      set_thread_count(2);
      const Floats all = product(precision, x, w, many);
      set_thread_count(1);
      for (const Index rows : {Index{1}, Index{17}, Index{100}, Index{128}, Index{129}}) {
        const Floats some = product(precision, x, w, {rows, many.n, many.k});
        EXPECT_EQ(std::memcmp(some.data(), all.data(), some.size() * sizeof(float)), 0)
            << rows << " rows of " << many.m << " x " << many.n << " in " << name_of(precision);
      }
    }
  }
}

TEST_P(PrecisionKernel, NotANumberStaysNotANumber) {
  Floats x(64, 1.0f);
  x[5] = std::nanf("");
  const Floats w(64, 1.0f);
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    EXPECT_TRUE(std::isnan(product(precision, x, w, {1, 1, 64})[0]));
  }
}

TEST_P(PrecisionKernel, Bf16GradientOfTheInputRoundsTheOperandsAndSumsInFp32) {
  for (const ProductCase& of : product_cases) {  // m rows, k outputs, n inputs
    SCOPED_TRACE(::testing::Message() << of.m << " x " << of.n << " x " << of.k);
    const Floats dy = full_floats(static_cast<std::size_t>(of.m * of.k), 7);
    const Floats w = full_floats(static_cast<std::size_t>(of.k * of.n), 8);
    const Floats before = full_floats(static_cast<std::size_t>(of.m * of.n), 9);
    const auto got = run_in_bf16([&](Backend& backend) {
      Guarded dx(before.size()), added(before);
      const Linear layer{w.data(), nullptr, of.n, of.k};
      backend.linear_backward_input(dy.data(), layer, dx.data(), of.m, false);
      backend.linear_backward_input(dy.data(), layer, added.data(), of.m, true);
      return std::vector<Floats>{dx.take(), added.take()};
    });
    const Floats transposed = transpose(w, of.k, of.n);
    EXPECT_LT(error_of(got[0], rounded(dy), rounded(transposed), of), 1e-6);
    if (of.k > 30) {
      EXPECT_GT(error_of(got[0], dy, transposed, of), 1e-5) << "nothing was rounded";
    }
    for (std::size_t i = 0; i < before.size(); ++i)
      ASSERT_NEAR(got[1][i], got[0][i] + before[i], 1e-4 * (1 + std::abs(got[0][i]) + std::abs(before[i])));
  }
}

TEST_P(PrecisionKernel, Bf16GradientOfTheWeightRoundsTheOperandsAndAddsInFp32) {
  std::vector<ProductCase> of_weights(std::begin(product_cases), std::end(product_cases));
  of_weights.push_back({50, 130, 4501});      // slices of depth, the last of them odd
  of_weights.push_back({1200, 5, 3});         // tasks of many rows
  for (const ProductCase& of : of_weights) {  // m outputs, n inputs, k rows
    SCOPED_TRACE(::testing::Message() << of.m << " x " << of.n << " x " << of.k);
    const Floats dy = full_floats(static_cast<std::size_t>(of.k * of.m), 10);
    const Floats x = full_floats(static_cast<std::size_t>(of.k * of.n), 11);
    const auto got = run_in_bf16([&](Backend& backend) {
      Guarded dw(static_cast<std::size_t>(of.m * of.n), 0.0f), bias(static_cast<std::size_t>(of.m), 1.0f);
      const Linear layer{nullptr, nullptr, of.n, of.m};
      backend.linear_backward_weight(dy.data(), x.data(), layer, {dw.data(), bias.data()}, of.k);
      Guarded twice(dw.take());
      backend.linear_backward_weight(dy.data(), x.data(), layer, {twice.data(), nullptr}, of.k);
      return std::vector<Floats>{dw.take(), twice.take(), bias.take()};
    });
    const Floats a = transpose(dy, of.k, of.m), b = transpose(x, of.k, of.n);
    EXPECT_LT(error_of(got[0], rounded(a), rounded(b), of), 1e-6);
    if (of.k > 30) {
      EXPECT_GT(error_of(got[0], a, b, of), 1e-5) << "nothing was rounded";
    }
    Floats half = got[1];
    for (float& value : half) value *= 0.5f;
    EXPECT_LT(error_of(half, rounded(a), rounded(b), of), 1e-6) << "not added to what was there";
    for (Index i = 0; i < of.m; ++i) {  // sums of dy as it is
      double sum = 1.0, size = 1.0;
      for (Index p = 0; p < of.k; ++p) {
        const double value = static_cast<double>(a[static_cast<std::size_t>(i * of.k + p)]);
        sum += value;
        size += std::abs(value);
      }
      ASSERT_NEAR(static_cast<double>(got[2][static_cast<std::size_t>(i)]), sum, 1e-6 * size);
    }
  }
}

TEST_P(PrecisionKernel, Bf16RowsOfAnInputsGradientAreTheSameWhateverIsBeside) {
  const ProductCase many{300, 210, 500};
  const Floats dy = full_floats(static_cast<std::size_t>(many.m * many.k), 12);
  const Floats w = full_floats(static_cast<std::size_t>(many.k * many.n), 13);
  const auto gradient = [&](Index rows) {
    return run_in_bf16([&](Backend& backend) {
      Guarded dx(static_cast<std::size_t>(rows * many.n));
      backend.linear_backward_input(dy.data(), {w.data(), nullptr, many.n, many.k}, dx.data(), rows, false);
      return std::vector<Floats>{dx.take()};
    })[0];
  };
  const Floats all = gradient(many.m);
  for (const Index rows : {Index{1}, Index{17}, Index{129}}) {
    const Floats some = gradient(rows);
    EXPECT_EQ(std::memcmp(some.data(), all.data(), some.size() * sizeof(float)), 0) << rows << " rows";
  }
}

// Backends that keep bf16 numbers: they are what floats of the same values give, rounded where they are
// results.
TEST_P(PrecisionKernel, NarrowOperandsAndResultsAreTheRoundedOnes) {
  if (backend(Precision::bf16)->element_type() != ElementType::bf16)
    GTEST_SKIP() << "this configuration keeps floats";
  // Outputs, inputs and rows; odd ones are padded to pairs.
  for (const ProductCase& of : {ProductCase{5, 3, 7}, ProductCase{130, 77, 33}, ProductCase{64, 300, 200}}) {
    SCOPED_TRACE(::testing::Message() << of.m << " x " << of.n << " x " << of.k);
    const auto values = [](Index count, std::uint32_t seed) {
      return rounded(random_floats(static_cast<std::size_t>(count), seed));
    };
    const Index out = of.m, in = of.n, rows = of.k;
    const Floats dy = values(rows * out, 14), x = values(rows * in, 15), pre = values(rows * in, 16);
    const Floats w = random_floats(static_cast<std::size_t>(out * in), 17);
    const Linear layer{w.data(), nullptr, in, out};
    const auto got = run_in_bf16([&](Backend& backend) {
      const auto all = [&](const auto& of_dy, const auto& of_x, const auto& of_pre, auto zero) {
        std::vector<decltype(zero)> dx(of_x.size()), dpre(of_x.size()), added(of_x), made(of_x.size()),
            kept(of_dy.size()), y(of_dy.size()), back(of_x.size());
        Floats dw(w.size()), bias(static_cast<std::size_t>(out));
        backend.linear_backward_input(of_dy.data(), layer, dx.data(), rows, false);
        backend.linear_backward_input(of_dy.data(), layer, added.data(), rows, true);
        backend.linear_backward_input_activation(of_dy.data(), layer, Activation::gelu_tanh, of_pre.data(),
                                                 dpre.data(), rows);
        backend.linear_backward_weight(of_dy.data(), of_x.data(), layer, {dw.data(), bias.data()}, rows);
        backend.activation_forward(of_pre.data(), made.data(), rows * in, Activation::gelu_tanh);
        backend.activation_backward(of_pre.data(), of_x.data(), back.data(), rows * in,
                                    Activation::gelu_tanh);
        backend.linear_activation_forward(of_x.data(), layer, Activation::gelu_tanh, kept.data(), y.data(),
                                          rows);
        return std::vector<Floats>{as_rounded(dx),   as_rounded(added), as_rounded(dpre), dw,           bias,
                                   as_rounded(made), as_rounded(back),  as_rounded(kept), as_rounded(y)};
      };
      std::vector<Floats> results = all(dy, x, pre, 0.0f);
      for (Floats& narrow : all(as_bf16(dy), as_bf16(x), as_bf16(pre), bf16{}))
        results.push_back(std::move(narrow));
      // What is kept is what the activation was taken of.
      std::vector<bf16> again(results[16].size());
      backend.activation_forward(as_bf16(results[16]).data(), again.data(), rows * out,
                                 Activation::gelu_tanh);
      results.push_back(as_rounded(again));
      return results;
    });
    ASSERT_EQ(got.size(), 19u);
    // An activation is less exact where it is rounded next; tiles begin a sum with the floats that it is
    // added to, and end one of bf16 numbers with them.
    constexpr std::size_t of_sums = 1, of_activation = 5;
    const bool tiles = GetParam().use_amx || GetParam().emulated;
    for (std::size_t i = 0; i + 1 < 9; ++i) {
      if (i != of_activation && !(i == of_sums && tiles)) {
        EXPECT_EQ(got[i], got[9 + i]) << "result " << i;
        continue;
      }
      for (std::size_t j = 0; j < got[i].size(); ++j)
        EXPECT_LE(std::abs(got[i][j] - got[9 + i][j]), std::abs(got[i][j]) * 0x1p-7f) << "result " << i;
    }
    EXPECT_EQ(got[17], got[18]) << "not the activation of what was kept";
  }
}

TEST_P(PrecisionKernel, NarrowRowsArePutBackAsTheirRoundedSums) {
  if (backend(Precision::bf16)->element_type() != ElementType::bf16)
    GTEST_SKIP() << "this configuration keeps floats";
  const Index width = 37, count = 3;
  const std::vector<std::int32_t> rows = {4, 0, 2};
  const Floats dy = rounded(random_floats(static_cast<std::size_t>(count * width), 18));
  const Floats before = rounded(random_floats(static_cast<std::size_t>(5 * width), 19, 3.0f));
  const auto got = run_in_bf16([&](Backend& backend) {
    const std::vector<bf16> added = as_bf16(dy);
    std::vector<bf16> sums = as_bf16(before);
    backend.scatter_add_rows(added.data(), rows.data(), sums.data(), count, width);
    return std::vector<Floats>{as_rounded(sums)};
  });
  Floats expected = before;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < static_cast<std::size_t>(width); ++j)
      expected[static_cast<std::size_t>(rows[i] * width) + j] += dy[i * static_cast<std::size_t>(width) + j];
  }
  EXPECT_EQ(got[0], rounded(expected));
}

BIGBIRD_KERNEL_TESTS(PrecisionKernel);

}  // namespace
}  // namespace bigbird::kernels
