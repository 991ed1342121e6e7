// Attention within clusters and its hash against reference/hashed_attention.h: lengths around a cluster,
// ragged batches, both directions, and the way back; that no row depends on batch mates or on padding.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "reference/hashed_attention.h"
#include "tests/kernels/head_matrices.h"
#include "tests/kernels/kernel_test.h"

namespace bigbird::kernels {
namespace {

// Sequences of so many real rows, with `padding` rows behind each; queries and values side by side.
struct ClusterProblem {
  Index heads = 2, head_size = 8, cluster = 8, rounds = 2;
  std::vector<Index> lengths;
  std::array<Index, 2> factors{8, 0};
  bool causal = false;
  Index padding = 3;
  std::vector<Index> offsets = {}, places = {}, all_factors = {};
  Floats rotations = {};

  Index columns() const { return (factors[0] + factors[1]) / 2 + 1; }  // one that nobody reads
  ClusterProblem& finish(std::uint32_t seed = 81) {
    offsets = places = {0};
    for (const Index length : lengths) {
      offsets.push_back(offsets.back() + length + padding);
      const Index clusters = (length + cluster - 1) / cluster;
      places.push_back(places.back() + cluster * clusters * (clusters > 1 ? rounds : 1));
      all_factors.insert(all_factors.end(), factors.begin(), factors.end());
    }
    rotations = random_floats(static_cast<std::size_t>(heads * rounds * columns() * head_size), seed);
    return *this;
  }
  Index width() const { return heads * head_size; }
  Index rows() const { return offsets.back(); }
  ClusterBatch batch() const {
    ClusterBatch batch;
    batch.sequences = static_cast<Index>(lengths.size());
    batch.heads = heads;
    batch.head_size = head_size;
    batch.cluster = cluster;
    batch.token_offsets = offsets.data();
    batch.lengths = lengths.data();
    batch.place_offsets = places.data();
    batch.causal = causal;
    return batch;
  }
  TokenHash hash() const { return {rounds, all_factors.data(), rotations.data(), columns()}; }
  std::vector<reference::Matrix> rotations_of(Index head) const {
    std::vector<reference::Matrix> of;
    for (Index round = 0; round < rounds; ++round) {
      const auto begin = rotations.begin() + (head * rounds + round) * columns() * head_size;
      of.emplace_back(static_cast<std::size_t>(columns()), static_cast<std::size_t>(head_size),
                      reference::Vector(begin, begin + columns() * head_size));
    }
    return of;
  }
};

// The order as floats, outputs, sums, and gradients of queries and values.
std::vector<Floats> computed(Backend& backend, const ClusterProblem& p, const Floats& qv,
                             const Floats& dout) {
  const Index width = p.width();
  const ClusterBatch batch = p.batch();
  const ConstRows q{qv.data(), 2 * width}, v{qv.data() + width, 2 * width};
  std::vector<std::int32_t> order(static_cast<std::size_t>(p.heads * batch.places()));
  backend.sort_by_hash(batch, p.hash(), q, order.data());
  Guarded out(dout.size()), sums(static_cast<std::size_t>(p.heads * p.rows())), dqv(qv.size());
  backend.cluster_attention_forward(batch, order.data(), q, v, {out.data(), width}, sums.data());
  backend.cluster_attention_backward(batch, order.data(), q, v, {out.data(), width}, sums.data(),
                                     {dout.data(), width}, {dqv.data(), 2 * width},
                                     {dqv.data() + width, 2 * width});
  return {Floats(order.begin(), order.end()), out.take(), sums.take(), dqv.take()};
}

class ReformerKernel : public KernelTest {
 protected:
  void check(const ClusterProblem& p) {
    SCOPED_TRACE(std::to_string(p.lengths[0]) + " rows, clusters of " + std::to_string(p.cluster) +
                 (p.causal ? ", causal" : ""));
    const auto rows = static_cast<std::size_t>(p.rows()), width = static_cast<std::size_t>(p.width());
    const Floats qv = random_floats(rows * 2 * width, 82, 2.0f), dout = random_floats(rows * width, 83);
    const std::vector<Floats> got = run([&](Backend& b) { return computed(b, p, qv, dout); });
    reference::Vector out(rows * width, 0.0), dqv(qv.size(), 0.0);
    for (std::size_t s = 0; s < p.lengths.size(); ++s) {
      for (Index head = 0; head < p.heads; ++head) {
        const Index first = p.offsets[s], length = p.lengths[s], column = head * p.head_size;
        const auto stride = static_cast<Index>(2 * width);
        const reference::Matrix query = head_of(qv, stride, first, length, column, p.head_size);
        const reference::Matrix value = head_of(qv, stride, first, length, p.width() + column, p.head_size);
        const std::array<std::size_t, 2> factors{static_cast<std::size_t>(p.factors[0]),
                                                 static_cast<std::size_t>(p.factors[1])};
        const reference::HashedAttention attention{
            static_cast<std::size_t>(p.cluster), p.causal,
            reference::hashed_places(query, p.rotations_of(head), factors,
                                     static_cast<std::size_t>(p.cluster))};
        const Index place = head * p.places.back() + p.places[s];
        ASSERT_EQ(attention.places.size(), static_cast<std::size_t>(p.places[s + 1] - p.places[s]));
        for (std::size_t i = 0; i < attention.places.size(); ++i) {
          const float expected =
              attention.places[i] == reference::no_token ? -1.0f : static_cast<float>(attention.places[i]);
          ASSERT_EQ(got[0][static_cast<std::size_t>(place) + i], expected) << "place " << i;
        }
        put_head(hashed_attention_forward(attention, query, value), out, p.width(), first, column);
        const auto gradients = hashed_attention_backward(
            attention, query, value, head_of(dout, p.width(), first, length, column, p.head_size));
        put_head(gradients.query, dqv, stride, first, column);
        put_head(gradients.value, dqv, stride, first, p.width() + column);
      }
    }
    double most = 0.0;
    for (std::size_t i = 0; i < out.size(); ++i) most = std::max(most, std::abs(got[1][i] - out[i]));
    EXPECT_LT(most, 2e-6);
    EXPECT_LT(relative_error(got[3], dqv), 1e-5);
  }
};

TEST_P(ReformerKernel, G1IsTheReferenceAtLengthsAroundACluster) {
  for (const Index cluster : {8, 16, 64}) {
    for (const bool causal : {false, true}) {
      for (const Index length :
           {Index{1}, cluster - 1, cluster, cluster + 1, 2 * cluster, 2 * cluster + 1, Index{200}}) {
        ClusterProblem p;
        p.cluster = cluster;
        p.causal = causal;
        p.lengths = {length, 5};
        check(p.finish());
      }
    }
  }
}

TEST_P(ReformerKernel, G1RoundsFactorsAndLongSequences) {
  for (const bool causal : {false, true}) {
    ClusterProblem p;
    p.heads = 3;
    p.head_size = 5;
    p.rounds = 5;
    p.factors = {4, 6};
    p.causal = causal;
    p.lengths = {41, 0, 8, 77};
    check(p.finish());
    ClusterProblem one;
    one.heads = 1;
    one.cluster = 64;
    one.rounds = 1;
    one.factors = {32, 0};
    one.causal = causal;
    one.lengths = {1025};
    check(one.finish());
  }
}

TEST_P(ReformerKernel, G10TheWorkedVectorWithItsSums) {
  ClusterProblem p;
  p.heads = 1;
  p.head_size = 2;
  p.cluster = 2;
  p.rounds = 1;
  p.lengths = {4};
  p.padding = 0;
  p.finish();
  const Floats q{1, 0, 0, 1, 1, 1, 1, -1}, v{1, 0, 0, 1, 2, 2, 3, -1};
  const std::vector<std::int32_t> order{1, 3, 0, 2};
  const std::vector<Floats> got = run([&](Backend& b) {
    Guarded out(8), sums(4);
    b.cluster_attention_forward(p.batch(), order.data(), {q.data(), 2}, {v.data(), 2}, {out.data(), 2},
                                sums.data());
    return std::vector<Floats>{out.take(), sums.take()};
  });
  const Floats out{2.00556032f, .59888794f, 1.85603386f, 1.01192114f,
                   .88840634f,  .2669562f,  1.1546979f,  .57948794f};
  const Floats sums{1.62062086f, 1.25879705f, 1.86199392f, 1.40760539f};
  for (std::size_t i = 0; i < out.size(); ++i) EXPECT_NEAR(got[0][i], out[i], 5e-7) << i;
  for (std::size_t i = 0; i < sums.size(); ++i) EXPECT_NEAR(got[1][i], sums[i], 5e-7) << i;
}

TEST_P(ReformerKernel, G4NeitherBatchMatesNorPaddingAreSeen) {
  ClusterProblem one;
  one.lengths = {45};
  one.padding = 0;
  one.finish();
  ClusterProblem more = one;
  more.lengths = {45, 20};
  more.padding = 19;
  more.all_factors.clear();
  more.finish();
  const auto width = static_cast<std::size_t>(one.width());
  const Floats qv = random_floats(45 * 2 * width, 84, 2.0f), dout = random_floats(45 * width, 85);
  const auto rows = static_cast<std::size_t>(more.rows());
  Floats other_qv = random_floats(rows * 2 * width, 86, 2.0f), other_dout = random_floats(rows * width, 87);
  std::copy(qv.begin(), qv.end(), other_qv.begin());
  std::copy(dout.begin(), dout.end(), other_dout.begin());
  const std::vector<Floats> alone = run([&](Backend& b) { return computed(b, one, qv, dout); });
  const std::vector<Floats> together =
      run([&](Backend& b) { return computed(b, more, other_qv, other_dout); });
  EXPECT_TRUE(std::equal(alone[1].begin(), alone[1].end(), together[1].begin()));
  EXPECT_TRUE(std::equal(alone[3].begin(), alone[3].end(), together[3].begin()));
  for (std::size_t i = 45 * width; i < (45 + 19) * width; ++i) ASSERT_EQ(together[1][i], 0.0f);
  for (std::size_t i = 45 * 2 * width; i < (45 + 19) * 2 * width; ++i) ASSERT_EQ(together[3][i], 0.0f);
  for (std::size_t i = 45; i < 45 + 19; ++i)
    EXPECT_EQ(together[2][i], std::numeric_limits<float>::infinity());
}

TEST_P(ReformerKernel, RowsInBf16AreThoseOfTheirFloats) {
  ClusterProblem p;
  p.lengths = {30};
  p.finish();
  const auto size = static_cast<std::size_t>(p.rows() * 2 * p.width());
  const Floats qv = as_floats(as_bf16(random_floats(size, 88, 2.0f)));
  const std::vector<bf16> narrow = as_bf16(qv);
  const Floats dout = random_floats(size / 2, 89);
  const std::vector<Floats> expected = run([&](Backend& b) { return computed(b, p, qv, dout); });
  const std::vector<Floats> got = run([&](Backend& b) {
    const Index width = p.width();
    const ConstValues values(narrow.data(), ElementType::bf16);
    std::vector<std::int32_t> order(static_cast<std::size_t>(p.heads * p.batch().places()));
    b.sort_by_hash(p.batch(), p.hash(), {values, 2 * width}, order.data());
    Guarded out(size / 2);
    b.cluster_attention_forward(p.batch(), order.data(), {values, 2 * width}, {values + width, 2 * width},
                                {out.data(), width}, nullptr);
    return std::vector<Floats>{Floats(order.begin(), order.end()), out.take()};
  });
  EXPECT_EQ(got[0], expected[0]);
  EXPECT_EQ(got[1], expected[1]);
}

BIGBIRD_KERNEL_TESTS(ReformerKernel);

}  // namespace
}  // namespace bigbird::kernels
