// See routed_attention.h.
#include "reference/routed_attention.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace bigbird::reference {
namespace {

constexpr double variance_epsilon = 1e-6, of_no_cluster = 1e-2, smoothing = 1e-5;

double product(const Matrix& a, std::size_t i, const Matrix& b, std::size_t j) {
  double sum = 0.0;
  for (std::size_t d = 0; d < a.columns; ++d) sum += a(i, d) * b(j, d);
  return sum;
}

// [tokens] 1 over the clusters of a query and what is added.
Vector shares(const RoutedAttention& attention, std::size_t tokens) {
  Vector share(tokens, of_no_cluster);
  for (const auto& members : attention.queries)
    for (const std::size_t query : members) share[query] += 1.0;
  for (double& number : share) number = 1.0 / number;
  return share;
}

// body(query, keys, probabilities) of every query in every cluster.
template <typename Body>
void for_each_query(const RoutedAttention& attention, const Matrix& x, const Matrix& y, const Body& body) {
  for (std::size_t cluster = 0; cluster < attention.queries.size(); ++cluster) {
    const auto& queries = attention.queries[cluster];
    for (std::size_t rank = 0; rank < queries.size(); ++rank) {
      std::vector<std::size_t> keys = (attention.causal ? attention.queries : attention.keys)[cluster];
      if (attention.causal) keys.resize(rank + 1);
      Vector p;
      for (const std::size_t key : keys) p.push_back(product(x, queries[rank], y, key));
      const double most = *std::max_element(p.begin(), p.end());
      for (double& score : p) score = std::exp(score - most);
      const double total = std::accumulate(p.begin(), p.end(), 0.0);
      for (double& score : p) score /= total;
      body(queries[rank], keys, p);
    }
  }
}

// From the gradient of routed_rows() to that of its rows.
Matrix rows_backward(const Matrix& rows, const Matrix& gradient) {
  const auto columns = static_cast<double>(rows.columns);
  const Matrix x = routed_rows(rows);
  Matrix out(rows.rows, rows.columns);
  for (std::size_t i = 0; i < rows.rows; ++i) {
    double mean = 0.0, variance = 0.0, of_gradient = 0.0;
    for (std::size_t d = 0; d < rows.columns; ++d) {
      mean += rows(i, d) / columns;
      of_gradient += gradient(i, d) / columns;
    }
    for (std::size_t d = 0; d < rows.columns; ++d) variance += std::pow(rows(i, d) - mean, 2) / columns;
    const double along = product(gradient, i, x, i) / columns;
    for (std::size_t d = 0; d < rows.columns; ++d)
      out(i, d) = (gradient(i, d) - of_gradient - along * x(i, d)) / std::sqrt(variance + variance_epsilon);
  }
  return out;
}

}  // namespace

Matrix routed_rows(const Matrix& rows) {
  const auto columns = static_cast<double>(rows.columns);
  Matrix x(rows.rows, rows.columns);
  for (std::size_t i = 0; i < rows.rows; ++i) {
    double mean = 0.0, variance = 0.0;
    for (std::size_t d = 0; d < rows.columns; ++d) mean += rows(i, d) / columns;
    for (std::size_t d = 0; d < rows.columns; ++d) variance += std::pow(rows(i, d) - mean, 2) / columns;
    for (std::size_t d = 0; d < rows.columns; ++d)
      x(i, d) = (rows(i, d) - mean) / std::sqrt(variance + variance_epsilon);
  }
  return x;
}

std::vector<std::vector<std::size_t>> cluster_members(const Matrix& x, const Matrix& centroids,
                                                      std::size_t window) {
  std::vector<std::vector<std::size_t>> members;
  for (std::size_t cluster = 0; cluster < centroids.rows; ++cluster) {
    std::vector<std::size_t> tokens(x.rows);
    std::iota(tokens.begin(), tokens.end(), std::size_t{0});
    std::stable_sort(tokens.begin(), tokens.end(), [&](std::size_t a, std::size_t b) {
      return product(x, a, centroids, cluster) > product(x, b, centroids, cluster);
    });
    tokens.resize(std::min(window, x.rows));
    std::sort(tokens.begin(), tokens.end());
    members.push_back(std::move(tokens));
  }
  return members;
}

std::vector<std::size_t> nearest_clusters(const Matrix& x, const Matrix& centroids) {
  std::vector<std::size_t> nearest;
  for (std::size_t i = 0; i < x.rows; ++i) {
    std::size_t best = 0;
    for (std::size_t cluster = 1; cluster < centroids.rows; ++cluster) {
      if (product(x, i, centroids, cluster) > product(x, i, centroids, best)) best = cluster;
    }
    nearest.push_back(best);
  }
  return nearest;
}

Matrix routed_attention_forward(const RoutedAttention& attention, const Matrix& query, const Matrix& key,
                                const Matrix& value) {
  const Matrix x = routed_rows(query), y = attention.causal ? x : routed_rows(key);
  const Vector share = shares(attention, query.rows);
  Matrix out(query.rows, value.columns);
  for_each_query(attention, x, y, [&](std::size_t i, const std::vector<std::size_t>& keys, const Vector& p) {
    for (std::size_t n = 0; n < keys.size(); ++n)
      for (std::size_t d = 0; d < value.columns; ++d) out(i, d) += share[i] * p[n] * value(keys[n], d);
  });
  return out;
}

RoutedAttentionGradients routed_attention_backward(const RoutedAttention& attention, const Matrix& query,
                                                   const Matrix& key, const Matrix& value,
                                                   const Matrix& d_out) {
  const Matrix x = routed_rows(query), y = attention.causal ? x : routed_rows(key);
  const Vector share = shares(attention, query.rows);
  Matrix dx(query.rows, query.columns), dy(query.rows, query.columns), dv(value.rows, value.columns);
  for_each_query(attention, x, y, [&](std::size_t i, const std::vector<std::size_t>& keys, const Vector& p) {
    Vector d_p(keys.size(), 0.0);
    double mean = 0.0;
    for (std::size_t n = 0; n < keys.size(); ++n) {
      for (std::size_t d = 0; d < value.columns; ++d) {
        d_p[n] += share[i] * d_out(i, d) * value(keys[n], d);
        dv(keys[n], d) += share[i] * p[n] * d_out(i, d);
      }
      mean += p[n] * d_p[n];
    }
    for (std::size_t n = 0; n < keys.size(); ++n) {
      const double d_score = p[n] * (d_p[n] - mean);
      for (std::size_t d = 0; d < query.columns; ++d) {
        dx(i, d) += d_score * y(keys[n], d);
        dy(keys[n], d) += d_score * x(i, d);
      }
    }
  });
  if (attention.causal) {
    for (std::size_t i = 0; i < dx.values.size(); ++i) dx.values[i] += dy.values[i];
    return {rows_backward(query, dx), Matrix(query.rows, query.columns), dv};
  }
  return {rows_backward(query, dx), rows_backward(key, dy), dv};
}

double commitment(const Matrix& rows, const Matrix& centroids) {
  const Matrix x = routed_rows(rows);
  const std::vector<std::size_t> nearest = nearest_clusters(x, centroids);
  double sum = 0.0;
  for (std::size_t i = 0; i < x.rows; ++i)
    for (std::size_t d = 0; d < x.columns; ++d) sum += std::pow(x(i, d) - centroids(nearest[i], d), 2);
  return sum;
}

Matrix commitment_backward(const Matrix& rows, const Matrix& centroids) {
  const Matrix x = routed_rows(rows);
  const std::vector<std::size_t> nearest = nearest_clusters(x, centroids);
  Matrix dx(x.rows, x.columns);
  for (std::size_t i = 0; i < x.rows; ++i)
    for (std::size_t d = 0; d < x.columns; ++d) dx(i, d) = 2.0 * (x(i, d) - centroids(nearest[i], d));
  return rows_backward(rows, dx);
}

Matrix smoothed_centroids(const Matrix& sums, const Vector& counts) {
  const double all = std::accumulate(counts.begin(), counts.end(), 0.0);
  Matrix centroids = sums;
  if (all == 0.0) return centroids;
  for (std::size_t cluster = 0; cluster < sums.rows; ++cluster) {
    const double smoothed =
        (counts[cluster] + smoothing) * all / (all + smoothing * static_cast<double>(sums.rows));
    for (std::size_t d = 0; d < sums.columns; ++d) centroids(cluster, d) /= smoothed;
  }
  return centroids;
}

}  // namespace bigbird::reference
