// See random_features.h.
#include "reference/random_features.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace bigbird::reference {
namespace {

// The published code adds it to a denominator that is as near to 0.
constexpr double least_denominator = 1e-6, added_denominator = 2e-6;
constexpr double relu_epsilon = 1e-3;

bool is_of_softmax(const FeatureAttention& attention) {
  return attention.features == Features::positive || attention.features == Features::trigonometric;
}

// D^-1/4, where rows are scaled.
double row_scale(const FeatureAttention& attention, std::size_t size) {
  return is_of_softmax(attention) ? std::pow(static_cast<double>(size), -0.25) : 1.0;
}

Vector row_of(const Matrix& x, std::size_t row) {
  const auto begin = x.values.begin() + static_cast<std::ptrdiff_t>(row * x.columns);
  return {begin, begin + static_cast<std::ptrdiff_t>(x.columns)};
}

// W x', or x' without W.
Vector projected(const FeatureAttention& attention, const Vector& row) {
  const double scale = row_scale(attention, row.size());
  const Matrix& w = attention.projection;
  if (w.rows == 0) {
    Vector same(row);
    for (double& x : same) x *= scale;
    return same;
  }
  Vector result(w.rows, 0.0);
  for (std::size_t m = 0; m < w.rows; ++m) {
    for (std::size_t d = 0; d < row.size(); ++d) result[m] += w(m, d) * scale * row[d];
  }
  return result;
}

// |x'|^2 / 2
double half_square(const FeatureAttention& attention, const Vector& row) {
  const double scale = row_scale(attention, row.size());
  double sum = 0.0;
  for (const double x : row) sum += scale * x * scale * x;
  return sum / 2.0;
}

double largest_exponent(const FeatureAttention& attention, const Vector& row) {
  if (attention.features == Features::trigonometric) return half_square(attention, row);
  if (attention.features != Features::positive) return 0.0;
  const Vector u = projected(attention, row);
  return *std::max_element(u.begin(), u.end());
}

// What a row gets from the gradient of its features: as du of W x' and dh of |x'|^2 / 2. The sums of several.
struct RowGradient {
  Vector du;
  double dh = 0.0;
};
void add_gradient(const FeatureAttention& attention, const Vector& u, double half, double most,
                  const Vector& d_features, double factor, RowGradient& to) {
  const double ratio = 1.0 / std::sqrt(static_cast<double>(u.size()));
  for (std::size_t m = 0; m < u.size(); ++m) {
    const double d = factor * d_features[m];
    switch (attention.features) {
      case Features::positive: {
        const double da = d * ratio * std::exp(u[m] - half - most);
        to.du[m] += da;
        to.dh -= da;
        break;
      }
      case Features::trigonometric: {
        const double e = ratio * std::exp(half - most), d_sine = factor * d_features[u.size() + m];
        const double cosine = e * std::cos(u[m]), sine = e * std::sin(u[m]);
        to.du[m] += d_sine * cosine - d * sine;
        to.dh += d * cosine + d_sine * sine;
        break;
      }
      case Features::relu:
        if (u[m] > 0.0) to.du[m] += d;
        break;
      case Features::elu:
        to.du[m] += u[m] > 0.0 ? d : d * std::exp(u[m]);
        break;
    }
  }
}
void put_gradient(const FeatureAttention& attention, const Vector& row, const RowGradient& of, Matrix& to,
                  std::size_t at) {
  const double scale = row_scale(attention, row.size());
  for (std::size_t d = 0; d < row.size(); ++d) {
    double sum = is_of_softmax(attention) ? of.dh * scale * row[d] : 0.0;
    if (attention.projection.rows == 0) sum += of.du[d];
    for (std::size_t m = 0; m < attention.projection.rows; ++m) sum += attention.projection(m, d) * of.du[m];
    to(at, d) = scale * sum;
  }
}

double dot(const Vector& a, const Vector& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Features of keys, which are made again where their largest exponent is another.
class KeyFeatures {
 public:
  KeyFeatures(const FeatureAttention& attention, const Matrix& key) : attention_(attention), key_(key) {}
  const Vector& at(std::size_t row, double most) {
    if (most != most_) features_.assign(key_.rows, {});
    most_ = most;
    if (features_[row].empty()) features_[row] = features_of(attention_, row_of(key_, row), most);
    return features_[row];
  }

 private:
  const FeatureAttention& attention_;
  const Matrix& key_;
  double most_ = std::numeric_limits<double>::quiet_NaN();
  std::vector<Vector> features_;
};

// Weights [T, T] over the kept denominators [T].
struct Weights {
  Matrix of_pair;
  Vector denominator;
};
Weights weights_of(const FeatureAttention& attention, const LargestExponents& most, const Matrix& query,
                   const Matrix& key) {
  Weights weights{Matrix(query.rows, key.rows), Vector(query.rows, 0.0)};
  KeyFeatures of_keys(attention, key);
  for (std::size_t i = 0; i < query.rows; ++i) {
    const Vector of_query = features_of(attention, row_of(query, i), most.of_query[i]);
    const std::size_t seen = attention.causal ? i + 1 : key.rows;
    for (std::size_t j = 0; j < seen; ++j) {
      weights.of_pair(i, j) = dot(of_query, of_keys.at(j, most.of_keys[i]));
      weights.denominator[i] += weights.of_pair(i, j);
    }
    const bool signs = attention.features == Features::trigonometric;
    if (signs && std::abs(weights.denominator[i]) <= least_denominator)
      weights.denominator[i] += added_denominator;
  }
  return weights;
}

}  // namespace

LargestExponents largest_exponents(const FeatureAttention& attention, const Matrix& query,
                                   const Matrix& key) {
  LargestExponents most;
  double so_far = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < query.rows; ++i) {
    most.of_query.push_back(largest_exponent(attention, row_of(query, i)));
    so_far = std::max(so_far, largest_exponent(attention, row_of(key, i)));
    most.of_keys.push_back(so_far);
  }
  if (!attention.causal) std::fill(most.of_keys.begin(), most.of_keys.end(), so_far);
  return most;
}

Vector features_of(const FeatureAttention& attention, const Vector& row, double most) {
  const Vector u = projected(attention, row);
  const double half = half_square(attention, row);
  const double ratio = 1.0 / std::sqrt(static_cast<double>(u.size()));
  Vector features;
  for (const double x : u) {
    switch (attention.features) {
      case Features::positive:
        features.push_back(ratio * (std::exp(x - half - most) + attention.epsilon));
        break;
      case Features::trigonometric:
        features.push_back(ratio * std::cos(x) * std::exp(half - most));
        break;
      case Features::relu:
        features.push_back(std::max(x, 0.0) + relu_epsilon);
        break;
      case Features::elu:
        features.push_back(x > 0.0 ? x + 1.0 : std::exp(x));
        break;
    }
  }
  if (attention.features != Features::trigonometric) return features;
  for (const double x : u) features.push_back(ratio * std::sin(x) * std::exp(half - most));
  return features;
}

Matrix feature_attention_forward(const FeatureAttention& attention, const Matrix& query, const Matrix& key,
                                 const Matrix& value) {
  return feature_attention_forward(attention, largest_exponents(attention, query, key), query, key, value);
}

Matrix feature_attention_forward(const FeatureAttention& attention, const LargestExponents& most,
                                 const Matrix& query, const Matrix& key, const Matrix& value) {
  Weights weights = weights_of(attention, most, query, key);
  for (std::size_t i = 0; i < query.rows; ++i) {
    for (std::size_t j = 0; j < key.rows; ++j) weights.of_pair(i, j) /= weights.denominator[i];
  }
  return product(weights.of_pair, value);
}

FeatureAttentionGradients feature_attention_backward(const FeatureAttention& attention, const Matrix& query,
                                                     const Matrix& key, const Matrix& value,
                                                     const Matrix& d_out) {
  const LargestExponents most = largest_exponents(attention, query, key);
  const Weights weights = weights_of(attention, most, query, key);
  const Matrix out = feature_attention_forward(attention, most, query, key, value);
  FeatureAttentionGradients gradients{Matrix(query.rows, query.columns), Matrix(key.rows, key.columns),
                                      Matrix(value.rows, value.columns)};
  const std::size_t m = projected(attention, row_of(key, 0)).size();
  std::vector<RowGradient> of_keys(key.rows, RowGradient{Vector(m, 0.0), 0.0});
  std::vector<Vector> key_rows, key_projections;
  for (std::size_t j = 0; j < key.rows; ++j) {
    key_rows.push_back(row_of(key, j));
    key_projections.push_back(projected(attention, key_rows.back()));
  }
  KeyFeatures key_features(attention, key);
  for (std::size_t i = 0; i < query.rows; ++i) {
    const Vector q = row_of(query, i);
    const Vector of_query = features_of(attention, q, most.of_query[i]);
    Vector d_query(of_query.size(), 0.0);
    double out_product = 0.0;
    for (std::size_t d = 0; d < value.columns; ++d) out_product += out(i, d) * d_out(i, d);
    const std::size_t seen = attention.causal ? i + 1 : key.rows;
    for (std::size_t j = 0; j < seen; ++j) {
      double d_weight = -out_product;
      for (std::size_t d = 0; d < value.columns; ++d) {
        d_weight += d_out(i, d) * value(j, d);
        gradients.value(j, d) += weights.of_pair(i, j) * d_out(i, d) / weights.denominator[i];
      }
      d_weight /= weights.denominator[i];
      const Vector& of_key = key_features.at(j, most.of_keys[i]);
      for (std::size_t f = 0; f < of_key.size(); ++f) d_query[f] += d_weight * of_key[f];
      add_gradient(attention, key_projections[j], half_square(attention, key_rows[j]), most.of_keys[i],
                   of_query, d_weight, of_keys[j]);
    }
    RowGradient of_row{Vector(m, 0.0), 0.0};
    add_gradient(attention, projected(attention, q), half_square(attention, q), most.of_query[i], d_query,
                 1.0, of_row);
    put_gradient(attention, q, of_row, gradients.query, i);
  }
  for (std::size_t j = 0; j < key.rows; ++j)
    put_gradient(attention, key_rows[j], of_keys[j], gradients.key, j);
  return gradients;
}

}  // namespace bigbird::reference
