// Attention with a rule for pairs and a term for their labels against reference/attention_pairs.h, and groups
// of keys that are merged into one softmax. The problems are in pair_attention.h.
#include "tests/kernels/pair_kernels.h"

namespace bigbird::kernels {
namespace {

class PairAttentionKernel : public KernelTest {};

TEST_P(PairAttentionKernel, EqualsTheOracle) {
  for (const PairCase& chosen : pair_cases()) {
    SCOPED_TRACE(chosen.name);
    PairProblem p(chosen);
    const PairNumbers numbers(p);
    const auto got = run([&](Backend& backend) { return attend_pairs(backend, p, numbers); });
    const PairProblem::Expected expected = numbers.expected(p);
    EXPECT_LT(largest_difference(got[0], expected.out), 2e-6);
    EXPECT_LT(error_of_sums(got[1], expected.log_sum_exp), 1e-5);
    EXPECT_LT(relative_error(got[2], expected.dq), gradient_tolerance);
    EXPECT_LT(relative_error(got[3], expected.dk), gradient_tolerance);
    EXPECT_LT(relative_error(got[4], expected.dv), gradient_tolerance);
    if (chosen.labels == 0) continue;
    EXPECT_LT(relative_error(got[5], expected.dweight), gradient_tolerance);
    if (!chosen.bias) continue;
    EXPECT_LT(relative_error(got[6], expected.dbias), gradient_tolerance);
  }
}

// A sequence comes out with the same bits whatever stands beside it.
TEST_P(PairAttentionKernel, NothingDependsOnTheOtherSequences) {
  const PairCase together{.name = "",
                          .heads = 2,
                          .head_size = 16,
                          .block_size = 16,
                          .queries = {40, 7, 33},
                          .keys = {},
                          .before = 6,
                          .after = 3,
                          .labels = 9,
                          .most = 4};
  PairCase alone = together;
  alone.queries = {40};
  PairProblem all(together), one(alone);
  const PairNumbers of_all(all);
  PairNumbers of_one(one);
  for (auto [from, to] : {std::pair{&of_all.q, &of_one.q}, {&of_all.k, &of_one.k}, {&of_all.v, &of_one.v}})
    std::copy_n(from->begin(), to->size(), to->begin());
  const auto got_all = run([&](Backend& backend) { return attend_pairs(backend, all, of_all); });
  const auto got_one = run([&](Backend& backend) { return attend_pairs(backend, one, of_one); });
  EXPECT_EQ(std::memcmp(got_all[0].data(), got_one[0].data(), got_one[0].size() * sizeof(float)), 0);
}

class RoundedPairAttentionKernel : public KernelTest {
 protected:
  RoundedPairAttentionKernel() { precision_ = Precision::bf16; }
};

// In bf16 what is multiplied has 8 bits; queries, keys, values and outputs may be bf16 themselves.
TEST_P(RoundedPairAttentionKernel, IsNearTheOracle) {
  for (const PairCase& chosen : pair_cases()) {
    SCOPED_TRACE(chosen.name);
    PairProblem p(chosen);
    PairNumbers numbers(p);
    for (Floats* values : {&numbers.q, &numbers.k, &numbers.v, &numbers.dout})
      *values = as_floats(as_bf16(*values));
    const PairProblem::Expected expected = numbers.expected(p);
    const Index c = p.width();
    const auto got = run([&](Backend& backend) {
      if (backend.element_type() == ElementType::fp32) return attend_pairs(backend, p, numbers);
      p.relative.weight = numbers.weight.data();
      p.relative.bias = p.shape.bias ? numbers.bias.data() : nullptr;
      const std::vector<bf16> q = as_bf16(numbers.q), k = as_bf16(numbers.k), v = as_bf16(numbers.v),
                              dout = as_bf16(numbers.dout);
      std::vector<bf16> out(p.query_size()), dq(p.query_size()), dk(p.key_size()), dv(p.key_size());
      Floats sums(static_cast<std::size_t>(p.query_rows() * p.shape.heads)), dweight(p.weight_size()),
          dbias(p.bias_size());
      const QueryKeyValue inputs{{q.data(), c}, {k.data(), c}, {v.data(), c}};
      backend.attention_forward(p.batch, inputs, {out.data(), c}, sums.data());
      backend.attention_backward(p.batch, inputs, Rows{out.data(), c}, sums.data(), {dout.data(), c},
                                 {{dq.data(), c},
                                  {dk.data(), c},
                                  {dv.data(), c},
                                  {dweight.data(), p.shape.bias ? dbias.data() : nullptr}});
      std::vector<Floats> all{as_floats(out), as_floats(dq), as_floats(dk), as_floats(dv)};
      all.insert(all.begin() + 1, sums);
      all.push_back(dweight);
      all.push_back(dbias);
      return all;
    });
    EXPECT_LT(relative_error(got[0], expected.out), 0.02);
    EXPECT_LT(error_of_sums(got[1], expected.log_sum_exp), 0.05);
    EXPECT_LT(relative_error(got[2], expected.dq), 0.03);
    EXPECT_LT(relative_error(got[3], expected.dk), 0.03);
    EXPECT_LT(relative_error(got[4], expected.dv), 0.03);
    if (chosen.labels == 0) continue;
    // Those of a query cancel (their sum over the labels is 0), and few queries leave little of them.
    EXPECT_LT(relative_error(got[5], expected.dweight), 0.15);
    if (!chosen.bias) continue;
    EXPECT_LT(relative_error(got[6], expected.dbias), 0.15);
  }
}

// Two groups of keys: those of the own rows in a window, labelled by distance, and a few of other rows,
// labelled by links; queries that see neither, one of them, or both.
const PairCase own_group{.name = "own",
                         .heads = 2,
                         .head_size = 16,
                         .block_size = 16,
                         .queries = {40, 7, 33},
                         .keys = {},
                         .before = 2,
                         .after = 4,
                         .hidden = true,
                         .labels = 11,
                         .most = 3};
const PairCase other_group{.name = "other",
                           .heads = 2,
                           .head_size = 16,
                           .block_size = 16,
                           .queries = {40, 7, 33},
                           .keys = {11, 20, 3},
                           .groups = true,
                           .links = 2,
                           .labels = 11,
                           .most = 3,
                           .by_links = true};

TEST_P(PairAttentionKernel, TwoGroupsOfKeysAreOneSoftmax) {
  PairProblem own(own_group), other(other_group);
  const PairNumbers of_own(own);
  PairNumbers of_other(other);
  of_other.q = of_own.q;
  of_other.dout = of_own.dout;
  of_other.weight = of_own.weight;
  of_other.bias = of_own.bias;
  const Index c = own.width(), heads = own_group.heads;
  own.relative.weight = other.relative.weight = of_own.weight.data();
  own.relative.bias = other.relative.bias = of_own.bias.data();
  const auto got = run([&](Backend& backend) {
    const auto rows = static_cast<std::size_t>(own.query_rows() * heads);
    Guarded out(own.query_size()), second(own.query_size()), sums(rows), second_sums(rows);
    Guarded dq(own.query_size()), second_dq(own.query_size()), dk(own.key_size()), dv(own.key_size());
    Guarded other_dk(other.key_size()), other_dv(other.key_size());
    Guarded dweight(own.weight_size(), 0.0f), dbias(own.bias_size(), 0.0f);
    const QueryKeyValue inputs{{of_own.q.data(), c}, {of_own.k.data(), c}, {of_own.v.data(), c}};
    const QueryKeyValue others{{of_own.q.data(), c}, {of_other.k.data(), c}, {of_other.v.data(), c}};
    backend.attention_forward(own.batch, inputs, {out.data(), c}, sums.data());
    backend.attention_forward(other.batch, others, {second.data(), c}, second_sums.data());
    backend.merge_attention({Rows{out.data(), c}, sums.data()}, {Rows{second.data(), c}, second_sums.data()},
                            {out.data(), c}, sums.data(), own.query_rows(), heads, own_group.head_size);
    const RelativeGradients labels{dweight.data(), dbias.data()};
    backend.attention_backward(own.batch, inputs, Rows{out.data(), c}, sums.data(), {of_own.dout.data(), c},
                               {{dq.data(), c}, {dk.data(), c}, {dv.data(), c}, labels});
    backend.attention_backward(other.batch, others, Rows{out.data(), c}, sums.data(), {of_own.dout.data(), c},
                               {{second_dq.data(), c}, {other_dk.data(), c}, {other_dv.data(), c}, labels});
    backend.add(second_dq.data(), dq.data(), static_cast<Index>(own.query_size()));
    return std::vector<Floats>{out.take(),      sums.take(),     dq.take(),      dk.take(),   dv.take(),
                               other_dk.take(), other_dv.take(), dweight.take(), dbias.take()};
  });

  // The oracle: both groups side by side as keys of one softmax.
  reference::Vector out(own.query_size()), sums(static_cast<std::size_t>(own.query_rows() * heads), INFINITY);
  reference::Vector dq(own.query_size()), dk(own.key_size()), dv(own.key_size()), other_dk(other.key_size()),
      other_dv(other.key_size()), dweight(own.weight_size()), dbias(own.bias_size());
  for (std::size_t s = 0; s < own_group.queries.size(); ++s) {
    const auto own_keys = static_cast<std::size_t>(own.key_lengths[s]);
    for (Index head = 0; head < heads; ++head) {
      reference::PairAttention pairs;
      pairs.visible = [&](std::size_t i, std::size_t j) {
        return j < own_keys ? own.visible(s, i, j) : other.visible(s, i, j - own_keys);
      };
      pairs.label = [&](std::size_t i, std::size_t j) {
        return j < own_keys ? own.label(s, i, j) : other.label(s, i, j - own_keys);
      };
      pairs.scale = static_cast<double>(own.batch.scale);
      pairs.weight = own.head_of(of_own.weight, 0, own_group.labels, head);
      for (Index label = 0; label < own_group.labels; ++label)
        pairs.bias.push_back(
            static_cast<double>(of_own.bias[static_cast<std::size_t>(label * heads + head)]));
      const auto side_by_side = [&](const Floats& first, const Floats& second) {
        reference::Matrix all = own.head_of(first, own.key_offsets[s], own.key_lengths[s], head);
        const reference::Matrix more =
            other.head_of(second, other.key_offsets[s], other.key_lengths[s], head);
        all.values.insert(all.values.end(), more.values.begin(), more.values.end());
        all.rows += more.rows;
        return all;
      };
      const reference::Matrix q = own.head_of(of_own.q, own.query_offsets[s], own_group.queries[s], head);
      const reference::Matrix k = side_by_side(of_own.k, of_other.k), v = side_by_side(of_own.v, of_other.v);
      const auto forward = pair_attention_forward(pairs, q, k, v);
      const auto back = pair_attention_backward(
          pairs, q, k, v, own.head_of(of_own.dout, own.query_offsets[s], own_group.queries[s], head));
      const auto put = [&](const reference::Matrix& from, std::size_t begin, std::size_t end, Index first,
                           reference::Vector& to) {
        for (std::size_t row = begin; row < end; ++row) {
          for (std::size_t d = 0; d < from.columns; ++d)
            to[(static_cast<std::size_t>(first) + row - begin) * static_cast<std::size_t>(c) +
               static_cast<std::size_t>(head * own_group.head_size) + d] += from(row, d);
        }
      };
      put(forward.output, 0, q.rows, own.query_offsets[s], out);
      put(back.query, 0, q.rows, own.query_offsets[s], dq);
      put(back.key, 0, own_keys, own.key_offsets[s], dk);
      put(back.value, 0, own_keys, own.key_offsets[s], dv);
      put(back.key, own_keys, k.rows, other.key_offsets[s], other_dk);
      put(back.value, own_keys, k.rows, other.key_offsets[s], other_dv);
      put(back.weight, 0, back.weight.rows, 0, dweight);
      for (std::size_t i = 0; i < q.rows; ++i)
        sums[static_cast<std::size_t>(head * own.query_rows() + own.query_offsets[s]) + i] =
            forward.log_sum_exp[i];
      for (std::size_t label = 0; label < back.bias.size(); ++label)
        dbias[label * static_cast<std::size_t>(heads) + static_cast<std::size_t>(head)] += back.bias[label];
    }
  }
  EXPECT_LT(largest_difference(got[0], out), 2e-6);
  EXPECT_LT(error_of_sums(got[1], sums), 1e-5);
  const reference::Vector* const expected[] = {&dq, &dk, &dv, &other_dk, &other_dv, &dweight, &dbias};
  for (std::size_t i = 0; i < std::size(expected); ++i)
    EXPECT_LT(relative_error(got[i + 2], *expected[i]), gradient_tolerance) << i;
}

// The worked example of ETC's attention (spec 4.7): one head, radius 1, one distance told apart, three tokens
// of which the first two are linked to the one global token.
class Etc : public KernelTest {};

TEST_P(Etc, Check2TheWorkedExample) {
  const Floats q = rows_of({1, 0, 0, 1, 1, 1}), k = rows_of({.5f, 0, 0, .5f, 1, -1}),
               v = rows_of({1, 0, 0, 1, 2, 2});
  const Floats global_q = rows_of({1, -1}), global_k = rows_of({.2f, .3f}), global_v = rows_of({3, -1});
  Floats table, bias;
  for (int u = 0; u < 6; ++u) {
    table.push_back(.1f * static_cast<float>(u));
    table.push_back(-.05f * static_cast<float>(u));
    bias.push_back(.01f * static_cast<float>(u));
  }
  const RelativeTerm by_distance{table.data(), bias.data(), 6, 1};
  RelativeTerm by_links = by_distance;
  by_links.by_links = true;
  const std::vector<std::int32_t> sentences{0, 0, 1, 0, 0, 0, 0, 0}, numbers{0, 1, 2, 3, 4, 5, 6, 7};
  PairRule near, of_tokens, of_globals;
  near.before = near.after = 1;
  of_tokens.link_columns = of_globals.link_columns = 1;
  of_tokens.query_links = of_globals.key_links = sentences.data();
  of_tokens.key_links = of_globals.query_links = numbers.data();
  PairRule hard = of_globals;
  hard.needed_links = 1;
  const Worked l2l(3, 3, &near, &by_distance, false), l2g(3, 1, &of_tokens, &by_links, true),
      g2g(1, 1, nullptr, &by_distance, false), g2l(1, 3, &of_globals, &by_links, true),
      hard_g2l(1, 3, &hard, &by_links, true);
  const auto got = run([&](Backend& backend) {
    const auto merged = [&](const Worked& own, const Worked& other, const Floats& asking,
                            const QueryKeyValue& of_own, const QueryKeyValue& of_other) {
      Floats out(asking.size()), second(out), sums(8), second_sums(8);
      backend.attention_forward(own.batch, of_own, {out.data(), 2}, sums.data());
      backend.attention_forward(other.batch, of_other, {second.data(), 2}, second_sums.data());
      backend.merge_attention({Rows{out.data(), 2}, sums.data()},
                              {Rows{second.data(), 2}, second_sums.data()}, {out.data(), 2}, nullptr, 8, 1,
                              2);
      return out;
    };
    const QueryKeyValue tokens{{q.data(), 2}, {k.data(), 2}, {v.data(), 2}},
        to_globals{{q.data(), 2}, {global_k.data(), 2}, {global_v.data(), 2}},
        globals{{global_q.data(), 2}, {global_k.data(), 2}, {global_v.data(), 2}},
        to_tokens{{global_q.data(), 2}, {k.data(), 2}, {v.data(), 2}};
    return std::vector<Floats>{merged(l2l, l2g, q, tokens, to_globals),
                               merged(g2g, g2l, global_q, globals, to_tokens),
                               merged(g2g, hard_g2l, global_q, globals, to_tokens)};
  });
  const double of_long[] = {1.5061514, -.12052701, 1.3196257, .32351536, 1.64415278, .46376535};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(got[0][i], of_long[i], 1e-6) << i;
  EXPECT_NEAR(got[1][0], 1.65020963, 1e-6);
  EXPECT_NEAR(got[1][1], 1.1664477, 1e-6);
  EXPECT_NEAR(got[2][0], 1.17763983, 1e-6);
  EXPECT_NEAR(got[2][1], .04031138, 1e-6);
}

// The worked example of Longformer (window 2, token 0 global with a query, keys and values of its own).
class Longformer : public KernelTest {};

TEST_P(Longformer, G10TheWorkedExample) {
  const Floats q = rows_of({1, 0, 0, 1, 1, 1, 1, -1, .5f, .5f}),
               k = rows_of({.5f, 0, 0, .5f, 1, -1, -.5f, 1, .2f, .3f}),
               v = rows_of({1, 0, 0, 1, 2, 2, 3, -1, -1, 1});
  Floats other_k = k, other_v = v;
  for (float& value : other_k) value = -value;
  for (float& value : other_v) value *= 2;
  const std::vector<std::uint8_t> hidden{1, 0, 0, 0, 0, 0, 0, 0};
  PairRule near;
  near.before = near.after = 1;
  near.hidden = hidden.data();
  // A window of 2 before the token at every second place: residue classes are sequences of their own.
  PairRule causal_window;
  causal_window.before = 1;
  causal_window.after = 0;
  const Worked local(5, 5, &near, nullptr, false), of_global(5, 1, nullptr, nullptr, true),
      global(1, 5, nullptr, nullptr, true), even(3, 3, &causal_window, nullptr, false);
  const auto even_rows = [](const Floats& rows) {
    return rows_of({rows[0], rows[1], rows[4], rows[5], rows[8], rows[9]});
  };
  const Floats even_q = even_rows(q), even_k = even_rows(k), even_v = even_rows(v);
  const auto got = run([&](Backend& backend) {
    Floats out(16), second(16), sums(8), second_sums(8), of_token_0(16), every_second(16);
    backend.attention_forward(local.batch, {{q.data(), 2}, {k.data(), 2}, {v.data(), 2}}, {out.data(), 2},
                              sums.data());
    backend.attention_forward(of_global.batch, {{q.data(), 2}, {k.data(), 2}, {v.data(), 2}},
                              {second.data(), 2}, second_sums.data());
    backend.merge_attention({Rows{out.data(), 2}, sums.data()}, {Rows{second.data(), 2}, second_sums.data()},
                            {out.data(), 2}, nullptr, 8, 1, 2);
    backend.attention_forward(global.batch, {{q.data(), 2}, {other_k.data(), 2}, {other_v.data(), 2}},
                              {of_token_0.data(), 2}, nullptr);
    backend.attention_forward(even.batch, {{even_q.data(), 2}, {even_k.data(), 2}, {even_v.data(), 2}},
                              {every_second.data(), 2}, nullptr);
    return std::vector<Floats>{out, of_token_0, every_second};
  });
  const double tokens[] = {.68083976, .82622602, 1.45977899, .37933698, 1.4317095, 1.29296859, 1, 0};
  for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(got[0][2 + i], tokens[i], 1e-6) << i;
  EXPECT_NEAR(got[1][0], 2.26966457, 1e-6);
  EXPECT_NEAR(got[1][1], .63738916, 1e-6);
  EXPECT_NEAR(got[2][4], .36776167, 1e-6);
  EXPECT_NEAR(got[2][5], 1.45592056, 1e-6);
}

BIGBIRD_KERNEL_TESTS(Etc);
BIGBIRD_KERNEL_TESTS(Longformer);
BIGBIRD_KERNEL_TESTS(PairAttentionKernel);
BIGBIRD_KERNEL_TESTS(RoundedPairAttentionKernel);

}  // namespace
}  // namespace bigbird::kernels
