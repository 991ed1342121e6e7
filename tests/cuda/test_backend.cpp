// Every operation of the CUDA backend against the CPU backend, at small and odd shapes.
#include "kernels/cuda/linear_products.h"
#include "lib/model/plans/block_plan.h"
#include "tests/cuda/backend_test.h"

namespace bigbird::kernels::cuda::testing {

class BackendOperations : public BackendTest {};

struct LinearShape {
  Index m, n, k;
};
// With sizes that cuBLASLt's epilogues take, and with others.
const LinearShape linear_shapes[] = {{5, 16, 24}, {17, 24, 8}, {3, 5, 7}, {1, 1, 33}, {0, 8, 8}};

TEST_P(BackendOperations, LinearForward) {
  for (const auto& [m, n, k] : linear_shapes) {
    for (const bool with_bias : {false, true}) {
      for (const bool wide : {false, true}) {
        agree([&, m = m, n = n, k = k](Side& side) {
          const ConstValues x = side.values(exact_numbers(m * k, 1));
          const float* const parameters = side.parameters(exact_numbers(n * k + n, 2));
          const float* const bias = with_bias ? parameters + n * k : nullptr;
          const Values y = side.unset(m * n, wide);
          side.backend().linear_forward(x, {parameters, bias, k, n}, y, m);
          return std::vector<Floats>{side.read(y, m * n)};
        });
      }
    }
  }
}

TEST_P(BackendOperations, LinearGeluForward) {
  for (const auto& [m, n, k] : linear_shapes) {
    for (const Activation activation : every_activation) {
      for (const bool keep : {true, false}) {
        agree([&, m = m, n = n, k = k](Side& side) {
          const ConstValues x = side.values(exact_numbers(m * k, 1));
          const float* const parameters = side.parameters(exact_numbers(n * k + n, 2, 0.3));
          const Values pre = keep ? side.unset(m * n) : Values();
          const Values y = side.unset(m * n);
          side.backend().linear_activation_forward(x, {parameters, parameters + n * k, k, n}, activation, pre,
                                                   y, m);
          std::vector<Floats> outputs{side.read(y, m * n)};
          if (keep) outputs.push_back(side.read(pre, m * n));
          return outputs;
        });
      }
    }
  }
}

TEST_P(BackendOperations, LinearBackwardInput) {
  for (const auto& [m, n, k] : linear_shapes) {
    for (const bool accumulate : {false, true}) {
      agree([&, m = m, n = n, k = k](Side& side) {
        const ConstValues dy = side.values(exact_numbers(m * n, 1));
        const float* const w = side.parameters(exact_numbers(n * k, 2));
        const Values dx = accumulate ? side.values(exact_numbers(m * k, 3)) : side.unset(m * k);
        side.backend().linear_backward_input(dy, {w, nullptr, k, n}, dx, m, accumulate);
        return std::vector<Floats>{side.read(dx, m * k)};
      });
    }
  }
}

TEST_P(BackendOperations, LinearBackwardInputGelu) {
  for (const auto& [m, n, k] : linear_shapes) {
    for (const Activation activation : every_activation) {
      agree(
          [&, m = m, n = n, k = k](Side& side) {
            const ConstValues dy = side.values(exact_numbers(m * n, 1));
            const float* const w = side.parameters(exact_numbers(n * k, 2));
            const ConstValues pre = side.values(exact_numbers(m * k, 3));
            const Values dx = side.unset(m * k);
            side.backend().linear_backward_input_activation(dy, {w, nullptr, k, n}, activation, pre, dx, m);
            return std::vector<Floats>{side.read(dx, m * k)};
          },
          2.0);
    }
  }
}

TEST_P(BackendOperations, LinearBackwardWeight) {
  for (const auto& [m, n, k] : linear_shapes) {
    agree([&, m = m, n = n, k = k](Side& side) {
      const ConstValues dy = side.values(exact_numbers(m * n, 1));
      const ConstValues x = side.values(exact_numbers(m * k, 2));
      float* const dw = side.floats(exact_numbers(n * k, 3));
      float* const dbias = side.floats(exact_numbers(n, 4));
      const Linear sizes{nullptr, nullptr, k, n};
      side.backend().linear_backward_weight(dy, x, sizes, {dw, dbias}, m);
      side.backend().linear_backward_weight(dy, x, sizes, {dw, nullptr}, m);
      return std::vector<Floats>{side.read(dw, n * k), side.read(dbias, n)};
    });
  }
}

// A product takes the gradient of the bias along only where a table says so.
TEST_P(BackendOperations, ABiasGradientThatATableAsksFor) {
  constexpr Index rows = 40, in = 64, out = 256;
  const std::vector<ModelProduct> products = bias_gradient_products({in, out, 96, rows, 16, 2}, GetParam());
  ASSERT_EQ(products[1].gemm.m, out);
  const std::vector<std::string> algorithms = make_gemm_library()->algorithms(products[1].gemm, 1);
  if (algorithms.empty()) GTEST_SKIP() << "the library has no such product";
  CudaOptions options;
  options.precision = GetParam();
  options.product_table = [&](const std::string& device, const std::string& library) {
    return ProductTable{device, library, {{product_key(products[1].gemm), {algorithms[0], 1, 2}}}};
  };
  std::vector<std::string> remarks;
  options.remark = [&](const std::string& line) { remarks.push_back(line); };
  device_ = std::make_unique<CudaBackend>(options);
  const std::size_t scratch = device_->scratch_bytes({});
  EXPECT_EQ(scratch, CudaBackend({0, GetParam()}).scratch_bytes({}) + out * sizeof(float));
  agree([&](Side& side) {
    const ConstValues dy = side.values(exact_numbers(rows * out, 1));
    const ConstValues x = side.values(exact_numbers(rows * in, 2));
    float* const dw = side.floats(exact_numbers(out * in, 3));
    float* const dbias = side.floats(exact_numbers(out, 4));
    for (int i = 0; i < 2; ++i)
      side.backend().linear_backward_weight(dy, x, {nullptr, nullptr, in, out}, {dw, dbias, true}, rows);
    side.backend().linear_backward_weight(dy, x, {nullptr, nullptr, in, out}, {dw, nullptr}, rows);
    return std::vector<Floats>{side.read(dw, out * in), side.read(dbias, out)};
  });
  EXPECT_TRUE(remarks.empty()) << remarks.front();
}

// The same bits as added to zeros, whatever was there; the bias is added to as ever.
TEST_P(BackendOperations, AFreshWeightGradientIsWritten) {
  for (const auto& [m, n, k] : linear_shapes) {
    const auto gradients = [&, m = m, n = n, k = k](Side& side, bool fresh) {
      const ConstValues dy = side.values(exact_numbers(m * n, 1));
      const ConstValues x = side.values(exact_numbers(m * k, 2));
      const float before = fresh ? std::nanf("") : 0.0f;
      float* const dw = side.floats(Floats(static_cast<std::size_t>(n * k), before));
      float* const dbias = side.floats(exact_numbers(n, 4));
      side.backend().linear_backward_weight(dy, x, {nullptr, nullptr, k, n}, {dw, dbias, fresh}, m);
      return std::vector<Floats>{side.read(dw, n * k), side.read(dbias, n)};
    };
    const auto both = [&, m = m, n = n, k = k](Side& side) {
      const std::vector<Floats> fresh = gradients(side, true);
      EXPECT_EQ(fresh, gradients(side, false)) << m << " x " << n << " x " << k;
      return fresh;
    };
    agree(both);
  }
}

TEST_P(BackendOperations, ZerosInRanges) {
  std::vector<FloatRange> ranges{{0, 3}, {7, 0}, {8, 1}};
  for (Index i = 0; i < 140; ++i) ranges.push_back({100 + 50 * i, i % 47});
  ranges.push_back({20'000, 300'001});
  ranges.push_back({320'010, 5});
  const Index count = 320'020;
  const auto zeroed = [&](Side& side) {
    float* const values = side.floats(exact_numbers(count, 3));
    side.backend().zero_ranges(values, ranges);
    return std::vector<Floats>{side.read(values, count)};
  };
  Floats expected = exact_numbers(count, 3);
  for (const FloatRange& range : ranges) std::fill_n(expected.begin() + range.first, range.count, 0.0f);
  EXPECT_TRUE(on_device(zeroed).front() == expected);
  EXPECT_TRUE(on_processor(zeroed).front() == expected);
}

TEST_P(BackendOperations, Embedding) {
  constexpr Index tokens = 37, width = 20, vocabulary = 11, type_count = 2, position_count = 40;
  std::vector<std::int32_t> ids = random_integers(tokens, vocabulary, 1);
  const std::vector<std::int32_t> types = random_integers(tokens, type_count, 2);
  const std::vector<std::int32_t> positions = random_integers(tokens, position_count, 3);
  for (const bool with_positions : {true, false}) {
    agree([&](Side& side) {
      const float* const parameters =
          side.parameters(exact_numbers((vocabulary + type_count + position_count) * width, 4));
      const float* const type = parameters + vocabulary * width;
      const float* const position = with_positions ? type + type_count * width : nullptr;
      const Values y = side.unset(tokens * width);
      side.backend().embedding_forward(
          {side.integers(ids), side.integers(types), side.integers(positions), tokens},
          {parameters, type, position, 1.5f, width, vocabulary, type_count, position_count}, y);
      return std::vector<Floats>{side.read(y, tokens * width)};
    });
  }
  ids[5] = -1;
  agree([&](Side& side) {
    const ConstValues dy = side.values(exact_numbers(tokens * width, 5));
    float* const dword = side.floats(exact_numbers(vocabulary * width, 6));
    float* const dtype = side.floats(exact_numbers(type_count * width, 7));
    float* const dposition = side.floats(exact_numbers(position_count * width, 8));
    side.backend().embedding_backward(
        dy, {side.integers(ids), side.integers(types), side.integers(positions), tokens},
        {nullptr, nullptr, nullptr, 1.5f, width, vocabulary, type_count, position_count},
        {dword, dtype, dposition});
    return std::vector<Floats>{side.read(dword, vocabulary * width), side.read(dtype, type_count * width),
                               side.read(dposition, position_count * width)};
  });
}

TEST_P(BackendOperations, Neighbours) {
  constexpr Index tokens = 70, vocabulary = 10, neighbours = 5;
  std::vector<std::int32_t> rows = random_integers(neighbours * tokens, vocabulary + 1, 1);
  for (std::int32_t& row : rows) --row;  // some are none
  for (const Index width : {Index{20}, Index{64}}) {
    agree([&](Side& side) {
      const float* const weight = side.parameters(exact_numbers((neighbours * vocabulary + 1) * width, 2));
      const NeighbourTables tables{weight, weight + neighbours * vocabulary * width, neighbours, vocabulary,
                                   width};
      const Values y = side.unset(tokens * width);
      side.backend().neighbours_forward({side.integers(rows), tokens}, tables, y);
      return std::vector<Floats>{side.read(y, tokens * width)};
    });
    agree([&](Side& side) {
      const ConstValues dy = side.values(exact_numbers(tokens * width, 3));
      float* const dweight = side.floats(exact_numbers(neighbours * vocabulary * width, 4));
      float* const dbias = side.floats(exact_numbers(width, 5));
      side.backend().neighbours_backward(dy, {side.integers(rows), tokens},
                                         {nullptr, nullptr, neighbours, vocabulary, width}, {dweight, dbias});
      return std::vector<Floats>{side.read(dweight, neighbours * vocabulary * width),
                                 side.read(dbias, width)};
    });
  }
}

TEST_P(BackendOperations, MeansAndLargestOfRows) {
  const std::vector<std::int32_t> first{3, 30, 0, 50}, length{16, 1, 2, 8};  // shares are exact
  for (const Index width : {Index{20}, Index{64}, Index{300}}) {
    agree([&](Side& side) {
      const ConstValues x = side.values(exact_numbers(60 * width, 1)),
                        dy = side.values(exact_numbers(4 * width, 2));
      const Values y = side.unset(4 * width), dx = side.values(exact_numbers(60 * width, 3));
      const RowSpans spans{side.integers(first), side.integers(length), 4};
      const Values most = side.unset(4 * width);
      side.backend().mean_rows_forward(x, spans, y, width);
      side.backend().max_rows_forward(x, spans, most, width);
      side.backend().mean_rows_backward(dy, spans, dx, width);
      return std::vector<Floats>{side.read(y, 4 * width), side.read(most, 4 * width),
                                 side.read(dx, 60 * width)};
    });
  }
}

TEST_P(BackendOperations, LayerNormAlone) {
  constexpr Index rows = 9, width = 40;
  agree(
      [&](Side& side) {
        const ConstValues x = side.values(exact_numbers(rows * width, 1));
        const ConstValues dy = side.values(exact_numbers(rows * width, 2));
        const float* const gamma = side.parameters(exact_numbers(width, 3));
        const float* const beta = side.parameters(exact_numbers(width, 4));
        const Values y = side.unset(rows * width);
        const Values dx = side.values(exact_numbers(rows * width, 5));
        float* const mean = side.floats(Floats(rows));
        float* const rstd = side.floats(Floats(rows));
        float* const dgamma = side.floats(exact_numbers(width, 6));
        float* const dbeta = side.floats(exact_numbers(width, 7));
        const Norm norm{gamma, beta, 1e-12f, width};
        side.backend().layernorm_forward(x, norm, y, {mean, rstd}, rows);
        side.backend().layernorm_backward({dy, x, {mean, rstd}, dx, rows}, norm, {dgamma, dbeta}, true);
        return std::vector<Floats>{side.read(y, rows * width), side.read(mean, rows),
                                   side.read(rstd, rows),      side.read(dx, rows * width),
                                   side.read(dgamma, width),   side.read(dbeta, width)};
      },
      2.0);
}

// The same rows as where the sum is kept; what the branch gives stays as it is.
TEST_P(BackendOperations, TheEndOfAPostNormBranchWithoutItsSum) {
  constexpr Index rows = 9;
  for (const Index width : {40, 768, 5000}) {
    const auto ends = [&](Side& side, bool keeps_sum) {
      const ConstValues x = side.values(exact_numbers(rows * width, 1)),
                        residual = side.values(exact_numbers(rows * width, 2));
      const float* const gamma = side.parameters(exact_numbers(width, 3));
      const Values y = side.unset(rows * width), sum = side.unset(rows * width);
      side.backend().dropout_add_layernorm_forward({x, residual, keeps_sum ? sum : nullptr, {}},
                                                   {gamma, gamma, 1e-12f, width}, y, {}, rows);
      return std::vector<Floats>{side.read(y, rows * width), side.read(x, rows * width)};
    };
    agree(
        [&](Side& side) {
          const std::vector<Floats> without = ends(side, false);
          EXPECT_EQ(without, ends(side, true)) << width;
          return without;
        },
        2.0);
  }
}

TEST_P(BackendOperations, TheEndOfAPostNormBranch) {
  constexpr Index rows = 9, width = 40;
  agree(
      [&](Side& side) {
        const Dropout dropout{0.3f, side.key(99), 5};
        const ConstValues x = side.values(exact_numbers(rows * width, 1));
        const ConstValues residual = side.values(exact_numbers(rows * width, 2));
        const ConstValues dy = side.values(exact_numbers(rows * width, 8));
        const float* const gamma = side.parameters(exact_numbers(width, 3));
        const float* const beta = side.parameters(exact_numbers(width, 4));
        const Values sum = side.unset(rows * width);
        const Values y = side.unset(rows * width);
        const Values dx = side.unset(rows * width);
        const Values branch = side.unset(rows * width);
        float* const mean = side.floats(Floats(rows));
        float* const rstd = side.floats(Floats(rows));
        float* const dgamma = side.floats(exact_numbers(width, 6));
        float* const dbeta = side.floats(exact_numbers(width, 7));
        float* const dbias = side.floats(exact_numbers(width, 9));
        const Norm norm{gamma, beta, 1e-12f, width};
        const NormState state{mean, rstd};
        side.backend().dropout_add_layernorm_forward({x, residual, sum, dropout}, norm, y, state, rows);
        side.backend().layernorm_backward_dropout({dy, sum, state, dx, rows}, norm, {dgamma, dbeta, dbias},
                                                  dropout, branch);
        return std::vector<Floats>{side.read(sum, rows * width), side.read(y, rows * width),
                                   side.read(dx, rows * width),  side.read(branch, rows * width),
                                   side.read(dgamma, width),     side.read(dbeta, width),
                                   side.read(dbias, width)};
      },
      2.0);
}

TEST_P(BackendOperations, ElementByElement) {
  constexpr Index count = 1003;
  agree(
      [&](Side& side) {
        Backend& backend = side.backend();
        const Dropout dropout{0.25f, side.key(7), 3};
        const ConstValues x = side.values(exact_numbers(count, 1));
        const ConstValues other = side.values(exact_numbers(count, 2));
        std::vector<Floats> outputs;
        const auto keep = [&](const Values& made) { outputs.push_back(side.read(made, count)); };
        for (const Activation activation : every_activation) {
          const Values dx = side.unset(count);
          backend.activation_backward(x, other, dx, count, activation);
          keep(dx);
          const Values made = side.unset(count);
          backend.activation_forward(x, made, count, activation);
          keep(made);
        }
        const Values y = side.unset(count);
        backend.tanh_forward(x, y, count);
        keep(y);
        const Values dx = side.unset(count);
        backend.tanh_backward(side.values(exact_numbers(count, 4, 0.2)), other, dx, count);
        keep(dx);
        backend.dropout(x, y, count, dropout);
        keep(y);
        backend.dropout_add(x, other, y, count, dropout);
        keep(y);
        backend.add(x, y, count);
        keep(y);
        backend.copy(dx.data(), y.data(), static_cast<std::size_t>(count) * size_of(y.type()));
        keep(dx);
        backend.zero(dx.data(), static_cast<std::size_t>(count) * size_of(y.type()));
        backend.add(x, dx, count);
        keep(dx);
        return outputs;
      },
      2.0);
}

TEST_P(BackendOperations, RotaryRotation) {
  constexpr Index rows = 6, heads = 2, head_size = 8, half = 3, stride = 20, length = 10;
  for (const bool back : {false, true}) {
    agree([&](Side& side) {
      const Values x = side.values(exact_numbers(rows * stride, 1));
      const float* const rotations = side.floats(exact_numbers(length * 2 * half, 2));
      const std::int32_t* const positions = side.integers(random_integers(rows, length, 3));
      side.backend().rotate({x, stride}, {positions, rotations, heads, head_size, half}, rows, back);
      return std::vector<Floats>{side.read(x, rows * stride)};
    });
  }
}

TEST_P(BackendOperations, RowsPickedOut) {
  constexpr Index rows = 12, width = 10, count = 4;
  const std::vector<std::int32_t> picked{7, 0, 11, 3};
  agree([&](Side& side) {
    const ConstValues x = side.values(exact_numbers(rows * width, 1));
    const Values y = side.unset(count * width);
    const Values dx = side.values(exact_numbers(rows * width, 2));
    side.backend().gather_rows(x, side.integers(picked), y, count, width);
    side.backend().scatter_add_rows(y, side.integers(picked), dx, count, width);
    side.backend().subtract(x, dx, rows * width);
    return std::vector<Floats>{side.read(y, count * width), side.read(dx, rows * width)};
  });
}

TEST_P(BackendOperations, Losses) {
  constexpr Index rows = 6, classes = 13;
  const std::vector<std::int32_t> labels{3, -100, 0, 12, 5, 5};
  for (const bool wide : {false, true}) {
    agree(
        [&](Side& side) {
          Backend& backend = side.backend();
          const float* const scale = side.floats({0.25f});
          std::vector<Floats> outputs;
          const auto keep = [&](ConstValues made, Index count) { outputs.push_back(side.read(made, count)); };
          float* const losses = side.floats(Floats(rows));
          std::int32_t* const predictions = side.integers(std::vector<std::int32_t>(rows));
          const Values logits = side.values(exact_numbers(rows * classes, 1), wide);
          backend.cross_entropy({logits, rows, classes}, {side.integers(labels)}, losses, predictions,
                                {logits, scale});
          keep(losses, rows);
          keep(logits, rows * classes);
          std::vector<std::int32_t> best(rows);
          backend.download(best.data(), predictions, best.size() * sizeof(std::int32_t));
          outputs.emplace_back(best.begin(), best.end());
          const float* const targets = side.floats([&] {
            Floats all;
            for (const std::int32_t bit : random_integers(rows * classes, 2, 9))
              all.push_back(static_cast<float>(bit));
            return all;
          }());
          const Values binary = side.values(exact_numbers(rows * classes, 2), wide);
          backend.binary_cross_entropy({binary, rows, classes}, targets, 3.0f, losses, {binary, scale});
          keep(losses, rows);
          keep(binary, rows * classes);
          const Values error = side.values(exact_numbers(rows * classes, 3), wide);
          backend.squared_error({error, rows, classes}, targets, losses, {error, scale});
          keep(losses, rows);
          keep(error, rows * classes);
          return outputs;
        },
        2.0);
  }
}

TEST_P(BackendOperations, LossesOfGroupsOfTokens) {
  constexpr Index tokens = 60, groups = 3;
  const std::vector<std::int32_t> rows{3, 50, 7, 40, 21, 22, 23, 0, 59, 30},
      right{0, 1, 0, 1, 0, 0, 1, 0, 0, 0}, offsets{0, 4, 7, 10};
  for (const bool softmax : {true, false}) {
    const std::vector<std::int32_t> parts{softmax ? 2 : 1, 1, 1};
    agree([&](Side& side) {
      float* const losses = side.floats(Floats(groups));
      const Values gradient = side.values(exact_numbers(tokens, 5));
      side.backend().token_losses(
          side.floats(exact_numbers(tokens, 4)),
          {side.integers(rows), side.integers(right), side.integers(offsets), side.integers(parts), groups},
          softmax, losses, {gradient, side.floats({0.25f})});
      return std::vector<Floats>{side.read(losses, groups), side.read(gradient, tokens)};
    });
  }
}

// Exact in every precision: parameters are fp32.
TEST_P(BackendOperations, OptimizerStepsAndTheirWorkingCopy) {
  constexpr Index count = 700;
  const ParameterRun first[] = {{0, 100, true}, {100, 37, false}, {200, 500, true}};
  const ParameterRun second[] = {{0, 700, false}};
  const Operation operation = [&](Side& side) {
    float* const p = side.parameters(exact_numbers(count, 1));
    const float* const g = side.floats(exact_numbers(count, 2));
    float* const m = side.floats(Floats(count, 0.1f));
    float* const v = side.floats(Floats(count, 0.2f));
    AdamWStep step;
    step.learning_rate = 0.01f;
    step.weight_decay = 0.1f;
    step.gradient_scale = 0.5f;
    const AdamWArrays arrays{p, g, m, v};
    side.backend().adamw(arrays, first, step);
    side.backend().adamw(arrays, second, step);
    side.backend().adamw(arrays, first, step);
    const Values y = side.unset(count);  // p through the working copy: 1 times p
    side.backend().linear_forward(side.values({1.0f}), {p, nullptr, 1, count}, y, 1);
    double squares[2] = {};
    side.backend().sums_of_squares(p, count, count / 2 + 1, squares);
    return std::vector<Floats>{side.read(p, count),
                               side.read(m, count),
                               side.read(v, count),
                               side.read(y, count),
                               {static_cast<float>(squares[0]), static_cast<float>(squares[1])}};
  };
  const std::vector<Floats> expected = on_processor(operation);
  const std::vector<Floats> got = on_device(operation);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::vector<double> wide(expected[i].begin(), expected[i].end());
    EXPECT_LT(relative_error(got[i], wide), i == 3 ? tolerance() : 1e-6) << "output " << i;
  }
}

TEST_P(BackendOperations, AdafactorAndTheWorkingCopy) {
  constexpr Index count = 700;
  AdafactorTensor matrix{.offset = 0, .rows = 20, .columns = 30, .row_means = 0, .column_means = 20};
  AdafactorTensor vector{.offset = 604, .columns = 96, .column_means = 50, .rate = 0.5};
  const AdafactorTensor tensors[] = {matrix, vector};
  const Operation operation = [&](Side& side) {
    float* const p = side.parameters(exact_numbers(count, 1));
    float* const state = side.floats(Floats(146));
    const Floats scratch(side.backend().adafactor_scratch_bytes(tensors) / sizeof(float) + 1);
    for (const int update : {1, 2, 3}) {
      const float* const g = side.floats(exact_numbers(count, 1 + static_cast<std::uint64_t>(update)));
      side.backend().adafactor({p, g, state, side.floats(scratch)}, tensors,
                               {0.05, 1.0 - std::pow(update, -0.8), 0.5f});
    }
    const Values y = side.unset(count);  // p through the working copy: 1 times p
    side.backend().linear_forward(side.values({1.0f}), {p, nullptr, 1, count}, y, 1);
    return std::vector<Floats>{side.read(p, count), side.read(state, 146), side.read(y, count)};
  };
  const std::vector<Floats> expected = on_processor(operation);
  const std::vector<Floats> got = on_device(operation);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::vector<double> wide(expected[i].begin(), expected[i].end());
    EXPECT_LT(relative_error(got[i], wide), i == 2 ? tolerance() : 1e-6) << "output " << i;
  }
}

TEST_P(BackendOperations, LambAndTheWorkingCopy) {
  constexpr Index count = 700;
  const LambPiece pieces[] = {{0, 300, true}, {300, 37, false}, {340, 360, true}};
  const LambStep step{.weight_decay = 0.1f, .gradient_scale = 0.5f};
  const Operation operation = [&](Side& side) {
    float* const p = side.parameters(exact_numbers(count, 1));
    float* const m = side.floats(Floats(count));
    float* const v = side.floats(Floats(count));
    const Floats scratch(side.backend().lamb_scratch_bytes(pieces) / sizeof(float) + 1);
    Floats sums;
    for (const std::uint64_t update : {1u, 2u, 3u}) {
      const LambArrays arrays{p, side.floats(exact_numbers(count, 1 + update)), m, v, side.floats(scratch)};
      LambSquares squares[3];
      side.backend().lamb_moments(arrays, pieces, step, squares);
      for (const LambSquares& of : squares) {
        sums.push_back(static_cast<float>(of.parameter));
        sums.push_back(static_cast<float>(of.update));
      }
      const float rates[] = {0.05f, 0.01f, 0.02f};
      side.backend().lamb_move(arrays, pieces, step, rates);
    }
    const Values y = side.unset(count);  // p through the working copy: 1 times p
    side.backend().linear_forward(side.values({1.0f}), {p, nullptr, 1, count}, y, 1);
    return std::vector<Floats>{side.read(p, count), side.read(m, count), side.read(v, count), sums,
                               side.read(y, count)};
  };
  const std::vector<Floats> expected = on_processor(operation);
  const std::vector<Floats> got = on_device(operation);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::vector<double> wide(expected[i].begin(), expected[i].end());
    EXPECT_LT(relative_error(got[i], wide), i == 4 ? tolerance() : 1e-6) << "output " << i;
  }
}

TEST_P(BackendOperations, AttentionOverARaggedBatch) {
  constexpr Index heads = 2;
  // Rows that name a block twice, and a block that hardly anybody names.
  const BlockPlan longer(
      {{{0, 1, 2, 3}, {0, 1, 1, 3}, {2, 3}, {0, 1, 2, 3}}, {{0, 1, 2, 3}, {1, 3}, {0, 0, 2}, {0, 1, 2, 3}}});
  const BlockPlan shorter({{{0, 1}, {1, 0, 0}}, {{0, 1}, {1}}});
  const BlockPlanView* const plans[] = {&shorter.view(), &longer.view()};
  struct Shape {
    Index head_size, block_size;
    float drop;
  };
  // The last ones are padded.
  for (const Shape& shape :
       {Shape{32, 16, 0.0f}, {32, 16, 0.2f}, {20, 16, 0.2f}, {32, 10, 0.0f}, {7, 24, 0.0f}}) {
    const Index head_size = shape.head_size, block_size = shape.block_size;
    const float drop = shape.drop;
    SCOPED_TRACE(std::to_string(head_size) + " " + std::to_string(block_size));
    const Index width = heads * head_size, tokens = 6 * block_size;
    const Index token_offsets[] = {0, 2 * block_size, tokens};
    const Index lengths[] = {2 * block_size, 3 * block_size + 7};
    agree(
        [&](Side& side) {
          AttentionBatch batch;
          batch.slot = 1;
          batch.sequences = 2;
          batch.heads = heads;
          batch.head_size = head_size;
          batch.block_size = block_size;
          batch.token_offsets = token_offsets;
          batch.lengths = lengths;
          batch.plans = plans;
          batch.scale = 0.2f;
          batch.drop_probability = drop;
          batch.dropout_seed = side.key(11);
          batch.dropout_site = 4;
          const Values qkv = side.values(exact_numbers(tokens * 3 * width, 1));
          const Values gradients = side.unset(tokens * 3 * width);
          const Values out = side.unset(tokens * width);
          const Values dout = side.values(exact_numbers(tokens * width, 2));
          float* const log_sum_exp = side.floats(Floats(static_cast<std::size_t>(heads * tokens)));
          const auto part = [&](const Values& matrix, Index i) {
            return Rows{matrix + i * width, 3 * width};
          };
          side.backend().prepare_attention(batch);
          const QueryKeyValue inputs{part(qkv, 0), part(qkv, 1), part(qkv, 2)};
          side.backend().attention_forward(batch, inputs, {out, width}, log_sum_exp);
          side.backend().attention_backward(batch, inputs, Rows{out, width}, log_sum_exp, {dout, width},
                                            {part(gradients, 0), part(gradients, 1), part(gradients, 2)});
          return std::vector<Floats>{side.read(out, tokens * width),
                                     side.read(gradients, tokens * 3 * width)};
        },
        2.0);
  }
}

BIGBIRD_BACKEND_TESTS(BackendOperations);

}  // namespace bigbird::kernels::cuda::testing
