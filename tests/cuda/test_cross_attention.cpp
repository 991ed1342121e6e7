// Attention of a decoder on the device, causal and over keys of other rows, and single queries over rows that
// lists name: against reference/attention.h. The problems are those of the CPU's tests.
#include <algorithm>
#include <string>

#include "tests/cuda/backend_test.h"
#include "tests/kernels/decoder_attention.h"
#include "tests/kernels/row_attention.h"

namespace bigbird::kernels::cuda::testing {
namespace {

// Both tiles, every head size; blocks of several tiles; lengths that fill no block and none of the padding's;
// lists that are cut (21 blocks of queries, whose first are short; keys that many queries see).
const DecoderCase device_cases[] = {
    {"causal, one block that is not full", 2, 32, 16, {9}, {}},
    {"causal, ragged", 2, 32, 16, {33, 64, 1}, {}},
    {"causal, heads of 64", 1, 64, 16, {40}, {}},
    {"causal, heads of 128", 1, 128, 16, {40}, {}},
    {"causal, large tiles", 1, 32, 64, {100}, {}},
    {"causal, large tiles of heads of 64", 1, 64, 64, {130}, {}},
    {"causal, large tiles of heads of 128", 1, 128, 64, {70}, {}},
    {"causal, blocks of several tiles", 1, 32, 48, {110}, {}},
    {"causal, lists that are cut", 1, 32, 16, {330}, {}},
    {"causal, dropout", 2, 32, 16, {29, 17}, {}, 0.25},
    {"causal, dropout in large tiles", 1, 32, 64, {90}, {}, 0.25},
    {"cross, fewer queries than keys", 2, 32, 16, {9}, {150}},
    {"cross, more queries than keys", 2, 32, 16, {70}, {5}},
    {"cross, ragged", 2, 32, 16, {9, 40, 1}, {60, 7, 64}},
    {"cross, heads of 64, large tiles", 1, 64, 64, {20}, {100}},
    {"cross, heads of 128, large tiles", 1, 128, 64, {70}, {9}},
    {"cross, blocks of several tiles", 1, 32, 48, {50}, {100}},
    {"causal, heads of 20, padded", 2, 20, 16, {33, 9}, {}},
    {"causal, heads of 80, padded, in large tiles", 1, 80, 64, {90}, {}},
    {"causal, blocks of 10, padded", 2, 24, 10, {25, 40, 1}, {}},
    {"causal, blocks of 20 and heads of 32, padded", 1, 32, 20, {75}, {}},
    {"causal, heads of 20, dropout", 2, 20, 16, {29, 17}, {}, 0.25},
    {"cross, blocks of 12, padded", 2, 24, 12, {9, 40, 1}, {60, 7, 64}},
    {"cross, blocks of 60, padded to large tiles", 1, 64, 60, {70}, {130}},
    {"cross, dropout", 2, 32, 16, {9, 21}, {33, 12}, 0.25},
    {"cross, dropout in large tiles", 1, 32, 64, {70}, {30}, 0.25},
};

class CrossAttentionOnDevice : public BackendTest {
 protected:
  struct Inputs {
    Floats q, k, v, dout;
  };
  // Numbers of which padding is NaN, whatever the sequence owns there.
  static Inputs inputs_of(const DecoderProblem& p) {
    Inputs made{exact_numbers(p.query_rows() * p.width(), 41), exact_numbers(p.key_rows() * p.width(), 42),
                exact_numbers(p.key_rows() * p.width(), 43), exact_numbers(p.query_rows() * p.width(), 44)};
    const auto spoil = [&](Floats& rows, const std::vector<Index>& offsets,
                           const std::vector<Index>& lengths) {
      for (std::size_t s = 0; s < lengths.size(); ++s) {
        std::fill(rows.begin() + (offsets[s] + lengths[s]) * p.width(),
                  rows.begin() + offsets[s + 1] * p.width(), NAN);
      }
    };
    spoil(made.q, p.query_offsets, p.shape.queries);
    spoil(made.dout, p.query_offsets, p.shape.queries);
    spoil(made.k, p.key_offsets, p.key_lengths);
    spoil(made.v, p.key_offsets, p.key_lengths);
    return made;
  }

  // out, dq, dk, dv; the matrices of keys and values lie side by side, as a model's do.
  static std::vector<Floats> run(CudaBackend& backend, const DecoderProblem& p, const Inputs& given) {
    Side side(backend);
    const Index c = p.width(), queries = p.query_rows(), keys = p.key_rows();
    Floats side_by_side;
    for (Index row = 0; row < keys; ++row) {
      for (const Floats* half : {&given.k, &given.v})
        side_by_side.insert(side_by_side.end(), half->begin() + row * c, half->begin() + (row + 1) * c);
    }
    AttentionBatch batch = p.batch;
    batch.slot = 2;
    batch.dropout_seed = side.key(p.seed);
    const Values q = side.values(given.q), kv = side.values(side_by_side), dout = side.values(given.dout);
    const Values out = side.unset(queries * c), dq = side.unset(queries * c), dk = side.unset(keys * c),
                 dv = side.unset(keys * c);
    float* const log_sum_exp = side.floats(Floats(static_cast<std::size_t>(p.shape.heads * queries), NAN));
    const QueryKeyValue inputs{{q, c}, {kv, 2 * c}, {kv + c, 2 * c}};
    backend.prepare_attention(batch);
    backend.attention_forward(batch, inputs, {out, c}, log_sum_exp);
    backend.attention_backward(batch, inputs, Rows{out, c}, log_sum_exp, {dout, c},
                               {{dq, c}, {dk, c}, {dv, c}});
    return {side.read(out, queries * c), side.read(dq, queries * c), side.read(dk, keys * c),
            side.read(dv, keys * c)};
  }
  CudaOptions options(bool deterministic) const {
    CudaOptions made;
    made.precision = GetParam();
    made.deterministic = deterministic;
    return made;
  }
  double gradient_tolerance() const { return GetParam() == Precision::fp32 ? 1e-4 : tolerance(); }
};

TEST_P(CrossAttentionOnDevice, EqualsTheDenseOracle) {
  CudaBackend adding(options(false));
  for (const DecoderCase& chosen : device_cases) {
    SCOPED_TRACE(chosen.name);
    const DecoderProblem p(chosen);
    const Inputs given = inputs_of(p);
    const DecoderProblem::Expected expected = p.expected(given.q, given.k, given.v, given.dout);
    const std::vector<Floats> got = run(*device_, p, given);
    EXPECT_LT(relative_error(got[0], expected.out), tolerance());
    EXPECT_LT(relative_error(got[1], expected.dq), gradient_tolerance());
    EXPECT_LT(relative_error(got[2], expected.dk), gradient_tolerance());
    EXPECT_LT(relative_error(got[3], expected.dv), gradient_tolerance());
    EXPECT_EQ(run(*device_, p, given), got) << "another result the second time";
    // Padding is zeros, not only close to them.
    for (const std::size_t matrix : {0u, 1u, 2u, 3u}) {
      const bool queries = matrix < 2;
      const std::vector<Index>& offsets = queries ? p.query_offsets : p.key_offsets;
      for (std::size_t s = 0; s < p.plans.size(); ++s) {
        const Index length = queries ? p.shape.queries[s] : p.key_lengths[s];
        EXPECT_TRUE(std::all_of(got[matrix].begin() + (offsets[s] + length) * p.width(),
                                got[matrix].begin() + offsets[s + 1] * p.width(),
                                [](float x) { return x == 0.0f; }));
      }
    }
    EXPECT_EQ(run(adding, p, given), got) << "another order of sums where none is asked for";
  }
}

// What stands behind a query does not reach it, and no gradient goes back there, to the last bit.
TEST_P(CrossAttentionOnDevice, ACausalRowDoesNotDependOnLaterOnes) {
  const DecoderCase shape{"causal", 1, 32, 16, {75}, {}};
  const DecoderProblem p(shape);
  const Index c = p.width();
  const Inputs whole = inputs_of(p);
  const std::vector<Floats> expected = run(*device_, p, whole);
  for (const Index changed : {1, 16, 37, 74}) {
    SCOPED_TRACE(changed);
    Inputs other = whole;
    for (Floats* rows : {&other.q, &other.k, &other.v})
      std::fill(rows->begin() + changed * c, rows->begin() + 75 * c, 0.5f);
    const std::vector<Floats> got = run(*device_, p, other);
    EXPECT_TRUE(std::equal(got[0].begin(), got[0].begin() + changed * c, expected[0].begin()));
    EXPECT_FALSE(std::equal(got[0].begin() + changed * c, got[0].end(), expected[0].begin() + changed * c));
    EXPECT_TRUE(std::equal(got[1].begin(), got[1].begin() + changed * c, expected[1].begin()));
    // Only what stands at `changed` or behind it asks: nothing goes back to the keys behind.
    Inputs early = whole;
    std::fill(early.dout.begin() + changed * c, early.dout.begin() + 75 * c, 0.0f);
    const std::vector<Floats> back = run(*device_, p, early);
    for (const std::size_t matrix : {1u, 2u, 3u}) {
      EXPECT_TRUE(std::all_of(back[matrix].begin() + changed * c, back[matrix].end(),
                              [](float x) { return x == 0.0f; }));
    }
  }
}

// A plan that names tiles which causal attention hides, and lists that are cut.
TEST_P(CrossAttentionOnDevice, CausalAttentionHidesWhatThePlanNames) {
  const DecoderCase named{"causal", 1, 32, 16, {290}, {}};
  const DecoderProblem lean(named);
  DecoderProblem full(named);
  const DecoderPlan every(1, full.plans[0].view.blocks, full.plans[0].view.blocks, false);
  full.views[0] = &every.view;
  const Inputs given = inputs_of(lean);
  const std::vector<Floats> expected = run(*device_, lean, given), got = run(*device_, full, given);
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_LT(relative_error(got[i], std::vector<double>(expected[i].begin(), expected[i].end())),
              gradient_tolerance());
  }
}

TEST_P(CrossAttentionOnDevice, ASequenceDoesNotDependOnItsNeighbours) {
  for (const bool causal : {true, false}) {
    SCOPED_TRACE(causal);
    const DecoderCase together{"", 1,       32,
                               16, {40, 9}, causal ? std::vector<Index>{} : std::vector<Index>{20, 50}};
    const DecoderProblem p(together);
    const Inputs given = inputs_of(p);
    const std::vector<Floats> all = run(*device_, p, given);
    // The first alone: the same numbers stand at its beginning.
    const DecoderCase single{"", 1, 32, 16, {40}, causal ? std::vector<Index>{} : std::vector<Index>{20}};
    const DecoderProblem one(single);
    const std::vector<Floats> alone = run(*device_, one, inputs_of(one));
    for (std::size_t i = 0; i < all.size(); ++i)
      EXPECT_TRUE(std::equal(alone[i].begin(), alone[i].end(), all[i].begin())) << i;
  }
}

TEST_P(CrossAttentionOnDevice, QueriesOverRowsThatListsName) {
  for (const Index head_size : {32, 64, 128, 1, 20, 48, 100}) {
    SCOPED_TRACE(head_size);
    const RowProblem p(head_size == 32 ? 3 : 1, head_size, 300, {1, 17, 300, 64, 2});
    const Index c = p.width();
    const Floats q = exact_numbers(p.queries() * c, 51), kv = exact_numbers(p.cached * 2 * c, 52);
    const auto attend = [&] {
      Side side(*device_);
      const Values queries = side.values(q), cache = side.values(kv), out = side.unset(p.queries() * c);
      device_->attend_rows(
          {p.queries(), p.heads, head_size, p.scale(), side.integers(p.rows), side.integers(p.offsets)},
          {{queries, c}, {cache, 2 * c}, {cache + c, 2 * c}}, {out, c}, nullptr);
      return side.read(out, p.queries() * c);
    };
    const Floats got = attend();
    EXPECT_LT(relative_error(got, p.expected(q, kv)), tolerance());
    EXPECT_EQ(attend(), got);
  }
  EXPECT_THROW(device_->attend_rows({1, 1, 136, 1.0f, nullptr, nullptr}, {}, {}, nullptr), DeviceError);
}

TEST_P(CrossAttentionOnDevice, ARowThatNoListNamesIsNotRead) {
  RowProblem p(1, 32, 40, {5, 9});
  Floats kv = exact_numbers(p.cached * 64, 53);
  for (std::int32_t row = 0; row < p.cached; ++row) {
    if (std::find(p.rows.begin(), p.rows.end(), row) != p.rows.end()) continue;
    std::fill(kv.begin() + row * 64, kv.begin() + (row + 1) * 64, NAN);
  }
  Side side(*device_);
  const Values q = side.values(exact_numbers(64, 54)), cache = side.values(kv), out = side.unset(64);
  device_->attend_rows({2, 1, 32, p.scale(), side.integers(p.rows), side.integers(p.offsets)},
                       {{q, 32}, {cache, 64}, {cache + 32, 64}}, {out, 32}, nullptr);
  for (const float x : side.read(out, 64)) EXPECT_FALSE(std::isnan(x));
}

BIGBIRD_BACKEND_TESTS(CrossAttentionOnDevice);

}  // namespace
}  // namespace bigbird::kernels::cuda::testing
