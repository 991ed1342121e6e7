// Losses and their gradients, against sums in double and the CPU backend.
#include <functional>
#include <type_traits>
#include <utility>

#include "kernels/backend.h"
#include "kernels/cuda/launchers.h"
#include "tests/cuda/typed_test.h"

namespace bigbird::kernels::cuda::testing {
namespace {

constexpr std::int32_t ignored = -100;

// The element types of the logits and of their gradient.
template <class L, class G>
struct Pair {
  using Logit = L;
  using Gradient = G;
};
using PairsOfTypes =
    ::testing::Types<Pair<float, float>, Pair<bf16, bf16>, Pair<float, bf16>, Pair<bf16, float>>;

template <class Types>
class LossTest : public CudaTest {};
TYPED_TEST_SUITE(LossTest, PairsOfTypes);

struct LossShape {
  Index rows, classes, offset;
};

struct CrossEntropy {
  std::vector<double> losses, gradient;
  std::vector<std::int32_t> predictions;

  CrossEntropy(const LossShape& shape, const std::vector<double>& x, const std::vector<std::int32_t>& labels,
               double scale, double own = 1.0, double other = 0.0) {
    for (Index row = 0; row < shape.rows; ++row) {
      const auto at = [&](Index i) { return x[static_cast<std::size_t>(row * shape.classes + i)]; };
      const std::int32_t label = labels[static_cast<std::size_t>(row)];
      std::int32_t best = 0;
      for (std::int32_t i = 1; i < shape.classes; ++i) {
        if (at(i) > at(best)) best = i;
      }
      predictions.push_back(best);
      double sum = 0;
      for (Index i = 0; i < shape.classes; ++i) sum += std::exp(at(i) - at(best));
      double loss = 0.0;
      for (Index i = 0; i < shape.classes; ++i) {
        const double held = i == label ? own : other;
        loss += held * (std::log(sum) + at(best) - at(i));
        const double share = std::exp(at(i) - at(best)) / sum - held;
        gradient.push_back(label == ignored ? 0.0 : share * scale);
      }
      losses.push_back(label == ignored ? 0.0 : loss);
    }
  }
};

TYPED_TEST(LossTest, CrossEntropyEqualsItsDefinition) {
  using T = typename TypeParam::Logit;
  using D = typename TypeParam::Gradient;
  // Fewer classes than a vector, rows that begin within one, several rounds of the block.
  for (const LossShape& shape :
       {LossShape{0, 5, 0}, LossShape{9, 2, 0}, LossShape{6, 3, 1}, LossShape{5, 64, 0},
        LossShape{5, 1003, 0}, LossShape{4, 1003, 1}, LossShape{3, 4097, 0}, LossShape{1, 5000, 0},
        LossShape{2, 96103, 0}}) {  // the vocabulary of BigBird-Pegasus
    SCOPED_TRACE(::testing::Message() << shape.rows << " x " << shape.classes << " at " << shape.offset);
    const Index count = shape.rows * shape.classes;
    const auto x = rounded<T>(random_normal(count, 71, 4.0));
    auto labels = random_integers(shape.rows, static_cast<std::int32_t>(shape.classes), 72);
    if (labels.size() > 3) labels[2] = ignored;
    const CrossEntropy expected(shape, widened(x), labels, 0.25);

    const Guarded<T> logits(x, shape.offset, this->stream());
    const Guarded<D> dlogits(count, shape.offset, this->stream());
    const DeviceBuffer<std::int32_t> device_labels(labels, this->stream());
    const DeviceBuffer<float> scale(std::vector<float>{0.25f}, this->stream());
    const Guarded<float> losses(shape.rows, 0, this->stream()), only(shape.rows, 0, this->stream());
    const DeviceBuffer<std::int32_t> predictions(shape.rows, this->stream());
    const DeviceBuffer<std::int32_t> predictions_only(shape.rows, this->stream());
    const ConstMatrix matrix{logits.data(), shape.rows, shape.classes};
    cross_entropy(matrix, {device_labels.data()}, losses.data(), predictions.data(),
                  {dlogits.data(), scale.data()}, this->stream());
    EXPECT_LE(relative_error(losses.take(), expected.losses), 1e-6);
    EXPECT_LE(relative_error(dlogits.take(), expected.gradient), 2 * tolerance<D>);
    EXPECT_EQ(predictions.download(), expected.predictions);
    EXPECT_TRUE(same_bits(logits.take(), x));

    // Without a gradient nobody reads the scale.
    cross_entropy(matrix, {device_labels.data()}, only.data(), predictions_only.data(), {}, this->stream());
    // With two types fewer elements travel at once: another order of the sums.
    const double order = std::is_same_v<T, D> ? 0.0 : 1e-6;
    EXPECT_LE(relative_error(only.take(), widened(losses.take())), order);
    EXPECT_EQ(predictions_only.download(), expected.predictions);

    if constexpr (std::is_same_v<T, D>) {
      cross_entropy(matrix, {device_labels.data()}, only.data(), nullptr, {logits.data(), scale.data()},
                    this->stream());
      EXPECT_TRUE(same_bits(logits.take(), dlogits.take()));
      EXPECT_TRUE(same_bits(only.take(), losses.take()));
    }

    // Smoothed, from the logits as they were.
    const float other = 0.25f / static_cast<float>(shape.classes);
    const float own = 1.0f - static_cast<float>(shape.classes - 1) * other;
    const CrossEntropy smoothed(shape, widened(x), labels, 0.25, static_cast<double>(own),
                                static_cast<double>(other));
    const Guarded<T> again(x, shape.offset, this->stream());
    cross_entropy({again.data(), shape.rows, shape.classes}, {device_labels.data(), own, other},
                  losses.data(), predictions.data(), {dlogits.data(), scale.data()}, this->stream());
    EXPECT_LE(relative_error(losses.take(), smoothed.losses), 1e-6);
    EXPECT_LE(relative_error(dlogits.take(), smoothed.gradient), 2 * tolerance<D>);
    EXPECT_EQ(predictions.download(), expected.predictions);
  }
}

TYPED_TEST(LossTest, TiesGoToTheLowestClassAndExtremesStayFinite) {
  using T = typename TypeParam::Logit;
  const Index classes = 700;
  // Row 0: all equal. Row 1: two equal maxima far apart, large. Row 2: -infinity but for one. Row 3: no
  // number.
  std::vector<double> x(static_cast<std::size_t>(4 * classes), 1.5);
  x[700 + 690] = x[700 + 41] = 30000.0;
  for (std::size_t i = 1400; i < 2100; ++i) x[i] = -HUGE_VAL;
  x[1400 + 333] = -2.0;
  x[2100 + 17] = std::nan("");
  const Guarded<T> logits(rounded<T>(x), 0, this->stream());
  const DeviceBuffer<std::int32_t> labels(std::vector<std::int32_t>{5, 690, 333, 0}, this->stream());
  const DeviceBuffer<float> losses(4, this->stream());
  const DeviceBuffer<std::int32_t> predictions(4, this->stream());
  cross_entropy({logits.data(), 4, classes}, {labels.data()}, losses.data(), predictions.data(), {},
                this->stream());
  const auto found = predictions.download();
  EXPECT_EQ(std::vector<std::int32_t>(found.begin(), found.begin() + 3),
            (std::vector<std::int32_t>{0, 41, 333}));
  const auto got = losses.download();
  EXPECT_NEAR(got[0], std::log(700.0), 1e-4);
  EXPECT_NEAR(got[1], std::log(2.0), 1e-6);
  EXPECT_EQ(got[2], 0.0f);
  EXPECT_TRUE(std::isnan(got[3]));
}

TYPED_TEST(LossTest, CrossEntropyEqualsTheCpuBackend) {
  using T = typename TypeParam::Logit;
  const LossShape shape{7, 333, 0};
  const auto x = stored<T>(random_normal(shape.rows * shape.classes, 73, 3.0));
  std::vector<std::int32_t> labels = random_integers(shape.rows, 333, 74);
  labels[1] = ignored;
  const float factor = 2.0f;
  std::vector<float> on_cpu = floats(x), losses(7);
  std::vector<std::int32_t> predictions(7);
  make_cpu_backend()->cross_entropy({on_cpu.data(), shape.rows, shape.classes}, {labels.data()},
                                    losses.data(), predictions.data(), {on_cpu.data(), &factor});
  const DeviceBuffer<T> logits(rounded<T>(x), this->stream());
  const DeviceBuffer<float> gradient(shape.rows * shape.classes, this->stream());
  const DeviceBuffer<float> device_losses(7, this->stream());
  const DeviceBuffer<float> scale(std::vector<float>{factor}, this->stream());
  const DeviceBuffer<std::int32_t> device_labels(labels, this->stream()),
      device_predictions(7, this->stream());
  cross_entropy({logits.data(), shape.rows, shape.classes}, {device_labels.data()}, device_losses.data(),
                device_predictions.data(), {gradient.data(), scale.data()}, this->stream());
  EXPECT_LE(relative_error(device_losses.download(), widened(losses)), 1e-6);
  EXPECT_LE(relative_error(gradient.download(), widened(on_cpu)), 2e-6);
  EXPECT_EQ(device_predictions.download(), predictions);
}

// The two losses of single numbers: loss(x, target) and its derivative.
using RunLoss = std::function<void(const ConstMatrix& x, const float* targets, float* losses,
                                   const LossGradient& gradient)>;
template <class Types, class Loss>
void check_sum_of_losses(Stream stream, const Loss& loss, const RunLoss& run) {
  using T = typename Types::Logit;
  using D = typename Types::Gradient;
  for (const LossShape& shape :
       {LossShape{0, 4, 0}, LossShape{9, 1, 0}, LossShape{5, 3, 1}, LossShape{4, 919, 0}}) {
    SCOPED_TRACE(::testing::Message() << shape.rows << " x " << shape.classes);
    const Index count = shape.rows * shape.classes;
    const auto x = rounded<T>(random_normal(count, 75, 6.0));
    auto targets = floats(random_normal(count, 76));
    for (std::size_t i = 0; i < targets.size(); ++i) {
      targets[i] = i % 3 == 0 ? 0.0f : i % 3 == 1 ? 1.0f : 0.3f;
    }
    std::vector<double> losses, gradient;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (i % static_cast<std::size_t>(shape.classes) == 0) losses.push_back(0.0);
      double slope = 0;
      losses.back() += loss(static_cast<double>(to_float(x[i])), static_cast<double>(targets[i]), slope);
      gradient.push_back(slope * 0.125);
    }
    const Guarded<T> logits(x, shape.offset, stream);
    const Guarded<D> dlogits(count, shape.offset, stream);
    const DeviceBuffer<float> device_targets(targets, stream);
    const DeviceBuffer<float> scale(std::vector<float>{0.125f}, stream);
    const Guarded<float> got(shape.rows, 0, stream), only(shape.rows, 0, stream);
    const ConstMatrix matrix{logits.data(), shape.rows, shape.classes};
    run(matrix, device_targets.data(), got.data(), {dlogits.data(), scale.data()});
    EXPECT_LE(relative_error(got.take(), losses), 1e-6);
    EXPECT_LE(relative_error(dlogits.take(), gradient), tolerance<D>);
    run(matrix, device_targets.data(), only.data(), {});
    EXPECT_TRUE(same_bits(only.take(), got.take()));
    EXPECT_TRUE(same_bits(logits.take(), x));
    if constexpr (std::is_same_v<T, D>) {
      run(matrix, device_targets.data(), only.data(), {logits.data(), scale.data()});
      EXPECT_TRUE(same_bits(logits.take(), dlogits.take()));
    }
  }
}

TYPED_TEST(LossTest, BinaryCrossEntropyWeighsPositives) {
  for (const float weight : {1.0f, 7.5f}) {
    check_sum_of_losses<TypeParam>(
        this->stream(),
        [&](double x, double target, double& slope) {
          const double positive = 1.0 / (1.0 + std::exp(-x));
          slope = (1.0 - target) * positive - static_cast<double>(weight) * target * (1.0 - positive);
          return -(static_cast<double>(weight) * target * std::log(positive) +
                   (1.0 - target) * std::log(1.0 - positive));
        },
        [&](const ConstMatrix& logits, const float* targets, float* losses, const LossGradient& gradient) {
          binary_cross_entropy(logits, targets, weight, losses, gradient, this->stream());
        });
  }
}

TYPED_TEST(LossTest, SquaredErrorEqualsItsDefinition) {
  check_sum_of_losses<TypeParam>(
      this->stream(),
      [](double x, double target, double& slope) {
        slope = 2.0 * (x - target);
        return (x - target) * (x - target);
      },
      [&](const ConstMatrix& x, const float* targets, float* losses, const LossGradient& gradient) {
        squared_error(x, targets, losses, gradient, this->stream());
      });
}

// Groups of rows of one number per token, against sums in double.
template <class D>
class TokenLossTest : public CudaTest {};
using GradientTypes = ::testing::Types<float, bf16>;
TYPED_TEST_SUITE(TokenLossTest, GradientTypes);

struct Groups {
  std::vector<std::int32_t> rows, right, offsets{0}, parts;

  // Interleaved rows of `tokens`, some of no group; sums of so many compete. In group 1 nothing is right, in
  // group 2 all.
  Groups(const std::vector<std::int32_t>& sizes, std::int32_t parts_of_groups, std::int32_t tokens) {
    for (const std::int32_t size : sizes) {
      const std::size_t group = offsets.size() - 1;
      parts.push_back(size % parts_of_groups == 0 ? parts_of_groups : 1);
      for (std::int32_t i = 0; i < size; ++i) {
        rows.push_back(static_cast<std::int32_t>(rows.size()) * 7919 % tokens);
        const std::int32_t member = i % (size / parts.back());
        right.push_back(group == 1 ? 0 : group == 2 ? 1 : member % 7 == 3 ? 1 : 0);
      }
      offsets.push_back(offsets.back() + size);
    }
  }
};

struct TokenLosses {
  std::vector<double> losses, gradient;  // gradients of rows of no group stay as they are

  TokenLosses(const Groups& groups, const std::vector<double>& x, bool softmax, double scale,
              std::vector<double> before)
      : gradient(std::move(before)) {
    for (std::size_t group = 0; group + 1 < groups.offsets.size(); ++group) {
      const auto begin = static_cast<std::size_t>(groups.offsets[group]);
      const auto end = static_cast<std::size_t>(groups.offsets[group + 1]);
      const std::size_t members = (end - begin) / static_cast<std::size_t>(groups.parts[group]);
      std::vector<double> sums(members, 0.0);
      for (std::size_t i = begin; i < end; ++i)
        sums[(i - begin) % members] += x[static_cast<std::size_t>(groups.rows[i])];
      double all = 0.0, chosen = 0.0, marks = 0.0;
      for (std::size_t member = 0; member < members; ++member) {
        const bool is_right = groups.right[begin + member] != 0;
        all += std::exp(sums[member]);
        if (is_right) chosen += std::exp(sums[member]);
        marks -= std::log(1.0 / (1.0 + std::exp(is_right ? -sums[member] : sums[member])));
      }
      losses.push_back(!softmax ? marks : chosen == 0.0 ? 0.0 : std::log(all / chosen));
      for (std::size_t i = begin; i < end; ++i) {
        const double value = sums[(i - begin) % members], share = std::exp(value);
        const double one = groups.right[i] != 0 ? 1.0 : 0.0;
        const double slope = !softmax        ? 1.0 / (1.0 + std::exp(-value)) - one
                             : chosen == 0.0 ? 0.0
                                             : share / all - one * share / chosen;
        gradient[static_cast<std::size_t>(groups.rows[i])] = slope * scale;
      }
    }
  }
};

TYPED_TEST(TokenLossTest, EqualTheirDefinitions) {
  const Index tokens = 2003;
  // No rows at all, fewer than a warp, several rounds of the block.
  for (const std::vector<std::int32_t>& sizes :
       {std::vector<std::int32_t>{}, {5}, {13, 40, 3, 1, 0, 1000, 256}, {2003}}) {
    const auto x = rounded<float>(random_normal(tokens, 77, 3.0));
    const auto before = rounded<TypeParam>(random_normal(tokens, 78));
    for (const auto& [softmax, parts_of_groups] : {std::pair{true, 1}, {false, 1}, {true, 2}, {true, 5}}) {
      SCOPED_TRACE(::testing::Message()
                   << sizes.size() << " groups of " << parts_of_groups << " parts, softmax " << softmax);
      const Groups groups(sizes, parts_of_groups, static_cast<std::int32_t>(tokens));
      const TokenLosses expected(groups, widened(x), softmax, 0.25, widened(before));
      const auto count = static_cast<Index>(sizes.size());
      const DeviceBuffer<std::int32_t> rows(groups.rows, this->stream()), right(groups.right, this->stream()),
          offsets(groups.offsets, this->stream()), parts(groups.parts, this->stream());
      const TokenGroups view{rows.data(), right.data(), offsets.data(), parts.data(), count};
      const DeviceBuffer<float> scale(std::vector<float>{0.25f}, this->stream());
      const Guarded<float> logits(x, 0, this->stream());
      const Guarded<TypeParam> dlogits(before, 0, this->stream());
      const Guarded<float> losses(count, 0, this->stream()), only(count, 0, this->stream());
      token_losses(logits.data(), view, softmax, losses.data(), {dlogits.data(), scale.data()},
                   this->stream());
      EXPECT_LE(relative_error(losses.take(), expected.losses), 1e-6);
      EXPECT_LE(relative_error(dlogits.take(), expected.gradient), tolerance<TypeParam>);
      EXPECT_TRUE(same_bits(logits.take(), x));
      token_losses(logits.data(), view, softmax, only.data(), {}, this->stream());
      EXPECT_TRUE(same_bits(only.take(), losses.take()));
      if constexpr (std::is_same_v<TypeParam, float>) {
        token_losses(logits.data(), view, softmax, only.data(), {logits.data(), scale.data()},
                     this->stream());
        EXPECT_TRUE(same_bits(only.take(), losses.take()));
        const auto in_place = logits.take(), apart = dlogits.take();
        for (const std::int32_t row : groups.rows) {
          EXPECT_EQ(in_place[static_cast<std::size_t>(row)], apart[static_cast<std::size_t>(row)]);
        }
      }
    }
  }
}

TYPED_TEST(TokenLossTest, ExtremesStayFinite) {
  const std::vector<float> x{-1e6f, 3.0f, 2.0f, -INFINITY, 1e30f, -1e30f, 88.0f, 90.0f};
  const DeviceBuffer<float> logits(x, this->stream()), losses(3, this->stream()),
      scale(std::vector<float>{1.0f}, this->stream());
  const DeviceBuffer<TypeParam> dlogits(8, this->stream());
  const DeviceBuffer<std::int32_t> rows(std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7}, this->stream()),
      right(std::vector<std::int32_t>{0, 1, 1, 0, 1, 0, 1, 0}, this->stream()),
      offsets(std::vector<std::int32_t>{0, 4, 6, 8}, this->stream()),
      parts(std::vector<std::int32_t>{1, 1, 1}, this->stream());
  const TokenGroups groups{rows.data(), right.data(), offsets.data(), parts.data(), 3};
  const LossGradient gradient{dlogits.data(), scale.data()};
  token_losses(logits.data(), groups, true, losses.data(), gradient, this->stream());
  const auto choices = losses.download();
  EXPECT_EQ(choices[0], 0.0f);
  EXPECT_EQ(choices[1], 0.0f);
  EXPECT_NEAR(choices[2], 2.0 + std::log1p(std::exp(-2.0)), 1e-6);
  const auto slopes = widened(dlogits.download());
  for (std::size_t row = 0; row < 6; ++row) EXPECT_NEAR(slopes[row], 0.0, 1e-7) << row;
  EXPECT_NEAR(slopes[7], 1.0 / (1.0 + std::exp(-2.0)), 4e-3);
  token_losses(logits.data(), groups, false, losses.data(), gradient, this->stream());
  const auto marks = losses.download();
  EXPECT_NEAR(marks[0], std::log1p(std::exp(-3.0)) + std::log1p(std::exp(-2.0)), 1e-6);
  EXPECT_EQ(marks[1], 0.0f);
  EXPECT_EQ(marks[2], 90.0f);
  EXPECT_EQ(widened(dlogits.download())[3], 0.0);
}

}  // namespace
}  // namespace bigbird::kernels::cuda::testing
