// Attention of a decoder against reference/attention.h; the problems are in decoder_attention.h.
#include <tuple>

#include "tests/kernels/decoder_attention.h"
#include "tests/kernels/kernel_test.h"

namespace bigbird::kernels {
namespace {

const DecoderCase decoder_cases[] = {
    {"causal, one block that is not full", 2, 16, 16, {9}, {}},
    {"causal, one token", 1, 8, 16, {1}, {}},
    {"causal, ragged, many blocks, head size 63", 2, 63, 16, {64, 97, 1, 160}, {}},
    {"causal, more keys than a chunk", 1, 32, 64, {330}, {}},
    {"causal, a block that fills no vector", 3, 5, 3, {20, 13}, {}},
    {"causal, dropout", 2, 16, 8, {29, 17}, {}, 0.25},
    {"cross, fewer queries than keys", 2, 64, 64, {9}, {300}},
    {"cross, more queries than keys", 2, 16, 16, {70}, {5}},
    {"cross, ragged", 3, 16, 16, {9, 40, 1, 16}, {100, 7, 64, 33}},
    {"cross, many heads", 16, 8, 16, {20, 3}, {50, 17}},
    {"cross, dropout", 2, 16, 8, {9, 21}, {33, 12}, 0.25},
};

class CrossAttentionKernel : public KernelTest {};

TEST_P(CrossAttentionKernel, EqualsTheDenseOracle) {
  for (const DecoderCase& chosen : decoder_cases) {
    SCOPED_TRACE(chosen.name);
    const DecoderProblem p(chosen);
    const Index c = p.width();
    const std::size_t query_size = p.query_size(), key_size = p.key_size();
    const Floats q = random_floats(query_size, 41, 2.0f), k = random_floats(key_size, 42, 2.0f),
                 v = random_floats(key_size, 43), dout = random_floats(query_size, 44);
    const auto got = run([&](Backend& backend) {
      Guarded out(query_size, 77.0f),
          log_sum_exp(static_cast<std::size_t>(p.query_rows() * p.shape.heads), 0.0f);
      Guarded dq(query_size), dk(key_size), dv(key_size);
      const QueryKeyValue inputs{{q.data(), c}, {k.data(), c}, {v.data(), c}};
      backend.attention_forward(p.batch, inputs, {out.data(), c}, log_sum_exp.data());
      backend.attention_backward(p.batch, inputs, Rows{out.data(), c}, log_sum_exp.data(), {dout.data(), c},
                                 {{dq.data(), c}, {dk.data(), c}, {dv.data(), c}});
      return std::vector<Floats>{out.take(), dq.take(), dk.take(), dv.take()};
    });
    const DecoderProblem::Expected expected = p.expected(q, k, v, dout);
    EXPECT_LT(relative_error(got[0], expected.out), forward_tolerance);
    EXPECT_LT(relative_error(got[1], expected.dq), gradient_tolerance);
    EXPECT_LT(relative_error(got[2], expected.dk), gradient_tolerance);
    EXPECT_LT(relative_error(got[3], expected.dv), gradient_tolerance);
  }
}

// What stands behind a query does not reach it, to the last bit.
TEST_P(CrossAttentionKernel, ACausalRowDoesNotDependOnLaterOnes) {
  const DecoderCase shape{"causal", 2, 16, 16, {75}, {}};
  const DecoderProblem p(shape);
  const Index c = p.width();
  const auto size = static_cast<std::size_t>(p.query_rows() * c);
  const auto forward = [&](Index changed) {
    Floats qkv[3];
    for (std::uint32_t i = 0; i < 3; ++i) {
      qkv[i] = random_floats(size, 51 + i, 2.0f);
      if (changed >= 0) {
        const Floats other = random_floats(size, 61 + i, 2.0f);
        std::copy(other.begin() + changed * c, other.end(), qkv[i].begin() + changed * c);
      }
    }
    return run([&](Backend& backend) {
      Guarded out(size, 77.0f);
      backend.attention_forward(p.batch, {{qkv[0].data(), c}, {qkv[1].data(), c}, {qkv[2].data(), c}},
                                {out.data(), c}, nullptr);
      return std::vector<Floats>{out.take()};
    })[0];
  };
  const Floats whole = forward(-1);
  for (const Index changed : {1, 16, 37, 74}) {
    const Floats other = forward(changed);
    EXPECT_EQ(std::memcmp(whole.data(), other.data(), static_cast<std::size_t>(changed * c) * sizeof(float)),
              0)
        << changed;
    EXPECT_NE(whole[static_cast<std::size_t>(changed * c)], other[static_cast<std::size_t>(changed * c)]);
  }
}

class RoundedCrossAttentionKernel : public KernelTest {
 protected:
  RoundedCrossAttentionKernel() { precision_ = Precision::bf16; }
};

TEST_P(RoundedCrossAttentionKernel, IsNearTheDenseOracle) {
  for (const DecoderCase& chosen : decoder_cases) {
    SCOPED_TRACE(chosen.name);
    const DecoderProblem p(chosen);
    const Index c = p.width();
    Floats q = random_floats(p.query_size(), 41, 2.0f), k = random_floats(p.key_size(), 42, 2.0f),
           v = random_floats(p.key_size(), 43), dout = random_floats(p.query_size(), 44);
    for (Floats* values : {&q, &k, &v, &dout}) *values = as_floats(as_bf16(*values));
    Floats sums(static_cast<std::size_t>(p.query_rows() * p.shape.heads));
    const auto attend_with = [&](Backend& backend, const auto& from) {
      auto out = from(q), dq = from(q), dk = from(k), dv = from(v);
      const auto of_q = from(q), of_k = from(k), of_v = from(v), of_dout = from(dout);
      const QueryKeyValue inputs{{of_q.data(), c}, {of_k.data(), c}, {of_v.data(), c}};
      backend.attention_forward(p.batch, inputs, {out.data(), c}, sums.data());
      backend.attention_backward(p.batch, inputs, Rows{out.data(), c}, sums.data(), {of_dout.data(), c},
                                 {{dq.data(), c}, {dk.data(), c}, {dv.data(), c}});
      return std::tuple{out, dq, dk, dv};
    };
    const auto got = run([&](Backend& backend) {
      if (backend.element_type() == ElementType::fp32) {
        const auto [out, dq, dk, dv] = attend_with(backend, [](const Floats& values) { return values; });
        return std::vector<Floats>{out, dq, dk, dv};
      }
      const auto [out, dq, dk, dv] = attend_with(backend, as_bf16);
      return std::vector<Floats>{as_floats(out), as_floats(dq), as_floats(dk), as_floats(dv)};
    });
    const DecoderProblem::Expected expected = p.expected(q, k, v, dout);
    EXPECT_LT(relative_error(got[0], expected.out), 0.02);
    EXPECT_LT(relative_error(got[1], expected.dq), 0.04);
    EXPECT_LT(relative_error(got[2], expected.dk), 0.04);
    EXPECT_LT(relative_error(got[3], expected.dv), 0.04);
  }
}

BIGBIRD_KERNEL_TESTS(CrossAttentionKernel);
BIGBIRD_KERNEL_TESTS(RoundedCrossAttentionKernel);

}  // namespace
}  // namespace bigbird::kernels
