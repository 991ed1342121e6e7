// LayerNorm, alone and with the dropout and the residual before it, forward and backward, against reference/.
#include "kernels/backend.h"
#include "kernels/cuda/launchers.h"
#include "reference/layers.h"
#include "tests/cuda/typed_test.h"

namespace bigbird::kernels::cuda::testing {
namespace {

constexpr float epsilon = 1e-3f;

struct Shape {
  Index rows, width, offset;
};
// Vectors and single elements; one, two, four and eight warps to a row; rows that registers do not hold
// (forward beyond 8192, of single elements 4096, backward beyond 2048). Vectors of bf16 of up to 1024
// elements are a warp's, in one to four pieces.
const Shape shapes[] = {{0, 64, 0},   {1, 1, 0},    {9, 7, 0},    {5, 64, 0},   {5, 64, 1},   {3, 100, 0},
                        {40, 264, 0}, {33, 512, 0}, {13, 520, 0}, {5, 768, 0},  {9, 776, 0},  {3, 1024, 0},
                        {3, 1024, 1}, {3, 1032, 1}, {3, 2048, 0}, {2, 2056, 0}, {3, 8200, 0}, {2, 4097, 0}};
// More rows than the blocks of the backward pass take at once; and up to three times as many.
const Shape tall[] = {{3100, 8, 0}, {2300, 776, 0}};
// Of a device: A100, H100 PCIe, H100 SXM and H200, B200, RTX 5090.
constexpr int multiprocessors[] = {108, 114, 132, 148, 170};

template <class T>
class LayerNormTest : public TypedCudaTest<T> {
 protected:
  template <class U>
  Guarded<U> place(const std::vector<U>& values, Index offset = 0) {
    return Guarded<U>(values, offset, this->stream());
  }
  template <class U>
  Guarded<U> empty(Index count, Index offset = 0) {
    return Guarded<U>(count, offset, this->stream());
  }
  Guarded<float> workspace(const Shape& shape, int of_device = 132) {
    return empty<float>(
        static_cast<Index>(layernorm_backward_workspace(shape.rows, shape.width, of_device) / sizeof(float)));
  }
};
TYPED_TEST_SUITE(LayerNormTest, ElementTypes);

reference::Matrix matrix(const Shape& shape, const std::vector<double>& values) {
  return reference::Matrix(static_cast<std::size_t>(shape.rows), static_cast<std::size_t>(shape.width),
                           values);
}

// before[j] + the sum of values[:, j].
std::vector<double> column_sums(const Shape& shape, const std::vector<double>& values,
                                const std::vector<double>& before) {
  std::vector<double> sums = before;
  for (std::size_t i = 0; i < values.size(); ++i)
    sums[i % static_cast<std::size_t>(shape.width)] += values[i];
  return sums;
}

TYPED_TEST(LayerNormTest, ForwardEqualsReference) {
  using T = TypeParam;
  for (const Shape& shape : shapes) {
    SCOPED_TRACE(::testing::Message() << shape.rows << " x " << shape.width << " at " << shape.offset);
    const Index count = shape.rows * shape.width;
    std::vector<double> values = random_normal(count, 21, 2.0);
    for (double& value : values) value += 3.0;  // a mean that a variance in one pass would stumble over
    const auto x = rounded<T>(values);
    const auto gamma = floats(random_normal(shape.width, 22)), beta = floats(random_normal(shape.width, 23));
    const auto input = this->place(x, shape.offset);
    const auto scale = this->place(gamma), shift = this->place(beta);
    const auto y = this->template empty<T>(count, shape.offset);
    const auto mean = this->template empty<float>(shape.rows), rstd = this->template empty<float>(shape.rows);
    const Norm norm{scale.data(), shift.data(), epsilon, shape.width};
    layernorm_forward(input.data(), norm, y.data(), {mean.data(), rstd.data()}, shape.rows, this->stream());
    const auto expected = reference::layer_norm_forward(matrix(shape, widened(x)), widened(gamma),
                                                        widened(beta), static_cast<double>(epsilon));
    EXPECT_LE(relative_error(y.take(), expected.values), 2 * tolerance<T>);

    std::vector<double> means, deviations;
    for (Index row = 0; row < shape.rows; ++row) {
      double sum = 0, squares = 0;
      const auto at = static_cast<std::size_t>(row * shape.width);
      const auto end = at + static_cast<std::size_t>(shape.width);
      for (std::size_t i = at; i < end; ++i) sum += static_cast<double>(to_float(x[i]));
      means.push_back(sum / static_cast<double>(shape.width));
      for (std::size_t i = at; i < end; ++i) {
        const double difference = static_cast<double>(to_float(x[i])) - means.back();
        squares += difference * difference;
      }
      deviations.push_back(
          1.0 / std::sqrt(squares / static_cast<double>(shape.width) + static_cast<double>(epsilon)));
    }
    EXPECT_LE(relative_error(mean.take(), means), 1e-6);
    EXPECT_LE(relative_error(rstd.take(), deviations), 1e-6);

    layernorm_forward(input.data(), norm, input.data(), {}, shape.rows, this->stream());
    EXPECT_TRUE(same_bits(input.take(), y.take()));
  }
}

TYPED_TEST(LayerNormTest, FusedForwardEqualsItsStepsToTheLastBit) {
  using T = TypeParam;
  const DeviceBuffer<std::uint64_t> seed(std::vector<std::uint64_t>{4711}, this->stream());
  for (const Shape& shape : shapes) {
    for (const float probability : {0.0f, 0.3f}) {
      SCOPED_TRACE(::testing::Message() << shape.rows << " x " << shape.width << " at " << shape.offset);
      const Index count = shape.rows * shape.width;
      const Dropout site{probability, seed.data(), 5};
      const auto x = this->place(rounded<T>(random_normal(count, 24)), shape.offset);
      const auto residual = this->place(rounded<T>(random_normal(count, 25)), shape.offset);
      const auto gamma = this->place(floats(random_normal(shape.width, 22)));
      const auto beta = this->place(floats(random_normal(shape.width, 23)));
      const auto sum = this->template empty<T>(count, shape.offset);
      const auto y = this->template empty<T>(count, shape.offset),
                 y_of_steps = this->template empty<T>(count);
      const auto mean = this->template empty<float>(shape.rows),
                 rstd = this->template empty<float>(shape.rows);
      const auto mean_of_steps = this->template empty<float>(shape.rows);
      const auto rstd_of_steps = this->template empty<float>(shape.rows);
      dropout_add(x.data(), residual.data(), sum.data(), count, site, this->stream());
      const Norm norm{gamma.data(), beta.data(), epsilon, shape.width};
      layernorm_forward(sum.data(), norm, y_of_steps.data(), {mean_of_steps.data(), rstd_of_steps.data()},
                        shape.rows, this->stream());
      // Into x itself.
      dropout_add_layernorm_forward({x.data(), residual.data(), x.data(), site}, norm, y.data(),
                                    {mean.data(), rstd.data()}, shape.rows, 132, this->stream());
      EXPECT_TRUE(same_bits(x.take(), sum.take()));
      // The steps may go by single elements where the fused form takes vectors: another order of the sums.
      EXPECT_LE(relative_error(y.take(), widened(y_of_steps.take())), shape.offset == 0 ? 0.0 : tolerance<T>);
      EXPECT_LE(relative_error(mean.take(), widened(mean_of_steps.take())), shape.offset == 0 ? 0.0 : 1e-6);
      EXPECT_LE(relative_error(rstd.take(), widened(rstd_of_steps.take())), shape.offset == 0 ? 0.0 : 1e-6);
    }
  }
}

// Everything that the backward pass needs, from a forward pass in double.
template <class T>
struct BackwardCase {
  std::vector<T> x, dy, dx_before;
  std::vector<float> gamma, mean, rstd, dgamma_before, dbeta_before, dbias_before;
  reference::LayerNormGradients expected;

  explicit BackwardCase(const Shape& shape) {
    const Index count = shape.rows * shape.width;
    x = rounded<T>(random_normal(count, 31, 2.0));
    dy = rounded<T>(random_normal(count, 32));
    dx_before = rounded<T>(random_normal(count, 33));
    gamma = floats(random_normal(shape.width, 34));
    dgamma_before = floats(random_normal(shape.width, 35));
    dbeta_before = floats(random_normal(shape.width, 36));
    dbias_before = floats(random_normal(shape.width, 37));
    for (Index row = 0; row < shape.rows; ++row) {
      double sum = 0, squares = 0;
      for (Index i = row * shape.width; i < (row + 1) * shape.width; ++i) {
        const double value = static_cast<double>(to_float(x[static_cast<std::size_t>(i)]));
        sum += value;
        squares += value * value;
      }
      const double average = sum / static_cast<double>(shape.width);
      const double variance = squares / static_cast<double>(shape.width) - average * average;
      mean.push_back(static_cast<float>(average));
      rstd.push_back(static_cast<float>(1.0 / std::sqrt(variance + static_cast<double>(epsilon))));
    }
    expected = reference::layer_norm_backward(matrix(shape, widened(x)), widened(gamma),
                                              static_cast<double>(epsilon), matrix(shape, widened(dy)));
  }
};

TYPED_TEST(LayerNormTest, BackwardEqualsReference) {
  using T = TypeParam;
  std::vector<std::pair<Shape, int>> all;
  for (const Shape& shape : shapes) all.emplace_back(shape, 132);
  for (const int of_device : multiprocessors) all.emplace_back(tall[0], of_device);
  all.emplace_back(tall[1], 132);  // two million numbers: seconds on the emulated device
  for (const auto& [shape, of_device] : all) {
    SCOPED_TRACE(::testing::Message()
                 << shape.rows << " x " << shape.width << " at " << shape.offset << " by " << of_device);
    const Index count = shape.rows * shape.width;
    const BackwardCase<T> given(shape);
    const auto x = this->place(given.x, shape.offset), dy = this->place(given.dy, shape.offset);
    const auto dx = this->template empty<T>(count, shape.offset);
    const auto added = this->place(given.dx_before, shape.offset);
    const auto gamma = this->place(given.gamma), mean = this->place(given.mean),
               rstd = this->place(given.rstd);
    const auto scratch = this->workspace(shape, of_device);
    const auto dbias = this->place(given.dbias_before);
    const Norm norm{gamma.data(), nullptr, epsilon, shape.width};
    const NormScratch memory{scratch.data(), of_device};
    const Index rows = shape.rows;
    const auto run = [&](const Guarded<T>& to, bool accumulate, const Guarded<float>& dgamma,
                         const Guarded<float>& dbeta, float* linear_bias = nullptr) {
      const NormState state{mean.data(), rstd.data()};
      layernorm_backward({dy.data(), x.data(), state, to.data(), rows}, norm,
                         {dgamma.data(), dbeta.data(), linear_bias}, accumulate, memory, this->stream());
    };
    const auto dgamma = this->place(given.dgamma_before), dbeta = this->place(given.dbeta_before);
    const auto dgamma_again = this->place(given.dgamma_before), dbeta_again = this->place(given.dbeta_before);
    run(dx, false, dgamma, dbeta, dbias.data());
    run(added, true, dgamma_again, dbeta_again);
    // One column is its own mean: the gradient is rounding alone.
    if (shape.width > 1) {
      EXPECT_LE(relative_error(dx.take(), given.expected.x.values), 3 * tolerance<T>);
    }
    const auto sum = reference::sum(given.expected.x.values, widened(given.dx_before));
    EXPECT_LE(relative_error(added.take(), sum), 3 * tolerance<T>);
    EXPECT_LE(
        relative_error(dgamma.take(), reference::sum(given.expected.gamma, widened(given.dgamma_before))),
        4e-6);
    EXPECT_LE(relative_error(dbeta.take(), reference::sum(given.expected.beta, widened(given.dbeta_before))),
              4e-6);
    EXPECT_TRUE(same_bits(dgamma.take(), dgamma_again.take()));
    EXPECT_TRUE(same_bits(dbeta.take(), dbeta_again.take()));
    EXPECT_LE(
        relative_error(dbias.take(), column_sums(shape, widened(dx.take()), widened(given.dbias_before))),
        4e-6);
    run(dy, false, dgamma, dbeta);
    EXPECT_TRUE(same_bits(dy.take(), dx.take()));
    scratch.take();
  }
}

TYPED_TEST(LayerNormTest, FusedBackwardEqualsItsStepsToTheLastBit) {
  using T = TypeParam;
  const DeviceBuffer<std::uint64_t> seed(std::vector<std::uint64_t>{4711}, this->stream());
  for (const Shape& shape : shapes) {
    for (const float probability : {0.0f, 0.3f}) {
      if (probability == 0.0f && shape.width > 100 && shape.width != 520) continue;
      SCOPED_TRACE(::testing::Message() << shape.rows << " x " << shape.width << " at " << shape.offset);
      const Index count = shape.rows * shape.width;
      Dropout site{probability, seed.data(), 6};
      // Of an odd number of rows, masks of other rows.
      std::vector<std::int32_t> drawn_as;
      for (Index row = 0; row < shape.rows; ++row)
        drawn_as.push_back(static_cast<std::int32_t>(3 * (shape.rows - row)));
      const DeviceBuffer<std::int32_t> others(drawn_as, this->stream());
      if (shape.rows % 2 == 1 && shape.width % 4 == 0) {
        site.rows = others.data();
        site.width = shape.width;
      }
      const BackwardCase<T> given(shape);
      const auto x = this->place(given.x, shape.offset), dy = this->place(given.dy, shape.offset);
      const auto gamma = this->place(given.gamma), mean = this->place(given.mean),
                 rstd = this->place(given.rstd);
      const auto dgamma = this->place(given.dgamma_before), dbeta = this->place(given.dbeta_before);
      const auto dgamma_of_steps = this->place(given.dgamma_before);
      const auto dbeta_of_steps = this->place(given.dbeta_before);
      const auto dbias = this->place(given.dbias_before);
      const auto dx = this->template empty<T>(count, shape.offset);
      const auto branch = this->template empty<T>(count, shape.offset);
      const auto branch_of_steps = this->template empty<T>(count, shape.offset);
      const auto scratch = this->workspace(shape);
      const Norm norm{gamma.data(), nullptr, epsilon, shape.width};
      const NormState state{mean.data(), rstd.data()};
      layernorm_backward({dy.data(), x.data(), state, dx.data(), shape.rows}, norm,
                         {dgamma_of_steps.data(), dbeta_of_steps.data()}, false, {scratch.data(), 132},
                         this->stream());
      dropout(dx.data(), branch_of_steps.data(), count, site, this->stream());
      // dx may be dy.
      layernorm_backward_dropout({dy.data(), x.data(), state, dy.data(), shape.rows}, norm,
                                 {dgamma.data(), dbeta.data(), dbias.data()}, site, branch.data(),
                                 {scratch.data(), 132}, this->stream());
      EXPECT_TRUE(same_bits(dy.take(), dx.take()));
      EXPECT_TRUE(same_bits(branch.take(), branch_of_steps.take()));
      EXPECT_TRUE(same_bits(dgamma.take(), dgamma_of_steps.take()));
      EXPECT_TRUE(same_bits(dbeta.take(), dbeta_of_steps.take()));
      EXPECT_LE(relative_error(dbias.take(),
                               column_sums(shape, widened(branch.take()), widened(given.dbias_before))),
                4e-6);
    }
  }
}

// Rows are computed one by one; only sums over rows are cut by the number of multiprocessors.
TYPED_TEST(LayerNormTest, TheNumberOfMultiprocessorsIsInTheSumsAlone) {
  using T = TypeParam;
  const DeviceBuffer<std::uint64_t> seed(std::vector<std::uint64_t>{4711}, this->stream());
  const Dropout site{0.3f, seed.data(), 6};
  const Shape shape = tall[1];
  const Index count = shape.rows * shape.width;
  const BackwardCase<T> given(shape);
  std::vector<std::vector<T>> sum, y, dx, branch;
  std::vector<std::vector<float>> dgamma, dbias;
  std::vector<std::size_t> bytes;
  for (const int of_device : multiprocessors) {
    const auto x = this->place(given.x), dy = this->place(given.dy), joined = this->template empty<T>(count),
               out = this->template empty<T>(count), to_branch = this->template empty<T>(count);
    const auto gamma = this->place(given.gamma), mean = this->place(given.mean),
               rstd = this->place(given.rstd);
    const auto to_gamma = this->place(given.dgamma_before), to_beta = this->place(given.dbeta_before),
               to_bias = this->place(given.dbias_before);
    const auto scratch = this->workspace(shape, of_device);
    const Norm norm{gamma.data(), gamma.data(), epsilon, shape.width};
    layernorm_backward_dropout({dy.data(), x.data(), {mean.data(), rstd.data()}, dy.data(), shape.rows}, norm,
                               {to_gamma.data(), to_beta.data(), to_bias.data()}, site, to_branch.data(),
                               {scratch.data(), of_device}, this->stream());
    dropout_add_layernorm_forward({x.data(), x.data(), joined.data(), site}, norm, out.data(), {}, shape.rows,
                                  of_device, this->stream());
    sum.push_back(joined.take());
    y.push_back(out.take());
    dx.push_back(dy.take());
    branch.push_back(to_branch.take());
    dgamma.push_back(to_gamma.take());
    dbias.push_back(to_bias.take());
    bytes.push_back(layernorm_backward_workspace(Index{1} << 20, 768, of_device));
  }
  for (std::size_t i = 1; i < dx.size(); ++i) {
    EXPECT_TRUE(same_bits(sum[i], sum[0]));
    EXPECT_TRUE(same_bits(y[i], y[0]));
    EXPECT_TRUE(same_bits(dx[i], dx[0]));
    EXPECT_TRUE(same_bits(branch[i], branch[0]));
    EXPECT_LE(relative_error(dgamma[i], widened(dgamma[0])), 4e-6);
    EXPECT_LE(relative_error(dbias[i], widened(dbias[0])), 4e-6);
    EXPECT_FALSE(same_bits(dgamma[i], dgamma[i - 1])) << "one wave of " << multiprocessors[i];
    EXPECT_EQ(bytes[i] / static_cast<std::size_t>(multiprocessors[i]),
              bytes[0] / static_cast<std::size_t>(multiprocessors[0]));
  }
}

}  // namespace
}  // namespace bigbird::kernels::cuda::testing
