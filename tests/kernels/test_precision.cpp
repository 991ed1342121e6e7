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
    return make_cpu_backend({GetParam().level, GetParam().use_onednn, GetParam().use_amx, precision});
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

TEST_P(PrecisionKernel, Bf16HasNoGradients) {
  const auto of = backend(Precision::bf16);
  Floats x(4, 1.0f), w(4, 1.0f), y(4, 1.0f);
  const Linear layer{w.data(), nullptr, 2, 2};
  EXPECT_THROW(of->linear_backward_input(y.data(), layer, x.data(), 2, false), std::logic_error);
  EXPECT_THROW(of->linear_backward_weight(y.data(), x.data(), layer, {w.data(), nullptr}, 2),
               std::logic_error);
}

BIGBIRD_KERNEL_TESTS(PrecisionKernel);

}  // namespace
}  // namespace bigbird::kernels
