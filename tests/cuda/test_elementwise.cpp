// Activations, dropout, sums, conversions, rotary positions, rows picked out, and sums over rows, against
// reference/ and the CPU backend.
#include "kernels/backend.h"
#include "kernels/cuda/launchers.h"
#include "reference/layers.h"
#include "tests/cuda/typed_test.h"

namespace bigbird::kernels::cuda::testing {
namespace {

template <class T>
class ElementwiseTest : public TypedCudaTest<T> {};
TYPED_TEST_SUITE(ElementwiseTest, ElementTypes);

// Nothing, less than a vector, whole vectors, several blocks and a bit.
const Index counts[] = {0, 1, 7, 64, 1003, 4096 + 5};
const Index odd_and_even[] = {0, 1};

reference::Matrix row_of(const std::vector<double>& values) {
  return reference::Matrix(1, values.size(), values);
}

// From deep in one tail to deep in the other, with zero.
std::vector<double> activation_inputs(Index count) {
  std::vector<double> x = random_normal(count, 1, 3.0);
  const double special[] = {0.0, -0.0, 1e-8, -1e-8, 30.0, -30.0, 200.0, -200.0};
  for (std::size_t i = 0; i < x.size() && i < 8; ++i) x[i] = special[i];
  return x;
}

TYPED_TEST(ElementwiseTest, ActivationsEqualReference) {
  using T = TypeParam;
  for (const Index count : counts) {
    for (const Index offset : odd_and_even) {
      for (const Activation form : every_activation) {
        SCOPED_TRACE(::testing::Message() << count << " at " << offset);
        const auto x = rounded<T>(activation_inputs(count)), dy = rounded<T>(random_normal(count, 2));
        const auto gelu = static_cast<reference::Activation>(form);
        const auto forward = reference::activation_forward(row_of(widened(x)), gelu).values;
        const auto backward =
            reference::activation_backward(row_of(widened(x)), row_of(widened(dy)), gelu).values;

        const Guarded<T> pre(x, offset, this->stream()), gradient(dy, offset, this->stream());
        const Guarded<T> y(count, offset, this->stream()), dx(count, offset, this->stream());
        activation_forward(pre.data(), y.data(), count, form, this->stream());
        activation_backward(pre.data(), gradient.data(), dx.data(), count, form, this->stream());
        EXPECT_LE(relative_error(y.take(), forward), tolerance<T>);
        EXPECT_LE(relative_error(dx.take(), backward), tolerance<T>);

        activation_backward(pre.data(), gradient.data(), gradient.data(), count, form, this->stream());
        EXPECT_TRUE(same_bits(gradient.take(), dx.take()));
        activation_forward(pre.data(), pre.data(), count, form, this->stream());
        EXPECT_TRUE(same_bits(pre.take(), y.take()));
      }
    }
  }
}

TYPED_TEST(ElementwiseTest, GatedActivationsEqualReference) {
  using T = TypeParam;
  for (const Index width : {Index{1}, Index{20}, Index{64}}) {
    for (const Index offset : odd_and_even) {
      for (const Activation form : every_activation) {
        SCOPED_TRACE(::testing::Message() << width << " at " << offset);
        constexpr Index rows = 37;
        const Index count = rows * width;
        const auto x = rounded<T>(activation_inputs(2 * count)), dy = rounded<T>(random_normal(count, 2));
        const auto matrix = [](const std::vector<double>& values, Index columns) {
          return reference::Matrix(rows, static_cast<std::size_t>(columns), values);
        };
        const auto of_reference = static_cast<reference::Activation>(form);
        const reference::Matrix input = matrix(widened(x), 2 * width);
        const auto forward = reference::gated_forward(input, of_reference).values;
        const auto backward =
            reference::gated_backward(input, matrix(widened(dy), width), of_reference).values;

        const Guarded<T> pre(x, offset, this->stream()), gradient(dy, offset, this->stream());
        const Guarded<T> y(count, offset, this->stream()), dpre(2 * count, offset, this->stream());
        gated_activation_forward(pre.data(), y.data(), rows, width, form, this->stream());
        EXPECT_LE(relative_error(y.take(), forward), tolerance<T>);
        gated_activation_backward(pre.data(), gradient.data(), dpre.data(), rows, width, form,
                                  this->stream());
        EXPECT_LE(relative_error(dpre.take(), backward), tolerance<T>);
        gated_activation_backward(pre.data(), gradient.data(), pre.data(), rows, width, form, this->stream());
        EXPECT_TRUE(same_bits(pre.take(), dpre.take()));
      }
    }
  }
}

TYPED_TEST(ElementwiseTest, TanhEqualsReference) {
  using T = TypeParam;
  for (const Index count : counts) {
    for (const Index offset : odd_and_even) {
      const auto x = rounded<T>(activation_inputs(count)), dy = rounded<T>(random_normal(count, 2));
      const Guarded<T> input(x, offset, this->stream()), gradient(dy, offset, this->stream());
      const Guarded<T> y(count, offset, this->stream());
      tanh_forward(input.data(), y.data(), count, this->stream());
      const auto output = y.take();
      EXPECT_LE(relative_error(output, reference::tanh_forward(row_of(widened(x))).values), tolerance<T>);
      // dx comes from the stored y, and may be dy.
      tanh_backward(y.data(), gradient.data(), gradient.data(), count, this->stream());
      std::vector<double> expected = widened(dy);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const double value = static_cast<double>(to_float(output[i]));
        expected[i] *= 1.0 - value * value;
      }
      EXPECT_LE(relative_error(gradient.take(), expected), tolerance<T>);
    }
  }
}

TYPED_TEST(ElementwiseTest, AddAndAddBias) {
  using T = TypeParam;
  for (const Index rows : {Index{0}, Index{1}, Index{9}}) {
    for (const Index width : {Index{1}, Index{3}, Index{40}, Index{129}}) {
      for (const Index offset : odd_and_even) {
        const Index count = rows * width;
        const auto x = rounded<T>(random_normal(count, 3)), y = rounded<T>(random_normal(count, 4));
        const auto bias = rounded<T>(random_normal(width, 5));
        const auto wide_bias = floats(random_normal(width, 6));
        std::vector<double> sum = widened(x), biased = widened(y), wide_biased = widened(y);
        for (std::size_t i = 0; i < sum.size(); ++i) {
          sum[i] += static_cast<double>(to_float(y[i]));
          biased[i] += static_cast<double>(to_float(bias[i % static_cast<std::size_t>(width)]));
          wide_biased[i] += static_cast<double>(wide_bias[i % static_cast<std::size_t>(width)]);
        }
        const Guarded<T> from(x, offset, this->stream()), to(y, offset, this->stream());
        const Guarded<T> with_bias(y, offset, this->stream()), with_wide_bias(y, offset, this->stream());
        const Guarded<T> of_type(bias, offset, this->stream());
        const Guarded<float> of_floats(wide_bias, offset, this->stream());
        add(from.data(), to.data(), count, this->stream());
        add_bias(of_type.data(), with_bias.data(), rows, width, this->stream());
        add_bias(of_floats.data(), with_wide_bias.data(), rows, width, this->stream());
        EXPECT_LE(relative_error(to.take(), sum), tolerance<T>);
        EXPECT_LE(relative_error(with_bias.take(), biased), tolerance<T>);
        EXPECT_LE(relative_error(with_wide_bias.take(), wide_biased), tolerance<T>);
      }
    }
  }
}

// The CPU backend with ones shows its mask; 1 / (1 - p) is the same float in both.
TYPED_TEST(ElementwiseTest, DropoutMasksAreThoseOfTheCpuBackend) {
  using T = TypeParam;
  const auto cpu = make_cpu_backend();
  const std::uint64_t seed = 0x1234567887654321u;
  const DeviceBuffer<std::uint64_t> device_seed(std::vector<std::uint64_t>{seed}, this->stream());
  for (const Index count : counts) {
    for (const Index offset : odd_and_even) {
      for (const float probability : {0.0f, 0.1f, 0.5f}) {
        SCOPED_TRACE(::testing::Message() << count << " at " << offset << ", p = " << probability);
        std::vector<float> factors(static_cast<std::size_t>(count), 1.0f);
        cpu->dropout(factors.data(), factors.data(), count, {probability, &seed, 77});

        const auto x = rounded<T>(random_normal(count, 7)), stay = rounded<T>(random_normal(count, 8));
        std::vector<T> expected;
        std::vector<double> sum;
        for (std::size_t i = 0; i < x.size(); ++i) {
          expected.push_back(to_element<T>(to_float(x[i]) * factors[i]));
          sum.push_back(static_cast<double>(to_float(stay[i])) +
                        static_cast<double>(to_float(x[i])) * static_cast<double>(factors[i]));
        }
        const Dropout site{probability, device_seed.data(), 77};
        const Guarded<T> from(x, offset, this->stream()), residual(stay, offset, this->stream());
        const Guarded<T> y(count, offset, this->stream()), added(count, offset, this->stream());
        dropout(from.data(), y.data(), count, site, this->stream());
        EXPECT_TRUE(same_bits(y.take(), expected));
        dropout_add(from.data(), residual.data(), added.data(), count, site, this->stream());
        EXPECT_LE(relative_error(added.take(), sum), tolerance<T>);

        dropout_add(from.data(), residual.data(), residual.data(), count, site, this->stream());
        EXPECT_TRUE(same_bits(residual.take(), added.take()));
        dropout(from.data(), from.data(), count, site, this->stream());
        EXPECT_TRUE(same_bits(from.take(), expected));
      }
    }
  }
}

TYPED_TEST(ElementwiseTest, WithoutDropoutThereNeedBeNoSeed) {
  using T = TypeParam;
  const auto x = rounded<T>(random_normal(9, 7));
  const Guarded<T> from(x, 0, this->stream()), y(9, 0, this->stream());
  dropout(from.data(), y.data(), 9, Dropout{}, this->stream());
  EXPECT_TRUE(same_bits(y.take(), x));
}

TYPED_TEST(ElementwiseTest, RowsArePickedOutAndPutBack) {
  using T = TypeParam;
  for (const Index width : {Index{1}, Index{5}, Index{64}, Index{776}}) {
    for (const Index offset : odd_and_even) {
      const Index rows = 40;
      // Distinct rows in no order.
      std::vector<std::int32_t> chosen;
      for (std::int32_t i = 0; i < 13; ++i) chosen.push_back((i * 27 + 5) % 40);
      const Index count = static_cast<Index>(chosen.size());
      const auto x = rounded<T>(random_normal(rows * width, 9));
      const auto dy = rounded<T>(random_normal(count * width, 10));
      std::vector<T> picked, put_back = x;
      for (std::size_t i = 0; i < chosen.size(); ++i) {
        for (Index j = 0; j < width; ++j) {
          const auto there = static_cast<std::size_t>(chosen[i] * width + j);
          picked.push_back(x[there]);
          const float more = to_float(dy[i * static_cast<std::size_t>(width) + static_cast<std::size_t>(j)]);
          put_back[there] = to_element<T>(to_float(x[there]) + more);
        }
      }
      const DeviceBuffer<std::int32_t> indices(chosen, this->stream());
      const Guarded<T> from(x, offset, this->stream()), gradient(dy, offset, this->stream());
      const Guarded<T> y(count * width, offset, this->stream());
      gather_rows(from.data(), indices.data(), y.data(), count, width, this->stream());
      EXPECT_TRUE(same_bits(y.take(), picked));
      scatter_add_rows(gradient.data(), indices.data(), from.data(), count, width, this->stream());
      EXPECT_TRUE(same_bits(from.take(), put_back));
      gather_rows(from.data(), indices.data(), y.data(), 0, width, this->stream());
      EXPECT_TRUE(same_bits(y.take(), picked));
    }
  }
}

TYPED_TEST(ElementwiseTest, RotaryTurnsEqualTheirDefinitionAndTurnBack) {
  using T = TypeParam;
  struct Shape {
    Index heads, head_size, half, stride, offset;
  };
  for (const Shape shape : {Shape{2, 32, 16, 64, 0}, Shape{2, 32, 8, 200, 0}, Shape{3, 10, 3, 31, 0},
                            Shape{2, 32, 16, 64, 1}, Shape{12, 64, 32, 3 * 768, 0}}) {
    SCOPED_TRACE(::testing::Message() << shape.heads << " heads of " << shape.head_size);
    const Index rows = 11, count = rows * shape.stride, most_positions = 20;
    const auto x = rounded<T>(random_normal(count, 11));
    const auto positions = random_integers(rows, most_positions, 12);
    std::vector<double> rotations;
    for (Index position = 0; position < most_positions; ++position) {
      for (const bool sine : {false, true}) {
        for (Index i = 0; i < shape.half; ++i) {
          const double angle = static_cast<double>(position) / std::pow(10.0, static_cast<double>(i) / 4.0);
          rotations.push_back(sine ? std::sin(angle) : std::cos(angle));
        }
      }
    }
    const auto table = floats(rotations);
    std::vector<double> expected = widened(x);
    for (Index row = 0; row < rows; ++row) {
      for (Index head = 0; head < shape.heads; ++head) {
        for (Index i = 0; i < shape.half; ++i) {
          const auto first = static_cast<std::size_t>(row * shape.stride + head * shape.head_size + i);
          const std::size_t second = first + static_cast<std::size_t>(shape.half);
          const auto at =
              static_cast<std::size_t>(positions[static_cast<std::size_t>(row)] * 2 * shape.half + i);
          const double cosine = static_cast<double>(table[at]);
          const double sine = static_cast<double>(table[at + static_cast<std::size_t>(shape.half)]);
          const double a = expected[first], b = expected[second];
          expected[first] = a * cosine - b * sine;
          expected[second] = b * cosine + a * sine;
        }
      }
    }
    const DeviceBuffer<std::int32_t> device_positions(positions, this->stream());
    const DeviceBuffer<float> device_turns(table, this->stream());
    const Guarded<T> turned(x, shape.offset, this->stream());
    const auto turn = [&](bool back) {
      rotate({turned.data(), shape.stride},
             {device_positions.data(), device_turns.data(), shape.heads, shape.head_size, shape.half}, rows,
             back, this->stream());
    };
    turn(false);
    EXPECT_LE(relative_error(turned.take(), expected), tolerance<T>);
    turn(true);
    EXPECT_LE(relative_error(turned.take(), widened(x)), 2 * tolerance<T>);
  }
}

class ConvertTest : public CudaTest {};

TEST_F(ConvertTest, RoundsToNearestAndWidensExactly) {
  for (const Index count : counts) {
    for (const Index offset : odd_and_even) {
      auto wide = floats(random_normal(count, 13));
      // Ties to even both ways, what overflows, what is no number.
      const std::uint32_t special[] = {0x3f808000, 0x3f818000, 0x7f7fffff,
                                       0xff800000, 0x7fc00001, 0x80000000};
      for (std::size_t i = 0; i < wide.size() && i < 6; ++i) wide[i] = float_of_bits(special[i]);
      std::vector<bf16> narrow;
      for (const float value : wide) narrow.push_back(to_bf16(value));
      std::vector<float> back;
      for (const bf16 value : narrow) back.push_back(to_float(value));

      const Guarded<float> from(wide, offset, stream()), again(count, offset, stream());
      const Guarded<bf16> to(count, offset, stream());
      convert(from.data(), to.data(), count, stream());
      EXPECT_TRUE(same_bits(to.take(), narrow));
      convert(to.data(), again.data(), count, stream());
      EXPECT_TRUE(same_bits(again.take(), back));
    }
  }
}

template <class T>
class ColumnSumTest : public TypedCudaTest<T> {};
TYPED_TEST_SUITE(ColumnSumTest, ElementTypes);

TYPED_TEST(ColumnSumTest, AddsTheSumOfEveryColumn) {
  using T = TypeParam;
  struct Shape {
    Index rows, width, stride, offset;
  };
  for (const Shape shape :
       {Shape{0, 8, 8, 0}, Shape{1, 1, 1, 0}, Shape{5, 768, 768, 0}, Shape{777, 24, 40, 0},
        Shape{300, 3, 5, 1}, Shape{70, 300, 300, 1}, Shape{4000, 8, 8, 0}}) {
    SCOPED_TRACE(::testing::Message() << shape.rows << " x " << shape.width);
    const auto x = rounded<T>(random_normal(shape.rows * shape.stride, 14));
    const auto before = floats(random_normal(shape.width, 15));
    std::vector<double> expected = widened(before);
    for (Index row = 0; row < shape.rows; ++row) {
      for (Index column = 0; column < shape.width; ++column) {
        expected[static_cast<std::size_t>(column)] +=
            static_cast<double>(to_float(x[static_cast<std::size_t>(row * shape.stride + column)]));
      }
    }
    const Guarded<T> matrix(x, shape.offset, this->stream());
    const Guarded<float> sums(before, shape.offset, this->stream());
    const Index floats_needed =
        static_cast<Index>(column_sums_workspace(shape.rows, shape.width) / sizeof(float));
    const Guarded<float> workspace(floats_needed, 0, this->stream());
    add_column_sums({matrix.data(), shape.stride}, sums.data(), shape.rows, shape.width, workspace.data(),
                    this->stream());
    EXPECT_LE(relative_error(sums.take(), expected), 2e-6);
    workspace.take();
  }
}

}  // namespace
}  // namespace bigbird::kernels::cuda::testing
