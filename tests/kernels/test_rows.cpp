// LayerNorm, activations, dropout, embeddings and row moves against reference/, for every level.
#include "kernels/activations.h"
#include "kernels/philox.h"
#include "reference/layers.h"
#include "tests/kernels/kernel_test.h"

namespace bigbird::kernels {
namespace {

class RowKernel : public KernelTest {};

const Index widths[] = {1, 7, 16, 63, 64, 100, 768};

TEST_P(RowKernel, LayerNormEqualsReferenceForwardAndBackward) {
  for (const Index width : widths) {
    for (const Index rows : {1, 5, 129}) {
      SCOPED_TRACE(::testing::Message() << rows << " x " << width);
      const std::size_t count = static_cast<std::size_t>(rows * width);
      const std::size_t columns = static_cast<std::size_t>(width);
      const Floats x = random_floats(count, 31, 3.0f), dy = random_floats(count, 32);
      const Floats gamma = random_floats(columns, 33), beta = random_floats(columns, 34);
      const Floats dgamma_before = random_floats(columns, 35), dbeta_before = random_floats(columns, 36);
      const Floats dx_before = random_floats(count, 37), dbias_before = random_floats(columns, 38);
      const float epsilon = 1e-3f;
      const auto got = run([&](Backend& backend) {
        Guarded y(count), y_only(count), mean(static_cast<std::size_t>(rows)),
            rstd(static_cast<std::size_t>(rows));
        const Norm norm{gamma.data(), beta.data(), epsilon, width};
        const NormState state{mean.data(), rstd.data()};
        backend.layernorm_forward(x.data(), norm, y.data(), state, rows);
        backend.layernorm_forward(x.data(), norm, y_only.data(), {}, rows);
        EXPECT_EQ(y.take(), y_only.take());
        Guarded dx(count), in_place(dy), added(dx_before), dgamma(dgamma_before), dbeta(dbeta_before);
        Guarded more_dgamma(dgamma_before), more_dbeta(dbeta_before);
        Guarded dbias(dbias_before), dbias_of_dx(dbias_before), dweight(columns);
        const NormGradients gradients{dgamma.data(), dbeta.data(), dbias.data()};
        const NormGradients more{more_dgamma.data(), more_dbeta.data()};
        backend.layernorm_backward({dy.data(), x.data(), state, dx.data(), rows}, norm, gradients, false);
        backend.layernorm_backward({in_place.data(), x.data(), state, in_place.data(), rows}, norm, more,
                                   false);
        EXPECT_EQ(dx.take(), in_place.take());
        // What the linear layer before it would sum itself.
        backend.linear_backward_weight(dx.data(), rstd.data(), {nullptr, nullptr, 1, width},
                                       {dweight.data(), dbias_of_dx.data()}, rows);
        EXPECT_EQ(dbias.take(), dbias_of_dx.take());
        backend.layernorm_backward({dy.data(), x.data(), state, added.data(), rows}, norm, more, true);
        return std::vector<Floats>{y.take(), dx.take(), added.take(), dgamma.take(), dbeta.take()};
      });
      const double eps = static_cast<double>(epsilon);
      const auto y =
          reference::layer_norm_forward(matrix(x, rows, width), doubles(gamma), doubles(beta), eps);
      const auto gradients = reference::layer_norm_backward(matrix(x, rows, width), doubles(gamma), eps,
                                                            matrix(dy, rows, width));
      EXPECT_LT(relative_error(got[0], y.values), forward_tolerance);
      // One column is its own mean: the gradient is rounding alone.
      if (width > 1) {
        EXPECT_LT(relative_error(got[1], gradients.x.values), gradient_tolerance);
      }
      EXPECT_LT(relative_error(got[2], reference::sum(gradients.x.values, doubles(dx_before))),
                gradient_tolerance);
      EXPECT_LT(relative_error(got[3], reference::sum(gradients.gamma, doubles(dgamma_before))),
                gradient_tolerance);
      EXPECT_LT(relative_error(got[4], reference::sum(gradients.beta, doubles(dbeta_before))),
                gradient_tolerance);
    }
  }
}

// From deep in one tail to deep in the other, with zero and the seams of the approximations.
Floats activation_inputs() {
  Floats x{0.0f, -0.0f, 0.625f, -0.625f, 1e-8f, -1e-8f, 30.0f, -30.0f, 200.0f, -200.0f};
  for (int i = -4000; i <= 4000; ++i) x.push_back(static_cast<float>(i) / 400.0f);
  return x;
}

TEST_P(RowKernel, ActivationsEqualReference) {
  const Floats x = activation_inputs();
  const Index count = static_cast<Index>(x.size());
  const Floats dy = random_floats(x.size(), 41);
  for (const Activation form :
       {Activation::gelu_tanh, Activation::gelu_erf, Activation::relu, Activation::silu}) {
    SCOPED_TRACE(::testing::Message() << "activation " << static_cast<int>(form));
    const auto got = run([&](Backend& backend) {
      Guarded dx(x.size()), y(x.size()), again(x.size());
      backend.activation_backward(x.data(), dy.data(), dx.data(), count, form);
      // The activation itself, through a linear layer that only copies.
      const float one = 1.0f;
      backend.linear_activation_forward(x.data(), {&one, nullptr, 1, 1}, form, nullptr, y.data(), count);
      backend.activation_forward(x.data(), again.data(), count, form);
      return std::vector<Floats>{dx.take(), y.take(), again.take()};
    });
    const auto input = matrix(x, 1, count), gradient = matrix(dy, 1, count);
    const auto form_of_reference = static_cast<reference::Activation>(form);
    EXPECT_LT(
        relative_error(got[0], reference::activation_backward(input, gradient, form_of_reference).values),
        form == Activation::gelu_tanh ? 3e-6 : 1e-6);
    EXPECT_EQ(got[2], got[1]);
    const auto expected = reference::activation_forward(input, form_of_reference);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double tolerance = 3e-7 * (1.0 + std::abs(expected.values[i]));
      EXPECT_NEAR(static_cast<double>(got[1][i]), expected.values[i], tolerance) << "x = " << x[i];
      EXPECT_NEAR(static_cast<double>(activate(form, x[i])), expected.values[i], tolerance) << "x = " << x[i];
      const float derivative = activation_derivative(form, x[i]);
      EXPECT_NEAR(static_cast<double>(derivative * dy[i]), static_cast<double>(got[0][i]), 2e-6);
    }
  }
}

TEST_P(RowKernel, GatedActivationsEqualReference) {
  for (const Index width : {1, 5, 64, 1500}) {  // less than a vector, whole ones, more than a stretch
    for (const Activation form :
         {Activation::gelu_tanh, Activation::gelu_erf, Activation::relu, Activation::silu}) {
      SCOPED_TRACE(::testing::Message() << "width " << width << ", activation " << static_cast<int>(form));
      const Index rows = 37;
      const auto values = static_cast<std::size_t>(rows * width);
      const Floats pre = random_floats(2 * values, 71), dy = random_floats(values, 72);
      const auto got = run([&](Backend& backend) {
        Guarded y(values), dpre(2 * values), in_place(pre);
        backend.gated_activation_forward(pre.data(), y.data(), rows, width, form);
        backend.gated_activation_backward(pre.data(), dy.data(), dpre.data(), rows, width, form);
        backend.gated_activation_backward(in_place.data(), dy.data(), in_place.data(), rows, width, form);
        return std::vector<Floats>{y.take(), dpre.take(), in_place.take()};
      });
      const auto input = matrix(pre, rows, 2 * width);
      const auto form_of_reference = static_cast<reference::Activation>(form);
      EXPECT_LT(relative_error(got[0], reference::gated_forward(input, form_of_reference).values), 1e-6);
      EXPECT_LT(
          relative_error(got[1],
                         reference::gated_backward(input, matrix(dy, rows, width), form_of_reference).values),
          3e-6);
      EXPECT_EQ(got[2], got[1]);
    }
  }
}

TEST_P(RowKernel, TanhEqualsReference) {
  const Floats x = activation_inputs();
  const Index count = static_cast<Index>(x.size());
  const Floats dy = random_floats(x.size(), 41);
  const auto got = run([&](Backend& backend) {
    Guarded y(x.size()), dx(dy);
    backend.tanh_forward(x.data(), y.data(), count);
    backend.tanh_backward(y.data(), dx.data(), dx.data(), count);
    return std::vector<Floats>{y.take(), dx.take()};
  });
  const auto input = matrix(x, 1, count);
  const auto expected = reference::tanh_forward(input);
  EXPECT_LT(relative_error(got[0], expected.values), 1e-6);
  EXPECT_LT(relative_error(got[1], reference::tanh_backward(input, matrix(dy, 1, count)).values), 1e-6);
  for (std::size_t i = 0; i < x.size(); ++i) {
    // Element by element: tanh is as precise near zero as elsewhere.
    EXPECT_NEAR(static_cast<double>(got[0][i]), expected.values[i], 4e-7 * std::abs(expected.values[i]));
  }
}

TEST_P(RowKernel, NotANumberIsNotHidden) {
  const Floats x(33, std::nanf(""));
  const auto got = run([&](Backend& backend) {
    Guarded y(x.size(), 0.0f);
    backend.tanh_forward(x.data(), y.data(), 33);
    std::vector<Floats> results{y.take()};
    for (const Activation form :
         {Activation::gelu_tanh, Activation::gelu_erf, Activation::relu, Activation::silu}) {
      Guarded dx(x.size(), 0.0f), activated(x.size(), 0.0f);
      const float one = 1.0f;
      backend.activation_backward(x.data(), x.data(), dx.data(), 33, form);
      backend.linear_activation_forward(x.data(), {&one, nullptr, 1, 1}, form, nullptr, activated.data(), 33);
      results.push_back(dx.take());
      results.push_back(activated.take());
    }
    return results;
  });
  for (const Floats& values : got) {
    for (const float value : values) EXPECT_TRUE(std::isnan(value));
  }
}

TEST_P(RowKernel, DropoutFollowsTheMask) {
  for (const Index count : {1, 6, 63, 64, 65, 40003}) {
    for (const float probability : {0.0f, 0.1f, 0.5f}) {
      SCOPED_TRACE(::testing::Message() << count << " elements, p = " << probability);
      const std::size_t size = static_cast<std::size_t>(count);
      const Floats x = random_floats(size, 51), residual = random_floats(size, 52);
      const std::uint64_t seed = 0x0123456789abcdefull;
      const Dropout dropout{probability, &seed, 0xfedcba9876543210ull};
      const auto got = run([&](Backend& backend) {
        Guarded y(size), in_place(x), sum(size), over_residual(residual);
        backend.dropout(x.data(), y.data(), count, dropout);
        backend.dropout(in_place.data(), in_place.data(), count, dropout);
        backend.dropout_add(x.data(), residual.data(), sum.data(), count, dropout);
        backend.dropout_add(x.data(), over_residual.data(), over_residual.data(), count, dropout);
        EXPECT_EQ(y.take(), in_place.take());
        EXPECT_EQ(sum.take(), over_residual.take());
        return std::vector<Floats>{y.take(), sum.take()};
      });
      const float scale = 1.0f / (1.0f - probability);
      for (std::size_t i = 0; i < size; ++i) {
        const bool keep = dropout_keep(seed, dropout.site, i, probability);
        ASSERT_EQ(got[0][i], keep ? x[i] * scale : 0.0f) << "element " << i;
        ASSERT_NEAR(got[1][i], residual[i] + (keep ? x[i] * scale : 0.0f), 3e-7f) << "element " << i;
      }
    }
  }
}

TEST_P(RowKernel, AddAddsAndSubtractSubtracts) {
  const Floats x = random_floats(20001, 53), y = random_floats(20001, 54);
  const auto got = run([&](Backend& backend) {
    Guarded sum(y), difference(y);
    backend.add(x.data(), sum.data(), 20001);
    backend.subtract(x.data(), difference.data(), 20001);
    return std::vector<Floats>{sum.take(), difference.take()};
  });
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(got[0][i], x[i] + y[i]);
    ASSERT_EQ(got[1][i], y[i] - x[i]);
  }
}

// Head sizes and parts of heads that fill vectors and that do not; rows lie further apart than the heads
// reach.
TEST_P(RowKernel, RotaryTurnsPairsByTheAngleOfTheirPositionAndBack) {
  struct Shape {
    Index heads, head_size, half;
  };
  for (const Shape& s :
       {Shape{1, 2, 1}, Shape{3, 10, 3}, Shape{4, 64, 16}, Shape{2, 64, 32}, Shape{2, 80, 20}}) {
    SCOPED_TRACE(::testing::Message() << s.heads << " x " << s.head_size << ", half " << s.half);
    const Index rows = 131, stride = s.heads * s.head_size + 5, position_count = 50;
    std::vector<std::int32_t> positions;
    for (Index t = 0; t < rows; ++t) positions.push_back(static_cast<std::int32_t>(t % position_count));
    Floats rotations;
    for (Index p = 0; p < position_count; ++p) {
      for (const bool sine : {false, true}) {
        for (Index i = 0; i < s.half; ++i) {
          const double angle = static_cast<double>(p) / static_cast<double>(i + 1);
          rotations.push_back(static_cast<float>(sine ? std::sin(angle) : std::cos(angle)));
        }
      }
    }
    const Floats x = random_floats(static_cast<std::size_t>(rows * stride), 73);
    const auto got = run([&](Backend& backend) {
      Guarded turned(x);
      const Rotary rotary{positions.data(), rotations.data(), s.heads, s.head_size, s.half};
      backend.rotate({turned.data(), stride}, rotary, rows, false);
      Guarded back(turned.take());
      backend.rotate({back.data(), stride}, rotary, rows, true);
      return std::vector<Floats>{turned.take(), back.take()};
    });
    reference::Vector expected = doubles(x);
    for (Index t = 0; t < rows; ++t) {
      for (Index head = 0; head < s.heads; ++head) {
        for (Index i = 0; i < s.half; ++i) {
          const double angle = static_cast<double>(t % position_count) / static_cast<double>(i + 1);
          const std::size_t at = static_cast<std::size_t>(t * stride + head * s.head_size + i);
          const std::size_t other = at + static_cast<std::size_t>(s.half);
          const double a = expected[at], b = expected[other];
          expected[at] = a * std::cos(angle) - b * std::sin(angle);
          expected[other] = b * std::cos(angle) + a * std::sin(angle);
        }
      }
    }
    EXPECT_LT(relative_error(got[0], expected), 1e-6);
    EXPECT_LT(relative_error(got[1], doubles(x)), 1e-6);
  }
}

TEST_P(RowKernel, EmbeddingsEqualReferenceForwardAndBackward) {
  for (const Index width : {5, 64, 150}) {
    SCOPED_TRACE(width);
    const Index tokens = 203, vocabulary = 17, type_count = 2, position_count = 50;
    std::vector<std::int32_t> ids, types, positions;
    for (Index t = 0; t < tokens; ++t) {
      ids.push_back(static_cast<std::int32_t>(t * t % vocabulary));
      types.push_back(static_cast<std::int32_t>(t / 100 % type_count));
      positions.push_back(static_cast<std::int32_t>(t % position_count));
    }
    const auto table = [&](Index rows, std::uint32_t seed) {
      return random_floats(static_cast<std::size_t>(rows * width), seed);
    };
    const Floats word = table(vocabulary, 61), type = table(type_count, 62),
                 position = table(position_count, 63);
    const Floats dy = table(tokens, 64);
    const Floats dword = table(vocabulary, 65), dtype = table(type_count, 66),
                 dposition = table(position_count, 67);
    Floats scales = random_floats(static_cast<std::size_t>(tokens), 68);
    for (std::size_t t = 0; t < scales.size(); t += 5) scales[t] = 0.0f;
    for (const bool scaled : {false, true}) {
      const auto got = run([&](Backend& backend) {
        Guarded y(dy.size()), dw(dword), dt(dtype), dp(dposition);
        const EmbeddingIndices indices{ids.data(), types.data(), positions.data(), tokens,
                                       scaled ? scales.data() : nullptr};
        const EmbeddingTables tables{word.data(), type.data(), position.data(), 2.5f,
                                     width,       vocabulary,  type_count,      position_count};
        backend.embedding_forward(indices, tables, y.data());
        backend.embedding_backward(dy.data(), indices, tables, {dw.data(), dt.data(), dp.data()});
        return std::vector<Floats>{y.take(), dw.take(), dt.take(), dp.take()};
      });
      const std::vector<std::size_t> i(ids.begin(), ids.end()), j(types.begin(), types.end()),
          k(positions.begin(), positions.end());
      const auto words = matrix(word, vocabulary, width), kinds = matrix(type, type_count, width),
                 places = matrix(position, position_count, width);
      const std::vector<double> factors = scaled ? doubles(scales) : std::vector<double>();
      const auto expected = reference::embedding_forward(words, kinds, places, 2.5, i, j, k, factors);
      const auto gradients = reference::embedding_backward(words, kinds, places, 2.5, i, j, k,
                                                           matrix(dy, tokens, width), factors);
      EXPECT_LT(relative_error(got[0], expected.values), forward_tolerance);
      EXPECT_LT(relative_error(got[1], reference::sum(gradients.word.values, doubles(dword))),
                gradient_tolerance);
      EXPECT_LT(relative_error(got[2], reference::sum(gradients.type.values, doubles(dtype))),
                gradient_tolerance);
      EXPECT_LT(relative_error(got[3], reference::sum(gradients.position.values, doubles(dposition))),
                gradient_tolerance);
    }
  }
}

TEST_P(RowKernel, NeighboursEqualSumsInDoubleForwardAndBackward) {
  for (const Index width : {5, 64, 150}) {
    SCOPED_TRACE(width);
    const Index tokens = 203, vocabulary = 10, neighbours = 7;
    std::vector<std::int32_t> rows;
    for (Index i = 0; i < neighbours * tokens; ++i)
      rows.push_back(static_cast<std::int32_t>(i * i % (vocabulary + 1)) - 1);
    const auto floats_of = [&](Index count, std::uint32_t seed) {
      return random_floats(static_cast<std::size_t>(count * width), seed);
    };
    const Floats weight = floats_of(neighbours * vocabulary, 61), bias = floats_of(1, 62);
    const Floats dy = floats_of(tokens, 63);
    const Floats dweight = floats_of(neighbours * vocabulary, 64), dbias = floats_of(1, 65);
    const auto got = run([&](Backend& backend) {
      Guarded y(dy.size()), dw(dweight), db(dbias);
      const NeighbourTables tables{weight.data(), bias.data(), neighbours, vocabulary, width};
      backend.neighbours_forward({rows.data(), tokens}, tables, y.data());
      backend.neighbours_backward(dy.data(), {rows.data(), tokens}, tables, {dw.data(), db.data()});
      return std::vector<Floats>{y.take(), dw.take(), db.take()};
    });
    std::vector<double> y, dw = doubles(dweight), db = doubles(dbias);
    for (Index t = 0; t < tokens; ++t) {
      for (Index c = 0; c < width; ++c) {
        const auto at = [&](Index row) { return static_cast<std::size_t>(row * width + c); };
        const double gradient = static_cast<double>(dy[at(t)]);
        double sum = static_cast<double>(bias[at(0)]);
        db[at(0)] += gradient;
        for (Index k = 0; k < neighbours; ++k) {
          const std::int32_t row = rows[static_cast<std::size_t>(k * tokens + t)];
          if (row < 0) continue;
          sum += static_cast<double>(weight[at(k * vocabulary + row)]);
          dw[at(k * vocabulary + row)] += gradient;
        }
        y.push_back(sum);
      }
    }
    EXPECT_LT(relative_error(got[0], y), forward_tolerance);
    EXPECT_LT(relative_error(got[1], dw), gradient_tolerance);
    EXPECT_LT(relative_error(got[2], db), gradient_tolerance);
  }
}

TEST_P(RowKernel, LargestOfRowsAreTheLargest) {
  for (const Index width : {1, 37, 96}) {
    const std::vector<std::int32_t> first{3, 30, 0, 50}, length{20, 1, 3, 10};
    const Floats x = random_floats(static_cast<std::size_t>(60 * width), 73);
    const auto got = run([&](Backend& backend) {
      Guarded y(static_cast<std::size_t>(4 * width));
      backend.max_rows_forward(x.data(), {first.data(), length.data(), 4}, y.data(), width);
      return std::vector<Floats>{y.take()};
    });
    for (std::size_t i = 0; i < first.size(); ++i) {
      for (Index c = 0; c < width; ++c) {
        float most = -INFINITY;
        for (Index row = first[i]; row < first[i] + length[i]; ++row)
          most = std::max(most, x[static_cast<std::size_t>(row * width + c)]);
        EXPECT_EQ(got[0][i * static_cast<std::size_t>(width) + static_cast<std::size_t>(c)], most) << width;
      }
    }
  }
}

TEST_P(RowKernel, MeansOfRowsEqualSumsInDoubleForwardAndBackward) {
  for (const Index width : {1, 37, 96}) {
    SCOPED_TRACE(width);
    const Index rows = 60;
    const std::vector<std::int32_t> first{3, 30, 0, 50}, length{20, 1, 3, 10};
    const auto at = [&](Index row, Index column) { return static_cast<std::size_t>(row * width + column); };
    const Floats x = random_floats(static_cast<std::size_t>(rows * width), 71);
    const Floats dy = random_floats(static_cast<std::size_t>(4 * width), 72);
    const auto got = run([&](Backend& backend) {
      Guarded y(dy.size()), dx(x);
      const RowSpans spans{first.data(), length.data(), 4};
      backend.mean_rows_forward(x.data(), spans, y.data(), width);
      backend.mean_rows_backward(dy.data(), spans, dx.data(), width);
      return std::vector<Floats>{y.take(), dx.take()};
    });
    std::vector<double> y(dy.size(), 0.0), dx = doubles(x);
    for (std::size_t i = 0; i < first.size(); ++i) {
      for (Index row = first[i]; row < first[i] + length[i]; ++row) {
        for (Index c = 0; c < width; ++c) {
          const auto span = at(static_cast<Index>(i), c);
          y[span] += static_cast<double>(x[at(row, c)]) / length[i];
          dx[at(row, c)] += static_cast<double>(dy[span]) / length[i];
        }
      }
    }
    EXPECT_LT(relative_error(got[0], y), forward_tolerance);
    EXPECT_LT(relative_error(got[1], dx), gradient_tolerance);
  }
}

TEST_P(RowKernel, RowsAreGatheredAndAddedBack) {
  const Index width = 37;
  const std::vector<std::int32_t> rows{4, 0, 9, 7};
  const Floats x = random_floats(10 * 37, 71), dy = random_floats(4 * 37, 72);
  const auto got = run([&](Backend& backend) {
    Guarded y(4 * 37), dx(x);
    backend.gather_rows(x.data(), rows.data(), y.data(), 4, width);
    backend.scatter_add_rows(dy.data(), rows.data(), dx.data(), 4, width);
    return std::vector<Floats>{y.take(), dx.take()};
  });
  Floats expected = x;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t c = 0; c < 37; ++c) {
      const std::size_t from = static_cast<std::size_t>(rows[i]) * 37 + c;
      EXPECT_EQ(got[0][i * 37 + c], x[from]);
      expected[from] += dy[i * 37 + c];
    }
  }
  EXPECT_EQ(got[1], expected);
}

BIGBIRD_KERNEL_TESTS(RowKernel);

}  // namespace
}  // namespace bigbird::kernels
