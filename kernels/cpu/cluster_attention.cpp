// Attention within clusters, its way back, and the hash that makes them. A task is one head of one sequence.
// Its clusters go through in their order: a cluster's rows are gathered, and what a query has of several is
// one softmax whose sums grow from cluster to cluster. So every sum has one order, which the sequence's own
// tokens decide.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cluster_batch.h"
#include "kernels/cpu/head_scratch.h"

namespace bigbird::kernels {
namespace {

constexpr Index hashed_rows = 64;  // that meet the rotations together
constexpr float infinity = std::numeric_limits<float>::infinity();
// What pairs that do not meet score: their exponential is 0.
constexpr float hidden_score = -1e30f;

// Sizes of a head's scratch in floats, whole cache lines each.
struct ClusterSizes {
  Index cluster, size;

  Index near() const { return 2 * cluster; }  // keys of a query
  // In places: pairs, queries, what comes of them, keys, values, and numbers of rows.
  Index of_places() const {
    return 2 * padded(cluster * near()) + 3 * padded(cluster * size) + 4 * padded(near() * size) +
           2 * padded(near());
  }
  Index of_head(Index longest, bool training) const {
    const Index rows = padded(longest * size);
    return of_places() + (training ? 5 : 3) * rows + 4 * padded(longest);
  }
};

class ClusterHead {
 public:
  ClusterHead(const Level& level, const ClusterBatch& batch, const std::int32_t* order, Index sequence,
              Index head, ConstRows queries, ConstRows values, float* scratch, float* product_scratch)
      : level_(level),
        batch_(batch),
        s_{batch.cluster, batch.head_size},
        first_(batch.token_offsets[sequence]),
        rows_(batch.token_offsets[sequence + 1] - first_),
        length_(batch.lengths[sequence]),
        column_(head * batch.head_size),
        order_(order + head * batch.places() + batch.place_offsets[sequence]),
        clusters_((batch.place_offsets[sequence + 1] - batch.place_offsets[sequence]) / batch.cluster),
        product_scratch_(product_scratch),
        memory_(scratch),
        q_(memory_.take(length_ * s_.size)),
        v_(memory_.take(length_ * s_.size)),
        inverse_(memory_.take(length_)),
        pairs_(memory_.take(s_.cluster * s_.near())),
        dpairs_(memory_.take(s_.cluster * s_.near())),
        queries_(memory_.take(s_.cluster * s_.size)),
        result_(memory_.take(s_.cluster * s_.size)),
        dout_(memory_.take(s_.cluster * s_.size)),
        keys_(memory_.take(s_.near() * s_.size)),
        values_(memory_.take(s_.near() * s_.size)),
        dkeys_(memory_.take(s_.near() * s_.size)),
        dvalues_(memory_.take(s_.near() * s_.size)),
        near_(reinterpret_cast<std::int32_t*>(memory_.take(s_.near()))),
        largest_(memory_.take(s_.near())) {
    if (length_ == 0) return;
    take_rows(level_, queries, first_, column_, length_, s_.size, q_);
    take_rows(level_, values, first_, column_, length_, s_.size, v_);
    const auto size = static_cast<float>(s_.size);
    for (Index i = 0; i < length_; ++i) {
      float square = 0.0f;
      for (Index d = 0; d < s_.size; ++d) square += q_[i * s_.size + d] * q_[i * s_.size + d];
      inverse_[i] = 1.0f / std::sqrt((square / size + batch.epsilon) * size);
    }
  }

  void forward(const Rows& out, float* log_sum_exp) {
    zero_padding(out);
    if (log_sum_exp != nullptr)
      std::fill(log_sum_exp + first_ + length_, log_sum_exp + first_ + rows_, infinity);
    float* const sums = memory_.take(length_ * s_.size);
    float* const total = memory_.take(length_);
    float* const most = memory_.take(length_);
    std::fill(sums, sums + length_ * s_.size, 0.0f);
    std::fill(total, total + length_, 0.0f);
    std::fill(most, most + length_, -infinity);
    for (Index cluster = 0; cluster < clusters_; ++cluster) {
      const Index near = gather(cluster);
      make_scores(near);
      for (Index i = 0; i < s_.cluster; ++i) {
        float* const row = pairs_ + i * near;
        Index index = 0;
        float sum = 0.0f;
        level_.softmax_statistics(row, near, &largest_[i], &index, &sum);
        if (largest_[i] == hidden_score) {
          largest_[i] = -infinity;  // it meets none
          std::fill(row, row + near, 0.0f);
          continue;
        }
        const Index query = asking(cluster)[i];
        largest_[i] = std::max(largest_[i], most[query]);
        level_.exp_scaled(row, largest_[i], 1.0f, row, near);
      }
      multiply(s_.cluster, s_.size, near, {pairs_, near, 1}, {values_, s_.size, 1}, result_);
      for (Index i = 0; i < s_.cluster; ++i) {
        const Index query = asking(cluster)[i];
        if (query < 0 || largest_[i] == -infinity) continue;
        const float keep = std::exp(most[query] - largest_[i]);
        float* const sum = sums + query * s_.size;
        for (Index d = 0; d < s_.size; ++d) sum[d] = sum[d] * keep + result_[i * s_.size + d];
        total[query] = total[query] * keep + static_cast<float>(level_.sum(pairs_ + i * near, near));
        most[query] = largest_[i];
      }
    }
    for (Index i = 0; i < length_; ++i) {
      const bool own = total[i] == 0.0f;
      float* const row = sums + i * s_.size;
      for (Index d = 0; d < s_.size; ++d) row[d] = own ? v_[i * s_.size + d] : row[d] / total[i];
      if (log_sum_exp != nullptr) log_sum_exp[first_ + i] = own ? -infinity : most[i] + std::log(total[i]);
    }
    if (length_ > 0) put_rows(level_, sums, s_.size, out, first_, column_, length_);
  }

  void backward(const ConstRows& out, const float* log_sum_exp, const ConstRows& dout, const Rows& dqueries,
                const Rows& dvalues) {
    zero_padding(dqueries);
    zero_padding(dvalues);
    if (length_ == 0) return;
    float* const all_dout = memory_.take(length_ * s_.size);
    float* const dq = memory_.take(length_ * s_.size);
    float* const dv = memory_.take(length_ * s_.size);
    float* const products = memory_.take(length_);
    // Those of outputs with their gradients: the mean that a softmax takes from a pair's gradient.
    take_rows(level_, out, first_, column_, length_, s_.size, dq);
    take_rows(level_, dout, first_, column_, length_, s_.size, all_dout);
    for (Index i = 0; i < length_; ++i) {
      float product = 0.0f;
      for (Index d = 0; d < s_.size; ++d) product += dq[i * s_.size + d] * all_dout[i * s_.size + d];
      products[i] = product;
      // A query without another key has its value, and its scores no gradient.
      const bool own = log_sum_exp[first_ + i] == -infinity;
      for (Index d = 0; d < s_.size; ++d) dv[i * s_.size + d] = own ? all_dout[i * s_.size + d] : 0.0f;
    }
    std::fill(dq, dq + length_ * s_.size, 0.0f);
    for (Index cluster = 0; cluster < clusters_; ++cluster) {
      const Index near = gather(cluster);
      const std::int32_t* const query = asking(cluster);
      gather_numbered(all_dout, query, s_.cluster, s_.size, dout_);
      make_scores(near);
      multiply(s_.cluster, near, s_.size, {dout_, s_.size, 1}, {values_, 1, s_.size}, dpairs_);
      for (Index i = 0; i < s_.cluster; ++i) {
        float* const row = pairs_ + i * near;
        float* const drow = dpairs_ + i * near;
        if (query[i] < 0 || log_sum_exp[first_ + query[i]] == -infinity) {
          std::fill(row, row + near, 0.0f);
          std::fill(drow, drow + near, 0.0f);
          continue;
        }
        level_.exp_scaled(row, log_sum_exp[first_ + query[i]], 1.0f, row, near);
        for (Index j = 0; j < near; ++j) drow[j] = row[j] * (drow[j] - products[query[i]]);
      }
      multiply(s_.cluster, s_.size, near, {dpairs_, near, 1}, {keys_, s_.size, 1}, result_);
      multiply(near, s_.size, s_.cluster, {dpairs_, 1, near}, {queries_, s_.size, 1}, dkeys_);
      multiply(near, s_.size, s_.cluster, {pairs_, 1, near}, {dout_, s_.size, 1}, dvalues_);
      for (Index j = 0; j < near; ++j) pass_to_query(near_[j], dkeys_ + j * s_.size);
      add_numbered(level_, result_, query, s_.cluster, s_.size, dq);
      add_numbered(level_, dkeys_, near_, near, s_.size, dq);
      add_numbered(level_, dvalues_, near_, near, s_.size, dv);
    }
    put_rows(level_, dq, s_.size, dqueries, first_, column_, length_);
    put_rows(level_, dv, s_.size, dvalues, first_, column_, length_);
  }

 private:
  void multiply(Index m, Index n, Index k, const Strided& a, const Strided& b, float* c) {
    kernels::multiply(level_, product_scratch_, m, n, k, a, b, c, false);
  }

  void zero_padding(const Rows& to) {
    zero_rows(level_, to, first_ + length_, column_, rows_ - length_, s_.size, queries_, s_.cluster);
  }

  const std::int32_t* asking(Index cluster) const { return order_ + cluster * s_.cluster; }

  // The queries of a cluster, and the keys and values near them, whose number it returns.
  Index gather(Index cluster) {
    const Index near = clusters_ > 1 ? s_.near() : s_.cluster;
    const Index before = cluster > 0 ? cluster - 1 : clusters_ - 1;
    if (clusters_ > 1) std::copy_n(asking(before), s_.cluster, near_);
    std::copy_n(asking(cluster), s_.cluster, near_ + near - s_.cluster);
    gather_numbered(q_, asking(cluster), s_.cluster, s_.size, queries_);
    gather_numbered(v_, near_, near, s_.size, values_);
    gather_numbered(q_, near_, near, s_.size, keys_);
    for (Index j = 0; j < near; ++j) {
      const float scale = near_[j] < 0 ? 0.0f : inverse_[near_[j]];
      for (Index d = 0; d < s_.size; ++d) keys_[j * s_.size + d] *= scale;
    }
    scored_ = asking(cluster);
    return near;
  }

  // pairs_ [m, near] of what was gathered; hidden_score of pairs that do not meet.
  void make_scores(Index near) {
    multiply(s_.cluster, near, s_.size, {queries_, s_.size, 1}, {keys_, 1, s_.size}, pairs_);
    for (Index i = 0; i < s_.cluster; ++i) {
      float* const row = pairs_ + i * near;
      const std::int32_t query = scored_[i];
      // Of a place without a row no key is early enough.
      const std::int32_t last =
          query < 0 ? -1 : (batch_.causal ? query : std::numeric_limits<std::int32_t>::max());
      for (Index j = 0; j < near; ++j) {
        const bool meets = near_[j] >= 0 && near_[j] != query && near_[j] <= last;
        row[j] = meets ? row[j] : hidden_score;
      }
    }
  }

  // The gradient of a key, in place, as its query gets it: of k = x r, r = (x.x + D epsilon)^-1/2 it is
  // r (dk - k (k.dk)).
  void pass_to_query(std::int32_t row, float* gradient) const {
    if (row < 0) return;
    const float* const x = q_ + row * s_.size;
    const float inverse = inverse_[row];
    float product = 0.0f;
    for (Index d = 0; d < s_.size; ++d) product += x[d] * gradient[d];
    const float along = product * inverse * inverse;
    for (Index d = 0; d < s_.size; ++d) gradient[d] = inverse * (gradient[d] - along * x[d]);
  }

  const Level& level_;
  const ClusterBatch& batch_;
  const ClusterSizes s_;
  const Index first_, rows_, length_, column_;
  const std::int32_t* const order_;  // of this head and sequence
  const Index clusters_;
  float* const product_scratch_;
  ScratchPieces memory_;
  float* const q_;  // [length, D]
  float* const v_;
  float* const inverse_;  // [length] a key over its query
  float* const pairs_;    // [m, near]
  float* const dpairs_;
  float* const queries_;  // [m, D]
  float* const result_;
  float* const dout_;
  float* const keys_;  // [near, D]
  float* const values_;
  float* const dkeys_;
  float* const dvalues_;
  std::int32_t* const near_;  // [near] rows of the keys
  float* const largest_;      // [m]
  const std::int32_t* scored_ = nullptr;
};

// The place of the largest of (x, -x), the first one of equal ones.
Index largest_of_both(const float* x, Index count) {
  Index best = 0;
  float most = -infinity;
  for (Index side = 0; side < 2; ++side) {
    for (Index i = 0; i < count; ++i) {
      const float value = side == 0 ? x[i] : -x[i];
      if (value > most) {
        most = value;
        best = side * count + i;
      }
    }
  }
  return best;
}

// Sorts the rows of a head of one sequence, round by round.
struct HeadHash {
  Index size, columns, buckets;

  Index floats(Index longest) const {
    return padded(hashed_rows * size) + padded(hashed_rows * columns) + padded(longest) + padded(buckets + 1);
  }

  // factors: of the sequence. of_row [length]: the bucket of each row.
  void find_buckets(const Level& level, const float* rotations, const Index* factors,
                    const ConstRows& queries, Index first, Index length, Index column, std::int32_t* of_row,
                    ScratchPieces memory, float* product_scratch) const {
    float* const rows = memory.take(hashed_rows * size);
    float* const turned = memory.take(hashed_rows * columns);
    const Index halves = (factors[0] + factors[1]) / 2;
    for (Index at = 0; at < length; at += hashed_rows) {
      const Index count = std::min(hashed_rows, length - at);
      take_rows(level, queries, first + at, column, count, size, rows);
      multiply(level, product_scratch, count, halves, size, {rows, size, 1}, {rotations, 1, size}, turned,
               false);
      for (Index i = 0; i < count; ++i) {
        const float* const row = turned + i * halves;
        Index bucket = largest_of_both(row, factors[0] / 2);
        if (factors[1] > 0) bucket += factors[0] * largest_of_both(row + factors[0] / 2, factors[1] / 2);
        of_row[at + i] = static_cast<std::int32_t>(bucket);
      }
    }
  }

  // starts [buckets + 1] is scratch. to: a round's places.
  static void put_in_order(const std::int32_t* of_row, Index length, Index buckets, std::int32_t* starts,
                           std::int32_t* to, Index places) {
    std::fill(starts, starts + buckets + 1, 0);
    for (Index i = 0; i < length; ++i) ++starts[of_row[i] + 1];
    for (Index i = 0; i < buckets; ++i) starts[i + 1] += starts[i];
    for (Index i = 0; i < length; ++i) to[starts[of_row[i]]++] = static_cast<std::int32_t>(i);
    std::fill(to + length, to + places, -1);
  }
};

Index longest_of(const ClusterBatch& batch) {
  return batch.sequences == 0 ? 0 : *std::max_element(batch.lengths, batch.lengths + batch.sequences);
}

}  // namespace

Index cluster_attention_floats(const Level& level, const AttentionLimits& limits) {
  const Index of_attention =
      ClusterSizes{limits.cluster, limits.head_size}.of_head(limits.longest, limits.training);
  const Index of_hash =
      HeadHash{limits.head_size, limits.hash_columns, limits.hash_buckets}.floats(limits.longest);
  return floats_of_heads(level, std::max(of_attention, of_hash));
}

void CpuBackend::sort_by_hash(const ClusterBatch& batch, const TokenHash& hash, ConstRows queries,
                              std::int32_t* order) {
  HeadHash of_head{batch.head_size, hash.columns, 0};
  for (Index s = 0; s < batch.sequences; ++s) of_head.buckets = std::max(of_head.buckets, hash.buckets(s));
  for_heads(level_, scratch_, batch.sequences, batch.heads, of_head.floats(longest_of(batch)),
            [&](Index sequence, Index head, float* scratch, float* product_scratch) {
              ScratchPieces memory(scratch);
              const Index length = batch.lengths[sequence];
              auto* const of_row = reinterpret_cast<std::int32_t*>(memory.take(length));
              auto* const starts = reinterpret_cast<std::int32_t*>(memory.take(of_head.buckets + 1));
              const Index first = batch.place_offsets[sequence];
              const Index all = batch.place_offsets[sequence + 1] - first;
              // In one cluster all rows meet anyway.
              const Index rounds = all == batch.cluster ? 1 : hash.rounds, places = all / rounds;
              for (Index round = 0; round < rounds; ++round) {
                of_head.find_buckets(
                    level_, hash.rotations + (head * hash.rounds + round) * hash.columns * batch.head_size,
                    hash.factors + 2 * sequence, queries, batch.token_offsets[sequence], length,
                    head * batch.head_size, of_row, memory, product_scratch);
                HeadHash::put_in_order(of_row, length, hash.buckets(sequence), starts,
                                       order + head * batch.places() + first + round * places, places);
              }
            });
}

void CpuBackend::cluster_attention_forward(const ClusterBatch& batch, const std::int32_t* order,
                                           ConstRows queries, ConstRows values, Rows out,
                                           float* log_sum_exp) {
  const Index rows = batch.sequences == 0 ? 0 : batch.token_offsets[batch.sequences];
  const Index floats = ClusterSizes{batch.cluster, batch.head_size}.of_head(longest_of(batch), false);
  for_heads(level_, scratch_, batch.sequences, batch.heads, floats,
            [&](Index sequence, Index head, float* scratch, float* product_scratch) {
              ClusterHead(level_, batch, order, sequence, head, queries, values, scratch, product_scratch)
                  .forward(out, log_sum_exp == nullptr ? nullptr : log_sum_exp + head * rows);
            });
}

void CpuBackend::cluster_attention_backward(const ClusterBatch& batch, const std::int32_t* order,
                                            ConstRows queries, ConstRows values, ConstRows out,
                                            const float* log_sum_exp, ConstRows dout, Rows dqueries,
                                            Rows dvalues) {
  const Index rows = batch.sequences == 0 ? 0 : batch.token_offsets[batch.sequences];
  const Index floats = ClusterSizes{batch.cluster, batch.head_size}.of_head(longest_of(batch), true);
  for_heads(level_, scratch_, batch.sequences, batch.heads, floats,
            [&](Index sequence, Index head, float* scratch, float* product_scratch) {
              ClusterHead(level_, batch, order, sequence, head, queries, values, scratch, product_scratch)
                  .backward(out, log_sum_exp + head * rows, dout, dqueries, dvalues);
            });
}

}  // namespace bigbird::kernels
