// Attention of queries that stand behind a memory, with labels behind: every size around a block against the
// oracle, head groups, masks as biases, and the worked examples of Transformer-XL and Adaptive-Span.
#include <map>
#include <utility>

#include "tests/kernels/pair_kernels.h"

namespace bigbird::kernels {
namespace {

// A ragged batch of segments behind memories that are no whole blocks, as Transformer-XL has them: three
// in four tell all distances apart.
PairCase segments_behind(Index tokens, Index block_size) {
  const Index half = (tokens + 1) / 2, memory = tokens / 3 + 3;
  const bool long_one = tokens > 1000;
  PairCase made{};
  made.name = "segments behind memories";
  made.heads = long_one ? 1 : 2;
  made.head_size = 8;
  made.block_size = block_size;
  made.queries = {tokens, half};
  made.keys = {tokens + memory, half + 1};
  made.starts = {memory, 1};
  made.causal = true;
  made.behind = true;
  made.most = tokens % 4 == 0 ? tokens / 2 : tokens + memory - 1;
  made.labels = made.most + 1;
  return made;
}

class TransformerXl : public KernelTest {};

TEST_P(TransformerXl, G1EverySizeAroundABlockEqualsTheOracle) {
  // The oracle takes longer than all kernels: once for all of them.
  static std::map<std::pair<Index, Index>, PairProblem::Expected> known;
  for (const Index block_size : {8, 16, 64}) {
    for (const Index tokens :
         {Index{1}, block_size - 1, block_size, block_size + 1, Index{200}, Index{1025}}) {
      SCOPED_TRACE(std::to_string(tokens) + " tokens in blocks of " + std::to_string(block_size));
      const PairCase chosen = segments_behind(tokens, block_size);
      PairProblem p(chosen);
      const PairNumbers numbers(p);
      const std::pair<Index, Index> key{tokens, block_size};
      if (known.count(key) == 0) known.emplace(key, numbers.expected(p));
      const PairProblem::Expected& expected = known.at(key);
      const auto got = run([&](Backend& backend) { return attend_pairs(backend, p, numbers); });
      EXPECT_LT(largest_difference(got[0], expected.out), 2e-6);
      EXPECT_LT(error_of_sums(got[1], expected.log_sum_exp), 1e-5);
      EXPECT_LT(relative_error(got[2], expected.dq), gradient_tolerance);
      EXPECT_LT(relative_error(got[3], expected.dk), gradient_tolerance);
      EXPECT_LT(relative_error(got[4], expected.dv), gradient_tolerance);
      EXPECT_LT(relative_error(got[5], expected.dweight), gradient_tolerance);
      EXPECT_LT(relative_error(got[6], expected.dbias), gradient_tolerance);
    }
  }
}

// Half of the heads, out of matrices of all: columns and labels of their own.
TEST_P(TransformerXl, G1AGroupOfHeadsIsThoseHeads) {
  const PairCase chosen = segments_behind(50, 16);
  PairProblem p(chosen);
  const PairNumbers numbers(p);
  const auto whole = run([&](Backend& backend) { return attend_pairs(backend, p, numbers); });
  const Index c = p.width(), size = chosen.head_size;
  const BlockPlanView& all = *p.batch.plans[0];
  const BlockPlanView& second = *p.batch.plans[1];
  // The lists of both heads are alike: those of the first serve as the second's.
  const auto of_one_head = [](BlockPlanView plan) {
    static std::atomic<std::uint64_t> made{std::uint64_t{1} << 43};
    plan.identity = ++made;
    plan.heads = 1;
    return plan;
  };
  const BlockPlanView plans[] = {of_one_head(all), of_one_head(second)};
  const BlockPlanView* const views[] = {&plans[0], &plans[1]};
  Floats weight, bias;
  for (Index label = 0; label < chosen.labels; ++label) {
    for (Index d = 0; d < size; ++d)
      weight.push_back(numbers.weight[static_cast<std::size_t>(label * c + size + d)]);
    bias.push_back(numbers.bias[static_cast<std::size_t>(label * 2 + 1)]);
  }
  const auto got = run([&](Backend& backend) {
    RelativeTerm relative = p.relative;
    relative.weight = weight.data();
    relative.bias = bias.data();
    AttentionBatch batch = p.batch;
    batch.heads = 1;
    batch.plans = views;
    batch.relative = &relative;
    Floats out(p.query_size(), 7.0f), sums(static_cast<std::size_t>(p.query_rows())), dq(out),
        dk(p.key_size()), dv(p.key_size()), dweight(weight.size()), dbias(bias.size());
    const QueryKeyValue inputs{
        {numbers.q.data() + size, c}, {numbers.k.data() + size, c}, {numbers.v.data() + size, c}};
    backend.attention_forward(batch, inputs, {out.data() + size, c}, sums.data());
    backend.attention_backward(batch, inputs, Rows{out.data() + size, c}, sums.data(),
                               {numbers.dout.data() + size, c},
                               {{dq.data() + size, c},
                                {dk.data() + size, c},
                                {dv.data() + size, c},
                                {dweight.data(), dbias.data()}});
    return std::vector<Floats>{out, dq, dk, dv, dweight};
  });
  const std::size_t of_whole[] = {0, 2, 3, 4};
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t row = 0; row < got[i].size(); row += static_cast<std::size_t>(c)) {
      for (std::size_t d = 0; d < static_cast<std::size_t>(size); ++d) {
        const std::size_t at = row + static_cast<std::size_t>(size) + d;
        ASSERT_EQ(got[i][at], whole[of_whole[i]][at]) << i;
        ASSERT_EQ(got[i][row + d], i < 2 ? 7.0f : 0.0f);
      }
    }
  }
  for (std::size_t at = 0; at < got[4].size(); ++at) {
    const std::size_t label = at / static_cast<std::size_t>(size), d = at % static_cast<std::size_t>(size);
    ASSERT_EQ(got[4][at], whole[5][label * static_cast<std::size_t>(c) + static_cast<std::size_t>(size) + d]);
  }
}

// As many labels as there may be, of which a batch meets few: those alone are worked on, and their gradients
// are those of a table that ends with them. One sequence's fill the memory that all sequences' may take.
TEST_P(TransformerXl, MostLabelsMayBeFar) {
  PairCase met = segments_behind(40, 16);
  met.heads = 8;
  met.head_size = 64;
  met.most = 59;
  met.labels = 60;
  PairCase far = met;
  far.most = most_labels - 1;
  far.labels = most_labels;
  PairProblem all(far), few(met);
  const PairNumbers of_all(all);
  PairNumbers of_few(few);
  std::copy_n(of_all.weight.begin(), of_few.weight.size(), of_few.weight.begin());
  std::copy_n(of_all.bias.begin(), of_few.bias.size(), of_few.bias.begin());
  const auto got = run([&](Backend& backend) { return attend_pairs(backend, all, of_all); });
  const auto expected = run([&](Backend& backend) { return attend_pairs(backend, few, of_few); });
  for (std::size_t i = 0; i < 7; ++i) {
    ASSERT_EQ(std::memcmp(got[i].data(), expected[i].data(), expected[i].size() * sizeof(float)), 0) << i;
    EXPECT_TRUE(std::all_of(got[i].begin() + static_cast<std::ptrdiff_t>(expected[i].size()), got[i].end(),
                            [](float value) { return value == 0.0f; }));
  }
}

// ((q + u).k + (q + v).R) / sqrt(D) with q + u for queries, R for the labels' rows and (v - u).R for biases.
TEST_P(TransformerXl, G10TheWorkedExample) {
  Floats q = rows_of({0, 1, 1, 1});
  const Floats k = rows_of({.5f, 0, 0, .5f, 1, -1}), v = rows_of({1, 0, 0, 1, 2, 2});
  const float of_content[] = {.1f, -.2f}, of_position[] = {.3f, .05f};
  for (std::size_t i = 0; i < 4; ++i) q[i] += of_content[i % 2];
  Floats rows, bias;
  for (int behind = 0; behind < 3; ++behind) {
    const float row[] = {.2f * static_cast<float>(behind), .1f};
    rows.insert(rows.end(), row, row + 2);
    bias.push_back((of_position[0] - of_content[0]) * row[0] + (of_position[1] - of_content[1]) * row[1]);
  }
  RelativeTerm behind{rows.data(), bias.data(), 3, 2};
  behind.behind = true;
  Worked segment(2, 3, nullptr, &behind, true);
  const Index memory[] = {1};
  segment.batch.query_starts = memory;
  segment.batch.causal = true;
  const auto got = run([&](Backend& backend) {
    Floats out(16);
    backend.attention_forward(segment.batch, {{q.data(), 2}, {k.data(), 2}, {v.data(), 2}}, {out.data(), 2},
                              nullptr);
    return std::vector<Floats>{out};
  });
  const double expected[] = {.44891365, .55108635, .92777242, .81968802};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(got[0][i], expected[i], 2e-6) << i;
}

// A soft mask m of distances is a bias ln m / scale, and 0 is minus infinity; no query sees itself.
class AdaptiveSpan : public KernelTest {};

TEST_P(AdaptiveSpan, G10TheWorkedExample) {
  const float scale = 1.0f / std::sqrt(2.0f);
  const float scores[] = {.3f, -.2f, .5f, .1f}, mask[] = {1, 1, .5f, 0};
  // Half of a score is of the key, half of the distance.
  const Floats q = rows_of({1, 0});
  Floats k(16), rows{5, 5}, bias{3};  // of the own key, which nobody sees
  for (std::size_t d = 1; d <= 4; ++d) {
    k[2 * (4 - d)] = scores[d - 1] / 2 / scale;
    rows.insert(rows.end(), {scores[d - 1] / 2 / scale, 0});
    bias.push_back(std::log(mask[d - 1]) / scale);
  }
  k[8] = 9;
  RelativeTerm behind{rows.data(), bias.data(), 5, 4};
  behind.behind = true;
  PairRule others;
  others.no_self = true;
  others.before = 4;
  others.after = 0;
  Worked query(1, 5, &others, &behind, true);
  const Index start[] = {4};
  query.batch.query_starts = start;
  const Floats near = rows_of({0, 0, 0, 0, 0, 1, 1, 0}), far = rows_of({0, 1, 1, 0});
  const auto got = run([&](Backend& backend) {
    Floats first(16), second(16);
    for (const auto& [values, to] : {std::pair{&near, &first}, {&far, &second}}) {
      backend.attention_forward(query.batch, {{q.data(), 2}, {k.data(), 2}, {values->data(), 2}},
                                {to->data(), 2}, nullptr);
    }
    return std::vector<Floats>{first, second};
  });
  EXPECT_NEAR(got[0][0], .45101279, 2e-6);
  EXPECT_NEAR(got[0][1], .27355308, 2e-6);
  EXPECT_NEAR(got[1][0], .27543413, 2e-6);
  EXPECT_EQ(got[1][1], 0.0f);
}

// Spans that every query has of its own, all of a head alike: a mask of distances, and what their logits get
// together is what the biases get by the slopes of their logarithms.
TEST_P(AdaptiveSpan, EqualSpansOfQueriesAreAMaskOfDistances) {
  const PairCase chosen = segments_behind(50, 16);
  PairProblem p(chosen);
  PairNumbers numbers(p);
  const float logits[] = {-0.3f, 0.8f}, most_span = 24, ramp = 8;
  const std::size_t labels = static_cast<std::size_t>(chosen.labels);
  std::vector<double> slopes(2 * labels);
  for (std::size_t label = 0; label < labels; ++label) {
    for (std::size_t head = 0; head < 2; ++head) {
      const double part = 1.0 / (1.0 + std::exp(-static_cast<double>(logits[head])));
      const double weight =
          (1.0 - static_cast<double>(label) + static_cast<double>(most_span) * part) / 8.0 + 1.0;
      const std::size_t at = 2 * label + head;
      numbers.bias[at] =
          static_cast<float>(std::log(std::clamp(weight, 0.0, 1.0)) / static_cast<double>(p.batch.scale));
      if (weight > 0.0 && weight <= 1.0) {
        slopes[at] = static_cast<double>(most_span) * part * (1.0 - part) /
                     (8.0 * weight * static_cast<double>(p.batch.scale));
      }
    }
  }
  const auto masked = run([&](Backend& backend) { return attend_pairs(backend, p, numbers); });
  Floats of_queries;
  for (Index row = 0; row < p.query_rows(); ++row) of_queries.insert(of_queries.end(), logits, logits + 2);
  const Index c = p.width();
  const auto got = run([&](Backend& backend) {
    RelativeTerm relative = p.relative;
    relative.weight = numbers.weight.data();
    relative.bias = nullptr;
    relative.span_logits = of_queries.data();
    relative.most_span = most_span;
    relative.ramp = ramp;
    AttentionBatch batch = p.batch;
    batch.relative = &relative;
    Floats out(p.query_size()), sums(static_cast<std::size_t>(p.query_rows() * 2)), dq(out), dk(p.key_size()),
        dv(p.key_size()), dweight(numbers.weight.size()), dlogits(of_queries.size());
    const QueryKeyValue inputs{{numbers.q.data(), c}, {numbers.k.data(), c}, {numbers.v.data(), c}};
    backend.attention_forward(batch, inputs, {out.data(), c}, sums.data());
    backend.attention_backward(
        batch, inputs, Rows{out.data(), c}, sums.data(), {numbers.dout.data(), c},
        {{dq.data(), c}, {dk.data(), c}, {dv.data(), c}, {dweight.data(), nullptr, dlogits.data()}});
    return std::vector<Floats>{out, sums, dq, dk, dv, dweight, dlogits};
  });
  for (std::size_t i = 0; i < 6; ++i) {
    ASSERT_EQ(got[i].size(), masked[i].size()) << i;
    for (std::size_t at = 0; at < got[i].size(); ++at) {
      if (got[i][at] == masked[i][at]) continue;  // infinite where a query sees nothing
      ASSERT_NEAR(got[i][at], masked[i][at], 1e-4) << i;
    }
  }
  for (std::size_t head = 0; head < 2; ++head) {
    double expected = 0.0, sum = 0.0;
    for (std::size_t label = 0; label < labels; ++label)
      expected += static_cast<double>(masked[6][2 * label + head]) * slopes[2 * label + head];
    for (std::size_t at = head; at < got[6].size(); at += 2) sum += static_cast<double>(got[6][at]);
    EXPECT_NEAR(sum, expected, 1e-4 * std::abs(expected) + 1e-6) << head;
    EXPECT_GT(std::abs(expected), 1e-3);
  }
}

BIGBIRD_KERNEL_TESTS(TransformerXl);
BIGBIRD_KERNEL_TESTS(AdaptiveSpan);

}  // namespace
}  // namespace bigbird::kernels
