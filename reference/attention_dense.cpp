// Attention with the whole length x length matrix of probabilities in memory; see attention_dense.h.
#include "reference/attention_dense.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace bigbird::reference {
namespace {

Matrix head_of(const AttentionShape& shape, const Vector& all, std::size_t head) {
  const std::size_t size = shape.length() * shape.head_size;
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(head * size);
  return Matrix(shape.length(), shape.head_size, Vector(begin, begin + static_cast<std::ptrdiff_t>(size)));
}

void append(Vector& all, const Matrix& head) {
  all.insert(all.end(), head.values.begin(), head.values.end());
}

// How often query i sees key j: the multiplicity matrix of the blocks, spread over tokens, times the masks of
// queries and keys.
Matrix multiplicities(const AttentionShape& shape, const std::vector<std::vector<std::size_t>>& head_plan) {
  Matrix result(shape.length(), shape.length());
  for (std::size_t i = 0; i < std::max(shape.valid_length, shape.query_length); ++i) {
    for (const std::size_t block : head_plan[i / shape.block_size]) {
      for (std::size_t j = block * shape.block_size; j < (block + 1) * shape.block_size; ++j) {
        if (j < shape.valid_length) result(i, j) += 1.0;
      }
    }
  }
  return result;
}

Matrix probabilities(const Matrix& multiplicity, const Matrix& query, const Matrix& key) {
  const double scale = 1.0 / std::sqrt(static_cast<double>(query.columns));
  Matrix result = product(query, transposed(key));
  for (std::size_t i = 0; i < result.rows; ++i) {
    double largest = -std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < result.columns; ++j) {
      if (multiplicity(i, j) > 0.0) largest = std::max(largest, result(i, j) * scale);
    }
    double total = 0.0;
    for (std::size_t j = 0; j < result.columns; ++j) {
      const bool seen = multiplicity(i, j) > 0.0;
      result(i, j) = seen ? multiplicity(i, j) * std::exp(result(i, j) * scale - largest) : 0.0;
      total += result(i, j);
    }
    for (std::size_t j = 0; j < result.columns && total > 0.0; ++j) result(i, j) /= total;
  }
  return result;
}

}  // namespace

Vector attention_dense_forward(const AttentionShape& shape, const AttentionPlan& plan, const Vector& query,
                               const Vector& key, const Vector& value) {
  check_attention(shape, plan, query, key, value);
  Vector output;
  for (std::size_t head = 0; head < shape.heads; ++head) {
    const Matrix probability = probabilities(multiplicities(shape, plan[head]), head_of(shape, query, head),
                                             head_of(shape, key, head));
    append(output, product(probability, head_of(shape, value, head)));
  }
  return output;
}

AttentionGradients attention_dense_backward(const AttentionShape& shape, const AttentionPlan& plan,
                                            const Vector& query, const Vector& key, const Vector& value,
                                            const Vector& d_output) {
  check_attention(shape, plan, query, key, value);
  const double scale = 1.0 / std::sqrt(static_cast<double>(shape.head_size));
  AttentionGradients gradients;
  for (std::size_t head = 0; head < shape.heads; ++head) {
    const Matrix q = head_of(shape, query, head);
    const Matrix k = head_of(shape, key, head);
    const Matrix v = head_of(shape, value, head);
    const Matrix d_out = head_of(shape, d_output, head);
    const Matrix probability = probabilities(multiplicities(shape, plan[head]), q, k);
    const Matrix d_probability = product(d_out, transposed(v));
    Matrix d_score(shape.length(), shape.length());
    for (std::size_t i = 0; i < shape.length(); ++i) {
      double mean = 0.0;
      for (std::size_t j = 0; j < shape.length(); ++j) mean += probability(i, j) * d_probability(i, j);
      for (std::size_t j = 0; j < shape.length(); ++j) {
        d_score(i, j) = probability(i, j) * (d_probability(i, j) - mean) * scale;
      }
    }
    append(gradients.query, product(d_score, k));
    append(gradients.key, product(transposed(d_score), q));
    append(gradients.value, product(transposed(probability), d_out));
  }
  return gradients;
}

}  // namespace bigbird::reference
