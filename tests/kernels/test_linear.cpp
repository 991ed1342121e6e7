// The linear layers against reference/, over odd shapes, for every level.
#include <array>
#include <cmath>
#include <utility>

#include "reference/layers.h"
#include "tests/kernels/kernel_test.h"

namespace bigbird::kernels {
namespace {

struct LinearShape {
  Index m, n, k;
};

// One row, one column, sizes around the register tile, several tiles of the partition, several slices of
// depth.
const LinearShape shapes[] = {{1, 1, 1},     {1, 7, 3},       {3, 2, 70},    {5, 33, 17},
                              {13, 64, 65},  {64, 63, 64},    {97, 129, 31}, {200, 100, 300},
                              {520, 70, 40}, {600, 257, 513}, {130, 800, 33}};

std::size_t area(Index rows, Index columns) {
  return static_cast<std::size_t>(rows * columns);
}

class LinearKernel : public KernelTest {};

TEST_P(LinearKernel, ForwardEqualsReference) {
  for (const LinearShape& s : shapes) {
    SCOPED_TRACE(::testing::Message() << s.m << " x " << s.n << " x " << s.k);
    const Floats x = random_floats(area(s.m, s.k), 1);
    const Floats w = random_floats(area(s.n, s.k), 2);
    const Floats bias = random_floats(area(s.n, 1), 3);
    for (const bool with_bias : {true, false}) {
      const auto out = run([&](Backend& backend) {
        Guarded y(area(s.m, s.n));
        backend.linear_forward(x.data(), {w.data(), with_bias ? bias.data() : nullptr, s.k, s.n}, y.data(),
                               s.m);
        return std::vector<Floats>{y.take()};
      });
      const auto expected = reference::linear_forward(matrix(x, s.m, s.k), doubles(w),
                                                      with_bias ? doubles(bias) : reference::Vector());
      EXPECT_LT(relative_error(out[0], expected.values), forward_tolerance);
    }
  }
}

TEST_P(LinearKernel, GeluForwardEqualsReferenceAndKeepsTheValuesBeforeGelu) {
  for (const LinearShape& s : shapes) {
    SCOPED_TRACE(::testing::Message() << s.m << " x " << s.n << " x " << s.k);
    const Floats x = random_floats(area(s.m, s.k), 4);
    const Floats w = random_floats(area(s.n, s.k), 5, 0.25f);
    const Floats bias = random_floats(area(s.n, 1), 6);
    const auto expected_pre = reference::linear_forward(matrix(x, s.m, s.k), doubles(w), doubles(bias));
    const auto expected = reference::activation_forward(expected_pre);
    const auto kept = run([&](Backend& backend) {
      Guarded pre(area(s.m, s.n));
      Guarded y(area(s.m, s.n));
      backend.linear_activation_forward(x.data(), {w.data(), bias.data(), s.k, s.n}, Activation::gelu_tanh,
                                        pre.data(), y.data(), s.m);
      return std::vector<Floats>{pre.take(), y.take()};
    });
    EXPECT_LT(relative_error(kept[0], expected_pre.values), forward_tolerance);
    EXPECT_LT(relative_error(kept[1], expected.values), forward_tolerance);
    const auto only = run([&](Backend& backend) {
      Guarded y(area(s.m, s.n));
      backend.linear_activation_forward(x.data(), {w.data(), bias.data(), s.k, s.n}, Activation::gelu_tanh,
                                        nullptr, y.data(), s.m);
      return std::vector<Floats>{y.take()};
    });
    EXPECT_EQ(only[0], kept[1]);
  }
}

TEST_P(LinearKernel, BackwardEqualsReferenceAndAddsWhereItShould) {
  for (const LinearShape& s : shapes) {
    SCOPED_TRACE(::testing::Message() << s.m << " x " << s.n << " x " << s.k);
    const Floats x = random_floats(area(s.m, s.k), 7);
    const Floats w = random_floats(area(s.n, s.k), 8);
    const Floats dy = random_floats(area(s.m, s.n), 9);
    const Floats dx_before = random_floats(area(s.m, s.k), 10);
    const Floats dw_before = random_floats(area(s.n, s.k), 11);
    const Floats dbias_before = random_floats(area(s.n, 1), 12);
    const auto out = run([&](Backend& backend) {
      Guarded dx(area(s.m, s.k));
      Guarded dx_added(dx_before);
      Guarded dw(dw_before);
      Guarded dw_only(dw_before);
      Guarded dbias(dbias_before);
      const Linear layer{w.data(), nullptr, s.k, s.n};
      backend.linear_backward_input(dy.data(), layer, dx.data(), s.m, false);
      backend.linear_backward_input(dy.data(), layer, dx_added.data(), s.m, true);
      backend.linear_backward_weight(dy.data(), x.data(), layer, {dw.data(), dbias.data()}, s.m);
      backend.linear_backward_weight(dy.data(), x.data(), layer, {dw_only.data(), nullptr}, s.m);
      EXPECT_EQ(dw.take(), dw_only.take());
      return std::vector<Floats>{dx.take(), dx_added.take(), dw.take(), dbias.take()};
    });
    const auto expected = reference::linear_backward(matrix(x, s.m, s.k), doubles(w), matrix(dy, s.m, s.n));
    EXPECT_LT(relative_error(out[0], expected.x.values), gradient_tolerance);
    EXPECT_LT(relative_error(out[1], reference::sum(expected.x.values, doubles(dx_before))),
              gradient_tolerance);
    EXPECT_LT(relative_error(out[2], reference::sum(expected.weight, doubles(dw_before))),
              gradient_tolerance);
    EXPECT_LT(relative_error(out[3], reference::sum(expected.bias, doubles(dbias_before))),
              gradient_tolerance);
  }
}

// A batch may hold one sequence or many: what is computed of a row is the same to the last bit.
TEST_P(LinearKernel, ARowDoesNotDependOnTheRowsBesideIt) {
  constexpr Index most = 600;
  for (const auto& [in, out] : {std::pair<Index, Index>{16, 32}, {70, 45}, {128, 384}, {512, 128}}) {
    const Floats x = random_floats(area(most, std::max(in, out)), 14);
    const Floats w = random_floats(area(out, in), 15);
    const Linear layer{w.data(), nullptr, in, out};
    const auto products = [&, in = in, out = out](Index rows) {
      return run([&](Backend& backend) {
        Guarded y(area(rows, out)), dx(area(rows, in));
        Guarded sum(Floats(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(area(rows, in))));
        backend.linear_forward(x.data(), layer, y.data(), rows);
        backend.linear_backward_input(x.data(), layer, dx.data(), rows, false);
        backend.linear_backward_input(x.data(), layer, sum.data(), rows, true);
        return std::vector<Floats>{y.take(), dx.take(), sum.take()};
      });
    };
    const std::vector<Floats> whole = products(most);
    for (const Index rows : {1, 2, 15, 16, 17, 31, 32, 48, 63, 64, 100, 127, 129, 255, 257, 384, 511, 550}) {
      const std::vector<Floats> some = products(rows);
      for (std::size_t i = 0; i < some.size(); ++i) {
        EXPECT_EQ(std::memcmp(some[i].data(), whole[i].data(), some[i].size() * sizeof(float)), 0)
            << rows << " rows of " << in << " x " << out
            << (i == 0   ? ""
                : i == 1 ? ", backward"
                         : ", added to what was there");
      }
    }
  }
}

TEST_P(LinearKernel, NoRowsChangeNothing) {
  const Floats w = random_floats(6, 13);
  const auto out = run([&](Backend& backend) {
    Guarded y(0);
    Guarded dw(w);
    const Linear layer{w.data(), nullptr, 3, 2};
    backend.linear_forward(y.data(), layer, y.data(), 0);
    backend.linear_backward_input(y.data(), layer, y.data(), 0, false);
    backend.linear_backward_weight(y.data(), y.data(), layer, {dw.data(), nullptr}, 0);
    return std::vector<Floats>{y.take(), dw.take()};
  });
  EXPECT_EQ(out[1], w);
}

// The same bits as added to zeros, whatever is there, of no rows too.
TEST_P(LinearKernel, AFreshWeightGradientIsWritten) {
  for (const auto& [in, out, rows] : {std::array<Index, 3>{3, 2, 0}, {70, 45, 33}, {128, 384, 100}}) {
    const Floats x = random_floats(area(rows, in), 16), dy = random_floats(area(rows, out), 17);
    const auto made = run([&, in = in, out = out, rows = rows](Backend& backend) {
      Guarded added(Floats(area(out, in), 0.0f)), fresh(Floats(area(out, in), std::nanf("")));
      const Linear layer{nullptr, nullptr, in, out};
      backend.linear_backward_weight(dy.data(), x.data(), layer, {added.data(), nullptr}, rows);
      backend.linear_backward_weight(dy.data(), x.data(), layer, {fresh.data(), nullptr, true}, rows);
      return std::vector<Floats>{added.take(), fresh.take()};
    });
    EXPECT_EQ(made[0], made[1]) << in << " x " << out << ", " << rows << " rows";
  }
}

BIGBIRD_KERNEL_TESTS(LinearKernel);

}  // namespace
}  // namespace bigbird::kernels
