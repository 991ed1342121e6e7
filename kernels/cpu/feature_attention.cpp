// Attention by features, and its way back. A task is one head of one sequence, whose rows go through in
// chunks: what is summed up over keys (F features times the D columns of values, and one column of ones,
// whose sums the denominators are) has one order, which the sequence and the chunk decide.
//
// Features of keys are kept relative to a largest exponent `most` that grows from chunk to chunk, and from
// left to right from row to row: row j has exp(a_j - most_j), all factors exp(most_j - most_i) of a later row
// i are at most 1, and no row feels a later one. What epsilon adds is the same for all features of a key, so
// its part of a sum is the sum of the values alone.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/cpu/feature_scratch.h"

namespace bigbird::kernels {
namespace {

constexpr float relu_epsilon = 1e-3f;
// Of trigonometric features, as the published code has it.
constexpr float least_denominator = 1e-6f, added_denominator = 2e-6f;

// exp(a - b), of exponents that are the same in most rows.
float factor_of(float a, float b) {
  return a == b ? 1.0f : std::exp(a - b);
}

class FeatureHead {
 public:
  FeatureHead(const Level& level, const FeatureBatch& batch, Index sequence, Index head,
              const QueryKeyValue& inputs, float* scratch, float* product_scratch)
      : level_(level),
        batch_(batch),
        inputs_(inputs),
        s_(batch),
        first_(batch.token_offsets[sequence]),
        rows_(batch.token_offsets[sequence + 1] - first_),
        length_(batch.lengths[sequence]),
        column_(head * batch.head_size),
        of_softmax_(batch.map == FeatureMap::positive || batch.map == FeatureMap::trigonometric),
        scale_(of_softmax_ ? std::pow(static_cast<float>(batch.head_size), -0.25f) : 1.0f),
        ratio_(of_softmax_ ? 1.0f / std::sqrt(static_cast<float>(batch.projected)) : 1.0f),
        epsilon_(batch.map == FeatureMap::positive ? ratio_ * batch.epsilon : 0.0f),
        product_scratch_(product_scratch),
        memory_(scratch),
        query_(memory_, s_),
        key_(memory_, s_),
        gradient_(memory_.take(s_.chunk * s_.size)),
        out_(memory_.take(s_.chunk * s_.size)),
        dout_(memory_.take(s_.chunk * s_.size)),
        value_(memory_.take(s_.chunk * s_.values)),
        weighted_(memory_.take(s_.chunk * s_.values)),
        result_(memory_.take(s_.chunk * s_.values)),
        g_(memory_.take(s_.chunk * s_.values)),
        du_(memory_.take(s_.chunk * s_.projected)),
        dphi_(memory_.take(s_.chunk * s_.features)),
        work_(memory_.take(s_.chunk * s_.features)),
        pairs_(memory_.take(s_.chunk * s_.chunk)),
        dpairs_(memory_.take(s_.chunk * s_.chunk)),
        sums_(memory_.take(s_.values * s_.features)),
        dsums_(memory_.take(s_.values * s_.features)),
        values_(memory_.take(s_.values)),
        dvalues_(memory_.take(s_.values)),
        phi_sums_(memory_.take(s_.chunk)) {}

  void forward(const Rows& out) {
    zero_padding(out);
    if (batch_.causal) return forward_causal(out);
    sum_up_keys();
    for (Index at = 0; at < length_; at += s_.chunk) {
      const Index n = rows_at(at);
      map_queries(at, n);
      multiply(n, s_.values, s_.features, {query_.phi, s_.features, 1}, {sums_, 1, s_.features}, result_,
               false);
      put_output(out, at, n);
    }
  }

  // longest: floats of exponents and of denominators, [length] each, behind all else.
  void backward(const ConstRows& out, const ConstRows& dout, const QueryKeyValueGradients& gradients,
                Index longest) {
    for (const Rows& to : {gradients.q, gradients.k, gradients.v}) zero_padding(to);
    if (batch_.causal) {
      float* const exponents = memory_.take(longest);
      return backward_causal(out, dout, gradients, exponents, memory_.take(longest));
    }
    sum_up_keys();
    const float most = key_.most[0];
    clear(dsums_, s_.values * s_.features);
    for (Index at = 0; at < length_; at += s_.chunk) {
      const Index n = rows_at(at);
      map_queries(at, n);
      multiply(n, 1, s_.features, {query_.phi, s_.features, 1},
               {sums_ + s_.size * s_.features, 1, s_.features}, result_, false);
      for (Index i = 0; i < n; ++i) phi_sums_[i] = inverse(result_[i]);
      take_output_gradient(out, dout, at, n, phi_sums_);
      multiply(n, s_.features, s_.values, {g_, s_.values, 1}, {sums_, s_.features, 1}, dphi_, false);
      multiply(s_.values, s_.features, n, {g_, 1, s_.values}, {query_.phi, s_.features, 1}, dsums_, true);
      map_back(query_, n, epsilon_, gradients.q, at);
    }
    for (Index at = 0; at < length_; at += s_.chunk) {
      const Index n = rows_at(at);
      project(inputs_.k, at, n, key_);
      std::fill(key_.most, key_.most + n, most);
      make_features(key_, n, epsilon_);
      take_values(at, n);
      multiply(n, s_.size, s_.features, {key_.phi, s_.features, 1}, {dsums_, 1, s_.features}, out_, false);
      put_rows(level_, out_, s_.size, gradients.v, first_ + at, column_, n);
      multiply(n, s_.features, s_.values, {value_, s_.values, 1}, {dsums_, s_.features, 1}, dphi_, false);
      map_back(key_, n, epsilon_, gradients.k, at);
    }
  }

 private:
  Index rows_at(Index at) const { return std::min(s_.chunk, length_ - at); }

  void multiply(Index m, Index n, Index k, const Strided& a, const Strided& b, float* c, bool accumulate) {
    kernels::multiply(level_, product_scratch_, m, n, k, a, b, c, accumulate);
  }

  static void clear(float* values, Index count) { std::fill(values, values + count, 0.0f); }

  void zero_padding(const Rows& to) {
    clear(out_, s_.chunk * s_.size);
    for (Index at = length_; at < rows_; at += s_.chunk)
      put_rows(level_, out_, s_.size, to, first_ + at, column_, std::min(s_.chunk, rows_ - at));
  }

  // x', W x' and half squares.
  void project(const ConstRows& from, Index at, Index n, const MappedRows& to) {
    take_rows(level_, from, first_ + at, column_, n, s_.size, to.x);
    for (Index i = 0; i < n; ++i) {
      float* const row = to.x + i * s_.size;
      float square = 0.0f;
      for (Index d = 0; d < s_.size; ++d) {
        row[d] *= scale_;
        square += row[d] * row[d];
      }
      to.half[i] = square / 2.0f;
    }
    if (batch_.projection == nullptr) {
      std::copy(to.x, to.x + n * s_.size, to.u);
    } else {
      multiply(n, s_.projected, s_.size, {to.x, s_.size, 1}, {batch_.projection, 1, s_.size}, to.u, false);
    }
  }

  float largest_exponent(const MappedRows& of, Index row) const {
    if (batch_.map == FeatureMap::trigonometric) return of.half[row];
    if (batch_.map != FeatureMap::positive) return 0.0f;
    const float* const u = of.u + row * s_.projected;
    return *std::max_element(u, u + s_.projected);
  }

  // Of `most` as it is. added: to each feature.
  void make_features(const MappedRows& to, Index n, float added) const {
    const Index m = s_.projected;
    for (Index i = 0; i < n; ++i) {
      const float* const u = to.u + i * m;
      float* const phi = to.phi + i * s_.features;
      switch (batch_.map) {
        case FeatureMap::positive:
          level_.exp_scaled(u, to.half[i] + to.most[i], ratio_, phi, m);
          for (Index f = 0; f < m; ++f) phi[f] += added;
          break;
        case FeatureMap::trigonometric: {
          const float size = ratio_ * factor_of(to.half[i], to.most[i]);
          for (Index f = 0; f < m; ++f) phi[f] = size * std::cos(u[f]);
          for (Index f = 0; f < m; ++f) phi[m + f] = size * std::sin(u[f]);
          break;
        }
        case FeatureMap::relu:
          for (Index f = 0; f < m; ++f) phi[f] = std::max(u[f], 0.0f) + relu_epsilon;
          break;
        case FeatureMap::elu:
          for (Index f = 0; f < m; ++f) phi[f] = u[f] > 0.0f ? u[f] + 1.0f : std::exp(u[f]);
          break;
      }
    }
  }

  // With what epsilon adds.
  void map_queries(Index at, Index n) {
    project(inputs_.q, at, n, query_);
    for (Index i = 0; i < n; ++i) query_.most[i] = largest_exponent(query_, i);
    make_features(query_, n, epsilon_);
  }

  // Without it. From left to right, from `most` of the row before on.
  float map_keys(Index at, Index n, float most) {
    project(inputs_.k, at, n, key_);
    for (Index i = 0; i < n; ++i) key_.most[i] = most = std::max(most, largest_exponent(key_, i));
    if (!batch_.causal) std::fill(key_.most, key_.most + n, most);
    make_features(key_, n, 0.0f);
    return most;
  }

  // [v, 1]
  void take_values(Index at, Index n) {
    take_rows(level_, inputs_.v, first_ + at, column_, n, s_.size, gradient_);
    for (Index i = 0; i < n; ++i) {
      std::copy(gradient_ + i * s_.size, gradient_ + (i + 1) * s_.size, value_ + i * s_.values);
      value_[i * s_.values + s_.size] = 1.0f;
    }
  }

  void scale_sums(float* sums, float factor) const {
    if (factor == 1.0f) return;
    for (Index i = 0; i < s_.values * s_.features; ++i) sums[i] *= factor;
  }
  void add_rows_to(float* sums, const float* rows, Index n) const {
    for (Index i = 0; i < n; ++i)
      for (Index d = 0; d < s_.values; ++d) sums[d] += rows[i * s_.values + d];
  }

  // Z and z of all keys, [D + 1, F]; key_.most[0] is the largest exponent of all.
  void sum_up_keys() {
    float most = -std::numeric_limits<float>::infinity();
    clear(sums_, s_.values * s_.features);
    clear(values_, s_.values);
    for (Index at = 0; at < length_; at += s_.chunk) {
      const Index n = rows_at(at);
      const float before = most;
      most = map_keys(at, n, most);
      take_values(at, n);
      if (at > 0) scale_sums(sums_, factor_of(before, most));
      multiply(s_.values, s_.features, n, {value_, 1, s_.values}, {key_.phi, s_.features, 1}, sums_, true);
      add_rows_to(values_, value_, n);
    }
    key_.most[0] = most;
    if (epsilon_ == 0.0f) return;
    for (Index d = 0; d < s_.values; ++d)
      for (Index f = 0; f < s_.features; ++f) sums_[d * s_.features + f] += epsilon_ * values_[d];
  }

  float inverse(float denominator) const {
    if (batch_.map == FeatureMap::trigonometric && std::abs(denominator) <= least_denominator)
      denominator += added_denominator;
    return denominator == 0.0f ? 0.0f : 1.0f / denominator;
  }

  // result_ [n, D + 1], numerators and denominators, to rows of out.
  void put_output(const Rows& out, Index at, Index n) {
    for (Index i = 0; i < n; ++i) {
      const float* const row = result_ + i * s_.values;
      const float over = inverse(row[s_.size]);
      for (Index d = 0; d < s_.size; ++d) out_[i * s_.size + d] = row[d] * over;
    }
    put_rows(level_, out_, s_.size, out, first_ + at, column_, n);
  }

  // g_ = [dout / n, -(out . dout) / n]
  void take_output_gradient(const ConstRows& out, const ConstRows& dout, Index at, Index n,
                            const float* inverses) {
    take_rows(level_, out, first_ + at, column_, n, s_.size, out_);
    take_rows(level_, dout, first_ + at, column_, n, s_.size, dout_);
    for (Index i = 0; i < n; ++i) {
      float* const g = g_ + i * s_.values;
      float product = 0.0f;
      for (Index d = 0; d < s_.size; ++d) {
        g[d] = dout_[i * s_.size + d] * inverses[i];
        product += out_[i * s_.size + d] * g[d];
      }
      g[s_.size] = -product;
    }
  }

  // dphi_ [n, F] of features with `added`, to rows of a gradient.
  void map_back(const MappedRows& of, Index n, float added, const Rows& to, Index at) {
    const Index m = s_.projected;
    for (Index i = 0; i < n; ++i) {
      const float* const u = of.u + i * m;
      const float* const phi = of.phi + i * s_.features;
      const float* const d = dphi_ + i * s_.features;
      float* const du = batch_.projection == nullptr ? gradient_ + i * m : du_ + i * m;
      float dhalf = 0.0f;
      switch (batch_.map) {
        case FeatureMap::positive:
          for (Index f = 0; f < m; ++f) du[f] = d[f] * (phi[f] - added);
          for (Index f = 0; f < m; ++f) dhalf -= du[f];
          break;
        case FeatureMap::trigonometric:
          for (Index f = 0; f < m; ++f) du[f] = d[m + f] * phi[f] - d[f] * phi[m + f];
          for (Index f = 0; f < s_.features; ++f) dhalf += d[f] * phi[f];
          break;
        case FeatureMap::relu:
          for (Index f = 0; f < m; ++f) du[f] = u[f] > 0.0f ? d[f] : 0.0f;
          break;
        case FeatureMap::elu:
          for (Index f = 0; f < m; ++f) du[f] = u[f] > 0.0f ? d[f] : d[f] * phi[f];
          break;
      }
      phi_sums_[i] = dhalf;
    }
    if (batch_.projection != nullptr)
      multiply(n, s_.size, m, {du_, m, 1}, {batch_.projection, s_.size, 1}, gradient_, false);
    for (Index i = 0; of_softmax_ && i < n; ++i) {
      const float* const x = of.x + i * s_.size;
      float* const row = gradient_ + i * s_.size;
      for (Index d = 0; d < s_.size; ++d) row[d] = scale_ * (row[d] + x[d] * phi_sums_[i]);
    }
    put_rows(level_, gradient_, s_.size, to, first_ + at, column_, n);
  }

  // --- from left to right

  // phi_sums_: what epsilon adds to the product of a query with any key.
  void sum_up_query_features(Index n) {
    for (Index i = 0; i < n; ++i) {
      float sum = 0.0f;
      for (Index f = 0; epsilon_ != 0.0f && f < s_.features; ++f) sum += query_.phi[i * s_.features + f];
      phi_sums_[i] = epsilon_ * sum;
    }
  }

  // pairs_ = products of queries with the keys of their own chunk, 0 with later ones.
  void make_pairs(Index n) {
    multiply(n, n, s_.features, {query_.phi, s_.features, 1}, {key_.phi, 1, s_.features}, pairs_, false);
    for (Index i = 0; i < n; ++i) {
      float* const row = pairs_ + i * n;
      for (Index j = 0; j <= i; ++j) row[j] = row[j] * factor_of(key_.most[j], key_.most[i]) + phi_sums_[i];
      std::fill(row + i + 1, row + n, 0.0f);
    }
  }

  // weighted_ = rows [n, D + 1], each times exp(its exponent - to), or where `down` exp(to - its exponent).
  void weigh(const float* rows, Index n, float to, bool down) {
    for (Index i = 0; i < n; ++i) {
      const float factor = down ? factor_of(to, key_.most[i]) : factor_of(key_.most[i], to);
      for (Index d = 0; d < s_.values; ++d) weighted_[i * s_.values + d] = factor * rows[i * s_.values + d];
    }
  }

  // Adds the chunk in key_ and value_ to the sums, which are relative to `before` and then to `most`.
  void add_chunk(Index at, Index n, float before, float most) {
    if (at > 0) scale_sums(sums_, factor_of(before, most));
    weigh(value_, n, most, false);
    multiply(s_.values, s_.features, n, {weighted_, 1, s_.values}, {key_.phi, s_.features, 1}, sums_, true);
    add_rows_to(values_, value_, n);
  }

  // result_ = numerators and denominators of the chunk: its own keys, and those of all before, whose sums are
  // relative to `before`.
  void take_sums(Index at, Index n, float before) {
    multiply(n, s_.values, n, {pairs_, n, 1}, {value_, s_.values, 1}, result_, false);
    if (at == 0) return;
    multiply(n, s_.values, s_.features, {query_.phi, s_.features, 1}, {sums_, 1, s_.features}, weighted_,
             false);
    for (Index i = 0; i < n; ++i) {
      const float factor = factor_of(before, key_.most[i]);
      for (Index d = 0; d < s_.values; ++d)
        result_[i * s_.values + d] += factor * weighted_[i * s_.values + d] + phi_sums_[i] * values_[d];
    }
  }

  void forward_causal(const Rows& out) {
    float most = -std::numeric_limits<float>::infinity();
    clear(sums_, s_.values * s_.features);
    clear(values_, s_.values);
    for (Index at = 0; at < length_; at += s_.chunk) {
      const Index n = rows_at(at);
      const float before = most;
      map_queries(at, n);
      sum_up_query_features(n);
      most = map_keys(at, n, most);
      take_values(at, n);
      make_pairs(n);
      take_sums(at, n, before);
      put_output(out, at, n);
      add_chunk(at, n, before, most);
    }
  }

  // dpairs_ = the gradients of pairs, 0 of later keys, as they reach features of keys relative to their own
  // exponents; out_ [n]: what epsilon makes of their sums.
  void make_pair_gradients(Index n) {
    multiply(n, n, s_.values, {g_, s_.values, 1}, {value_, 1, s_.values}, dpairs_, false);
    for (Index i = 0; i < n; ++i) {
      float* const row = dpairs_ + i * n;
      float sum = 0.0f;
      for (Index j = 0; j <= i; ++j) {
        sum += row[j];
        row[j] *= factor_of(key_.most[j], key_.most[i]);
      }
      std::fill(row + i + 1, row + n, 0.0f);
      out_[i] = epsilon_ * sum;
    }
  }

  // First forward for the gradients of queries, then back for those of keys and values: sums over all later
  // queries. exponents, inverses: `most` of each key, and 1 over each denominator.
  void backward_causal(const ConstRows& out, const ConstRows& dout, const QueryKeyValueGradients& gradients,
                       float* exponents, float* inverses) {
    float most = -std::numeric_limits<float>::infinity();
    clear(sums_, s_.values * s_.features);
    clear(values_, s_.values);
    for (Index at = 0; at < length_; at += s_.chunk) {
      const Index n = rows_at(at);
      const float before = most;
      map_queries(at, n);
      sum_up_query_features(n);
      most = map_keys(at, n, most);
      std::copy(key_.most, key_.most + n, exponents + at);
      take_values(at, n);
      make_pairs(n);
      take_sums(at, n, before);
      for (Index i = 0; i < n; ++i) inverses[at + i] = inverse(result_[i * s_.values + s_.size]);
      take_output_gradient(out, dout, at, n, inverses + at);
      make_pair_gradients(n);
      multiply(n, s_.features, n, {dpairs_, n, 1}, {key_.phi, s_.features, 1}, dphi_, false);
      if (at > 0)
        multiply(n, s_.features, s_.values, {g_, s_.values, 1}, {sums_, s_.features, 1}, work_, false);
      for (Index i = 0; i < n; ++i) {
        float of_epsilon = out_[i];
        for (Index d = 0; at > 0 && epsilon_ != 0.0f && d < s_.values; ++d)
          of_epsilon += epsilon_ * g_[i * s_.values + d] * values_[d];
        const float factor = at > 0 ? factor_of(before, key_.most[i]) : 0.0f;
        float* const d = dphi_ + i * s_.features;
        for (Index f = 0; f < s_.features; ++f) d[f] += of_epsilon;
        for (Index f = 0; at > 0 && f < s_.features; ++f) d[f] += factor * work_[i * s_.features + f];
      }
      map_back(query_, n, epsilon_, gradients.q, at);
      add_chunk(at, n, before, most);
    }

    clear(dsums_, s_.values * s_.features);
    clear(dvalues_, s_.values);
    for (Index at = (length_ - 1) / s_.chunk * s_.chunk; at >= 0; at -= s_.chunk) {
      const Index n = rows_at(at);
      const float before = at > 0 ? exponents[at - 1] : 0.0f;
      const bool is_last = at + s_.chunk >= length_;
      map_queries(at, n);
      sum_up_query_features(n);
      most = map_keys(at, n, at > 0 ? before : -std::numeric_limits<float>::infinity());
      take_values(at, n);
      make_pairs(n);
      take_output_gradient(out, dout, at, n, inverses + at);
      make_pair_gradients(n);
      // Of values: of the chunk's own queries, of later ones, and of what epsilon adds to those.
      multiply(n, s_.values, n, {pairs_, 1, n}, {g_, s_.values, 1}, result_, false);
      if (!is_last) {
        multiply(n, s_.values, s_.features, {key_.phi, s_.features, 1}, {dsums_, 1, s_.features}, weighted_,
                 false);
      }
      for (Index j = 0; j < n; ++j) {
        const float factor = factor_of(key_.most[j], most);
        const float* const row = result_ + j * s_.values;
        const float* const later = weighted_ + j * s_.values;
        for (Index d = 0; d < s_.size; ++d)
          out_[j * s_.size + d] = is_last ? row[d] : row[d] + factor * later[d] + dvalues_[d];
      }
      put_rows(level_, out_, s_.size, gradients.v, first_ + at, column_, n);
      // Of keys.
      multiply(n, s_.features, n, {dpairs_, 1, n}, {query_.phi, s_.features, 1}, dphi_, false);
      if (!is_last) {
        weigh(value_, n, most, false);
        multiply(n, s_.features, s_.values, {weighted_, s_.values, 1}, {dsums_, s_.features, 1}, dphi_, true);
      }
      // What the chunk's queries leave to earlier keys.
      for (Index i = 0; i < n; ++i)
        for (Index d = 0; d < s_.values; ++d) dvalues_[d] += phi_sums_[i] * g_[i * s_.values + d];
      if (at > 0) {
        scale_sums(dsums_, factor_of(before, most));
        weigh(g_, n, before, true);
        multiply(s_.values, s_.features, n, {weighted_, 1, s_.values}, {query_.phi, s_.features, 1}, dsums_,
                 true);
      }
      map_back(key_, n, 0.0f, gradients.k, at);
    }
  }

  const Level& level_;
  const FeatureBatch& batch_;
  const QueryKeyValue& inputs_;
  const FeatureSizes s_;
  const Index first_, rows_, length_, column_;
  const bool of_softmax_;
  const float scale_, ratio_, epsilon_;  // epsilon as it is added to a feature
  float* const product_scratch_;
  ScratchPieces memory_;
  MappedRows query_, key_;
  float* const gradient_;  // [n, D]
  float* const out_;
  float* const dout_;
  float* const value_;  // [n, D + 1]
  float* const weighted_;
  float* const result_;
  float* const g_;
  float* const du_;    // [n, M]
  float* const dphi_;  // [n, F]
  float* const work_;
  float* const pairs_;  // [n, n]
  float* const dpairs_;
  float* const sums_;  // [D + 1, F]
  float* const dsums_;
  float* const values_;  // [D + 1]
  float* const dvalues_;
  float* const phi_sums_;  // [n]
};

Index longest_sequence(const FeatureBatch& batch) {
  Index longest = 0;
  for (Index s = 0; s < batch.sequences; ++s) longest = std::max(longest, batch.lengths[s]);
  return longest;
}

}  // namespace

Index feature_attention_floats(const Level& level, const AttentionLimits& limits) {
  const FeatureSizes sizes(limits.block_size, limits.head_size, limits.projected, limits.features);
  return floats_of_heads(level, sizes.of_head(limits.longest));
}

void CpuBackend::feature_attention_forward(const FeatureBatch& batch, const QueryKeyValue& inputs, Rows out) {
  for_heads(level_, scratch_, batch.sequences, batch.heads,
            FeatureSizes(batch).of_head(longest_sequence(batch)),
            [&](Index sequence, Index head, float* scratch, float* product_scratch) {
              FeatureHead(level_, batch, sequence, head, inputs, scratch, product_scratch).forward(out);
            });
}

void CpuBackend::feature_attention_backward(const FeatureBatch& batch, const QueryKeyValue& inputs,
                                            ConstRows out, ConstRows dout,
                                            const QueryKeyValueGradients& gradients) {
  const Index longest = longest_sequence(batch);
  for_heads(level_, scratch_, batch.sequences, batch.heads, FeatureSizes(batch).of_head(longest),
            [&](Index sequence, Index head, float* scratch, float* product_scratch) {
              FeatureHead(level_, batch, sequence, head, inputs, scratch, product_scratch)
                  .backward(out, dout, gradients, longest);
            });
}

}  // namespace bigbird::kernels
