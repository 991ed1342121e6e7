// Adafactor against reference/, for every level: many tensors in a call, several updates, odd shapes.
#include "tests/kernels/adafactor_case.h"
#include "tests/kernels/kernel_test.h"

namespace bigbird::kernels {
namespace {

class AdafactorKernel : public KernelTest {
 protected:
  // Parameters and state after four updates, of gradients that the case has thinned.
  std::vector<Floats> updated(Backend& backend, const testing::AdafactorCase& of) {
    Guarded p(start(of)), state(Floats(static_cast<std::size_t>(of.state_count())));
    for (int update = 1; update <= 4; ++update) {
      const Floats g = gradients(of, update);
      // As many bytes as were asked for, and a mark behind them.
      const std::size_t scratch_bytes = backend.adafactor_scratch_bytes(of.tensors());
      std::vector<double> scratch(scratch_bytes / sizeof(double) + 2, 77.0);
      auto* const bytes = reinterpret_cast<unsigned char*>(scratch.data());
      std::fill(bytes + scratch_bytes, bytes + scratch.size() * sizeof(double), 0xab);
      backend.adafactor({p.data(), g.data(), state.data(), scratch.data()}, of.tensors(),
                        testing::AdafactorCase::step(rate, update, scale));
      EXPECT_TRUE(std::all_of(bytes + scratch_bytes, bytes + scratch.size() * sizeof(double),
                              [](unsigned char byte) { return byte == 0xab; }));
    }
    return {p.take(), state.take()};
  }
  static Floats start(const testing::AdafactorCase& of) {
    return random_floats(static_cast<std::size_t>(of.count()), 301);
  }
  // Of other sizes in each update, so that some updates are cut to an rms of 1 and some are not.
  static Floats gradients(const testing::AdafactorCase& of, int update) {
    Floats g = random_floats(static_cast<std::size_t>(of.count()), 310 + static_cast<std::uint32_t>(update),
                             update % 2 == 0 ? 8.0f : 0.125f);
    of.thin(g);
    return g;
  }

  static constexpr double rate = 0.03;
  static constexpr float scale = 0.5f;
};

TEST_P(AdafactorKernel, EqualsTheReferenceTensorByTensor) {
  testing::AdafactorCase all({{1, 1},
                              {3, 5},
                              {17},
                              {1, 700},
                              {700, 1},
                              {1},
                              {64, 64},
                              {130, 33},
                              {40007},
                              {1100, 17},   // two tasks
                              {5, 16391},   // one row a task
                              {300, 1024},  // many tasks
                              {1, 40007},
                              {96, 31}});
  reference::Vector expected = doubles(start(all));
  for (int update = 1; update <= 4; ++update)
    all.update(testing::AdafactorCase::step(rate, update, scale), gradients(all, update), expected);
  const auto got = run([&](Backend& backend) { return updated(backend, all); });
  const reference::Vector state = all.state();
  for (const AdafactorTensor& tensor : all.tensors()) {
    SCOPED_TRACE(std::to_string(tensor.rows) + " x " + std::to_string(tensor.columns));
    const auto part = [](const auto& values, Index at, Index count) {
      return std::vector(values.begin() + at, values.begin() + at + count);
    };
    const Index count = tensor.rows * tensor.columns;
    EXPECT_LT(relative_error(part(got[0], tensor.offset, count), part(expected, tensor.offset, count)), 1e-6);
    EXPECT_LT(relative_error(part(got[1], tensor.column_means, tensor.columns),
                             part(state, tensor.column_means, tensor.columns)),
              1e-6);
    if (tensor.row_means < 0) continue;
    EXPECT_LT(relative_error(part(got[1], tensor.row_means, tensor.rows),
                             part(state, tensor.row_means, tensor.rows)),
              1e-6);
  }
  EXPECT_LT(relative_error(got[0], expected), 1e-6) << "what is between tensors";
}

TEST_P(AdafactorKernel, WhatHasNoGradientStaysAsItIsToTheLastBit) {
  const testing::AdafactorCase tensors({{7, 9}, {33}, {1, 50}, {40, 1}});
  const Floats zeros(static_cast<std::size_t>(tensors.count()));
  run([&](Backend& backend) {
    Floats p = start(tensors), state(static_cast<std::size_t>(tensors.state_count()));
    std::vector<double> scratch(backend.adafactor_scratch_bytes(tensors.tensors()) / sizeof(double) + 1);
    for (int update = 1; update <= 3; ++update)
      backend.adafactor({p.data(), zeros.data(), state.data(), scratch.data()}, tensors.tensors(),
                        testing::AdafactorCase::step(rate, update, 1.0f));
    EXPECT_EQ(p, start(tensors));
    return std::vector<Floats>{p};
  });
}

// The pad row of a word table, and a word that occurs once.
TEST_P(AdafactorKernel, RowsWithoutAGradientStayBesideLargeOnes) {
  const testing::AdafactorCase table({{40, 48}});
  run([&](Backend& backend) {
    Floats p = start(table), state(static_cast<std::size_t>(table.state_count()));
    std::vector<double> scratch(backend.adafactor_scratch_bytes(table.tensors()) / sizeof(double) + 1);
    for (int update = 1; update <= 3; ++update) {
      Floats g = random_floats(p.size(), 320, 1e8f);
      std::fill_n(g.begin(), 48, 0.0f);                       // never
      if (update > 1) std::fill_n(g.begin() + 48, 48, 0.0f);  // once
      backend.adafactor({p.data(), g.data(), state.data(), scratch.data()}, table.tensors(),
                        testing::AdafactorCase::step(rate, update, 1.0f));
    }
    const Floats before = start(table);
    EXPECT_TRUE(std::equal(p.begin(), p.begin() + 48, before.begin()));
    for (std::size_t i = 48; i < p.size(); ++i) {
      EXPECT_TRUE(std::isfinite(p[i])) << i;
    }
    return std::vector<Floats>{p, state};
  });
}

BIGBIRD_KERNEL_TESTS(AdafactorKernel);

}  // namespace
}  // namespace bigbird::kernels
