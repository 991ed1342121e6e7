// Attention on the device with rules for pairs and terms for their labels, and two groups of keys as one
// softmax: against reference/attention_pairs.h. The problems are those of the CPU's tests, and more.
#include <algorithm>
#include <string>

#include "tests/cuda/backend_test.h"
#include "tests/kernels/pair_attention.h"

namespace bigbird::kernels::cuda::testing {
namespace {

// Both tiles, every head size; blocks of several tiles; windows, labels and queries without a key across
// them; lists that are cut, of queries (few see many keys) and of keys (few are seen by many).
std::vector<PairCase> device_pair_cases() {
  std::vector<PairCase> cases = pair_cases();
  const auto add = [&](const char* name, Index heads, Index head_size, Index block_size,
                       std::vector<Index> queries, std::vector<Index> keys, const auto& more) {
    PairCase made{};
    made.name = name;
    made.heads = heads;
    made.head_size = head_size;
    made.block_size = block_size;
    made.queries = std::move(queries);
    made.keys = std::move(keys);
    more(made);
    cases.push_back(made);
  };
  const auto window = [](PairCase& of) {
    of.before = 11;
    of.after = 19;
    of.labels = 21;
    of.most = 8;
  };
  add("small tiles of heads of 64", 1, 64, 16, {70}, {}, window);
  add("small tiles of heads of 128", 1, 128, 16, {50}, {}, window);
  add("large tiles of heads of 32", 2, 32, 64, {130, 20}, {}, window);
  add("large tiles of heads of 128", 1, 128, 64, {100}, {}, window);
  add("blocks of several tiles", 1, 32, 48, {110}, {}, window);
  add("heads of 20, padded", 2, 20, 16, {33, 9}, {}, window);
  add("large tiles, dropout", 1, 32, 64, {90}, {}, [&](PairCase& of) {
    window(of);
    of.drop_probability = 0.25;
  });
  add("large tiles, few rows of which see a key", 1, 32, 64, {200}, {}, [](PairCase& of) {
    of.before = of.after = 2;
    of.hidden = of.groups = true;
    of.labels = 4;
    of.most = 1;
  });
  add("no distance is told apart", 1, 32, 16, {50}, {}, [](PairCase& of) {
    of.labels = 3;
    of.parts = true;
  });
  add("lists of queries that are cut, labels by distance", 2, 32, 16, {20}, {800}, [](PairCase& of) {
    of.groups = true;
    of.labels = 24;
    of.most = 10;
    of.parts = true;
  });
  add("lists of keys that are cut, labels by links", 2, 32, 16, {800}, {20}, [](PairCase& of) {
    of.hidden = true;
    of.links = 2;
    of.needed = 1;
    of.free_queries = true;
    of.labels = 24;
    of.most = 10;
    of.by_links = true;
  });
  add("lists that are cut, the own key last", 1, 32, 16, {330}, {}, [](PairCase& of) {
    of.groups = of.self_last = of.hidden = true;
    of.links = of.needed = 1;
  });
  add("as many labels as there may be", 1, 32, 64, {300}, {}, [](PairCase& of) {
    of.labels = most_labels;
    of.most = 127;
  });
  return cases;
}

class PairAttentionOnDevice : public BackendTest {
 protected:
  struct Numbers {
    Floats q, k, v, weight, bias, dout;

    explicit Numbers(const PairProblem& p)
        : q(exact_numbers(p.query_rows() * p.width(), 61)),
          k(exact_numbers(p.key_rows() * p.width(), 62)),
          v(exact_numbers(p.key_rows() * p.width(), 63)),
          weight(exact_numbers(static_cast<Index>(p.weight_size()), 64, 0.5)),
          bias(exact_numbers(static_cast<Index>(p.bias_size()), 65)),
          dout(exact_numbers(p.query_rows() * p.width(), 66)) {
      // Padding is NaN, whatever the sequence owns there.
      const auto spoil = [&](Floats& rows, const std::vector<Index>& offsets,
                             const std::vector<Index>& lengths) {
        for (std::size_t s = 0; s < lengths.size(); ++s) {
          std::fill(rows.begin() + (offsets[s] + lengths[s]) * p.width(),
                    rows.begin() + offsets[s + 1] * p.width(), NAN);
        }
      };
      spoil(q, p.query_offsets, p.shape.queries);
      spoil(dout, p.query_offsets, p.shape.queries);
      spoil(k, p.key_offsets, p.key_lengths);
      spoil(v, p.key_offsets, p.key_lengths);
    }
    PairProblem::Expected expected(const PairProblem& p) const {
      return p.expected(q, k, v, weight, bias, dout);
    }
  };

  // The problem's batch with what its rule and term point to on the device.
  struct OnDevice {
    AttentionBatch batch;
    PairRule rule;
    RelativeTerm relative;

    OnDevice(Side& side, const PairProblem& p, const Numbers& numbers, Index slot = 0)
        : batch(p.batch), rule(p.rule), relative(p.relative) {
      batch.slot = slot;
      batch.dropout_seed = side.key(p.seed);
      if (rule.hidden != nullptr) rule.hidden = side.flags(p.hidden);
      if (rule.free_queries != nullptr) rule.free_queries = side.flags(p.free_queries);
      if (rule.query_groups != nullptr) {
        rule.query_groups = side.integers(p.query_groups);
        rule.key_groups = side.integers(p.key_groups);
      }
      if (rule.link_columns > 0) {
        rule.query_links = side.integers(p.query_links);
        rule.key_links = side.integers(p.key_links);
      }
      if (relative.query_parts != nullptr) {
        relative.query_parts = side.integers(p.query_parts);
        relative.key_parts = side.integers(p.key_parts);
      }
      batch.rule = &rule;
      if (batch.relative != nullptr) {
        relative.weight = side.floats(numbers.weight);
        if (p.shape.bias) relative.bias = side.floats(numbers.bias);
        batch.relative = &relative;
      }
    }
    OnDevice(const OnDevice&) = delete;
    OnDevice& operator=(const OnDevice&) = delete;
  };

  static constexpr float before_gradients = 0.5f;  // what those of labels are added to

  // out, log_sum_exp, dq, dk, dv, dweight, dbias
  static std::vector<Floats> run(CudaBackend& backend, const PairProblem& p, const Numbers& given) {
    Side side(backend);
    const Index c = p.width(), queries = p.query_rows(), keys = p.key_rows();
    const OnDevice device(side, p, given);
    const auto weights = static_cast<Index>(p.weight_size()), biases = static_cast<Index>(p.bias_size());
    const Values out = side.unset(queries * c), dq = side.unset(queries * c), dk = side.unset(keys * c),
                 dv = side.unset(keys * c);
    float* const log_sum_exp = side.floats(Floats(static_cast<std::size_t>(p.shape.heads * queries), NAN));
    float* const dweight = side.floats(Floats(p.weight_size(), before_gradients));
    float* const dbias = side.floats(Floats(p.bias_size(), before_gradients));
    const QueryKeyValue inputs{
        {side.values(given.q), c}, {side.values(given.k), c}, {side.values(given.v), c}};
    QueryKeyValueGradients gradients{{dq, c}, {dk, c}, {dv, c}, {}};
    if (device.batch.relative != nullptr) gradients.relative = {dweight, p.shape.bias ? dbias : nullptr};
    backend.prepare_attention(device.batch);
    backend.attention_forward(device.batch, inputs, {out, c}, log_sum_exp);
    backend.attention_backward(device.batch, inputs, Rows{out, c}, log_sum_exp, {side.values(given.dout), c},
                               gradients);
    return {side.read(out, queries * c), side.read(log_sum_exp, p.shape.heads * queries),
            side.read(dq, queries * c),  side.read(dk, keys * c),
            side.read(dv, keys * c),     side.read(dweight, weights),
            side.read(dbias, biases)};
  }

  static std::vector<double> behind(const Floats& gradients) {
    std::vector<double> added;
    for (const float value : gradients) added.push_back(static_cast<double>(value - before_gradients));
    return added;
  }
  // Sums are infinite where they are to be, and near elsewhere.
  static double error_of_sums(const Floats& got, const reference::Vector& expected) {
    double largest = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double value = static_cast<double>(got[i]);
      if (std::isinf(expected[i]) && value == expected[i]) continue;
      const double error = std::abs(value - expected[i]);
      if (!(error <= largest)) largest = error;
    }
    return got.size() == expected.size() ? largest : HUGE_VAL;
  }
  static bool all_zero_where(const Floats& got, const reference::Vector& expected) {
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (expected[i] == 0.0 && got[i] != 0.0f) return false;
    }
    return true;
  }
  double gradient_tolerance() const { return GetParam() == Precision::fp32 ? 1e-4 : tolerance(); }
};

TEST_P(PairAttentionOnDevice, EqualsTheOracle) {
  for (const PairCase& chosen : device_pair_cases()) {
    SCOPED_TRACE(chosen.name);
    const PairProblem p(chosen);
    const Numbers given(p);
    const PairProblem::Expected expected = given.expected(p);
    const std::vector<Floats> got = run(*device_, p, given);
    EXPECT_LT(relative_error(got[0], expected.out), tolerance());
    EXPECT_LT(error_of_sums(got[1], expected.log_sum_exp), 4 * tolerance());
    EXPECT_LT(relative_error(got[2], expected.dq), gradient_tolerance());
    EXPECT_LT(relative_error(got[3], expected.dk), gradient_tolerance());
    EXPECT_LT(relative_error(got[4], expected.dv), gradient_tolerance());
    // Padding, and rows without a key, are zeros, not only close to them.
    if (chosen.drop_probability == 0) {
      EXPECT_TRUE(all_zero_where(got[0], expected.out));
      EXPECT_TRUE(all_zero_where(got[4], expected.dv));
    }
    EXPECT_EQ(run(*device_, p, given), got) << "another result the second time";
    if (chosen.labels == 0) continue;
    EXPECT_LT(relative_error(behind(got[5]), expected.dweight), gradient_tolerance());
    if (!chosen.bias) continue;
    EXPECT_LT(relative_error(behind(got[6]), expected.dbias), gradient_tolerance());
  }
}

BIGBIRD_BACKEND_TESTS(PairAttentionOnDevice);

}  // namespace
}  // namespace bigbird::kernels::cuda::testing
