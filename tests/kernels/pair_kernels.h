// What the tests of attention with rules and labels share (pair_attention.h): the numbers of a problem, both
// passes over it, measures of error, and problems that are worked by hand.
#pragma once

#include "tests/kernels/kernel_test.h"
#include "tests/kernels/pair_attention.h"

namespace bigbird::kernels {

// What a problem is about: inputs of the queries' rows and the keys', and a table of labels.
struct PairNumbers {
  Floats q, k, v, dout, weight, bias;

  explicit PairNumbers(const PairProblem& p)
      : q(random_floats(p.query_size(), 41, 2.0f)),
        k(random_floats(p.key_size(), 42, 2.0f)),
        v(random_floats(p.key_size(), 43)),
        dout(random_floats(p.query_size(), 44)),
        weight(random_floats(p.weight_size(), 45)),
        bias(random_floats(p.bias_size(), 46)) {
    for (const Index label : p.shape.masked) {
      std::fill_n(bias.begin() + label * p.shape.heads, p.shape.heads,
                  -std::numeric_limits<float>::infinity());
    }
  }
  PairProblem::Expected expected(const PairProblem& p) const {
    return p.expected(q, k, v, weight, bias, dout);
  }
};

// out, log_sum_exp, dq, dk, dv, and the gradients of the labels' weight and bias.
inline std::vector<Floats> attend_pairs(Backend& backend, PairProblem& p, const PairNumbers& numbers) {
  const Index c = p.width();
  p.relative.weight = numbers.weight.data();
  p.relative.bias = p.shape.bias ? numbers.bias.data() : nullptr;
  Guarded out(p.query_size(), 77.0f), sums(static_cast<std::size_t>(p.query_rows() * p.shape.heads));
  Guarded dq(p.query_size()), dk(p.key_size()), dv(p.key_size());
  Guarded dweight(p.weight_size(), 0.0f), dbias(p.bias_size(), 0.0f);
  const QueryKeyValue inputs{{numbers.q.data(), c}, {numbers.k.data(), c}, {numbers.v.data(), c}};
  backend.attention_forward(p.batch, inputs, {out.data(), c}, sums.data());
  backend.attention_backward(p.batch, inputs, Rows{out.data(), c}, sums.data(), {numbers.dout.data(), c},
                             {{dq.data(), c},
                              {dk.data(), c},
                              {dv.data(), c},
                              {dweight.data(), p.shape.bias ? dbias.data() : nullptr}});
  return {out.take(), sums.take(), dq.take(), dk.take(), dv.take(), dweight.take(), dbias.take()};
}

// Sums over keys that are there; infinite exactly where the oracle has none.
inline double error_of_sums(const Floats& got, const reference::Vector& expected) {
  double largest = 0.0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isinf(expected[i]) || std::isinf(got[i])) {
      if (static_cast<double>(got[i]) != expected[i]) return INFINITY;
      continue;
    }
    largest = std::max(largest, std::abs(static_cast<double>(got[i]) - expected[i]));
  }
  return largest;
}

inline double largest_difference(const Floats& got, const reference::Vector& expected) {
  double largest = 0.0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double difference = std::abs(static_cast<double>(got[i]) - expected[i]);
    largest = difference <= largest ? largest : difference;  // NaN stays
  }
  return largest;
}

// One head of two columns, tokens in blocks of 8, whatever the backend wants; what the plans list is all
// there is.
struct Worked {
  std::vector<std::int32_t> offsets{0, 1}, zero{0};
  BlockPlanView plan;
  const BlockPlanView* plans[1] = {&plan};
  Index query_offsets[2] = {0, 0}, key_offsets[2] = {0, 0}, queries[1], keys[1];
  AttentionBatch batch;

  Worked(Index query_count, Index key_count, const PairRule* rule, const RelativeTerm* relative,
         bool other_rows) {
    static std::atomic<std::uint64_t> made{std::uint64_t{1} << 42};
    plan = {++made, 1, 1, offsets.data(), zero.data(), offsets.data(), zero.data(), other_rows ? 1 : 0};
    query_offsets[1] = key_offsets[1] = 8;
    queries[0] = query_count;
    keys[0] = key_count;
    batch.sequences = 1;
    batch.heads = 1;
    batch.head_size = 2;
    batch.block_size = 8;
    batch.token_offsets = query_offsets;
    batch.query_lengths = queries;
    batch.lengths = keys;
    if (other_rows) batch.key_offsets = key_offsets;
    batch.plans = plans;
    batch.scale = 1.0f / std::sqrt(2.0f);
    batch.rule = rule;
    batch.relative = relative;
  }
  Worked(const Worked&) = delete;
};

inline Floats rows_of(std::vector<float> values) {
  values.resize(16);
  return values;
}

}  // namespace bigbird::kernels
