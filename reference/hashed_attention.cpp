// See hashed_attention.h.
#include "reference/hashed_attention.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace bigbird::reference {
namespace {

constexpr double key_epsilon = 1e-6;

// The first largest of (rotations x, -rotations x), rows first .. first + factor / 2.
std::size_t bucket_of(const Matrix& query, std::size_t row, const Matrix& rotations, std::size_t first,
                      std::size_t factor) {
  Vector numbers(factor);
  for (std::size_t i = 0; i < factor / 2; ++i) {
    for (std::size_t d = 0; d < query.columns; ++d) numbers[i] += rotations(first + i, d) * query(row, d);
    numbers[factor / 2 + i] = -numbers[i];
  }
  return static_cast<std::size_t>(std::max_element(numbers.begin(), numbers.end()) - numbers.begin());
}

// 1 / sqrt(D (mean x^2 + epsilon))
double inverse_length(const Matrix& query, std::size_t row) {
  const auto size = static_cast<double>(query.columns);
  double square = 0.0;
  for (std::size_t d = 0; d < query.columns; ++d) square += query(row, d) * query(row, d);
  return 1.0 / std::sqrt(size * (square / size + key_epsilon));
}

// What a token sees, with repeats.
std::vector<std::size_t> keys_of(const HashedAttention& attention, std::size_t token) {
  const std::size_t chunks = attention.places.size() / attention.chunk;
  std::vector<std::size_t> keys;
  const auto take = [&](std::size_t chunk) {
    for (std::size_t i = 0; i < attention.chunk; ++i) {
      const std::size_t key = attention.places[chunk * attention.chunk + i];
      if (key == no_token || key == token || (attention.causal && key > token)) continue;
      keys.push_back(key);
    }
  };
  for (std::size_t place = 0; place < attention.places.size(); ++place) {
    if (attention.places[place] != token) continue;
    const std::size_t chunk = place / attention.chunk;
    if (chunks > 1) take((chunk + chunks - 1) % chunks);
    take(chunk);
  }
  if (keys.empty()) keys.push_back(token);
  return keys;
}

Vector probabilities(const Matrix& query, std::size_t token, const std::vector<std::size_t>& keys) {
  Vector scores;
  for (const std::size_t key : keys) {
    double score = 0.0;
    for (std::size_t d = 0; d < query.columns; ++d)
      score += query(token, d) * query(key, d) * inverse_length(query, key);
    scores.push_back(score);
  }
  const double most = *std::max_element(scores.begin(), scores.end());
  for (double& score : scores) score = std::exp(score - most);
  const double total = std::accumulate(scores.begin(), scores.end(), 0.0);
  for (double& score : scores) score /= total;
  return scores;
}

}  // namespace

std::vector<std::size_t> buckets_of(const Matrix& query, const Matrix& rotations,
                                    const std::array<std::size_t, 2>& factors) {
  std::vector<std::size_t> buckets;
  for (std::size_t row = 0; row < query.rows; ++row) {
    std::size_t bucket = bucket_of(query, row, rotations, 0, factors[0]);
    if (factors[1] > 0) bucket += factors[0] * bucket_of(query, row, rotations, factors[0] / 2, factors[1]);
    buckets.push_back(bucket);
  }
  return buckets;
}

std::vector<std::size_t> hashed_places(const Matrix& query, const std::vector<Matrix>& rotations,
                                       const std::array<std::size_t, 2>& factors, std::size_t chunk) {
  const std::size_t of_round = (query.rows + chunk - 1) / chunk * chunk;
  std::vector<std::size_t> places;
  for (const Matrix& of : rotations) {
    const std::vector<std::size_t> buckets = buckets_of(query, of, factors);
    std::vector<std::size_t> tokens(query.rows);
    std::iota(tokens.begin(), tokens.end(), std::size_t{0});
    std::stable_sort(tokens.begin(), tokens.end(),
                     [&](std::size_t a, std::size_t b) { return buckets[a] < buckets[b]; });
    tokens.resize(of_round, no_token);
    places.insert(places.end(), tokens.begin(), tokens.end());
    if (of_round == chunk) break;
  }
  return places;
}

Matrix hashed_attention_forward(const HashedAttention& attention, const Matrix& query, const Matrix& value) {
  Matrix out(query.rows, value.columns);
  for (std::size_t i = 0; i < query.rows; ++i) {
    const std::vector<std::size_t> keys = keys_of(attention, i);
    const Vector p = probabilities(query, i, keys);
    for (std::size_t n = 0; n < keys.size(); ++n) {
      for (std::size_t d = 0; d < value.columns; ++d) out(i, d) += p[n] * value(keys[n], d);
    }
  }
  return out;
}

HashedAttentionGradients hashed_attention_backward(const HashedAttention& attention, const Matrix& query,
                                                   const Matrix& value, const Matrix& d_out) {
  HashedAttentionGradients gradients{Matrix(query.rows, query.columns), Matrix(value.rows, value.columns)};
  Matrix d_key(query.rows, query.columns);
  for (std::size_t i = 0; i < query.rows; ++i) {
    const std::vector<std::size_t> keys = keys_of(attention, i);
    const Vector p = probabilities(query, i, keys);
    Vector d_p(keys.size(), 0.0);
    double mean = 0.0;
    for (std::size_t n = 0; n < keys.size(); ++n) {
      for (std::size_t d = 0; d < value.columns; ++d) {
        d_p[n] += d_out(i, d) * value(keys[n], d);
        gradients.value(keys[n], d) += p[n] * d_out(i, d);
      }
      mean += p[n] * d_p[n];
    }
    if (keys.front() == i) continue;  // it stands by itself: a weight of 1 whatever it scores
    for (std::size_t n = 0; n < keys.size(); ++n) {
      const double d_score = p[n] * (d_p[n] - mean), inverse = inverse_length(query, keys[n]);
      for (std::size_t d = 0; d < query.columns; ++d) {
        gradients.query(i, d) += d_score * inverse * query(keys[n], d);
        d_key(keys[n], d) += d_score * query(i, d);
      }
    }
  }
  // Of k = q r(q).
  for (std::size_t j = 0; j < query.rows; ++j) {
    const double inverse = inverse_length(query, j);
    double along = 0.0;
    for (std::size_t d = 0; d < query.columns; ++d) along += query(j, d) * d_key(j, d);
    for (std::size_t d = 0; d < query.columns; ++d)
      gradients.query(j, d) += inverse * (d_key(j, d) - inverse * inverse * along * query(j, d));
  }
  return gradients;
}

}  // namespace bigbird::reference
