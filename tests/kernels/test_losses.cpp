// Losses, the gradient norm and AdamW against reference/, for every level.
#include "reference/losses.h"
#include "reference/optimizer.h"
#include "tests/kernels/kernel_test.h"

namespace bigbird::kernels {
namespace {

class LossKernel : public KernelTest {};

TEST_P(LossKernel, CrossEntropyEqualsReferenceRowByRow) {
  struct Shape {
    Index classes;
    bool smoothed;
  };
  const std::vector<Shape> loss_shapes = {{1, false},    {2, false},     {17, false}, {64, false},
                                          {1000, false}, {32000, false}, {2, true},   {17, true},
                                          {1003, true},  {32000, true}};
  for (const Shape& shape : loss_shapes) {
    const Index classes = shape.classes;
    SCOPED_TRACE(::testing::Message() << classes << (shape.smoothed ? " smoothed" : ""));
    const float other = shape.smoothed ? 0.125f / static_cast<float>(classes) : 0.0f;
    const float own = 1.0f - static_cast<float>(classes - 1) * other;
    const Index rows = 7;
    const std::size_t count = static_cast<std::size_t>(rows * classes);
    const Floats logits = random_floats(count, 81, 20.0f);
    std::vector<std::int32_t> labels;
    for (Index row = 0; row < rows; ++row) {
      labels.push_back(row == 3 ? -100 : static_cast<std::int32_t>(row * 12345 % classes));
    }
    const float scale = 0.125f;
    const auto got = run([&](Backend& backend) {
      Guarded losses(static_cast<std::size_t>(rows)), dlogits(count), in_place(logits),
          quiet(static_cast<std::size_t>(rows));
      std::vector<std::int32_t> predictions(static_cast<std::size_t>(rows), -1);
      const ConstMatrix x{logits.data(), rows, classes};
      const ClassLabels held{labels.data(), own, other};
      backend.cross_entropy(x, held, losses.data(), predictions.data(), {dlogits.data(), &scale});
      backend.cross_entropy(x, held, quiet.data(), nullptr, {});
      EXPECT_EQ(quiet.take(), losses.take());
      backend.cross_entropy({in_place.data(), rows, classes}, held, quiet.data(), nullptr,
                            {in_place.data(), &scale});
      EXPECT_EQ(in_place.take(), dlogits.take());
      for (Index row = 0; row < rows; ++row) {
        const auto begin = logits.begin() + row * classes;
        EXPECT_EQ(predictions[static_cast<std::size_t>(row)],
                  std::max_element(begin, begin + classes) - begin);
      }
      return std::vector<Floats>{losses.take(), dlogits.take()};
    });
    reference::Vector losses, gradient;
    for (Index row = 0; row < rows; ++row) {
      const Floats one(logits.begin() + row * classes, logits.begin() + (row + 1) * classes);
      const auto expected =
          reference::smoothed_cross_entropy(matrix(one, 1, classes), {labels[static_cast<std::size_t>(row)]},
                                            {static_cast<double>(own), static_cast<double>(other)});
      losses.push_back(expected.loss);
      for (const double value : expected.gradient.values)
        gradient.push_back(value * static_cast<double>(scale));
    }
    EXPECT_LT(relative_error(got[0], losses), forward_tolerance);
    EXPECT_LT(relative_error(got[1], gradient), gradient_tolerance);
    EXPECT_EQ(got[0][3], 0.0f);
  }
}

TEST_P(LossKernel, TheLowestIndexWinsATie) {
  for (const std::size_t first : {0u, 1u, 15u, 16u, 40u, 69u}) {
    run([&](Backend& backend) {
      Floats logits(70, -1.0f);
      logits[first] = 2.0f;
      logits[69] = 2.0f;
      const std::int32_t label = 0;
      std::int32_t prediction = -1;
      float loss = 0.0f;
      backend.cross_entropy({logits.data(), 1, 70}, {&label}, &loss, &prediction, {});
      EXPECT_EQ(prediction, static_cast<std::int32_t>(first));
      return std::vector<Floats>{{loss}};
    });
  }
}

TEST_P(LossKernel, BinaryCrossEntropyEqualsReferenceAndWeighsPositives) {
  const Index rows = 5, classes = 9;
  const std::size_t count = static_cast<std::size_t>(rows * classes);
  const Floats logits = random_floats(count, 82, 50.0f);
  Floats targets(count), positive(count);
  for (std::size_t i = 0; i < count; ++i) targets[i] = i % 3 == 0 ? 1.0f : i % 7 == 0 ? 0.25f : 0.0f;
  const float scale = 0.5f;
  const auto got = run([&](Backend& backend) {
    Guarded losses(5), dlogits(count), weighted(5), weighted_gradient(logits);
    backend.binary_cross_entropy({logits.data(), rows, classes}, targets.data(), 1.0f, losses.data(),
                                 {dlogits.data(), &scale});
    backend.binary_cross_entropy({weighted_gradient.data(), rows, classes}, targets.data(), 3.0f,
                                 weighted.data(), {weighted_gradient.data(), &scale});
    return std::vector<Floats>{losses.take(), dlogits.take(), weighted.take(), weighted_gradient.take()};
  });
  reference::Vector losses, gradient, weighted, weighted_gradient;
  for (Index row = 0; row < rows; ++row) {
    double total = 0.0, weighted_total = 0.0;
    for (Index i = row * classes; i < (row + 1) * classes; ++i) {
      const std::size_t at = static_cast<std::size_t>(i);
      const reference::Matrix logit = matrix({logits[at]}, 1, 1), target = matrix({targets[at]}, 1, 1);
      const auto one = reference::binary_cross_entropy_with_logits(logit, target);
      const auto heavy = reference::binary_cross_entropy_with_logits(logit, target, 3.0);
      total += one.loss;
      weighted_total += heavy.loss;
      gradient.push_back(0.5 * one.gradient.values[0]);
      weighted_gradient.push_back(0.5 * heavy.gradient.values[0]);
    }
    losses.push_back(total);
    weighted.push_back(weighted_total);
  }
  EXPECT_LT(relative_error(got[0], losses), forward_tolerance);
  EXPECT_LT(relative_error(got[1], gradient), gradient_tolerance);
  EXPECT_LT(relative_error(got[2], weighted), forward_tolerance);
  EXPECT_LT(relative_error(got[3], weighted_gradient), gradient_tolerance);
}

// Groups of these sizes over `tokens` numbers, their rows interleaved and some rows in no group. Group 1 has
// no right member, group 2 only right ones, the others some.
struct Groups {
  std::vector<std::int32_t> rows, right, offsets{0}, parts;

  Groups(const std::vector<std::int32_t>& sizes, std::vector<std::int32_t> parts_of_groups,
         std::size_t tokens)
      : parts(std::move(parts_of_groups)) {
    std::vector<std::int32_t> order(tokens);
    for (std::size_t i = 0; i < tokens; ++i) order[i] = static_cast<std::int32_t>(i * 7919 % tokens);
    for (const std::int32_t size : sizes) {
      const std::size_t group = offsets.size() - 1;
      for (std::int32_t i = 0; i < size; ++i) {
        const std::int32_t member = i % (size / parts[group]);
        rows.push_back(order[rows.size()]);
        right.push_back(group == 1 ? 0 : group == 2 ? 1 : static_cast<std::int32_t>(member % 5 == 0));
      }
      offsets.push_back(offsets.back() + size);
    }
  }
  TokenGroups view() const {
    return {rows.data(), right.data(), offsets.data(), parts.data(), static_cast<Index>(offsets.size()) - 1};
  }
  std::size_t size(std::size_t group) const {
    return static_cast<std::size_t>(offsets[group + 1] - offsets[group]);
  }
  std::size_t members(std::size_t group) const {
    return size(group) / static_cast<std::size_t>(parts[group]);
  }
  std::vector<bool> right_of(std::size_t group) const {
    const auto first = right.begin() + offsets[group];
    return {first, first + static_cast<std::ptrdiff_t>(members(group))};
  }
  std::size_t row(std::size_t group, std::size_t i) const {
    return static_cast<std::size_t>(rows[static_cast<std::size_t>(offsets[group]) + i]);
  }
  // The sums that compete.
  reference::Vector of(std::size_t group, const Floats& values) const {
    reference::Vector sums(members(group), 0.0);
    for (std::size_t i = 0; i < size(group); ++i)
      sums[i % sums.size()] += static_cast<double>(values[row(group, i)]);
    return sums;
  }
};

class TokenLossKernel : public LossKernel {
 protected:
  void expect_as_reference(const Groups& groups, bool softmax);
  static constexpr std::size_t tokens = 9001;  // a prime
};

void TokenLossKernel::expect_as_reference(const Groups& groups, bool softmax) {
  SCOPED_TRACE(softmax);
  const Floats logits = random_floats(tokens, 85, 30.0f);
  const float scale = 0.25f, untouched = 77.0f;
  const auto got = run([&](Backend& backend) {
    Guarded losses(8), quiet(8), dlogits(tokens, untouched), in_place(logits);
    backend.token_losses(logits.data(), groups.view(), softmax, losses.data(), {dlogits.data(), &scale});
    backend.token_losses(logits.data(), groups.view(), softmax, quiet.data(), {});
    EXPECT_EQ(quiet.take(), losses.take());
    backend.token_losses(in_place.data(), groups.view(), softmax, quiet.data(), {in_place.data(), &scale});
    return std::vector<Floats>{losses.take(), dlogits.take(), in_place.take()};
  });
  reference::Vector losses, gradient(tokens, static_cast<double>(untouched));
  for (std::size_t group = 0; group < 8; ++group) {
    const auto expected =
        softmax ? reference::choice_cross_entropy(groups.of(group, logits), groups.right_of(group))
                : reference::mark_cross_entropy(groups.of(group, logits), groups.right_of(group));
    losses.push_back(expected.loss);
    for (std::size_t i = 0; i < groups.size(group); ++i) {
      const std::size_t row = groups.row(group, i);
      gradient[row] = expected.gradient(0, i % groups.members(group)) * static_cast<double>(scale);
      EXPECT_EQ(got[2][row], got[1][row]) << "in place, row " << row;
      EXPECT_NEAR(got[1][row], gradient[row], 1e-6) << row;
    }
  }
  EXPECT_LT(relative_error(got[0], losses), forward_tolerance);
  for (std::size_t row = 0; row < tokens; ++row) {
    if (gradient[row] != static_cast<double>(untouched)) continue;
    EXPECT_EQ(got[1][row], untouched) << row;
    EXPECT_EQ(got[2][row], logits[row]) << row;
  }
  EXPECT_EQ(got[0][4], 0.0f);  // without rows
  if (!softmax) return;
  EXPECT_EQ(got[0][1], 0.0f);
  EXPECT_EQ(got[0][2], 0.0f);  // nothing but right ones
  EXPECT_EQ(got[1][groups.row(1, 0)], 0.0f);
}

TEST_P(TokenLossKernel, EqualsReferenceGroupByGroup) {
  const std::vector<std::int32_t> sizes{13, 4, 3, 1, 0, 1000, 7, 5000};
  for (const bool softmax : {true, false})
    expect_as_reference({sizes, {1, 1, 1, 1, 1, 1, 1, 1}, tokens}, softmax);
  // Sums compete: of two rows, of three, of all of a group.
  expect_as_reference({sizes, {13, 2, 1, 1, 3, 4, 1, 5}, tokens}, true);
  expect_as_reference({sizes, {1, 4, 3, 1, 1, 250, 7, 2}, tokens}, true);
}

// Tokens of a question lie 1e6 below the others, and -infinity takes no part.
TEST_P(TokenLossKernel, ExtremesStayFinite) {
  const Floats logits{-1e6f, 3.0f, 2.0f, -INFINITY, 1e30f, -1e30f, 88.0f, 90.0f};
  const std::vector<std::int32_t> rows{0, 1, 2, 3, 4, 5, 6, 7}, right{0, 1, 1, 0, 1, 0, 1, 0};
  const std::vector<std::int32_t> offsets{0, 4, 6, 8}, parts{1, 1, 1};
  const TokenGroups groups{rows.data(), right.data(), offsets.data(), parts.data(), 3};
  const float scale = 1.0f;
  const auto got = run([&](Backend& backend) {
    Guarded losses(3), dlogits(8), marks(3), dmarks(8);
    backend.token_losses(logits.data(), groups, true, losses.data(), {dlogits.data(), &scale});
    backend.token_losses(logits.data(), groups, false, marks.data(), {dmarks.data(), &scale});
    return std::vector<Floats>{losses.take(), dlogits.take(), marks.take(), dmarks.take()};
  });
  EXPECT_EQ(got[0][0], 0.0f);
  EXPECT_EQ(got[0][1], 0.0f);
  EXPECT_NEAR(got[0][2], 2.0 + std::log1p(std::exp(-2.0)), 1e-6);
  EXPECT_NEAR(got[1][7], 1.0 / (1.0 + std::exp(-2.0)), 1e-6);
  EXPECT_NEAR(got[1][6], -1.0 / (1.0 + std::exp(-2.0)), 1e-6);
  for (const std::size_t row : {0u, 1u, 2u, 3u, 4u, 5u}) EXPECT_NEAR(got[1][row], 0.0f, 1e-7) << row;
  EXPECT_NEAR(got[2][0], std::log1p(std::exp(-3.0)) + std::log1p(std::exp(-2.0)), 1e-6);
  EXPECT_EQ(got[2][1], 0.0f);
  EXPECT_EQ(got[2][2], 90.0f);
  EXPECT_EQ(got[3][3], 0.0f);
  EXPECT_EQ(got[3][7], 1.0f);
}

TEST_P(LossKernel, SumOfSquaresIsMadeInDouble) {
  for (const Index count : {0, 1, 7, 16384, 50001}) {
    const Floats x = random_floats(static_cast<std::size_t>(count), 83);
    double expected = 0.0;
    for (const float value : x) expected += static_cast<double>(value) * static_cast<double>(value);
    double got = 0.0;
    run([&](Backend& backend) {
      backend.sums_of_squares(x.data(), count, 1 << 20, &got);
      return std::vector<Floats>{{static_cast<float>(got), static_cast<float>(got - expected)}};
    });
    EXPECT_NEAR(got, expected, 1e-12 * (1.0 + expected));
    // Parts are summed as if each were there alone.
    const Index part = 448, parts = (count + part - 1) / part;
    std::vector<double> sums(static_cast<std::size_t>(parts) + 1, -1.0), alone(sums);
    const auto backend = make_cpu_backend();
    backend->sums_of_squares(x.data(), count, part, sums.data());
    for (Index i = 0; i < parts; ++i) {
      const Index first = i * part, here = std::min(part, count - first);
      backend->sums_of_squares(x.data() + first, here, here, &alone[static_cast<std::size_t>(i)]);
    }
    EXPECT_EQ(sums, alone);
  }
}

TEST_P(LossKernel, AdamWEqualsBothPublishedVariants) {
  const std::size_t count = 40007;
  for (const auto variant : {reference::AdamWVariant::google, reference::AdamWVariant::torch}) {
    const Floats start = random_floats(count, 84);
    reference::AdamWOptions options;
    options.variant = variant;
    options.weight_decay = 0.01;
    reference::Vector expected = doubles(start);
    reference::AdamWState state;
    for (std::uint32_t step = 1; step <= 3; ++step) {
      reference::Vector gradient = doubles(random_floats(count, 90 + step));
      for (double& value : gradient) value *= 0.5;
      reference::adamw_update(options, 1e-2, gradient, expected, state);
    }
    const auto got = run([&](Backend& backend) {
      Guarded p(start), m(count, 0.0f), v(count, 0.0f);
      const ParameterRun all{0, static_cast<Index>(count), true};
      for (std::uint32_t step = 1; step <= 3; ++step) {
        const Floats gradient = random_floats(count, 90 + step);
        AdamWStep constants;
        constants.learning_rate = 1e-2f;
        constants.weight_decay = 0.01f;
        constants.gradient_scale = 0.5f;
        if (variant == reference::AdamWVariant::torch) {
          constants.correction1 = static_cast<float>(1.0 - std::pow(0.9, step));
          constants.correction2 = static_cast<float>(1.0 - std::pow(0.999, step));
        }
        backend.adamw({p.data(), gradient.data(), m.data(), v.data()}, {&all, 1}, constants);
      }
      return std::vector<Floats>{p.take(), m.take(), v.take()};
    });
    EXPECT_LT(relative_error(got[0], expected), forward_tolerance);
    EXPECT_LT(relative_error(got[1], state.first_moment), forward_tolerance);
    EXPECT_LT(relative_error(got[2], state.second_moment), forward_tolerance);
  }
}

TEST_P(LossKernel, AnAverageMovesByItsShare) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{40007}}) {
    const Floats average = random_floats(count, 101), values = random_floats(count, 102);
    for (const float share : {0.0f, 0.01f, 1.0f}) {
      reference::Vector expected = doubles(average);
      for (std::size_t i = 0; i < count; ++i)
        expected[i] += static_cast<double>(share) * (static_cast<double>(values[i]) - expected[i]);
      const auto got = run([&](Backend& backend) {
        Guarded moved(average);
        backend.move_towards(moved.data(), values.data(), static_cast<Index>(count), share);
        return std::vector<Floats>{moved.take()};
      });
      EXPECT_LT(relative_error(got[0], expected), forward_tolerance);
      if (share == 0.0f) {
        EXPECT_EQ(got[0], average);
      }
    }
  }
}

BIGBIRD_KERNEL_TESTS(LossKernel);
BIGBIRD_KERNEL_TESTS(TokenLossKernel);

}  // namespace
}  // namespace bigbird::kernels
