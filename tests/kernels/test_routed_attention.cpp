// Attention within learned clusters, the choice of their tokens and what moves centroids against
// reference/routed_attention.h: lengths around a window, ragged batches, both directions, and the way back;
// that no row depends on batch mates or on padding.
#include <algorithm>
#include <cmath>

#include "reference/routed_attention.h"
#include "tests/kernels/head_matrices.h"
#include "tests/kernels/kernel_test.h"

namespace bigbird::kernels {
namespace {

constexpr float commitment_weight = 0.25f;

// Sequences of so many real rows, with `padding` rows behind each; queries, keys and values side by side.
struct RoutingProblem {
  Index heads = 2, head_size = 8, clusters = 3, window = 16;
  std::vector<Index> lengths;
  bool causal = false;
  Index padding = 3;
  std::vector<Index> offsets = {}, places = {};
  Floats centroids = {};

  RoutingProblem& finish(std::uint32_t seed = 181) {
    offsets = places = {0};
    for (const Index length : lengths) {
      offsets.push_back(offsets.back() + length + padding);
      places.push_back(places.back() + clusters * std::min(window, length));
    }
    centroids = random_floats(static_cast<std::size_t>(heads * clusters * head_size), seed, 1.0f);
    return *this;
  }
  Index width() const { return heads * head_size; }
  Index rows() const { return offsets.back(); }
  RoutingBatch batch() const {
    RoutingBatch batch;
    batch.sequences = static_cast<Index>(lengths.size());
    batch.heads = heads;
    batch.head_size = head_size;
    batch.clusters = clusters;
    batch.window = window;
    batch.token_offsets = offsets.data();
    batch.lengths = lengths.data();
    batch.place_offsets = places.data();
    batch.causal = causal;
    return batch;
  }
  reference::Matrix centroids_of(Index head) const {
    const auto begin = centroids.begin() + head * clusters * head_size;
    return {static_cast<std::size_t>(clusters), static_cast<std::size_t>(head_size),
            reference::Vector(begin, begin + clusters * head_size)};
  }
};

struct RoutedResult {
  std::vector<std::int32_t> query_order, key_order, nearest;
  Floats distances, out, log_sum_exp, dqkv, with_commitment, sums, counts;
};

RoutedResult routed(Backend& backend, const RoutingProblem& p, const Floats& qkv, const Floats& dout) {
  const Index width = p.width();
  const RoutingBatch batch = p.batch();
  const ConstRows q{qkv.data(), 3 * width}, k{qkv.data() + width, 3 * width},
      v{qkv.data() + 2 * width, 3 * width};
  const auto places = static_cast<std::size_t>(p.heads * batch.places());
  const auto tokens = static_cast<std::size_t>(p.heads * p.rows());
  RoutedResult got;
  got.query_order.resize(places);
  got.key_order.resize(places);
  got.nearest.resize(tokens);
  Guarded distances(tokens), out(dout.size()), sums(places), dqkv(qkv.size()), moved(p.centroids.size()),
      counts(static_cast<std::size_t>(p.heads * p.clusters));
  backend.route_tokens(batch, p.centroids.data(), q,
                       {got.query_order.data(), got.nearest.data(), distances.data()});
  backend.route_tokens(batch, p.centroids.data(), k, {got.key_order.data(), nullptr, nullptr});
  const RoutedPair order{got.query_order.data(), got.key_order.data()};
  backend.routed_attention_forward(batch, order, {q, k, v}, {out.data(), width}, sums.data());
  const Rows dq{dqkv.data(), 3 * width};
  backend.routed_attention_backward(
      batch, order, {q, k, v}, sums.data(), {dout.data(), width},
      {dq, {dqkv.data() + width, 3 * width}, {dqkv.data() + 2 * width, 3 * width}});
  got.dqkv = Floats(dqkv.data(), dqkv.data() + qkv.size());
  std::fill_n(moved.data(), p.centroids.size(), 1.0f);
  std::fill_n(counts.data(), static_cast<std::size_t>(p.heads * p.clusters), 2.0f);
  backend.route_tokens_backward(batch, p.centroids.data(), got.nearest.data(), q, &commitment_weight, dq,
                                moved.data(), counts.data());
  got.distances = distances.take();
  got.out = out.take();
  got.log_sum_exp = sums.take();
  got.with_commitment = dqkv.take();
  got.sums = moved.take();
  got.counts = counts.take();
  return got;
}

class RoutingKernel : public KernelTest {
 protected:
  void check(const RoutingProblem& p) {
    SCOPED_TRACE(std::to_string(p.lengths[0]) + " rows, windows of " + std::to_string(p.window) +
                 (p.causal ? ", causal" : ""));
    const auto rows = static_cast<std::size_t>(p.rows()), width = static_cast<std::size_t>(p.width());
    const Floats qkv = random_floats(rows * 3 * width, 182, 2.0f), dout = random_floats(rows * width, 183);
    RoutedResult got;
    run([&](Backend& b) {
      got = routed(b, p, qkv, dout);
      return std::vector<Floats>{got.out, got.log_sum_exp, got.with_commitment, got.sums, got.counts};
    });
    reference::Vector out(rows * width, 0.0), dqkv(qkv.size(), 0.0), committed(qkv.size(), 0.0);
    reference::Vector moved(p.centroids.size(), 1.0);
    const auto size = static_cast<std::size_t>(p.head_size), clusters = static_cast<std::size_t>(p.clusters);
    for (Index head = 0; head < p.heads; ++head) {
      const reference::Matrix centroids = p.centroids_of(head);
      reference::Vector counts(clusters, 2.0);
      for (std::size_t s = 0; s < p.lengths.size(); ++s) {
        const Index first = p.offsets[s], length = p.lengths[s], column = head * p.head_size;
        if (length == 0) continue;
        const auto stride = static_cast<Index>(3 * width);
        const auto part = [&](Index third) {
          return head_of(qkv, stride, first, length, third * p.width() + column, p.head_size);
        };
        const reference::Matrix q = part(0), k = part(1), v = part(2), x = routed_rows(q);
        const reference::RoutedAttention attention{
            cluster_members(x, centroids, static_cast<std::size_t>(p.window)),
            cluster_members(routed_rows(k), centroids, static_cast<std::size_t>(p.window)), p.causal};
        auto place = static_cast<std::size_t>(head * p.places.back() + p.places[s]);
        for (std::size_t c = 0; c < clusters; ++c) {
          for (std::size_t i = 0; i < attention.queries[c].size(); ++i, ++place) {
            ASSERT_EQ(static_cast<std::size_t>(got.query_order[place]), attention.queries[c][i]);
            ASSERT_EQ(static_cast<std::size_t>(got.key_order[place]), attention.keys[c][i]);
          }
        }
        put_head(routed_attention_forward(attention, q, k, v), out, p.width(), first, column);
        const auto gradients = routed_attention_backward(
            attention, q, k, v, head_of(dout, p.width(), first, length, column, p.head_size));
        put_head(gradients.query, dqkv, stride, first, column);
        put_head(gradients.key, dqkv, stride, first, p.width() + column);
        put_head(gradients.value, dqkv, stride, first, 2 * p.width() + column);
        put_head(commitment_backward(q, centroids), committed, stride, first, column);
        const std::vector<std::size_t> nearest = nearest_clusters(x, centroids);
        double distances = 0.0;
        for (std::size_t i = 0; i < nearest.size(); ++i) {
          const auto token = static_cast<std::size_t>(head * p.rows() + first) + i;
          ASSERT_EQ(static_cast<std::size_t>(got.nearest[token]), nearest[i]);
          distances += static_cast<double>(got.distances[token]);
          counts[nearest[i]] += 1.0;
          for (std::size_t d = 0; d < size; ++d)
            moved[(static_cast<std::size_t>(head) * clusters + nearest[i]) * size + d] += x(i, d);
        }
        const double expected = commitment(q, centroids);
        EXPECT_NEAR(distances, expected, 1e-5 * expected);
      }
      for (std::size_t c = 0; c < clusters; ++c)
        EXPECT_EQ(got.counts[static_cast<std::size_t>(head) * clusters + c], static_cast<float>(counts[c]));
    }
    double most = 0.0;
    for (std::size_t i = 0; i < out.size(); ++i) most = std::max(most, std::abs(got.out[i] - out[i]));
    EXPECT_LT(most, 2e-6);
    EXPECT_LT(relative_error(got.dqkv, dqkv), 1e-5);
    for (std::size_t i = 0; i < dqkv.size(); ++i)
      dqkv[i] += static_cast<double>(commitment_weight) * committed[i];
    EXPECT_LT(relative_error(got.with_commitment, dqkv), 1e-5);
    EXPECT_LT(relative_error(got.sums, moved), 1e-5);
  }
};

TEST_P(RoutingKernel, G1IsTheReferenceAtLengthsAroundAWindow) {
  for (const Index window : {8, 16, 64}) {
    for (const bool causal : {false, true}) {
      for (const Index length : {Index{1}, window - 1, window, window + 1, Index{200}}) {
        RoutingProblem p;
        p.window = window;
        p.causal = causal;
        p.lengths = {length, 5};
        check(p.finish());
      }
    }
  }
}

TEST_P(RoutingKernel, G1OddSizesAndLongSequences) {
  for (const bool causal : {false, true}) {
    RoutingProblem p;
    p.heads = 3;
    p.head_size = 5;
    p.clusters = 4;
    p.window = 11;
    p.causal = causal;
    p.lengths = {41, 0, 8, 77};
    check(p.finish());
    RoutingProblem one;
    one.heads = 1;
    one.clusters = 2;
    one.window = 600;
    one.causal = causal;
    one.lengths = {1025};
    check(one.finish());
  }
}

TEST_P(RoutingKernel, G10TheWorkedVector) {
  RoutingProblem p;
  p.heads = 1;
  p.head_size = 3;
  p.clusters = 2;
  p.window = 2;
  p.lengths = {4};
  p.padding = 0;
  p.finish();
  p.centroids = {1, 0, -1, -1, .5f, .5f};
  // Values have a third column, of zeros.
  const Floats x{1, 0, .2f, 0, 1, .3f, .7f, .1f, -.4f, -.3f, .2f, .9f},
      v{1, 0, 0, 0, 1, 0, 2, 2, 0, 3, -1, 0};
  const std::vector<Floats> got = run([&](Backend& b) {
    std::vector<std::int32_t> order(4);
    Guarded out(12);
    b.route_tokens(p.batch(), p.centroids.data(), {x.data(), 3}, {order.data(), nullptr, nullptr});
    b.routed_attention_forward(p.batch(), {order.data(), order.data()},
                               {{x.data(), 3}, {x.data(), 3}, {v.data(), 3}}, {out.data(), 3}, nullptr);
    return std::vector<Floats>{out.take(), Floats(order.begin(), order.end())};
  });
  EXPECT_EQ(got[1], (Floats{0, 2, 1, 3}));
  const Floats out{1.33363316f, .6870683f,   .24661843f,  .82568672f,
                   1.63666415f, 1.29313027f, 2.72367966f, -.82568743f};
  for (std::size_t i = 0; i < out.size(); ++i) EXPECT_NEAR(got[0][i / 2 * 3 + i % 2], out[i], 5e-7) << i;
}

TEST_P(RoutingKernel, G4NeitherBatchMatesNorPaddingAreSeen) {
  RoutingProblem one;
  one.lengths = {45};
  one.padding = 0;
  one.finish();
  RoutingProblem more = one;
  more.lengths = {45, 20};
  more.padding = 19;
  more.finish();
  const auto width = static_cast<std::size_t>(one.width());
  const Floats qkv = random_floats(45 * 3 * width, 184, 2.0f), dout = random_floats(45 * width, 185);
  const auto rows = static_cast<std::size_t>(more.rows());
  Floats other_qkv = random_floats(rows * 3 * width, 186, 2.0f),
         other_dout = random_floats(rows * width, 187);
  std::copy(qkv.begin(), qkv.end(), other_qkv.begin());
  std::copy(dout.begin(), dout.end(), other_dout.begin());
  RoutedResult alone, together;
  run([&](Backend& b) {
    alone = routed(b, one, qkv, dout);
    together = routed(b, more, other_qkv, other_dout);
    return std::vector<Floats>{alone.out, together.out};
  });
  EXPECT_TRUE(std::equal(alone.out.begin(), alone.out.end(), together.out.begin()));
  EXPECT_TRUE(std::equal(alone.with_commitment.begin(), alone.with_commitment.end(),
                         together.with_commitment.begin()));
  for (std::size_t i = 45 * width; i < (45 + 19) * width; ++i) ASSERT_EQ(together.out[i], 0.0f);
  for (std::size_t i = 45 * 3 * width; i < (45 + 19) * 3 * width; ++i)
    ASSERT_EQ(together.with_commitment[i], 0.0f);
}

// Which tokens a cluster takes leaks what comes later; at given lists nothing does.
TEST_P(RoutingKernel, T3LaterTokensAreNotSeenAtGivenClusters) {
  RoutingProblem p;
  p.lengths = {40};
  p.causal = true;
  p.finish();
  const Index width = p.width();
  const auto row = static_cast<std::size_t>(3 * width);
  Floats qkv = random_floats(43 * row, 188, 2.0f);
  run([&](Backend& b) {
    std::vector<std::int32_t> order(static_cast<std::size_t>(p.heads * p.batch().places()));
    const auto out_of = [&](const Floats& x) {
      const ConstRows q{x.data(), 3 * width};
      Guarded out(43 * row / 3);
      if (order.front() == order.back())
        b.route_tokens(p.batch(), p.centroids.data(), q, {order.data(), nullptr, nullptr});
      b.routed_attention_forward(p.batch(), {order.data(), order.data()},
                                 {q, {x.data() + width, 3 * width}, {x.data() + 2 * width, 3 * width}},
                                 {out.data(), width}, nullptr);
      return out.take();
    };
    const Floats before = out_of(qkv);
    Floats changed = qkv;
    for (std::size_t i = 25 * row; i < 26 * row; ++i) changed[i] += 1.0f;
    const Floats after = out_of(changed);
    EXPECT_TRUE(std::equal(before.begin(), before.begin() + 25 * width, after.begin()));
    EXPECT_FALSE(std::equal(before.begin(), before.end(), after.begin()));
    return std::vector<Floats>{before};
  });
}

TEST_P(RoutingKernel, CentroidsAreSumsOverSmoothedCounts) {
  const Floats sums = random_floats(3 * 4 * 5, 189), counts{3, 0, 1.5f, 2, 0, 0, 0, 0, 1, 1, 1, .001f};
  const std::vector<Floats> got = run([&](Backend& b) {
    Guarded centroids(60);
    b.make_centroids(3, 4, 5, sums.data(), counts.data(), centroids.data());
    return std::vector<Floats>{centroids.take()};
  });
  for (std::size_t head = 0; head < 3; ++head) {
    const auto begin = sums.begin() + static_cast<std::ptrdiff_t>(head * 20);
    const auto of = counts.begin() + static_cast<std::ptrdiff_t>(head * 4);
    const reference::Matrix expected =
        reference::smoothed_centroids({4, 5, reference::Vector(begin, begin + 20)}, {of, of + 4});
    for (std::size_t i = 0; i < 20; ++i)
      EXPECT_NEAR(got[0][head * 20 + i], expected.values[i], 1e-6 * std::abs(expected.values[i])) << i;
  }
}

BIGBIRD_KERNEL_TESTS(RoutingKernel);

}  // namespace
}  // namespace bigbird::kernels
