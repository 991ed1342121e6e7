// The gradient norm, AdamW, LAMB and Adafactor, against reference/ and the CPU backend.
#include "kernels/backend.h"
#include "kernels/cuda/launchers.h"
#include "reference/optimizer.h"
#include "tests/cuda/typed_test.h"
#include "tests/kernels/adafactor_case.h"
#include "tests/kernels/lamb_case.h"

namespace bigbird::kernels::cuda::testing {
namespace {

class OptimizerTest : public CudaTest {
 protected:
  std::vector<double> sums_of(const float* x, Index count, Index part) {
    const Guarded<float> workspace(static_cast<Index>(sums_of_squares_workspace(count, part) / sizeof(float)),
                                   0, stream());
    const DeviceBuffer<double> sums((count + part - 1) / part, stream());
    sums_of_squares(x, count, part, sums.data(), workspace.data(), stream());
    workspace.take();
    return sums.download();
  }
};

TEST_F(OptimizerTest, SumOfSquaresIsMadeInDouble) {
  for (const Index count : {Index{0}, Index{1}, Index{7}, Index{4096}, Index{50001}}) {
    for (const Index offset : {Index{0}, Index{1}}) {
      SCOPED_TRACE(::testing::Message() << count << " at " << offset);
      const auto x = floats(random_normal(count, 81, 100.0));
      double expected = 0;
      for (const float value : x) expected += static_cast<double>(value) * static_cast<double>(value);
      const Guarded<float> there(x, offset, stream());
      const std::vector<double> sums = sums_of(there.data(), count, std::max<Index>(count, 1));
      EXPECT_NEAR(sums.empty() ? 0.0 : sums[0], expected, 1e-12 * (1.0 + expected));
    }
  }
}

// Parts of one launch are summed as each alone: the last, shorter one too, and where vectors do not fit.
TEST_F(OptimizerTest, SquaresOfPartsAreThoseOfEachPartAlone) {
  for (const auto& [count, part] : {std::pair<Index, Index>{1, 64},
                                    {64, 64},
                                    {65, 64},
                                    {50001, 8192},
                                    {50001, 16384},
                                    {50001, 50000},
                                    {4 * 8192, 8192}}) {
    const auto x = floats(random_normal(count, 81, 100.0));
    const DeviceBuffer<float> there(x, stream());
    std::vector<double> alone;
    for (Index first = 0; first < count; first += part) {
      const Index here = std::min(part, count - first);
      alone.push_back(sums_of(there.data() + first, here, here)[0]);
    }
    EXPECT_EQ(sums_of(there.data(), count, part), alone) << count << " in parts of " << part;
  }
  const auto x = floats(random_normal(1000, 82));
  const DeviceBuffer<float> there(x, stream());
  const std::vector<double> odd = sums_of(there.data(), 1000, 333);
  ASSERT_EQ(odd.size(), 4u);
  for (std::size_t i = 0; i < odd.size(); ++i) {
    double expected = 0;
    for (std::size_t j = i * 333; j < std::min<std::size_t>(1000, (i + 1) * 333); ++j)
      expected += static_cast<double>(x[j]) * static_cast<double>(x[j]);
    EXPECT_NEAR(odd[i], expected, 1e-12 * (1.0 + expected));
  }
}

// Runs of all kinds: odd ends within a vector, neighbours, gaps, many in a row, one over several blocks.
std::vector<ParameterRun> mixed_runs() {
  std::vector<ParameterRun> runs{{2, 5, true}, {7, 1, false}, {8, 1000, true}, {1010, 3, true}};
  for (Index at = 1016; at < 1116; at += 2) runs.push_back({at, 2, at % 4 == 0});
  runs.push_back({1120, 2050, false});
  return runs;
}
constexpr Index size = 3200;  // some parameters behind the last run, too

struct Moments {
  std::vector<float> p, g, m, v;
};

Moments start() {
  Moments state{floats(random_normal(size, 82)), floats(random_normal(size, 83)),
                floats(random_normal(size, 84, 0.1)), floats(random_normal(size, 85, 0.1))};
  for (float& value : state.v) value *= value;
  return state;
}

AdamWStep some_step() {
  AdamWStep step;
  step.learning_rate = 3e-3f;
  step.weight_decay = 0.1f;
  step.gradient_scale = 0.5f;
  step.correction1 = 0.271f;
  step.correction2 = 0.002997f;
  return step;
}

TEST_F(OptimizerTest, AdamWEqualsTheCpuBackendAndLeavesTheRestAlone) {
  const auto runs = mixed_runs();
  const Index end = runs.back().offset + runs.back().count;
  Moments on_cpu = start();
  make_cpu_backend()->adamw({on_cpu.p.data(), on_cpu.g.data(), on_cpu.m.data(), on_cpu.v.data()}, runs,
                            some_step());
  const Moments before = start();
  std::vector<bool> covered(static_cast<std::size_t>(size));
  for (const ParameterRun& run : runs) {
    for (Index i = run.offset; i < run.offset + run.count; ++i) covered[static_cast<std::size_t>(i)] = true;
  }
  // By vectors, and by single elements.
  for (const Index offset : {Index{0}, Index{1}}) {
    for (const bool with_copy : {true, false}) {
      const Guarded<float> p(before.p, offset, stream()), g(before.g, offset, stream());
      const Guarded<float> m(before.m, offset, stream()), v(before.v, offset, stream());
      const Guarded<bf16> copy(size, 0, stream());
      const DeviceBuffer<ParameterRun> device_runs(runs, stream());
      adamw({p.data(), g.data(), m.data(), v.data()}, with_copy ? copy.data() : nullptr,
            {device_runs.data(), runs.size()}, end, some_step(), stream());
      const auto new_p = p.take(), new_m = m.take(), new_v = v.take();
      EXPECT_LE(relative_error(new_p, widened(on_cpu.p)), 3e-7);
      EXPECT_LE(largest_error(new_p, widened(on_cpu.p)), 1e-6);
      EXPECT_LE(relative_error(new_m, widened(on_cpu.m)), 3e-7);
      EXPECT_LE(relative_error(new_v, widened(on_cpu.v)), 3e-7);
      EXPECT_TRUE(same_bits(g.take(), before.g));
      const auto copied = copy.take();
      for (std::size_t i = 0; i < covered.size(); ++i) {
        if (covered[i]) {
          EXPECT_NE(new_p[i], before.p[i]) << i;
        } else {
          EXPECT_TRUE(new_p[i] == before.p[i] && new_m[i] == before.m[i] && new_v[i] == before.v[i]) << i;
        }
        EXPECT_EQ(copied[i].bits, with_copy && covered[i] ? to_bf16(new_p[i]).bits : 0xffff) << i;
      }
    }
  }
}

TEST_F(OptimizerTest, AnAverageMovesAsOnTheCpu) {
  for (const Index count : {Index{1}, Index{7}, Index{4096}, Index{5001}}) {
    const auto average = floats(random_normal(count, 87)), values = floats(random_normal(count, 88));
    std::vector<float> on_cpu = average;
    make_cpu_backend()->move_towards(on_cpu.data(), values.data(), count, 0.01f);
    for (const Index offset : {Index{0}, Index{1}}) {
      SCOPED_TRACE(::testing::Message() << count << " at " << offset);
      const Guarded<float> moved(average, offset, stream()), there(values, offset, stream());
      move_towards(moved.data(), there.data(), count, 0.01f, stream());
      EXPECT_LE(relative_error(moved.take(), widened(on_cpu)), 3e-7);
      EXPECT_TRUE(same_bits(there.take(), values));
    }
  }
}

TEST_F(OptimizerTest, AdamWEqualsBothPublishedVariants) {
  const Index count = 1003;
  for (const auto variant : {reference::AdamWVariant::google, reference::AdamWVariant::torch}) {
    reference::AdamWOptions options;
    options.variant = variant;
    const auto parameters = floats(random_normal(count, 86));
    reference::Vector expected = widened(parameters);
    reference::AdamWState state;
    const std::vector<float> zeros(static_cast<std::size_t>(count));
    const Guarded<float> p(parameters, 0, stream()), m(zeros, 0, stream()), v(zeros, 0, stream());
    const DeviceBuffer<ParameterRun> run(std::vector<ParameterRun>{{0, count, true}}, stream());
    for (std::uint64_t update = 1; update <= 3; ++update) {
      const auto gradient = floats(random_normal(count, 90 + update));
      reference::adamw_update(options, 1e-2, widened(gradient), expected, state);
      AdamWStep step;
      step.learning_rate = 1e-2f;
      step.weight_decay = static_cast<float>(options.weight_decay);
      if (variant == reference::AdamWVariant::torch) {
        const double updates = static_cast<double>(update);
        step.correction1 = static_cast<float>(1.0 - std::pow(step.beta1, updates));
        step.correction2 = static_cast<float>(1.0 - std::pow(step.beta2, updates));
      }
      const Guarded<float> g(gradient, 0, stream());
      adamw({p.data(), g.data(), m.data(), v.data()}, nullptr, {run.data(), 1}, count, step, stream());
    }
    EXPECT_LE(relative_error(p.take(), expected), 1e-6);
  }
}

// Three updates of many tensors in every launch. By vectors where a tensor allows, and by single elements.
TEST_F(OptimizerTest, AdafactorEqualsTheReferenceAndLeavesTheRestAlone) {
  const std::vector<std::vector<std::size_t>> tensor_shapes{{1, 1},    {9, 20}, {17},     {1, 700},
                                                            {70, 1},   {8, 36}, {12, 40}, {33, 35},
                                                            {4, 4100}, {8200},  {64},     {19, 8}};
  for (const Index offset : {Index{0}, Index{1}}) {
    for (const bool with_copy : {true, false}) {
      kernels::testing::AdafactorCase all(tensor_shapes);
      const auto before = floats(random_normal(all.count(), 401));
      reference::Vector expected = widened(before);
      const Guarded<float> p(before, offset, stream());
      const Guarded<float> state(std::vector<float>(static_cast<std::size_t>(all.state_count())), offset,
                                 stream());
      const Guarded<bf16> copy(all.count(), 0, stream());
      const AdafactorPlaces places(all.tensors());
      const DeviceBuffer<AdafactorPlace> device_places(places.places(), stream());
      for (int update = 1; update <= 3; ++update) {
        auto gradients = floats(
            random_normal(all.count(), 410 + static_cast<std::uint64_t>(update), update == 2 ? 4.0 : 0.1));
        all.thin(gradients);
        const AdafactorStep step = kernels::testing::AdafactorCase::step(0.03, update, 0.5f);
        all.update(step, gradients, expected);
        const Guarded<float> g(gradients, offset, stream());
        const Guarded<double> scratch(static_cast<Index>(places.scratch_bytes() / sizeof(double)), 0,
                                      stream());
        copy_on_device(scratch.data(), device_places.data(), places.place_bytes(), stream());
        adafactor({p.data(), g.data(), state.data(), scratch.data()}, with_copy ? copy.data() : nullptr,
                  places, step, stream());
        EXPECT_TRUE(same_bits(g.take(), gradients));
        scratch.take();
      }
      const auto new_p = p.take(), new_state = state.take();
      EXPECT_LE(relative_error(new_p, expected), 1e-6);
      EXPECT_LE(largest_error(new_p, expected), 2e-6);
      const reference::Vector means = all.state();
      for (std::size_t i = 0; i < means.size(); ++i)
        EXPECT_NEAR(static_cast<double>(new_state[i]), means[i], 1e-6 * means[i]) << i;
      std::vector<bool> covered(before.size());
      for (const AdafactorTensor& tensor : all.tensors()) {
        for (Index i = 0; i < tensor.rows * tensor.columns; ++i)
          covered[static_cast<std::size_t>(tensor.offset + i)] = true;
      }
      const auto copied = copy.take();
      for (std::size_t i = 0; i < covered.size(); ++i) {
        if (!covered[i]) {
          EXPECT_EQ(new_p[i], before[i]) << i;
        }
        EXPECT_EQ(copied[i].bits, with_copy && covered[i] ? to_bf16(new_p[i]).bits : 0xffff) << i;
      }
      const AdafactorTensor& last = all.tensors().back();  // has no gradient
      for (auto i = static_cast<std::size_t>(last.offset); i < before.size(); ++i)
        EXPECT_EQ(new_p[i], before[i]) << i;
    }
  }
}

// Three updates of many tensors in every launch. By vectors where a tensor allows, and by single elements.
TEST_F(OptimizerTest, LambEqualsTheReferenceAndLeavesTheRestAlone) {
  for (const Index offset : {Index{0}, Index{1}}) {
    for (const bool with_copy : {true, false}) {
      // More than one block's part; several of more than all threads of the block that sums them.
      kernels::testing::LambCase all({40, 1, 7, 1024, 8192, 8193, 20002, 3, 64});
      auto before = floats(random_normal(all.count(), 421));
      all.empty_first(before);
      reference::Vector expected = widened(before);
      const std::vector<float> zeros(before.size());
      const Guarded<float> p(before, offset, stream()), m(zeros, offset, stream()),
          v(zeros, offset, stream());
      const Guarded<bf16> copy(all.count(), 0, stream());
      LambPlaces places(all.pieces());
      for (std::uint64_t update = 1; update <= 3; ++update) {
        auto gradients = floats(random_normal(all.count(), 430 + update, update == 2 ? 4.0 : 0.1));
        all.thin(gradients);
        all.update(0.03, gradients, expected);
        const Guarded<float> g(gradients, offset, stream());
        const Guarded<double> scratch(static_cast<Index>(places.scratch_bytes() / sizeof(double)), 0,
                                      stream());
        const LambArrays arrays{p.data(), g.data(), m.data(), v.data(), scratch.data()};
        const auto bring = [&] {
          const DeviceBuffer<LambPlace> there(places.places(), stream());
          copy_on_device(scratch.data(), there.data(), places.place_bytes(), stream());
        };
        bring();
        const auto* const at = lamb_moments(arrays, places, kernels::testing::LambCase::step(), stream());
        const DeviceBuffer<LambSquares> there(places.count(), stream());
        copy_on_device(there.data(), at, all.pieces().size() * sizeof(LambSquares), stream());
        places.set_rates(all.rates(0.03, there.download()).data());
        bring();
        lamb_move(arrays, with_copy ? copy.data() : nullptr, places, kernels::testing::LambCase::step(),
                  stream());
        EXPECT_TRUE(same_bits(g.take(), gradients));
        scratch.take();
      }
      const auto new_p = p.take(), new_m = m.take(), new_v = v.take();
      EXPECT_LE(relative_error(new_p, expected), 1e-6);
      EXPECT_LE(largest_error(new_p, expected), 2e-6);
      EXPECT_LE(relative_error(new_m, all.first_moments()), 1e-6);
      EXPECT_LE(relative_error(new_v, all.second_moments()), 1e-6);
      std::vector<bool> covered(before.size());
      for (const LambPiece& piece : all.pieces()) {
        for (Index i = 0; i < piece.count; ++i) covered[static_cast<std::size_t>(piece.offset + i)] = true;
      }
      const auto copied = copy.take();
      for (std::size_t i = 0; i < covered.size(); ++i) {
        if (!covered[i]) {
          EXPECT_TRUE(new_p[i] == before[i] && new_m[i] == 0.0f && new_v[i] == 0.0f) << i;
        }
        EXPECT_EQ(copied[i].bits, with_copy && covered[i] ? to_bf16(new_p[i]).bits : 0xffff) << i;
      }
    }
  }
}

// A piece of more blocks than threads sum them.
TEST_F(OptimizerTest, SquaresOfALargePieceAreWhole) {
  const Index count = 8192 * 70 + 3;
  const auto weights = floats(random_normal(count, 441));
  const std::vector<float> zeros(weights.size());
  double expected = 0;
  for (const float w : weights) expected += static_cast<double>(w) * static_cast<double>(w);
  const Guarded<float> p(weights, 0, stream()), g(zeros, 0, stream()), m(zeros, 0, stream()),
      v(zeros, 0, stream());
  const LambPlaces places(std::vector<LambPiece>{{0, count, true}});
  const Guarded<double> scratch(static_cast<Index>(places.scratch_bytes() / sizeof(double)), 0, stream());
  const DeviceBuffer<LambPlace> there(places.places(), stream());
  copy_on_device(scratch.data(), there.data(), places.place_bytes(), stream());
  LambStep step;
  step.weight_decay = 1.0f;
  const auto* const at =
      lamb_moments({p.data(), g.data(), m.data(), v.data(), scratch.data()}, places, step, stream());
  const DeviceBuffer<LambSquares> squares(1, stream());
  copy_on_device(squares.data(), at, sizeof(LambSquares), stream());
  EXPECT_NEAR(squares.download()[0].parameter, expected, 1e-12 * expected);
  EXPECT_NEAR(squares.download()[0].update, expected, 1e-12 * expected) << "decay alone";
}

TEST_F(OptimizerTest, NoRunsChangeNothing) {
  const Moments before = start();
  const Guarded<float> p(before.p, 0, stream()), g(before.g, 0, stream());
  const Guarded<float> m(before.m, 0, stream()), v(before.v, 0, stream());
  adamw({p.data(), g.data(), m.data(), v.data()}, nullptr, {}, 0, some_step(), stream());
  EXPECT_TRUE(same_bits(p.take(), before.p));
}

}  // namespace
}  // namespace bigbird::kernels::cuda::testing
