// LAMB against reference/, for every level: many tensors in a call, several updates, odd sizes.
#include "tests/kernels/kernel_test.h"
#include "tests/kernels/lamb_case.h"

namespace bigbird::kernels {
namespace {

class LambKernel : public KernelTest {};

TEST_P(LambKernel, EqualsTheReferenceTensorByTensor) {
  testing::LambCase all({40, 1, 7, 511, 512, 513, 16384, 16385, 40007, 3, 64});
  const auto count = static_cast<std::size_t>(all.count());
  Floats start = random_floats(count, 501);
  all.empty_first(start);
  const auto gradients = [&](std::uint32_t update) {
    Floats g = random_floats(count, 510 + update, update % 2 == 0 ? 4.0f : 0.125f);
    all.thin(g);
    return g;
  };
  reference::Vector expected = doubles(start);
  for (std::uint32_t update = 1; update <= 4; ++update) all.update(0.03, gradients(update), expected);
  const auto got = run([&](Backend& backend) {
    Guarded p(start), m(count, 0.0f), v(count, 0.0f);
    for (std::uint32_t update = 1; update <= 4; ++update) {
      const Floats g = gradients(update);
      std::vector<double> scratch(backend.lamb_scratch_bytes(all.pieces()) / sizeof(double) + 1);
      const LambArrays arrays{p.data(), g.data(), m.data(), v.data(), scratch.data()};
      std::vector<LambSquares> squares(all.pieces().size(), {77.0, 77.0});
      backend.lamb_moments(arrays, all.pieces(), testing::LambCase::step(), squares.data());
      backend.lamb_move(arrays, all.pieces(), testing::LambCase::step(), all.rates(0.03, squares).data());
    }
    return std::vector<Floats>{p.take(), m.take(), v.take()};
  });
  EXPECT_LT(relative_error(got[0], expected), 1e-6) << "what is between tensors included";
  EXPECT_LT(relative_error(got[1], all.first_moments()), 1e-6);
  EXPECT_LT(relative_error(got[2], all.second_moments()), 1e-6);
  for (const LambPiece& piece : all.pieces()) {
    SCOPED_TRACE(piece.count);
    const auto part = [&](const auto& values) {
      return std::vector(values.begin() + piece.offset, values.begin() + piece.offset + piece.count);
    };
    EXPECT_LT(relative_error(part(got[0]), part(expected)), 1e-6);
  }
}

TEST_P(LambKernel, SquaresAreSumsInDouble) {
  const std::size_t count = 40007;
  const Floats p = random_floats(count, 521, 100.0f), g = random_floats(count, 522);
  const std::vector<LambPiece> pieces{{0, 17, true}, {17, 39990, true}};
  run([&](Backend& backend) {
    Floats moved = p, m(count), v(count);
    std::vector<double> scratch(backend.lamb_scratch_bytes(pieces) / sizeof(double) + 1);
    std::vector<LambSquares> squares(pieces.size());
    LambStep step;
    step.weight_decay = 1.0f;
    backend.lamb_moments({moved.data(), g.data(), m.data(), v.data(), scratch.data()}, pieces, step,
                         squares.data());
    EXPECT_EQ(moved, p) << "moments alone";
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      double parameter = 0, update = 0;
      for (Index at = pieces[i].offset; at < pieces[i].offset + pieces[i].count; ++at) {
        const auto w = static_cast<double>(p[static_cast<std::size_t>(at)]);
        const auto first = static_cast<double>(m[static_cast<std::size_t>(at)]);
        const auto second = static_cast<double>(v[static_cast<std::size_t>(at)]);
        const double u = first / (std::sqrt(second) + 1e-6) + w;
        parameter += w * w;
        update += u * u;
      }
      EXPECT_NEAR(squares[i].parameter, parameter, 1e-12 * parameter);
      EXPECT_NEAR(squares[i].update, update, 1e-7 * update);
    }
    const Floats still(pieces.size());  // rates of 0
    backend.lamb_move({moved.data(), g.data(), m.data(), v.data(), scratch.data()}, pieces, step,
                      still.data());
    EXPECT_EQ(moved, p);
    return std::vector<Floats>{m, v};
  });
}

BIGBIRD_KERNEL_TESTS(LambKernel);

}  // namespace
}  // namespace bigbird::kernels
