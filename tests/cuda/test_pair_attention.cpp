// Attention on the device with rules for pairs and terms for their labels, and two groups of keys as one
// softmax: against reference/attention_pairs.h. The problems are those of the CPU's tests, and more.
#include <algorithm>
#include <string>

#include "kernels/cuda/attention/attention.h"
#include "kernels/cuda/attention/schedule.h"
#include "tests/cuda/backend_test.h"
#include "tests/cuda/device_pair_cases.h"
#include "tests/kernels/pair_attention.h"

namespace bigbird::kernels::cuda::testing {
namespace {

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
      for (const Index label : p.shape.masked)
        std::fill_n(bias.begin() + label * p.shape.heads, p.shape.heads, -INFINITY);
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
  // Of bf16, whose outputs are rounded: what is left of a row's sum, which is zero, weighs the more the fewer
  // labels there are. The gradients of two are each other's opposites.
  double label_tolerance() const { return narrow() ? 2e-2 : gradient_tolerance(); }
  double bias_tolerance() const { return narrow() ? 0.1 : gradient_tolerance(); }
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
    EXPECT_LT(relative_error(behind(got[5]), expected.dweight), label_tolerance());
    if (!chosen.bias) continue;
    EXPECT_LT(relative_error(behind(got[6]), expected.dbias), bias_tolerance());
  }
}

TEST_P(PairAttentionOnDevice, TheListsOfCutCasesAreCut) {
  int query_lists = 0, key_lists = 0;
  for (const PairCase& chosen : device_pair_cases()) {
    const std::string name = chosen.name;
    if (name.find("lists that are cut") == std::string::npos) continue;
    const PairProblem p(chosen);
    const bool of_queries = name.find("query") == 0;
    const AttentionSchedule schedule(*p.batch.plans[p.batch.sequences - 1], chosen.block_size);
    EXPECT_GT((of_queries ? schedule.by_query : schedule.by_key).cuts.size(), 0u) << name;
    ++(of_queries ? query_lists : key_lists);
  }
  EXPECT_EQ(query_lists, 3);
  EXPECT_EQ(key_lists, 1);
}

// A query whose list is cut, and whose company stands in its last piece.
TEST_P(PairAttentionOnDevice, CompanyMayStandAtTheEndOfACutList) {
  PairCase last{};
  last.heads = 1;
  last.head_size = 32;
  last.block_size = 16;
  last.queries = {5, 10};
  last.keys = {3, 800};
  last.hidden = last.self_last = true;
  PairProblem p(last);
  // All keys of the second sequence that lie between the first, which is the own one of query 0, and the
  // last.
  const auto first = static_cast<std::size_t>(p.key_offsets[1]);
  for (std::size_t key = 0; key < 800; ++key) p.hidden[first + key] = key > 0 && key < 790 ? 1 : 0;
  ASSERT_GT(AttentionSchedule(*p.batch.plans[1], 16).by_query.cuts.size(), 0u);
  const Numbers given(p);
  const PairProblem::Expected expected = given.expected(p);
  const std::vector<Floats> got = run(*device_, p, given);
  EXPECT_LT(relative_error(got[0], expected.out), tolerance());
  EXPECT_LT(relative_error(got[2], expected.dq), gradient_tolerance());
  EXPECT_LT(relative_error(got[4], expected.dv), gradient_tolerance());
  // Nobody else.
  std::fill(p.hidden.begin() + p.key_offsets[1] + 1, p.hidden.begin() + p.key_offsets[1] + 800,
            std::uint8_t{1});
  const std::vector<Floats> alone = run(*device_, p, given);
  EXPECT_LT(relative_error(alone[0], given.expected(p).out), tolerance());
  EXPECT_LT(relative_error(alone[4], given.expected(p).dv), gradient_tolerance());
}

// Keys that are hidden to one call and seen by the other: merged, they are one softmax, and each call's
// gradients are those of its keys. Some queries see keys of one group alone, some none.
TEST_P(PairAttentionOnDevice, TwoGroupsOfKeysAreOneSoftmax) {
  for (const Index block_size : {16, 64}) {
    SCOPED_TRACE(block_size);
    PairCase whole{};
    whole.heads = 2;
    whole.head_size = block_size == 16 ? 20 : 64;
    whole.block_size = block_size;
    whole.queries = {40, 150};
    whole.before = 2;
    whole.after = 1;
    whole.groups = true;
    whole.labels = 5;
    whole.most = 2;
    PairCase split = whole;
    split.hidden = true;
    const PairProblem p(whole), first(split);
    PairProblem second(split);
    for (std::uint8_t& flag : second.hidden) flag = flag == 0 ? 1 : 0;
    const Numbers given(p);
    const PairProblem::Expected expected = given.expected(p);

    Side side(*device_);
    CudaBackend& backend = *device_;
    const Index c = p.width(), rows = p.query_rows(), sums = rows * whole.heads;
    const QueryKeyValue inputs{
        {side.values(given.q), c}, {side.values(given.k), c}, {side.values(given.v), c}};
    const Values dout = side.values(given.dout);
    struct Group {
      Values out, dq, dk, dv;
      float* sums;
    };
    const auto make = [&] {
      return Group{side.unset(rows * c), side.unset(rows * c), side.unset(rows * c), side.unset(rows * c),
                   side.floats(Floats(static_cast<std::size_t>(sums), NAN))};
    };
    const Group groups[] = {make(), make()};
    float* const dweight = side.floats(Floats(p.weight_size(), before_gradients));
    float* const dbias = side.floats(Floats(p.bias_size(), before_gradients));
    const OnDevice batches[] = {{side, first, given, 0}, {side, second, given, 1}};
    for (int i = 0; i < 2; ++i) {
      // The lists are those of all keys: the second group's own would name other blocks.
      const_cast<AttentionBatch&>(batches[i].batch).plans = p.batch.plans;
      backend.prepare_attention(batches[i].batch);
      backend.attention_forward(batches[i].batch, inputs, {groups[i].out, c}, groups[i].sums);
    }
    // Over the first part, as a model does it.
    backend.merge_attention({{groups[0].out, c}, groups[0].sums}, {{groups[1].out, c}, groups[1].sums},
                            {groups[0].out, c}, groups[0].sums, rows, whole.heads, whole.head_size);
    for (int i = 0; i < 2; ++i) {
      backend.attention_backward(batches[i].batch, inputs, Rows{groups[0].out, c}, groups[0].sums, {dout, c},
                                 {{groups[i].dq, c}, {groups[i].dk, c}, {groups[i].dv, c}, {dweight, dbias}});
    }
    const auto both = [&](Values Group::*matrix) {
      const Floats one = side.read(groups[0].*matrix, rows * c), two = side.read(groups[1].*matrix, rows * c);
      std::vector<double> sum;
      for (std::size_t i = 0; i < one.size(); ++i)
        sum.push_back(static_cast<double>(one[i]) + static_cast<double>(two[i]));
      return sum;
    };
    EXPECT_LT(relative_error(side.read(groups[0].out, rows * c), expected.out), tolerance());
    EXPECT_LT(error_of_sums(side.read(groups[0].sums, sums), expected.log_sum_exp), 4 * tolerance());
    EXPECT_LT(relative_error(both(&Group::dq), expected.dq), 2 * gradient_tolerance());
    EXPECT_LT(relative_error(both(&Group::dk), expected.dk), gradient_tolerance());
    EXPECT_LT(relative_error(both(&Group::dv), expected.dv), gradient_tolerance());
    EXPECT_LT(
        relative_error(behind(side.read(dweight, static_cast<Index>(p.weight_size()))), expected.dweight),
        label_tolerance());
    EXPECT_LT(relative_error(behind(side.read(dbias, static_cast<Index>(p.bias_size()))), expected.dbias),
              bias_tolerance());
  }
}

// Sums far from zero, and groups of which one has all.
TEST_P(PairAttentionOnDevice, MergingKnowsRowsWithoutKeys) {
  constexpr Index rows = 5, heads = 2, head_size = 3, c = heads * head_size;
  const float none = INFINITY;
  const Floats first_sums{1.0f, none, 300.0f, none, -80.0f, 0.5f, none, 2.0f, 100.0f, none};
  const Floats second_sums{1.0f, 2.0f, 299.0f, none, none, none, none, 3.0f, -100.0f, -200.0f};
  Floats first = exact_numbers(rows * c, 71), second = exact_numbers(rows * c, 72);
  reference::Vector out(first.size()), sums(first_sums.size());
  for (Index head = 0; head < heads; ++head) {
    for (Index row = 0; row < rows; ++row) {
      const auto at = static_cast<std::size_t>(head * rows + row);
      const bool one = first_sums[at] < none, two = second_sums[at] < none;
      const double apart = static_cast<double>(second_sums[at]) - static_cast<double>(first_sums[at]);
      const double share = !one ? 0.0 : !two ? 1.0 : 1.0 / (1.0 + std::exp(apart));
      sums[at] = !one ? static_cast<double>(second_sums[at])
                      : static_cast<double>(first_sums[at]) + (two ? std::log1p(std::exp(apart)) : 0.0);
      for (Index d = 0; d < head_size; ++d) {
        const auto element = static_cast<std::size_t>(row * c + head * head_size + d);
        if (one) out[element] += share * static_cast<double>(first[element]);
        if (two) out[element] += (1.0 - share) * static_cast<double>(second[element]);
        if (!one) first[element] = NAN;  // counts for nothing
        if (!two) second[element] = NAN;
      }
    }
  }
  Side side(*device_);
  const Values to = side.unset(rows * c);
  float* const in_place = side.floats(second_sums);
  device_->merge_attention({Rows{side.values(first), c}, side.floats(first_sums)},
                           {Rows{side.values(second), c}, in_place}, {to, c}, in_place, rows, heads,
                           head_size);
  EXPECT_LT(relative_error(side.read(to, rows * c), out), tolerance());
  EXPECT_LT(error_of_sums(side.read(in_place, rows * heads), sums), 1e-4);
}

TEST_P(PairAttentionOnDevice, ASequenceDoesNotDependOnItsNeighbours) {
  PairCase together{};
  together.heads = 2;
  together.head_size = 32;
  together.block_size = 16;
  together.queries = {40, 7, 33};
  together.before = 6;
  together.after = 3;
  together.labels = 9;
  together.most = 4;
  PairCase alone = together;
  alone.queries = {40};
  const PairProblem all(together), one(alone);
  Numbers given(all), first(one);
  first.weight = given.weight;
  const std::vector<Floats> expected = run(*device_, all, given), got = run(*device_, one, first);
  for (const std::size_t i : {0u, 2u, 3u, 4u})
    EXPECT_TRUE(std::equal(got[i].begin(), got[i].end(), expected[i].begin())) << i;
}

// Causal attention beside a rule is one that sees no key ahead, and leaves out what lists name there.
TEST_P(PairAttentionOnDevice, CausalAttentionStandsBesideARule) {
  PairCase before{};
  before.heads = 1;
  before.head_size = 32;
  before.block_size = 16;
  before.queries = {90};
  before.before = 40;
  before.after = 0;
  before.labels = 8;
  before.most = 3;
  PairCase around = before;
  around.after = 20;
  const PairProblem ahead(before);
  PairProblem causal(around);
  causal.rule.after = -1;
  causal.batch.causal = true;
  const Numbers given(ahead);
  const PairProblem::Expected expected = given.expected(ahead);
  const std::vector<Floats> got = run(*device_, causal, given);
  EXPECT_LT(relative_error(got[0], expected.out), tolerance());
  EXPECT_LT(relative_error(got[2], expected.dq), gradient_tolerance());
  EXPECT_LT(relative_error(got[3], expected.dk), gradient_tolerance());
  EXPECT_LT(relative_error(got[4], expected.dv), gradient_tolerance());
  EXPECT_LT(relative_error(behind(got[5]), expected.dweight), label_tolerance());
}

// A rule that all pairs meet, and a term of zeros, are attention without either.
TEST_P(PairAttentionOnDevice, ARuleThatHidesNothingChangesNothing) {
  PairCase open{};
  open.heads = 1;
  open.head_size = 32;
  open.block_size = 64;
  open.queries = {130};
  open.labels = 5;
  open.most = 2;
  const PairProblem p(open);
  Numbers given(p);
  std::fill(given.weight.begin(), given.weight.end(), 0.0f);
  std::fill(given.bias.begin(), given.bias.end(), 0.0f);
  const std::vector<Floats> got = run(*device_, p, given);
  PairProblem plain(open);
  plain.batch.rule = nullptr;
  plain.batch.relative = nullptr;
  Side side(*device_);
  const Index c = p.width(), rows = p.query_rows();
  AttentionBatch batch = plain.batch;
  const Values out = side.unset(rows * c);
  device_->prepare_attention(batch);
  device_->attention_forward(
      batch, {{side.values(given.q), c}, {side.values(given.k), c}, {side.values(given.v), c}}, {out, c},
      nullptr);
  EXPECT_EQ(side.read(out, rows * c), got[0]);
}

// What rule and term point to is read when a recording runs.
TEST_P(PairAttentionOnDevice, ARecordingSeesNewFlagsAndWeights) {
  PairCase window{};
  window.heads = 1;
  window.head_size = 32;
  window.block_size = 16;
  window.queries = {50};
  window.before = window.after = 7;
  window.hidden = true;
  window.labels = 5;
  window.most = 2;
  const PairProblem p(window);
  const Numbers given(p);
  Side side(*device_);
  Backend& backend = *device_;
  const Index c = p.width(), rows = p.query_rows();
  const OnDevice device(side, p, given);
  const QueryKeyValue inputs{{side.values(given.q), c}, {side.values(given.k), c}, {side.values(given.v), c}};
  const Values out = side.unset(rows * c), dq = side.unset(rows * c), dk = side.unset(rows * c),
               dv = side.unset(rows * c), dout = side.values(given.dout);
  float* const sums = side.floats(Floats(static_cast<std::size_t>(rows), NAN));
  float* const dweight = side.floats(Floats(p.weight_size()));
  const std::size_t gradient_bytes = p.weight_size() * sizeof(float);
  backend.prepare_attention(device.batch);
  const auto work = [&] {
    backend.zero(dweight, gradient_bytes);
    backend.attention_forward(device.batch, inputs, {out, c}, sums);
    backend.attention_backward(device.batch, inputs, Rows{out, c}, sums, {dout, c},
                               {{dq, c}, {dk, c}, {dv, c}, {dweight, nullptr}});
  };
  Floats before;
  for (std::uint64_t call = 0; call < 4; ++call) {
    const Floats weight = exact_numbers(static_cast<Index>(p.weight_size()), 80 + call);
    backend.upload(const_cast<float*>(device.relative.weight), weight.data(), gradient_bytes);
    std::vector<std::uint8_t> hidden(static_cast<std::size_t>(rows), 0);
    hidden[call] = 1;
    backend.upload(const_cast<std::uint8_t*>(device.rule.hidden), hidden.data(), hidden.size());
    backend.replay(6, work);
    const Floats repeated = side.read(out, rows * c);
    const Floats repeated_gradients = side.read(dweight, static_cast<Index>(p.weight_size()));
    work();
    EXPECT_EQ(repeated, side.read(out, rows * c)) << "call " << call;
    EXPECT_EQ(repeated_gradients, side.read(dweight, static_cast<Index>(p.weight_size()))) << "call " << call;
    EXPECT_NE(repeated, before);
    before = repeated;
  }
  EXPECT_EQ(device_->replays(), 2u);
}

TEST_P(PairAttentionOnDevice, RefusesByNameWhatItCannotDo) {
  PairCase odd{};
  odd.heads = 1;
  odd.head_size = 32;
  odd.block_size = 20;
  odd.queries = {30};
  odd.before = 3;
  const PairProblem p(odd);
  try {
    device_->prepare_attention(p.batch);
    FAIL() << "blocks of 20 tokens";
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("pair rules"), std::string::npos) << error.what();
  }
  AttentionLimits limits;
  limits.sequences = 1;
  limits.tokens = limits.longest = 1024;
  limits.heads = 2;
  limits.head_size = 64;
  limits.block_size = 20;
  EXPECT_NO_THROW(device_->scratch_bytes(limits));
  limits.labels = 32;
  EXPECT_THROW(device_->scratch_bytes(limits), DeviceError);
  limits.block_size = 64;
  EXPECT_NO_THROW(device_->scratch_bytes(limits));
  limits.labels = most_device_labels + 1;
  EXPECT_THROW(device_->scratch_bytes(limits), DeviceError);
  limits.labels = 32;
  const std::size_t with = attention_workspace_bytes(limits, true);
  limits.labels = 0;
  // Terms of every row, head and label, in fp32. Of a device's scratch the products' may be the larger part.
  EXPECT_GE(with, attention_workspace_bytes(limits, true) + std::size_t{1024} * 2 * 32 * 4);
  PairCase few = odd;
  few.block_size = 16;
  few.labels = 8;
  few.most = 4;
  const PairProblem labels(few);
  EXPECT_THROW(device_->prepare_attention(labels.batch), std::logic_error);
  PairCase many = few;
  many.labels = most_device_labels + 1;
  const PairProblem too_many(many);
  try {
    device_->prepare_attention(too_many.batch);
    FAIL() << "2049 labels";
  } catch (const DeviceError& error) {
    EXPECT_STREQ(error.what(), "CUDA attention has relative terms of at most 2048 labels, not 2049");
  }
  // Labels behind, of queries that stand at rows of no other keys, and of parts.
  PairProblem behind(few);
  behind.relative.behind = true;
  EXPECT_NO_THROW(device_->prepare_attention(behind.batch));
  behind.relative.query_parts = behind.relative.key_parts = behind.query_parts.data();
  EXPECT_THROW(device_->prepare_attention(behind.batch), std::logic_error);
  behind.relative.query_parts = nullptr;
  const Index starts[] = {2};
  behind.batch.query_starts = starts;
  EXPECT_THROW(device_->prepare_attention(behind.batch), std::logic_error);
}

BIGBIRD_BACKEND_TESTS(PairAttentionOnDevice);

}  // namespace
}  // namespace bigbird::kernels::cuda::testing
