// Attention within learned clusters: centroids, the choice of each cluster's tokens, attention and its way
// back. A task is one head of one sequence, whose clusters go through in their order, some queries at a time.
// So every sum has one order, which the sequence's own tokens decide. What all sequences add to the centroids
// of a head is one task.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/cpu/head_scratch.h"
#include "kernels/routing_batch.h"

namespace bigbird::kernels {
namespace {

constexpr Index queries_together = 64;
constexpr double smoothing = 1e-5;      // of counts
constexpr float of_no_cluster = 1e-2f;  // what is added to the number of a query's clusters
// What pairs that do not meet score: their exponential is 0.
constexpr float hidden_score = -1e30f;

struct RoutingSizes {
  Index window, size;

  Index queries() const { return std::max<Index>(std::min(queries_together, window), 1); }
  // Scratch of attention, forward or backward; longest: rows of a sequence.
  Index of_attention(Index longest) const {
    const Index few = padded(queries() * size), cluster = padded(window * size),
                rows = padded(longest * size);
    return 2 * padded(queries() * window) + 4 * few + 4 * cluster + 7 * rows + 4 * padded(longest);
  }
  Index of_routes(Index longest, Index clusters) const {
    return 2 * padded(longest * size) + padded(longest * clusters) + 3 * padded(longest);
  }
};

// x [rows, size] in place; inverse [rows]: 1 over the root of each variance.
void normalise(float* x, Index rows, Index size, float epsilon, float* inverse) {
  const auto columns = static_cast<float>(size);
  for (Index i = 0; i < rows; ++i) {
    float* const row = x + i * size;
    float mean = 0.0f, variance = 0.0f;
    for (Index d = 0; d < size; ++d) mean += row[d];
    mean /= columns;
    for (Index d = 0; d < size; ++d) variance += (row[d] - mean) * (row[d] - mean);
    inverse[i] = 1.0f / std::sqrt(variance / columns + epsilon);
    for (Index d = 0; d < size; ++d) row[d] = (row[d] - mean) * inverse[i];
  }
}

// The gradient of x in place as the rows get it that x was made of.
void normalise_backward(const float* x, const float* inverse, Index rows, Index size, float* gradient) {
  const auto columns = static_cast<float>(size);
  for (Index i = 0; i < rows; ++i) {
    const float* const row = x + i * size;
    float* const own = gradient + i * size;
    float mean = 0.0f, along = 0.0f;
    for (Index d = 0; d < size; ++d) {
      mean += own[d];
      along += own[d] * row[d];
    }
    mean /= columns;
    along /= columns;
    for (Index d = 0; d < size; ++d) own[d] = inverse[i] * (own[d] - mean - along * row[d]);
  }
}

// A sequence's rows of one head.
struct SequenceRows {
  Index first, rows, length, column, size;

  SequenceRows(const RoutingBatch& batch, Index sequence, Index head)
      : first(batch.token_offsets[sequence]),
        rows(batch.token_offsets[sequence + 1] - first),
        length(batch.lengths[sequence]),
        column(head * batch.head_size),
        size(batch.head_size) {}

  void take(const Level& level, const ConstRows& from, float* to) const {
    if (length > 0) take_rows(level, from, first, column, length, size, to);
  }
  void put(const Level& level, const float* from, const Rows& to) const {
    if (length > 0) put_rows(level, from, size, to, first, column, length);
  }
};

class RoutedHead {
 public:
  RoutedHead(const Level& level, const RoutingBatch& batch, const RoutedPair& order, Index sequence,
             Index head, const QueryKeyValue& inputs, float* scratch, float* product_scratch)
      : level_(level),
        batch_(batch),
        of_(batch, sequence, head),
        window_(std::min(batch.window, of_.length)),
        size_(batch.head_size),
        together_(RoutingSizes{window_, size_}.queries()),
        places_(head * batch.places() + batch.place_offsets[sequence]),
        query_order_(order.queries + places_),
        key_order_((batch.causal ? order.queries : order.keys) + places_),
        product_scratch_(product_scratch),
        memory_(scratch),
        q_(memory_.take(of_.length * size_)),
        k_(batch.causal ? q_ : memory_.take(of_.length * size_)),
        v_(memory_.take(of_.length * size_)),
        query_inverse_(memory_.take(of_.length)),
        key_inverse_(batch.causal ? query_inverse_ : memory_.take(of_.length)),
        share_(memory_.take(of_.length)),
        pairs_(memory_.take(together_ * window_)),
        dpairs_(memory_.take(together_ * window_)),
        queries_(memory_.take(together_ * size_)),
        result_(memory_.take(together_ * size_)),
        dout_(memory_.take(together_ * size_)),
        zeros_(memory_.take(together_ * size_)),
        keys_(memory_.take(window_ * size_)),
        values_(memory_.take(window_ * size_)),
        dkeys_(memory_.take(window_ * size_)),
        dvalues_(memory_.take(window_ * size_)) {
    of_.take(level_, inputs.q, q_);
    of_.take(level_, inputs.v, v_);
    normalise(q_, of_.length, size_, batch.epsilon, query_inverse_);
    if (!batch.causal) {
      of_.take(level_, inputs.k, k_);
      normalise(k_, of_.length, size_, batch.epsilon, key_inverse_);
    }
    std::fill(share_, share_ + of_.length, 0.0f);
    for (Index place = 0; place < batch_.clusters * window_; ++place) share_[query_order_[place]] += 1.0f;
    for (Index i = 0; i < of_.length; ++i) share_[i] = 1.0f / (share_[i] + of_no_cluster);
  }

  void forward(const Rows& out, float* log_sum_exp) {
    zero_padding(out);
    float* const sums = memory_.take(of_.length * size_);
    std::fill(sums, sums + of_.length * size_, 0.0f);
    for_pieces([&](Index place, Index count, Index near) {
      make_scores(place, count, near);
      for (Index i = 0; i < count; ++i) {
        float* const row = pairs_ + i * near;
        Index index = 0;
        float largest = 0.0f, total = 0.0f;
        level_.softmax_statistics(row, near, &largest, &index, &total);
        level_.exp_scaled(row, largest, 1.0f, row, near);
        total = static_cast<float>(level_.sum(row, near));
        for (Index j = 0; j < near; ++j) row[j] /= total;
        if (log_sum_exp != nullptr) log_sum_exp[places_ + place + i] = largest + std::log(total);
      }
      multiply(count, size_, near, {pairs_, near, 1}, {values_, size_, 1}, result_, false);
      add_numbered(level_, result_, query_order_ + place, count, size_, sums);
    });
    for (Index i = 0; i < of_.length; ++i)
      for (Index d = 0; d < size_; ++d) sums[i * size_ + d] *= share_[i];
    of_.put(level_, sums, out);
  }

  void backward(const float* log_sum_exp, const ConstRows& dout, const QueryKeyValueGradients& gradients) {
    zero_padding(gradients.q);
    zero_padding(gradients.k);
    zero_padding(gradients.v);
    float* const all_dout = memory_.take(of_.length * size_);
    float* const dq = memory_.take(of_.length * size_);
    float* const dv = memory_.take(of_.length * size_);
    float* const dk = batch_.causal ? dq : memory_.take(of_.length * size_);
    of_.take(level_, dout, all_dout);
    for (Index i = 0; i < of_.length; ++i)
      for (Index d = 0; d < size_; ++d) all_dout[i * size_ + d] *= share_[i];
    for (float* const gradient : {dq, dk, dv}) std::fill(gradient, gradient + of_.length * size_, 0.0f);
    for_pieces([&](Index place, Index count, Index near) {
      const std::int32_t* const query = query_order_ + place;
      gather_numbered(all_dout, query, count, size_, dout_);
      make_scores(place, count, near);
      multiply(count, near, size_, {dout_, size_, 1}, {values_, 1, size_}, dpairs_, false);
      for (Index i = 0; i < count; ++i) {
        float* const row = pairs_ + i * near;
        float* const drow = dpairs_ + i * near;
        level_.exp_scaled(row, log_sum_exp[places_ + place + i], 1.0f, row, near);
        float mean = 0.0f;
        for (Index j = 0; j < near; ++j) mean += row[j] * drow[j];
        for (Index j = 0; j < near; ++j) drow[j] = row[j] * (drow[j] - mean);
      }
      multiply(count, size_, near, {dpairs_, near, 1}, {keys_, size_, 1}, result_, false);
      multiply(near, size_, count, {dpairs_, 1, near}, {queries_, size_, 1}, dkeys_, false);
      multiply(near, size_, count, {pairs_, 1, near}, {dout_, size_, 1}, dvalues_, false);
      const std::int32_t* const key = key_order_ + place / window_ * window_;
      add_numbered(level_, result_, query, count, size_, dq);
      add_numbered(level_, dkeys_, key, near, size_, dk);
      add_numbered(level_, dvalues_, key, near, size_, dv);
    });
    normalise_backward(q_, query_inverse_, of_.length, size_, dq);
    of_.put(level_, dq, gradients.q);
    of_.put(level_, dv, gradients.v);
    if (batch_.causal) {
      zero_rows(level_, gradients.k, of_.first, of_.column, of_.length, size_, zeros_, together_);
      return;
    }
    normalise_backward(k_, key_inverse_, of_.length, size_, dk);
    of_.put(level_, dk, gradients.k);
  }

 private:
  void multiply(Index m, Index n, Index k, const Strided& a, const Strided& b, float* c, bool accumulate) {
    kernels::multiply(level_, product_scratch_, m, n, k, a, b, c, accumulate);
  }
  void zero_padding(const Rows& to) {
    zero_rows(level_, to, of_.first + of_.length, of_.column, of_.rows - of_.length, size_, zeros_,
              together_);
  }

  // body(place of the first query, queries, keys near them): cluster by cluster, keys and values gathered.
  template <typename Body>
  void for_pieces(const Body& body) {
    for (Index cluster = 0; cluster < batch_.clusters && window_ > 0; ++cluster) {
      const std::int32_t* const key = key_order_ + cluster * window_;
      gather_numbered(k_, key, window_, size_, keys_);
      gather_numbered(v_, key, window_, size_, values_);
      for (Index at = 0; at < window_; at += together_) {
        const Index count = std::min(together_, window_ - at);
        body(cluster * window_ + at, count, batch_.causal ? at + count : window_);
      }
    }
  }

  // pairs_ [count, near] of the queries from a place on.
  void make_scores(Index place, Index count, Index near) {
    gather_numbered(q_, query_order_ + place, count, size_, queries_);
    multiply(count, near, size_, {queries_, size_, 1}, {keys_, 1, size_}, pairs_, false);
    for (Index i = 0; batch_.causal && i < count; ++i) {
      float* const row = pairs_ + i * near;
      std::fill(row + place % window_ + i + 1, row + near, hidden_score);
    }
  }

  const Level& level_;
  const RoutingBatch& batch_;
  const SequenceRows of_;
  const Index window_, size_;
  const Index together_;  // queries that go through together
  const Index places_;
  const std::int32_t* const query_order_;  // of this head and sequence
  const std::int32_t* const key_order_;
  float* const product_scratch_;
  ScratchPieces memory_;
  float* const q_;  // [length, D] x of queries and of keys
  float* const k_;
  float* const v_;
  float* const query_inverse_;
  float* const key_inverse_;
  float* const share_;  // [length] 1 over the clusters of a query
  float* const pairs_;  // [queries, near]
  float* const dpairs_;
  float* const queries_;  // [queries, D]
  float* const result_;
  float* const dout_;
  float* const zeros_;
  float* const keys_;  // [window, D]
  float* const values_;
  float* const dkeys_;
  float* const dvalues_;
};

// One head of one sequence on its way to clusters.
struct HeadRoutes {
  const Level& level;
  const RoutingBatch& batch;

  void run(Index sequence, Index head, const float* centroids, const ConstRows& rows, const RoutedTokens& to,
           float* scratch, float* product_scratch) const {
    const SequenceRows of(batch, sequence, head);
    const Index size = of.size, clusters = batch.clusters, first = head * batch.tokens() + of.first;
    ScratchPieces memory(scratch);
    float* const x = memory.take(of.length * size);
    float* const products = memory.take(of.length * clusters);
    float* const inverse = memory.take(of.length);
    auto* const tokens = reinterpret_cast<std::int32_t*>(memory.take(of.length));
    if (to.nearest != nullptr) std::fill_n(to.nearest + first, of.rows, 0);
    if (to.distances != nullptr) std::fill_n(to.distances + first, of.rows, 0.0f);
    if (of.length == 0) return;
    of.take(level, rows, x);
    normalise(x, of.length, size, batch.epsilon, inverse);
    multiply(level, product_scratch, of.length, clusters, size, {x, size, 1}, {centroids, 1, size}, products,
             false);
    for (Index i = 0; i < of.length && to.nearest != nullptr; ++i) {
      const float* const row = products + i * clusters;
      const auto nearest = static_cast<Index>(std::max_element(row, row + clusters) - row);
      to.nearest[first + i] = static_cast<std::int32_t>(nearest);
      if (to.distances == nullptr) continue;
      const float* const centroid = centroids + nearest * size;
      float square = 0.0f;
      for (Index d = 0; d < size; ++d) {
        const float apart = x[i * size + d] - centroid[d];
        square += apart * apart;
      }
      to.distances[first + i] = square;
    }
    const Index window = std::min(batch.window, of.length);
    std::int32_t* place = to.order + head * batch.places() + batch.place_offsets[sequence];
    for (Index cluster = 0; cluster < clusters; ++cluster, place += window) {
      std::iota(tokens, tokens + of.length, 0);
      const auto before = [&](std::int32_t a, std::int32_t b) {
        const float of_a = products[a * clusters + cluster], of_b = products[b * clusters + cluster];
        return of_a > of_b || (of_a == of_b && a < b);
      };
      if (window < of.length) std::nth_element(tokens, tokens + window, tokens + of.length, before);
      std::sort(tokens, tokens + window);
      std::copy_n(tokens, window, place);
    }
  }

  // Of all sequences of a head.
  void backward(Index head, const float* centroids, const std::int32_t* nearest, const ConstRows& rows,
                float weight, const Rows& gradient, float* sums, float* counts, float* scratch) const {
    for (Index sequence = 0; sequence < batch.sequences; ++sequence) {
      const SequenceRows of(batch, sequence, head);
      const Index size = of.size, first = head * batch.tokens() + of.first;
      ScratchPieces memory(scratch);
      float* const x = memory.take(of.length * size);
      float* const dx = memory.take(of.length * size);
      float* const inverse = memory.take(of.length);
      of.take(level, rows, x);
      normalise(x, of.length, size, batch.epsilon, inverse);
      for (Index i = 0; i < of.length; ++i) {
        const Index cluster = nearest[first + i];
        const float* const centroid = centroids + cluster * size;
        for (Index d = 0; d < size; ++d) dx[i * size + d] = 2.0f * weight * (x[i * size + d] - centroid[d]);
        level.add_scaled(x + i * size, 1.0f, sums + cluster * size, size);
        counts[cluster] += 1.0f;
      }
      normalise_backward(x, inverse, of.length, size, dx);
      of.take(level, gradient, x);  // which has done its work
      level.add_scaled(dx, 1.0f, x, of.length * size);
      of.put(level, x, gradient);
    }
  }
};

Index longest_of(const RoutingBatch& batch) {
  return batch.sequences == 0 ? 0 : *std::max_element(batch.lengths, batch.lengths + batch.sequences);
}

}  // namespace

Index routed_attention_floats(const Level& level, const AttentionLimits& limits) {
  const RoutingSizes sizes{std::min(limits.cluster_window, limits.longest), limits.head_size};
  return floats_of_heads(
      level, std::max(sizes.of_attention(limits.longest), sizes.of_routes(limits.longest, limits.clusters)));
}

void CpuBackend::make_centroids(Index heads, Index clusters, Index head_size, const float* sums,
                                const float* counts, float* centroids) {
  for (Index head = 0; head < heads; ++head) {
    const float* const of = counts + head * clusters;
    double all = 0.0;
    for (Index cluster = 0; cluster < clusters; ++cluster) all += static_cast<double>(of[cluster]);
    for (Index cluster = 0; cluster < clusters; ++cluster) {
      const Index from = (head * clusters + cluster) * head_size;
      const double smoothed = (static_cast<double>(of[cluster]) + smoothing) * all /
                              (all + smoothing * static_cast<double>(clusters));
      for (Index d = from; d < from + head_size; ++d)
        centroids[d] = all > 0.0 ? static_cast<float>(static_cast<double>(sums[d]) / smoothed) : sums[d];
    }
  }
}

void CpuBackend::route_tokens(const RoutingBatch& batch, const float* centroids, ConstRows rows,
                              const RoutedTokens& to) {
  const Index floats =
      RoutingSizes{batch.window, batch.head_size}.of_routes(longest_of(batch), batch.clusters);
  for_heads(level_, scratch_, batch.sequences, batch.heads, floats,
            [&](Index sequence, Index head, float* scratch, float* product_scratch) {
              HeadRoutes{level_, batch}.run(sequence, head,
                                            centroids + head * batch.clusters * batch.head_size, rows, to,
                                            scratch, product_scratch);
            });
}

void CpuBackend::route_tokens_backward(const RoutingBatch& batch, const float* centroids,
                                       const std::int32_t* nearest, ConstRows rows, const float* weight,
                                       Rows gradient, float* sums, float* counts) {
  const Index floats =
      RoutingSizes{batch.window, batch.head_size}.of_routes(longest_of(batch), batch.clusters);
  for_heads(level_, scratch_, 1, batch.heads, floats, [&](Index, Index head, float* scratch, float*) {
    const Index before = head * batch.clusters * batch.head_size;
    HeadRoutes{level_, batch}.backward(head, centroids + before, nearest, rows, weight[0], gradient,
                                       sums + before, counts + head * batch.clusters, scratch);
  });
}

void CpuBackend::routed_attention_forward(const RoutingBatch& batch, const RoutedPair& order,
                                          const QueryKeyValue& inputs, Rows out, float* log_sum_exp) {
  const Index longest = longest_of(batch);
  const Index floats = RoutingSizes{std::min(batch.window, longest), batch.head_size}.of_attention(longest);
  for_heads(level_, scratch_, batch.sequences, batch.heads, floats,
            [&](Index sequence, Index head, float* scratch, float* product_scratch) {
              RoutedHead(level_, batch, order, sequence, head, inputs, scratch, product_scratch)
                  .forward(out, log_sum_exp);
            });
}

void CpuBackend::routed_attention_backward(const RoutingBatch& batch, const RoutedPair& order,
                                           const QueryKeyValue& inputs, const float* log_sum_exp,
                                           ConstRows dout, const QueryKeyValueGradients& gradients) {
  const Index longest = longest_of(batch);
  const Index floats = RoutingSizes{std::min(batch.window, longest), batch.head_size}.of_attention(longest);
  for_heads(level_, scratch_, batch.sequences, batch.heads, floats,
            [&](Index sequence, Index head, float* scratch, float* product_scratch) {
              RoutedHead(level_, batch, order, sequence, head, inputs, scratch, product_scratch)
                  .backward(log_sum_exp, dout, gradients);
            });
}

}  // namespace bigbird::kernels
